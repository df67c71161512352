//! The in-NIC ledger over a cable between two network namespaces: replies of the Rust ledger, refusals of the host, figures, restarts
//! out of the chain's snapshot and the journal, and a node that takes the directory over.
//!
//! Skipped, with a word why, where the machine does not allow it: it takes root and Linux 6.15.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chain::own;
use common::{CABLE, CLIENT, NODE, Namespaces, STRANGER, address, within};
use ledger::builder::{self, BlockBuilder};
use ledger::journal::{self, Batch, Journal};
use ledger::{Ledger, Limits, Now, Secret, Snapshots, retries};
use node::config::Backend;
use node::{Config, InNic, Node};
use skip::Ability;
use storage::Directory as _;
use turnpike_conformance::{SmallMemory, Summary, Target, run};
use wire::{BatchFormat, BatchHeader, Command, CompactFrame, Operation, Promise, Status};
use xdp::generator::attach_pass;
use xdp::{Error, InNicConfig, InNicLedger, Interface, Link};
use zerocopy::{FromBytes, IntoBytes};

/// Fewer than the talk asks for.
const ACCOUNTS: usize = 32;

/// Asks one thing, and again while the ring has no room.
fn ask(socket: &UdpSocket, request: CompactFrame) -> CompactFrame {
    let mut reply = [0; 64];
    for _ in 0..100 {
        socket.send(request.as_bytes()).unwrap();
        let Ok(length) = socket.recv(&mut reply) else { continue };
        let reply = CompactFrame::read_from_bytes(&reply[..length]).unwrap();
        if reply.transaction == request.transaction && reply.status.get() != Status::Busy.code() {
            return reply;
        }
    }
    panic!("no answer to {request:?}");
}

fn client(from: &str, to: SocketAddr) -> UdpSocket {
    let socket = client::connected(to, Some(from.parse().unwrap())).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    socket
}

/// The Rust ledger, and what is to be counted.
struct Model {
    ledger: Ledger,
    counted: BTreeMap<String, u64>,
}

impl Model {
    fn new() -> Self {
        let limits = Limits { accounts: ACCOUNTS, retries: retries::Limits::with_operations(1 << 16) };
        Self { ledger: Ledger::new(limits, Secret::default()).unwrap(), counted: BTreeMap::new() }
    }

    /// The reply, and what goes into the journal.
    fn execute(&mut self, request: CompactFrame) -> (CompactFrame, Option<(Operation, u64)>) {
        let (mut reply, mut operation, mut value, mut recorded) = (request, [request.to_operation()], [0], None);
        let now = Now::default();
        self.ledger.execute(&mut operation, &mut value, now, |operation, value| recorded = Some((*operation, value)));
        reply.set_reply(operation[0].status().unwrap(), value[0]);
        let what = if recorded.is_some() { "executed" } else { "answered" };
        let (command, status) = (request.command().unwrap().name(), reply.status().unwrap().name());
        let line = format!("turnpike_in_nic_{what}_total{{command=\"{command}\",status=\"{status}\"}}");
        *self.counted.entry(line).or_default() += 1;
        (reply, recorded)
    }

    fn reply(&mut self, request: CompactFrame) -> CompactFrame {
        self.execute(request).0
    }
}

/// The figures of a service, by name and labels; times in microseconds.
fn figures(namespaces: &Namespaces, service: &InNic) -> BTreeMap<String, u64> {
    let page = within(&namespaces.node, || {
        let mut text = String::new();
        // A connection on which nothing comes for long is given up, which happens on a busy machine.
        for _ in 0..20 {
            let mut stream = TcpStream::connect(service.http_address().unwrap()).unwrap();
            let asked = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n");
            if asked.and_then(|()| stream.read_to_string(&mut text)).is_ok_and(|length| length > 0) {
                break;
            }
            text.clear();
        }
        text
    });
    let figures = page.lines().filter(|line| line.starts_with("turnpike_")).filter_map(|line| line.rsplit_once(' '));
    figures
        .map(|(name, figure)| {
            let scale = if name.contains("_seconds") { 1e6 } else { 1.0 };
            (name.to_owned(), (figure.parse::<f64>().unwrap() * scale) as u64)
        })
        .collect()
}

