//! A node with the board's NIC on its cable: the verilated board by its pins, on a TAP device, and a client that sends
//! compact frames to the board. Frames of the host link are lost.
//!
//! - At `durable` the node is killed with SIGKILL, and the board loses its power, while operations are in flight: no
//!   answered operation is lost, and each is executed once.
//! - At `accepted` the board answers at once, and all its records reach the journal.
//! - The node stops, and reports the next step, when the board is not its own or does not send records.
//!
//! In Corundum's application block the same NIC has the same host link, so a node there is killed as well.
//!
//! Skipped, with the reason, without root or the board, which `make rtl-test NAMES="ecpix5_board mqnic_app_block"`
//! builds.
//! `CABLE_OPERATIONS` sets the number of operations at `accepted`.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "common/http.rs"]
mod http;
#[path = "../../../tests/conformance/tests/common/namespaces.rs"]
mod namespaces;

use std::collections::BTreeMap;
use std::fs::File;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::Process;
use http::get;
use namespaces::{CABLE, CLIENT, NODE, ip, within};
use nic::cable::Port;
use nic::cable::layout::{REPLAYS_REGISTER, SESSION_REGISTER};
use nic::csr;
use skip::Ability;
use wire::{CompactFrame, Status};
use zerocopy::{FromBytes, IntoBytes};

const PORT: u16 = 7400;
const ACCOUNTS: u32 = 40;
/// Operations between two kills, and in flight at once.
const PER_NODE: usize = 150;
const WINDOW: usize = 8;
/// At `accepted`.
const ACCEPTED: usize = 1000;
const WIDE_WINDOW: usize = 32;
/// A board that is simulated answers slowly.
const RETRY: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(30);
/// Longer than a restart takes, so that the node recognises retries after it.
const RETRY_SECONDS: u32 = 60;

/// The board, in a namespace with its network.
struct Board {
    namespace: String,
    program: PathBuf,
    loss: u32,
    process: Option<Child>,
}

impl Board {
    fn start(program: PathBuf, loss: u32, name: &str) -> Result<Self, String> {
        let namespace = format!("{name}-{}-{loss}", std::process::id());
        ip(&format!("netns add {namespace}"))?;
        let mut board = Self { namespace: namespace.clone(), program, loss, process: None };
        ip(&format!("-n {namespace} tuntap add {CABLE} mode tap"))?;
        ip(&format!("-n {namespace} addr add {CLIENT}/24 dev {CABLE}"))?;
        ip(&format!("-n {namespace} link set lo up"))?;
        ip(&format!("-n {namespace} link set {CABLE} up"))?;
        board.power_on()?;
        Ok(board)
    }

    fn power_on(&mut self) -> Result<(), String> {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace]).arg(&self.program);
        command.args([format!("--tap={CABLE}"), format!("--loss={}", self.loss)]).stdin(Stdio::null());
        self.process = Some(command.spawn().map_err(|error| error.to_string())?);
        Ok(())
    }

    fn power_off(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = (process.kill(), process.wait());
        }
    }

    /// Starts a node with its data, its configuration and its log in a directory.
    fn node(&self, directory: &Path, promise: &str) -> Process {
        within(&self.namespace, || {
            let mut command = Process::command(
                env!("CARGO_BIN_EXE_turnpike"),
                "serve",
                &directory.join("data"),
                format!("{NODE}:{PORT}").parse().unwrap(),
            );
            let trusted = format!("{CLIENT}/32");
            let config = directory.join("node.toml");
            std::fs::write(&config, format!("[ledger]\nretry_seconds = {RETRY_SECONDS}\n")).unwrap();
            command.arg("--config").arg(config).args(["--io", "cable", "--interface", CABLE]);
            command.args(["--trusted", &trusted, "--promise", promise]);
            command.stderr(File::create(log(directory)).unwrap());
            Process::run(&mut command).unwrap_or_else(|error| panic!("{error}: {}", written(directory)))
        })
    }

    /// Another program on the board's network.
    fn port(&self) -> Port {
        within(&self.namespace, || Port::open(CABLE, format!("{CLIENT}:1").parse().unwrap()).unwrap())
    }
}

