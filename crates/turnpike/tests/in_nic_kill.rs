//! Kills the real program with SIGKILL while its in-NIC ledger is under load over a cable, again and again. Its promise
//! is `accepted`: only operations not in the journal are lost, and they are always the last ones, never a gap.
//!
//! Clients wait for each reply, so the journal has a prefix of the operations of each. A generator in the kernel keeps
//! the ring filled meanwhile. `KILLS=200 cargo test --test in_nic_kill` kills more often. Skipped, with the reason, if
//! the machine does not allow it: it needs root and Linux 6.15.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "../../../tests/conformance/tests/common/namespaces.rs"]
mod namespaces;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command as Run, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use common::Process;
use model::{Model, Outcome};
use namespaces::{CABLE, CLIENT, NODE, Namespaces, within};
use skip::Ability;
use wire::{Command, CompactFrame, Operation, Status};
use xdp::generator::{Generator, Requests};
use xdp::{Error, InNicConfig, InNicLedger, Interface};
use zerocopy::{FromBytes, IntoBytes};

const PROGRAM: &str = env!("CARGO_BIN_EXE_turnpike");

/// Clients, and accounts of each.
const CLIENTS: u32 = 3;
const ACCOUNTS: u32 = 8;

/// Accounts that the generator moves money between, the first of them, and how much each has.
const GENERATED: u32 = 64;
const FIRST_GENERATED: u32 = 1000;
const PLENTY: u32 = 1 << 30;

/// Transfers that the generator sends at a time, a poll of the interface.
const BURST: u32 = 64;

/// How long a client listens before it looks whether the program is dead, and without a reply before it asks again:
/// nothing is lost on the cable.
const LISTEN: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(30);

/// Operations of the journal's end that are sent again: fewer than a stripe remembers, so that all are recognised.
const RETRIED: usize = 32;

/// Numbers that any even spread will do for (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// The books, kept plainly, by what the journal says.
#[derive(Default)]
struct Books {
    ledger: Model,
    /// The last operations, as they were answered.
    end: Vec<(CompactFrame, CompactFrame)>,
}

impl Books {
    /// Applies the next operation of the journal, whose result must match the record.
    fn enter(&mut self, sequence: u64, operation: &Operation, value: u64) -> (CompactFrame, CompactFrame) {
        assert_eq!(sequence, self.ledger.last_sequence() + 1, "nothing is missing");
        let mut requested = *operation;
        requested.status.set(0);
        let request = CompactFrame::from_operation(&requested).unwrap();
        let expected = self.ledger.execute(&requested);
        let recorded = Outcome { status: operation.status().unwrap(), value, is_fresh: true };
        assert_eq!(recorded, expected, "operation {sequence}: {request:?}");
        let mut reply = request;
        reply.set_reply(expected.status, expected.value);
        self.end.push((request, reply));
        (request, reply)
    }
}

/// Signals other threads that the program is dead, also when the test itself ends.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// A client that sends operations on its own accounts, one after the other, and records them.
struct Client {
    socket: UdpSocket,
    sent: Vec<(CompactFrame, Option<CompactFrame>)>,
    /// How many of them are in the journal.
    journalled: usize,
    random: Random,
    first: u32,
}

impl Client {
    /// A client whose list begins with the creation of `accounts` accounts.
    fn new(node: SocketAddr, first: u32, accounts: u32, issued: u32) -> Self {
        let socket = UdpSocket::bind((CLIENT, 0)).unwrap();
        socket.connect(node).unwrap();
        socket.set_read_timeout(Some(LISTEN)).unwrap();
        let openings = (first..first + accounts).flat_map(|account| {
            [
                CompactFrame::new(Command::Create, 1, account, 0, 0),
                CompactFrame::new(Command::Issue, 2, account, 0, issued),
            ]
        });
        let sent = openings.map(|request| (request, None)).collect();
        Self { socket, sent, journalled: 0, random: Random(u64::from(first) << 32 | 1), first }
    }

    /// Asks until there is a reply other than `BUSY`, or the program is dead.
    fn ask(&self, request: &CompactFrame, dead: &AtomicBool) -> Option<CompactFrame> {
        let (mut bytes, begun) = ([0; 64], Instant::now());
        loop {
            assert!(begun.elapsed() < 4 * PATIENCE, "no answer to {request:?}");
            // Refused while nobody listens.
            let _ = self.socket.send(request.as_bytes());
            let since = Instant::now();
            while since.elapsed() < PATIENCE {
                let Ok(length) = self.socket.recv(&mut bytes) else {
                    if dead.load(Relaxed) {
                        return None;
                    }
                    continue;
                };
                let reply = CompactFrame::read_from_bytes(&bytes[..length]).unwrap();
                if (reply.transaction, reply.source) == (request.transaction, request.source) {
                    if reply.status() == Ok(Status::Busy) {
                        break;
                    }
                    return Some(reply);
                }
            }
        }
    }