/// A talk that every status occurs in.
fn talk(length: u32) -> impl Iterator<Item = CompactFrame> {
    let mut random = 7_u32;
    let mut next = move |below: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(random) * u64::from(below)) >> 32) as u32
    };
    (0..length).map(move |number| {
        let (command, source, destination) = (next(4), next(40), next(40));
        let transaction = 100 + number - if number > 20 && next(5) == 0 { next(20) } else { 0 };
        match command {
            0 => CompactFrame::new(Command::Create, transaction, source, 0, 0),
            1 => CompactFrame::new(Command::Issue, transaction, source, 0, 1 + next(1 << 20)),
            2 if source != destination => {
                CompactFrame::new(Command::Transfer, transaction, source, destination, 1 + next(1 << 20))
            }
            _ => CompactFrame::new(Command::Refer, transaction, source, 0, 0),
        }
    })
}

fn config(data: &Path, port: u16) -> Config {
    let mut config = Config {
        data: data.into(),
        listen: format!("{NODE}:{port}").parse().unwrap(),
        http: Some("127.0.0.1:0".parse().unwrap()),
        trusted: vec!["10.77.0.0/24".parse().unwrap()],
        ..Config::default()
    };
    config.ledger.accounts = ACCOUNTS as u64;
    config.ledger.retry_operations = 1 << 16;
    config.blocks.interval = 20;
    config
}

/// A service in its namespace, and the client's end of the cable made ready for what XDP sends there.
fn set_up(config: &Config) -> Option<(InNic, Link, Namespaces)> {
    let namespaces = Namespaces::new().inspect_err(|why| skip::lacking(Ability::Namespaces, why)).ok()?;
    match InNicLedger::load(&InNicConfig { retries: 1, ..InNicConfig::default() }, [1, 2]) {
        Ok(_) => {}
        Err(error @ Error::Verifier { .. }) => panic!("{error}"),
        Err(error) => {
            skip::lacking(Ability::Bpf, error);
            return None;
        }
    }
    let service = start(&namespaces, config).unwrap();
    let receiver = within(&namespaces.client, || attach_pass(&Interface::named(CABLE).unwrap()).unwrap());
    Some((service, receiver, namespaces))
}

fn start(namespaces: &Namespaces, config: &Config) -> Result<InNic, node::Error> {
    within(&namespaces.node, || InNic::start(config))
}

/// Microseconds by which the clock of the memory of retries, which is coarse, may be off: three of its ticks.
const CLOCK: u64 = 3 << 14;

/// More operations than the memory of retries holds come between an operation and its retry, and then the service starts again.
#[test]
fn a_retry_is_not_executed_again_under_load() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&directory.path().join("data"), 7436);
    config.ledger.retry_operations = 8192;
    // Longer than the test takes.
    config.ledger.retry_seconds = 60;
    let begun = Instant::now();
    let Some((service, receiver, namespaces)) = set_up(&config) else { return };
    let socket = within(&namespaces.client, || client(CLIENT, config.listen));
    for (transaction, account) in [(1, 1), (2, 2)] {
        ask(&socket, CompactFrame::new(Command::Create, transaction, account, 0, 0));
    }
    ask(&socket, CompactFrame::new(Command::Issue, 3, 1, 0, 100));
    let transfer = CompactFrame::new(Command::Transfer, 4, 1, 2, 10);
    let first = ask(&socket, transfer);
    assert_eq!((first.status(), first.value()), (Ok(Status::Ok), 90));
    let (mut executed, mut busy, mut reply) = (0, 0, [0; 64]);
    for transaction in 0..10_000 {
        let issue = CompactFrame::new(Command::Issue, 100 + transaction, 2, 0, 1);
        socket.send(issue.as_bytes()).unwrap();
        let length = socket.recv(&mut reply).unwrap();
        match CompactFrame::read_from_bytes(&reply[..length]).unwrap().status() {
            Ok(Status::Ok) => executed += 1,
            status => {
                assert_eq!(status, Ok(Status::Busy));
                busy += 1;
            }
        }
    }
    assert!(executed > 7000 && busy > 1500, "{executed} were executed, {busy} refused");
    let told = figures(&namespaces, &service);
    assert_eq!(told["turnpike_in_nic_full_total"], busy);
    let [remembered, capacity, age] = ["operations", "capacity", "age_seconds"]
        .map(|name| told[&format!("turnpike_retry_{name}{{kind=\"unsigned\"}}")]);
    assert_eq!(remembered, u64::from(executed) + 4, "with two CREATE, the first ISSUE and the transfer");
    assert!(remembered <= capacity && capacity < 8192, "{told:?}");
    assert!(age <= begun.elapsed().as_micros() as u64 + CLOCK, "{told:?}");
    assert_eq!(told["turnpike_retry_operations{kind=\"signed\"}"], 0);
    let balance =
        |socket: &UdpSocket, account| ask(socket, CompactFrame::new(Command::Refer, 5, account, 0, 0)).value();
    assert_eq!(ask(&socket, transfer), first);
    assert_eq!([1, 2].map(|account| balance(&socket, account)), [90, 10 + executed]);

    service.stop();
    drop(receiver);
    let service = start(&namespaces, &config).unwrap();
    let _receiver = within(&namespaces.client, || attach_pass(&Interface::named(CABLE).unwrap()).unwrap());
    assert_eq!(ask(&socket, transfer), first, "after a restart");
    socket.send(CompactFrame::new(Command::Issue, 99_999, 2, 0, 1).as_bytes()).unwrap();
    let length = socket.recv(&mut reply).unwrap();
    let issued = CompactFrame::read_from_bytes(&reply[..length]).unwrap();
    assert_eq!(issued.status(), Ok(Status::Busy), "the memory is as full as it was");
    assert_eq!([1, 2].map(|account| balance(&socket, account)), [90, 10 + executed]);
    service.stop();
}

