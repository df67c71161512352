//! Faults of a cluster: clocks, disk use, strangers.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use client::{Client, Options, Receipt};
use wire::{AccountId, Operation, Promise, Status};
use zerocopy::IntoBytes as _;

use crate::clock::Clock;
use crate::{http_client, program};

pub const REPLICAS: usize = 4;
/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);
/// One cluster at a time: four replicas are enough for two processors.
static ALONE: Mutex<()> = Mutex::new(());
const HOUR: i64 = 3600;

/// Replicas of the real program, each with the clock that it was started with.
pub struct Cluster {
    pub folders: Vec<PathBuf>,
    listen: Vec<SocketAddr>,
    pub http: Vec<SocketAddr>,
    pub processes: Vec<Child>,
    accounts: u32,
    _alone: MutexGuard<'static, ()>,
}

impl Cluster {
    /// Makes four replicas in a folder, and starts them with these clocks.
    pub fn start(folder: &Path, clocks: [Option<&Clock>; REPLICAS]) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = folder.join("cluster");
        let text = dir.to_str().unwrap();
        let made = program::turnpike(&[
            "cluster",
            "init",
            "--dir",
            text,
            "--port",
            "0",
            "--trusted",
            "127.0.0.0/8",
            "--accounts",
            "4096",
        ]);
        let address = |text: &serde_json::Value| text.as_str().unwrap().parse().unwrap();
        let listen = Vec::from_iter(made[0]["replicas"].as_array().unwrap().iter().map(address));
        let folders = Vec::from_iter((0..REPLICAS).map(|number| dir.join(format!("replica-{number}"))));
        let http = folders.iter().map(|folder| node_config(folder).http.unwrap());
        let http = http.collect();
        let mut cluster = Self { folders, listen, http, processes: Vec::new(), accounts: 0, _alone: alone };
        cluster.run(clocks);
        cluster
    }

    fn run(&mut self, clocks: [Option<&Clock>; REPLICAS]) {
        self.processes = Vec::from_iter((0..REPLICAS).map(|number| self.spawn(number, clocks[number])));
    }

    pub fn spawn(&self, number: usize, clock: Option<&Clock>) -> Child {
        let folder = &self.folders[number];
        let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
        command.args(["serve", "--config"]).arg(folder.join("turnpike.toml"));
        command.stdout(log.try_clone().unwrap()).stderr(log);
        if let Some(clock) = clock {
            clock.attach(&mut command);
        }
        command.spawn().unwrap()
    }

    fn kill_all(&mut self) {
        for process in &mut self.processes {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Has a replica open an account, which takes an agreement of a quorum.
    pub fn open_account(&mut self, number: usize) -> Receipt {
        self.accounts += 1;
        let options = Options { promise: Promise::Final, give_up_after: PATIENCE, ..Options::default() };
        // The id carries no time: that would be ahead of a clock that is set back.
        let create = Operation::create(self.accounts.into(), self.accounts.into());
        let receipt = Client::connect(self.listen[number], &options).and_then(|mut client| client.execute(&create));
        let receipt = receipt.unwrap_or_else(|error| panic!("replica {number}: {error}"));
        assert_eq!((receipt.status, receipt.promise), (Status::Ok, Promise::Final), "replica {number}");
        receipt
    }

    /// Whether a replica has executed all final blocks, up to the account that was opened last.
    fn follows(&self, number: usize) -> bool {
        let options = Options { give_up_after: PATIENCE, ..Options::default() };
        let refer = Operation::refer(self.accounts.into(), self.accounts.into());
        let refer = Client::connect(self.listen[number], &options).and_then(|mut client| client.execute(&refer));
        refer.is_ok_and(|receipt| receipt.status == Status::Ok)
    }

    pub fn get(&self, number: usize, path: &str) -> String {
        http_client::get(self.http[number], path)
    }

    /// A figure of a replica's metrics.
    fn metric(&self, number: usize, name: &str) -> u64 {
        let metrics = self.get(number, "/metrics");
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is no metric")).parse().unwrap()
    }

    pub fn log(&self, number: usize) -> String {
        fs::read_to_string(self.folders[number].join("log")).unwrap()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (process, folder) in self.processes.iter_mut().zip(&self.folders) {
            // It may have ended.
            let _ = (process.kill(), process.wait());
            if std::thread::panicking() {
                let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
                let lines = Vec::from_iter(log.lines());
                eprintln!("{}:\n{}", folder.display(), lines[lines.len().saturating_sub(20)..].join("\n"));
            }
        }
    }
}

fn node_config(folder: &Path) -> node::Config {
    node::Config::load(&folder.join("turnpike.toml")).unwrap()
}

fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(50));
    }
}

/// It stood still for as long as its clock was set back, and longer where the clock had been ahead.
#[test]
fn a_clock_that_is_set_back_does_not_stop_its_replica() {
    let folder = tempfile::tempdir().unwrap();
    let Some(clock) = Clock::new(folder.path(), "clock") else { return };
    let mut cluster = Cluster::start(folder.path(), [None, None, None, Some(&clock)]);
    cluster.open_account(0);
    for ahead in [HOUR, 0, -HOUR, 0] {
        clock.step(ahead);
        // Long enough for the process to see it, and for some waits to begin by it.
        sleep(Duration::from_secs(1));
        for number in 0..3 {
            cluster.open_account(number);
        }
        wait("the replica does not follow", || cluster.follows(3));
    }
    // It leads and votes again: no other replica may be away without it.
    cluster.processes[0].kill().unwrap();
    cluster.open_account(3);
}