    /// Repeats the lost operations, which must have the same results. Returns whether the program survived.
    fn make_up(&mut self, dead: &AtomicBool) -> bool {
        (self.journalled..self.sent.len()).all(|at| {
            let (request, before) = self.sent[at];
            let Some(reply) = self.ask(&request, dead) else { return false };
            assert!(before.is_none_or(|before| before == reply), "{before:?} before, {reply:?} now");
            self.sent[at].1 = Some(reply);
            true
        })
    }

    /// Sends transfers, some of them beyond the balance, until the program is dead.
    fn transfer(&mut self, dead: &AtomicBool) {
        while !dead.load(Relaxed) {
            let source = self.random.below(ACCOUNTS.into()) as u32;
            let destination = (source + 1 + self.random.below(u64::from(ACCOUNTS) - 1) as u32) % ACCOUNTS;
            let (transaction, amount) = (self.sent.len() as u32 + 10, 1 + self.random.below(600) as u32);
            let (source, destination) = (self.first + source, self.first + destination);
            let request = CompactFrame::new(Command::Transfer, transaction, source, destination, amount);
            self.sent.push((request, None));
            let reply = self.ask(&request, dead);
            self.sent[transaction as usize - 10].1 = reply;
        }
    }

    /// Checks the client's next operation in the journal: it must be the next one sent, with the same reply.
    fn find(&mut self, request: &CompactFrame, reply: &CompactFrame) {
        let (sent, answered) = self.sent[self.journalled];
        assert_eq!(*request, sent, "operation {} of this client's", self.journalled);
        assert!(answered.is_none_or(|answered| answered == *reply), "{answered:?} was answered, {reply:?} is there");
        self.journalled += 1;
    }

    fn has(&self, account: u32) -> bool {
        let accounts = if self.first == FIRST_GENERATED { GENERATED } else { ACCOUNTS };
        (self.first..self.first + accounts).contains(&account)
    }
}

/// Reads on in the journal, while no process has it.
fn read_journal(data: &Path, books: &mut Books, clients: &mut [Client]) {
    let directory = node::layout::open(data).unwrap();
    let (journal, _) = node::layout::open_journal(&directory).unwrap();
    let mut reader = journal.log().reader(books.ledger.last_sequence() + 1).unwrap();
    while let Some(batch) = reader.next().unwrap() {
        for (sequence, record) in (batch.first_sequence..).zip(batch.records) {
            let (request, reply) = books.enter(sequence, &record.operation, record.value.get());
            // The generator's own are transfers between the accounts that the last client made.
            let client = clients.iter_mut().find(|client| client.has(request.source.get())).unwrap();
            if client.first != FIRST_GENERATED || request.command() != Ok(Command::Transfer) {
                client.find(&request, &reply);
            }
        }
    }
    books.end.drain(..books.end.len().saturating_sub(RETRIED));
}

fn command(data: &Path, listen: SocketAddr) -> Run {
    let mut command = Process::command(PROGRAM, "in-nic", data, listen);
    command.args(["--trusted", "10.77.0.0/24", "--accounts", "4096"]);
    // However long a busy machine takes from one start to the next.
    command.args(["--retries", "8388608", "--retry-seconds", "60"]);
    command
}

fn start(namespaces: &Namespaces, data: &Path, listen: SocketAddr) -> Result<Process, std::io::Error> {
    within(&namespaces.node, || Process::run(&mut command(data, listen)))
}