/// The suite's case, with a load beside the retries and until new operations are taken again.
#[test]
fn a_retry_moves_money_once() {
    let memory = SmallMemory { operations: 8192, time: Duration::from_secs(2) };
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&directory.path().join("data"), 7437);
    (config.ledger.retry_operations, config.ledger.retry_seconds) = (memory.operations as u64, memory.time.as_secs());
    let Some((service, _receiver, namespaces)) = set_up(&config) else { return };
    let target = Target {
        node: service.local_address(),
        trusted: address(CLIENT),
        stranger: None,
        issuer: None,
        deposit: 0,
        small_table: false,
        rate_limited: false,
        block_patience: Duration::from_secs(60),
        retries: Some(memory),
    };
    let outcomes = within(&namespaces.client, || run(&target, "retries: a compact frame", |_| ())).unwrap();
    assert_eq!(Summary::from_outcomes(&outcomes), Summary { passed: 1, ..Summary::default() }, "{outcomes:?}");
    assert!(figures(&namespaces, &service)["turnpike_in_nic_full_total"] > 0, "the program answered BUSY");
    service.stop();
}

#[test]
fn executed_in_the_driver_journalled_restored_and_settled() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&directory.path().join("data"), 7433);
    let Some((service, _receiver, namespaces)) = set_up(&config) else { return };
    let mut model = Model::new();
    let to = service.local_address();
    let (socket, stranger) = within(&namespaces.client, || (client(CLIENT, to), client(STRANGER, to)));

    for request in talk(2000) {
        assert_eq!(ask(&socket, request), model.reply(request));
    }
    // What the host is left with.
    let create = CompactFrame::new(Command::Create, 1, 1, 0, 0);
    assert_eq!(ask(&stranger, create).status(), Ok(Status::NotTrusted));
    assert_eq!(ask(&socket, CompactFrame::new(Command::Transfer, 1, 1, 2, 0)).status(), Ok(Status::ZeroAmount));
    let executed = model.ledger.last_sequence();
    assert_eq!(service.sequences().0, executed);
    check_figures(&figures(&namespaces, &service), &model);
    drop(service);

    // It comes back as it was, and goes on. What was answered before is known.
    let service = start(&namespaces, &config).unwrap();
    assert_eq!(service.sequences(), (executed, executed));
    for request in talk(2000).skip(1990).chain(talk(2100).skip(2000)) {
        assert_eq!(ask(&socket, request), model.reply(request));
    }
    // In order, so that all of it is in blocks.
    service.stop();
    assert_eq!(settled(&config), model.ledger.last_sequence());

    // A node takes the directory over.
    config.io.backend = Backend::Udp;
    config.ledger.freezing = true;
    let node = within(&namespaces.node, || Node::start(&config).unwrap());
    for account in 0..40 {
        let refer = CompactFrame::new(Command::Refer, 5, account, 0, 0);
        assert_eq!(ask(&socket, refer), model.reply(refer));
    }
    // The in-NIC ledger does not take back one with a frozen account, which could pay there.
    let freeze = Operation::freeze(77_000_u32.into(), 1_u32.into());
    let header = BatchHeader::new(9, BatchFormat::Operation, 1, Promise::Durable);
    socket.send(&[header.as_bytes(), freeze.as_bytes()].concat()).unwrap();
    let mut reply = [0; BatchHeader::LENGTH + Operation::LENGTH];
    assert_eq!(socket.recv(&mut reply).unwrap(), reply.len());
    let frozen = Operation::read_from_bytes(&reply[BatchHeader::LENGTH..]).unwrap();
    assert_eq!(frozen.status(), Ok(Status::Ok));
    drop(node);
    let refusal = start(&namespaces, &config).map(|_| ()).unwrap_err().to_string();
    assert!(refusal.contains("1 frozen accounts"), "{refusal}");
}