fn log(directory: &Path) -> PathBuf {
    directory.join("log")
}

/// The node's log.
fn written(directory: &Path) -> String {
    std::fs::read_to_string(log(directory)).unwrap()
}

/// Waits until the node reports that it has stopped to use the board. Returns its log.
fn failure(board: &Board, node: &Process, directory: &Path) -> String {
    let start = Instant::now();
    while within(&board.namespace, || get(node.http, "/ready")).starts_with("HTTP/1.1 200") {
        assert!(start.elapsed() < PATIENCE, "the node goes on: {}", written(directory));
        std::thread::sleep(Duration::from_millis(50));
    }
    written(directory)
}

impl Drop for Board {
    fn drop(&mut self) {
        self.power_off();
        let _ = ip(&format!("netns del {}", self.namespace));
    }
}

/// A client, and the balances that result from its operations.
struct Client {
    socket: UdpSocket,
    balances: BTreeMap<u32, u64>,
    transaction: u32,
    random: u64,
}

impl Client {
    fn new(namespace: &str) -> Self {
        let socket = within(namespace, || UdpSocket::bind((CLIENT, 0)).unwrap());
        socket.connect((NODE, PORT)).unwrap();
        Self { socket, balances: BTreeMap::new(), transaction: 0, random: 7 }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % limit
    }

    /// The next operation, which succeeds in any order with others of its window: no balance can become negative.
    fn next(&mut self) -> CompactFrame {
        self.transaction += 1;
        let (transaction, account) = (self.transaction, 1 + self.below(ACCOUNTS.into()) as u32);
        let other = 1 + account % ACCOUNTS;
        if self.transaction <= ACCOUNTS {
            self.balances.insert(transaction, 0);
            return CompactFrame::new(wire::Command::Create, transaction, transaction, 0, 0);
        }
        let amount = 1 + self.below(100);
        if self.transaction <= 2 * ACCOUNTS {
            let account = self.transaction - ACCOUNTS;
            *self.balances.get_mut(&account).unwrap() += 1 << 24;
            return CompactFrame::new(wire::Command::Issue, transaction, account, 0, 1 << 24);
        }
        *self.balances.get_mut(&account).unwrap() -= amount;
        *self.balances.get_mut(&other).unwrap() += amount;
        CompactFrame::new(wire::Command::Transfer, transaction, account, other, amount as u32)
    }

    fn send(&self, request: &CompactFrame) {
        // The interface of a board that is gone is down; the next attempt reports it.
        let _ = self.socket.send(request.as_bytes());
    }

    /// Repeats requests until each is answered. Returns the replies' values.
    fn finish(&self, requests: &[CompactFrame], is_sent: bool) -> Vec<u32> {
        let mut replies: BTreeMap<u32, CompactFrame> = BTreeMap::new();
        let start = Instant::now();
        self.socket.set_read_timeout(Some(RETRY)).unwrap();
        let mut is_sent = is_sent;
        while replies.len() < requests.len() {
            assert!(start.elapsed() < PATIENCE, "{} of {} are answered", replies.len(), requests.len());
            let waiting = |request: &&CompactFrame| !replies.contains_key(&request.transaction.get());
            if !std::mem::take(&mut is_sent) {
                requests.iter().filter(waiting).for_each(|request| self.send(request));
            }
            let mut bytes = [0; 64];
            while replies.len() < requests.len() {
                let Ok(length) = self.socket.recv(&mut bytes) else { break };
                let reply = CompactFrame::read_from_bytes(&bytes[..length]).unwrap();
                // Late replies to earlier requests are ignored.
                // The memory of retries is full until the next tick: a later attempt has room.
                let is_busy = reply.status() == Ok(Status::Busy);
                if !is_busy && requests.iter().any(|request| request.transaction == reply.transaction) {
                    assert_eq!(reply.status(), Ok(Status::Ok), "{reply:?}");
                    replies.insert(reply.transaction.get(), reply);
                }
            }
        }
        replies.values().map(CompactFrame::value).collect()
    }