/// Nothing was final until the clocks had passed the newest block's time, restarts or not.
#[test]
fn a_block_ahead_of_all_clocks_does_not_stop_the_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let Some(clock) = Clock::new(folder.path(), "clock") else { return };
    clock.step(600);
    let clocks = [Some(&clock); REPLICAS];
    let mut cluster = Cluster::start(folder.path(), clocks);
    cluster.open_account(0);
    assert_eq!(cluster.metric(0, "turnpike_order_time_ahead_seconds"), 0);
    clock.step(0);
    for number in 0..REPLICAS {
        cluster.open_account(number);
        wait("a block ahead of the clocks is not reported", || {
            (500..=600).contains(&cluster.metric(number, "turnpike_order_time_ahead_seconds"))
        });
        let ready = cluster.get(number, "/ready");
        assert!(ready.contains("200 OK") && ready.contains("ahead of this node's clock"), "{ready}");
        wait("nothing is logged", || cluster.log(number).contains("the time of blocks is ahead of this node's clock"));
    }
    cluster.kill_all();
    cluster.run(clocks);
    cluster.open_account(0);
    clock.step(-HOUR);
    cluster.open_account(1);
    clock.step(2 * HOUR);
    cluster.open_account(2);
    wait("the clocks have passed the blocks", || cluster.metric(2, "turnpike_order_time_ahead_seconds") == 0);
}

/// An idle cluster left 236 files and 1.9 MB a minute in each replica's directory.
#[test]
fn an_idle_cluster_writes_next_to_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(folder.path(), [None; REPLICAS]);
    cluster.open_account(0);
    wait("replicas do not rest", || (0..REPLICAS).all(|number| cluster.metric(number, "turnpike_order_resting") == 1));
    let views = |cluster: &Cluster| Vec::from_iter((0..REPLICAS).map(|at| cluster.metric(at, "turnpike_order_view")));
    let before = views(&cluster);
    let (files, bytes) = size(&cluster.folders[0].join("data/order"));
    sleep(Duration::from_secs(8));
    let (files_after, bytes_after) = size(&cluster.folders[0].join("data/order"));
    // One empty block may have been due, and its view.
    for (before, after) in before.into_iter().zip(views(&cluster)) {
        assert!(after <= before + 2, "{} views of idle replicas in some seconds", after - before);
    }
    assert!(files_after <= files + 4, "{} new files", files_after - files);
    assert!(bytes_after <= bytes + (64 << 10), "{} bytes more", bytes_after - bytes);
    // Work ends the rest at once.
    cluster.open_account(1);
}

/// A client waited for an answer that never came. And a read at a replica that lags was older than a final reply.
#[test]
fn without_a_quorum_an_operation_is_answered_that_it_is_not_final() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(folder.path(), [None; REPLICAS]);
    cluster.open_account(0);
    let connect = |cluster: &Cluster, number: usize, give_up_after| {
        let options = Options { promise: Promise::Final, give_up_after, ..Options::default() };
        Client::connect(cluster.listen[number], &options).unwrap()
    };
    // As of the height that the replica has after its final reply, a read at each other one has it.
    let height = connect(&cluster, 0, PATIENCE).info().unwrap().tip_height.get();
    for number in 1..REPLICAS {
        let mut client = connect(&cluster, number, PATIENCE);
        assert!(client.wait_for_height(height).unwrap().tip_height.get() >= height);
        assert_eq!(client.refer(AccountId::from(1_u32)).unwrap().status, Status::Ok);
        let (node, height) = (cluster.listen[number].to_string(), height.to_string());
        program::turnpike(&["account", "refer", "1", "--node", &node, "--at-height", &height]);
    }
    for number in [2, 3] {
        cluster.processes[number].kill().unwrap();
        cluster.processes[number].wait().unwrap();
    }
    let mut client = connect(&cluster, 0, Duration::from_secs(8));
    let behind = client.wait_for_height(height + 1000).unwrap_err();
    assert!(matches!(behind, client::Error::Behind { .. }), "{behind}");
    // One frame, which is not sent again.
    let transfer = Operation::create(7_000_u32.into(), AccountId::from(900_u32));
    let mut frame = wire::CompactFrame::from_operation(&transfer).unwrap().as_bytes().to_vec();
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.send_to(&frame, cluster.listen[0]).unwrap();
    let length = socket.recv(&mut frame).unwrap();
    let wire::Reply::Compact(reply) = wire::Reply::parse(&frame[..length]).unwrap() else { panic!("{frame:?}") };
    assert_eq!(reply.status(), Ok(Status::NotFinal));
    // A client of the library asks again until it gives up, and reports the last answer.
    let error = client.create(AccountId::from(901_u32)).unwrap_err();
    assert_eq!(error.status(), Some(Status::NotFinal), "{error}");
    // With a quorum again it is done, once.
    cluster.processes[2] = cluster.spawn(2, None);
    let again = connect(&cluster, 0, PATIENCE).execute(&transfer).unwrap();
    assert_eq!(again.status, Status::Ok);
}

/// Files and bytes below a directory.
fn size(directory: &Path) -> (usize, u64) {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        // It may be pruned meanwhile.
        let Ok(metadata) = entry.metadata() else { continue };
        match metadata.is_dir() {
            true => {
                let (of_files, of_bytes) = size(&entry.path());
                files += of_files;
                bytes += of_bytes;
            }
            false => {
                files += 1;
                bytes += metadata.len();
            }
        }
    }
    (files, bytes)
}