fn check_figures(figures: &BTreeMap<String, u64>, model: &Model) {
    for (name, count) in &model.counted {
        let figure = figures[name];
        // What is asked again, as no reply came in time, is answered once more.
        assert!(figure == *count || name.contains("answered") && figure > *count, "{name}: {figure}, not {count}");
    }
    let executed = figures.iter().filter(|(name, _)| name.starts_with("turnpike_in_nic_executed_total"));
    assert_eq!(executed.map(|(_, figure)| figure).sum::<u64>(), model.ledger.last_sequence());
    assert!(figures["turnpike_in_nic_passed_total{reason=\"host\"}"] >= 2);
    for reason in ["checksum", "ring_full", "crowded"] {
        assert_eq!(figures[&format!("turnpike_in_nic_passed_total{{reason=\"{reason}\"}}")], 0, "{reason}");
    }
    for name in ["turnpike_in_nic_passed_total{reason=\"locked\"}", "turnpike_in_nic_waited_total"] {
        assert!(figures.contains_key(name), "{name}");
    }
    assert!(figures["turnpike_refused_total{status=\"NOT_TRUSTED\"}"] >= 1);
    assert_eq!(figures["turnpike_in_nic_ring_limit_bytes"], 16 << 20);
    assert!(figures["turnpike_in_nic_ring_bytes"] <= 16 << 20);
    // One after the other: what is not written yet is what came after.
    assert!(figures["turnpike_in_nic_unwritten"] <= model.ledger.last_sequence());
    assert_eq!(figures["turnpike_accounts_limit"], ACCOUNTS as u64);
}

/// Up to which operation all is in blocks.
fn settled(config: &Config) -> u64 {
    let data = node::layout::open(&config.data).unwrap();
    node::layout::open_chain(&data, own::Options::default(), || Err(own::Error::NoChain)).unwrap().tip().end_sequence
}

/// A directory with so long a journal that its beginning was given free: balances come from the chain alone.
fn cut_journal(config: &Config, requests: impl Iterator<Item = CompactFrame>) -> Model {
    let data = node::layout::open(&config.data).unwrap();
    let options = journal::Options { segment_bytes: 64 << 10, batch_bytes: 32 << 10, key: [7; 32] };
    let (mut journal, _) = Journal::open(data.directory().directory("journal").unwrap(), &options).unwrap();
    let (genesis, sealer) = node::sealing::begin(config).unwrap();
    let chain = node::layout::open_chain(&data, own::Options::default(), || Ok(genesis)).unwrap();
    let blocks = builder::Options {
        transactions: 256,
        interval: Duration::ZERO,
        snapshots: Snapshots::every(Duration::ZERO),
        failures: 1024,
        retention: Duration::ZERO,
        replay: Duration::ZERO,
    };
    let mut builder = BlockBuilder::new(chain, sealer, journal.log().clone(), blocks, (), 1).unwrap();
    let (mut model, mut batch) = (Model::new(), Batch::new());
    // Not long ago, so that its end is remembered.
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
    let begun = begun - begun % 100;
    for (now, request) in (begun..).zip(requests) {
        if let (_, Some((operation, value))) = model.execute(request) {
            batch.push(&operation, value);
        }
        if now % 100 == 0 {
            journal.commit(&mut batch, now).unwrap();
            while builder.step(now).unwrap() {}
        }
    }
    journal.commit(&mut batch, begun + 100_000).unwrap();
    builder.finish().unwrap();
    assert!(journal.log().first_sequence() > 1, "the beginning is gone");
    assert!(builder.tip().end_sequence < journal.log().durable(), "the end is in no block");
    model
}

#[test]
fn the_store_comes_from_the_snapshot_and_the_end_of_the_journal() {
    let directory = tempfile::tempdir().unwrap();
    let config = config(&directory.path().join("data"), 7435);
    let mut model = cut_journal(&config, talk(6050));
    let Some((service, _receiver, namespaces)) = set_up(&config) else { return };
    let last = model.ledger.last_sequence();
    assert_eq!(service.sequences(), (last, last));
    let socket = within(&namespaces.client, || client(CLIENT, service.local_address()));
    for account in 0..40 {
        let refer = CompactFrame::new(Command::Refer, 5, account, 0, 0);
        assert_eq!(ask(&socket, refer), model.reply(refer));
    }
    // Retries, and what follows.
    for request in talk(6050).skip(6030).chain(talk(6300).skip(6050)) {
        assert_eq!(ask(&socket, request), model.reply(request));
    }
    service.stop();
    assert_eq!(settled(&config), model.ledger.last_sequence());
}