    /// Executes windows of operations. Returns the number of operations.
    fn execute(&mut self, windows: usize, window: usize) -> usize {
        for _ in 0..windows {
            let requests: Vec<_> = (0..window).map(|_| self.next()).collect();
            self.finish(&requests, false);
        }
        windows * window
    }

    /// Sends operations, and waits until some are executed, but not for replies.
    fn send_window(&mut self) -> Vec<CompactFrame> {
        let requests: Vec<_> = (0..WINDOW).map(|_| self.next()).collect();
        requests.iter().for_each(|request| self.send(request));
        std::thread::sleep(Duration::from_millis(10));
        requests
    }

    fn check_balances(&mut self) {
        for (account, balance) in self.balances.clone() {
            self.transaction += 1;
            let refer = CompactFrame::new(wire::Command::Refer, self.transaction, account, 0, 0);
            assert_eq!(self.finish(&[refer], false), [balance as u32], "account {account}");
        }
    }
}

/// A counter of the NIC.
fn counter(board: &Board, node: &Process, what: &str) -> u64 {
    let metrics = within(&board.namespace, || get(node.http, "/metrics"));
    let name = format!("turnpike_rtl_total{{what=\"{what}\"}}");
    let line = metrics.lines().find(|line| line.starts_with(&name));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap()
}

/// A simulation that `rtl/rtl.py` builds: its library, its test, and a parameter.
struct Simulation {
    library: &'static str,
    test: &'static str,
    parameter: &'static str,
}

const ECPIX5: Simulation = Simulation { library: "ecpix5", test: "ecpix5_board", parameter: "_TickCycles_60000_" };
const CORUNDUM: Simulation = Simulation { library: "mqnic_app", test: "mqnic_app_block", parameter: "_Ports_1_" };

impl Simulation {
    fn program(&self) -> Option<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rtl").join(self.library);
        let tests = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        let is_board = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(self.test) && name.contains(self.parameter) && !name.ends_with("_trace")
        };
        tests.filter(is_board).map(|path| path.join("simulation")).find(|path| path.exists())
    }

    fn start(&self, loss: u32, name: &str) -> Option<Board> {
        let Some(program) = self.program() else {
            let test = self.test;
            skip::lacking(Ability::Board, format!("no simulation of it; `make rtl-test NAMES={test}` builds it"));
            return None;
        };
        Board::start(program, loss, name).map_err(|why| skip::lacking(Ability::Namespaces, why)).ok()
    }
}

fn board(loss: u32, name: &str) -> Option<Board> {
    ECPIX5.start(loss, name)
}

fn no_answered_operation_is_lost(simulation: &Simulation, loss: u32, name: &str) {
    let Some(board) = simulation.start(loss, name) else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut client = Client::new(&board.namespace);
    let mut node = board.node(directory.path(), "durable");
    let (mut done, mut in_nic) = (0, 0);
    for _ in 0..2 {
        done += client.execute(PER_NODE / WINDOW, WINDOW);
        in_nic += counter(&board, &node, "executed");
        assert_eq!(counter(&board, &node, "different"), 0);
        // Some of these are executed, and some of their replies are on their way.
        let requests = client.send_window();
        node.kill().unwrap();
        node = board.node(directory.path(), "durable");
        client.finish(&requests, false);
        done += WINDOW;
        client.check_balances();
    }
    assert!(in_nic * 2 > done as u64, "the NIC executed {in_nic} of {done}");
    eprintln!("{loss} % lost: {done} operations, {in_nic} recorded by the NIC before the kills, none missing");
}

#[test]
fn a_killed_node_loses_nothing() {
    no_answered_operation_is_lost(&ECPIX5, 0, "kill");
}

#[test]
fn nor_with_lost_frames() {
    no_answered_operation_is_lost(&ECPIX5, 1, "kill");
    no_answered_operation_is_lost(&ECPIX5, 5, "kill");
}