/// The sum of all figures whose line begins so.
fn figure(namespaces: &Namespaces, process: &Process, name: &str) -> u64 {
    let page = within(&namespaces.node, || {
        let mut text = String::new();
        // A connection on which nothing comes for long is given up, which happens on a busy machine.
        for _ in 0..20 {
            let mut stream = TcpStream::connect(process.http).unwrap();
            let asked = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n");
            if asked.and_then(|()| stream.read_to_string(&mut text)).is_ok_and(|length| length > 0) {
                break;
            }
            text.clear();
        }
        text
    });
    let lines: Vec<_> = page.lines().filter(|line| line.starts_with(name)).collect();
    assert!(!lines.is_empty(), "{name} is not in {page}");
    lines.iter().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

/// The restored state is that of the journal: balances, and the results of the last operations.
fn check_restored(namespaces: &Namespaces, process: &Process, books: &Books, client: &Client) {
    let alive = AtomicBool::new(false);
    let mut sum = 0;
    for (account, balance) in books.ledger.balances() {
        let refer = CompactFrame::new(Command::Refer, 7, account.to_compact().unwrap(), 0, 0);
        let reply = client.ask(&refer, &alive).unwrap();
        assert_eq!((reply.status(), u64::from(reply.value())), (Ok(Status::Ok), *balance), "account {account}");
        sum += u128::from(*balance);
    }
    assert_eq!(sum, books.ledger.issued(), "money is neither made nor lost");
    for (request, reply) in &books.end {
        assert_eq!(client.ask(request, &alive).as_ref(), Some(reply), "a retry");
    }
    assert_eq!(figure(namespaces, process, "turnpike_in_nic_executed_total"), 0, "all of that changes nothing");
    assert_eq!(figure(namespaces, process, "turnpike_durable_sequence"), books.ledger.last_sequence());
    assert_eq!(figure(namespaces, process, "turnpike_accounts "), books.ledger.balances().len() as u64);
}

/// Sends transfers from the kernel until the program is dead.
fn generate(generator: &Generator, transactions: u32, dead: &AtomicBool) -> u32 {
    let accounts = GENERATED - 1;
    let lowest = FIRST_GENERATED;
    let command = Command::Transfer.code().into();
    generator.begin(&Requests { command, lowest, accounts, any: false, transactions });
    while !dead.load(Relaxed) {
        generator.send(BURST).unwrap();
        // So that others come to their turn, on few processors.
        thread::sleep(Duration::from_millis(1));
    }
    transactions + generator.tally().made as u32
}

#[test]
fn only_what_was_not_journalled_is_lost() {
    let kills: u64 = std::env::var("KILLS").ok().map_or(12, |kills| kills.parse().unwrap());
    let namespaces = match Namespaces::new() {
        Ok(namespaces) => namespaces,
        Err(why) => return skip::lacking(Ability::Namespaces, why),
    };
    match InNicLedger::load(&InNicConfig { retries: 1, ..InNicConfig::default() }, [1, 2]) {
        Ok(_) => {}
        Err(error @ Error::Verifier { .. }) => panic!("{error}"),
        Err(error) => return skip::lacking(Ability::Bpf, error),
    }
    let data = tempfile::tempdir().unwrap();
    let data = data.path().join("data");
    let address: SocketAddr = format!("{NODE}:7434").parse().unwrap();
    let SocketAddr::V4(to) = address else { unreachable!("it is one of IPv4") };
    let mac = within(&namespaces.node, || Interface::named(CABLE).unwrap().mac);
    let from: Ipv4Addr = CLIENT.parse().unwrap();
    let generator =
        within(&namespaces.client, || Generator::load(&Interface::named(CABLE).unwrap(), from, to, mac).unwrap());
    let mut clients = within(&namespaces.client, || {
        let firsts = (0..CLIENTS).map(|number| Client::new(address, 1 + number * ACCOUNTS, ACCOUNTS, 1000));
        firsts.chain([Client::new(address, FIRST_GENERATED, GENERATED, PLENTY)]).collect::<Vec<_>>()
    });
    let (mut books, mut random) = (Books::default(), Random(7));
    let (mut transactions, mut lost) = (1000, 0);
    for _ in 0..kills {
        let mut process = start(&namespaces, &data, address).unwrap();
        check_restored(&namespaces, &process, &books, &clients[0]);
        // Those first that the accounts of others depend on.
        assert!(clients.iter_mut().all(|client| client.make_up(&AtomicBool::new(false))));
        let dead = AtomicBool::new(false);
        let (seen, next) = thread::scope(|scope| {
            let end = End(&dead);
            for client in &mut clients[..CLIENTS as usize] {
                scope.spawn(|| client.transfer(&dead));
            }
            let load = scope.spawn(|| within(&namespaces.client, || generate(&generator, transactions, &dead)));
            thread::sleep(Duration::from_millis(random.below(150)));
            let seen = figure(&namespaces, &process, "turnpike_durable_sequence");
            thread::sleep(Duration::from_millis(random.below(10)));
            process.kill().unwrap();
            drop(end);
            (seen, load.join().unwrap())
        });
        transactions = next;
        read_journal(&data, &mut books, &mut clients);
        assert!(
            books.ledger.last_sequence() >= seen,
            "{seen} were in the journal, {} are",
            books.ledger.last_sequence()
        );
        lost += clients.iter().map(|client| client.sent.len() - client.journalled).sum::<usize>();

        // While it starts, too: nothing is added, and nothing is taken away.
        if random.below(3) == 0 {
            let before = books.ledger.last_sequence();
            let mut child = within(&namespaces.node, || command(&data, address).stdout(Stdio::null()).spawn().unwrap());
            thread::sleep(Duration::from_millis(random.below(300)));
            child.kill().unwrap();
            child.wait().unwrap();
            read_journal(&data, &mut books, &mut clients);
            assert_eq!(books.ledger.last_sequence(), before);
        }
    }
    // One that ends in order loses nothing.
    let process = start(&namespaces, &data, address).unwrap();
    check_restored(&namespaces, &process, &books, &clients[0]);
    assert!(clients.iter_mut().all(|client| client.make_up(&AtomicBool::new(false))));
    assert!(process.stop().unwrap());
    read_journal(&data, &mut books, &mut clients);
    assert!(clients.iter().all(|client| client.journalled == client.sent.len()));
    println!(
        "{kills} kills, {} operations in the journal; {lost} of the clients' were not there yet, and done again",
        books.ledger.last_sequence()
    );
    let check = Run::new(PROGRAM).arg("check").arg(&data).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}