#[test]
fn nor_in_corundum() {
    no_answered_operation_is_lost(&CORUNDUM, 1, "corundum");
}

#[test]
fn accepted_operations_reach_the_journal() {
    let Some(board) = board(1, "accepted") else { return };
    let operations = std::env::var("CABLE_OPERATIONS").map_or(ACCEPTED, |count| count.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut client = Client::new(&board.namespace);
    let mut node = board.node(directory.path(), "accepted");
    let start = Instant::now();
    let done = client.execute(operations / WIDE_WINDOW, WIDE_WINDOW) as u64;
    let seconds = start.elapsed().as_secs();
    // The board has answered all of them, and the node has not seen the last ones yet.
    let deadline = Instant::now() + PATIENCE;
    while counter(&board, &node, "same") < done {
        assert!(
            Instant::now() < deadline,
            "{} of {done}: {}",
            counter(&board, &node, "same"),
            written(directory.path())
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(counter(&board, &node, "different"), 0);
    assert_eq!(counter(&board, &node, "executed"), counter(&board, &node, "same"));
    node.kill().unwrap();
    node = board.node(directory.path(), "accepted");
    client.check_balances();
    // A node that is stopped journals them first.
    client.execute(PER_NODE / WIDE_WINDOW, WIDE_WINDOW);
    assert!(within(&board.namespace, || node.stop()).unwrap());
    let _node = board.node(directory.path(), "accepted");
    client.check_balances();
    let replays = board.port().access(REPLAYS_REGISTER, None).unwrap().1;
    eprintln!("1 % lost: {done} operations in {seconds} s, none missing; the board sent again {replays} times");
}

#[test]
fn a_board_without_power_loses_nothing_durable() {
    let Some(mut board) = board(0, "power") else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut client = Client::new(&board.namespace);
    let mut node = board.node(directory.path(), "durable");
    client.execute(2 * ACCOUNTS as usize / WINDOW, WINDOW);

    let requests = client.send_window();
    board.power_off();
    let log = failure(&board, &node, directory.path());
    assert!(log.contains("no board answers at 02:00:00:00:00:01"), "{log}");
    assert!(log.contains("restart the node"), "{log}");
    node.kill().unwrap();
    board.power_on().unwrap();
    node = board.node(directory.path(), "durable");
    client.finish(&requests, false);
    client.check_balances();

    // Too short for the node to miss it, but the board has forgotten everything.
    let requests = client.send_window();
    board.power_off();
    board.power_on().unwrap();
    let log = failure(&board, &node, directory.path());
    assert!(log.contains("was restarted and has no accounts: restart the node"), "{log}");
    node.kill().unwrap();
    let _node = board.node(directory.path(), "durable");
    client.finish(&requests, false);
    client.check_balances();
}

#[test]
fn a_node_stops_when_its_board_does_something_else() {
    let Some(board) = board(0, "other") else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut client = Client::new(&board.namespace);
    let mut node = board.node(directory.path(), "accepted");
    client.execute(2 * ACCOUNTS as usize / WINDOW, WINDOW);

    // It answers, but sends no records.
    let mut port = board.port();
    let control = port.access(csr::CONTROL, None).unwrap().1;
    port.access(csr::CONTROL, Some(control & !csr::CONTROL_RECORD)).unwrap();
    let request = client.next();
    client.finish(&[request], false);
    let log = failure(&board, &node, directory.path());
    assert!(log.contains("the board executed operations without records (1)"), "{log}");
    // Nobody would journal its operations.
    assert_eq!(port.access(csr::CONTROL, None).unwrap().1 & csr::CONTROL_RUN, 0);
    node.kill().unwrap();

    node = board.node(directory.path(), "accepted");
    port.begin(77, None).unwrap();
    let log = failure(&board, &node, directory.path());
    assert!(log.contains("has session 0x4d instead of") && log.contains("another node uses it"), "{log}");
    // The other node's session is left alone.
    assert_eq!(port.access(SESSION_REGISTER, None).unwrap().1, 77);
}
