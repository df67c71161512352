//! The suite against a node behind the simulated NIC, on loopback and on a TAP device: every datagram passes the RTL.
//!
//! Skipped, with a word why, where `make rtl` has not built it.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{ip, within};
use node::config::Backend;
use node::{Config, Node};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, sendto, socket, sockopt};
use skip::Ability;
use turnpike_conformance::{SmallMemory, Summary, Target, run};
use wire::{
    AccountId, BatchEntries, BatchFormat, BatchHeader, Chain, Command, CompactEntry, CompactFrame, Promise,
    ProofRequest, Query, Reply, Status,
};
use zerocopy::{FromBytes, IntoBytes};

const ISSUER: [u8; 32] = {
    let mut key = [0; 32];
    key[31] = 1;
    key
};
const ISSUER_KEY: &str = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

/// The library, or none with a word why.
fn library() -> Option<PathBuf> {
    built("turnpike_nic", std::env::var_os("TURNPIKE_RTL").map(PathBuf::from))
}

/// A NIC by its name, or the library that is asked for instead.
fn built(name: &str, asked: Option<PathBuf>) -> Option<PathBuf> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/rtl"));
    let library = asked.unwrap_or_else(|| folder.join(format!("lib{name}.so")));
    if !library.exists() {
        let why = format_args!("there is no {} (`make rtl NAMES={name}` builds it)", library.display());
        skip::lacking(Ability::RtlLibrary, why);
        return None;
    }
    Some(library)
}

fn config(library: PathBuf, data: &Path, listen: &str, trusted: &str, promise: Promise) -> Config {
    let mut config = Config {
        data: data.join("data"),
        listen: listen.parse().unwrap(),
        http: None,
        trusted: vec![trusted.parse().unwrap()],
        issuers: vec![ISSUER_KEY.parse().unwrap()],
        promise,
        ..Config::default()
    };
    (config.ledger.accounts, config.ledger.freezing) = (4096, true);
    config.blocks.interval = 50;
    // With a rate the node answers proofs.
    config.limits.rate = 0;
    config.io.backend = Backend::Rtl;
    config.io.rtl = library;
    config
}

/// What the cases are told of a node.
fn target(node: &Node, trusted: &str, stranger: &str) -> Target {
    Target {
        node: node.local_address(),
        trusted: trusted.parse().unwrap(),
        stranger: Some(stranger.parse().unwrap()),
        issuer: Some(ISSUER),
        deposit: 100,
        small_table: true,
        // A limit lets bursts of 4,096 pass, for which a simulation on a busy machine is too slow: the node's own test asks for that.
        rate_limited: false,
        block_patience: Duration::from_secs(60),
        retries: None,
    }
}

/// Runs the cases and checks that the NIC had its part in them.
fn conforms(node: &Node, trusted: &str, stranger: &str, filter: &str) {
    let target = target(node, trusted, stranger);
    let outcomes = run(&target, filter, |outcome| println!("{outcome}")).unwrap();
    let summary = Summary::from_outcomes(&outcomes);
    let rtl = node.state().rtl().unwrap();
    println!("{:?}", rtl.all());
    // The case of the rate limit, and those that fill the memory of retries.
    assert!(summary.failed == 0 && summary.skipped <= 4, "{summary}");
    assert!(rtl.executed.get() > 100, "the NIC executed the operations of compact frames: {}", rtl.executed.get());
    assert_eq!((rtl.different.get(), rtl.lost.get()), (0, 0), "the node's ledger agrees");
}

fn conforms_on_loopback(promise: Promise, rate: u32, filters: &[&str]) {
    let Some(library) = library() else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(library, directory.path(), "127.0.0.1:0", "127.0.0.1/32", promise);
    config.limits.rate = rate;
    let node = Node::start(&config).unwrap();
    asks_in_batches(&node, promise);
    for filter in filters {
        conforms(&node, "127.0.0.1", "127.0.0.2", filter);
    }
    if rate == 0 {
        asks_again(&node);
    }
    node.stop();
}

/// Batches of two clients, with compact frames between them: the NIC executes them all, and the node says the same.
fn asks_in_batches(node: &Node, promise: Promise) {
    const ENTRIES: u32 = 60;
    const BATCHES: u32 = 6;
    let rtl = node.state().rtl().unwrap();
    let clients = [81, 82].map(|account: u32| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(node.local_address()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        (socket, account)
    });
    let ask = |socket: &UdpSocket, id: u32, entries: &[CompactFrame]| {
        let header = BatchHeader::new(id, BatchFormat::Compact, entries.len() as u16, Promise::Default);
        let entries: Vec<CompactEntry> = entries.iter().map(|frame| (*frame).into()).collect();
        socket.send(&[header.as_bytes(), entries.as_bytes()].concat()).unwrap();
    };
    // Their replies, by the batch's id; compact frames are counted.
    let hear = |socket: &UdpSocket, count: u32| {
        let mut batches = BTreeMap::new();
        for _ in 0..count {
            let mut reply = vec![0; 2048];
            let length = socket.recv(&mut reply).unwrap();
            let Ok(Reply::Batch(batch)) = Reply::parse(&reply[..length]) else { continue };
            assert_eq!((batch.status, batch.header.promise()), (Status::Ok, Ok(promise)));
            let BatchEntries::Compact(entries) = batch.entries else { panic!("another format") };
            let results: Vec<_> =
                entries.iter().map(|entry| (entry.frame.status().unwrap(), entry.frame.value())).collect();
            batches.insert(batch.header.header.id.get(), results);
        }
        batches
    };
    for (socket, account) in &clients {
        let create = CompactFrame::new(Command::Create, 1, *account, 0, 0);
        let issue = CompactFrame::new(Command::Issue, 2, *account, 0, 10_000);
        // What its form refuses gets no further than the NIC.
        let nothing = CompactFrame::new(Command::Issue, 3, *account, 0, 0);
        ask(socket, 7, &[create, issue, nothing]);
        let expected = vec![(Status::Ok, 0), (Status::Ok, 10_000), (Status::ZeroAmount, 0)];
        assert_eq!(hear(socket, 1)[&7], expected);
    }
    for batch in 0..BATCHES {
        for (socket, account) in &clients {
            let transfer = |id| CompactFrame::new(Command::Transfer, id, *account, 163 - *account, 1);
            let entries: Vec<_> = (0..ENTRIES).map(|at| transfer(1000 * (batch + 1) + at)).collect();
            ask(socket, batch, &entries);
            socket.send(CompactFrame::new(Command::Refer, 9, *account, 0, 0).as_bytes()).unwrap();
        }
    }
    for (socket, _) in &clients {
        let batches = hear(socket, 2 * BATCHES);
        assert_eq!(batches.len(), BATCHES as usize);
        assert!(batches.values().flatten().all(|(status, _)| *status == Status::Ok), "a transfer fails");
    }
    // Each has sent and been sent the same. A retry changes nothing, and gets what the first one got.
    for (socket, account) in &clients {
        let again = CompactFrame::new(Command::Issue, 2, *account, 0, 10_000);
        ask(socket, 8, &[CompactFrame::new(Command::Refer, 5, *account, 0, 0), again]);
        assert_eq!(hear(socket, 1)[&8], vec![(Status::Ok, 10_000), (Status::Ok, 10_000)]);
    }
    println!("{:?}", rtl.all());
    assert_eq!(rtl.executed.get(), u64::from(2 * (3 + BATCHES * (ENTRIES + 1) + 2)), "the NIC executed all of them");
    assert_eq!((rtl.different.get(), rtl.lost.get(), rtl.passed.get()), (0, 0, 0), "the node's ledger agrees");
}

/// Asks for a proof until there is one, and then again and again: the NIC answers what the node did.
fn asks_again(node: &Node) {
    const AGAIN: u32 = 8;
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(node.local_address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let ask = |request: &[u8]| {
        let mut reply = vec![0; 2048];
        socket.send(request).unwrap();
        let length = socket.recv(&mut reply).unwrap();
        reply.truncate(length);
        assert_eq!(reply[4..8], request[4..8], "the reply to another request");
        reply
    };
    ask(CompactFrame::new(Command::Create, 1, 77, 0, 0).as_bytes());
    let prove = |number: u32| {
        let request = ProofRequest::new(number, Chain::Own, Query::Latest, AccountId::from(77_u32).into());
        let mut request = request.as_bytes().to_vec();
        request.resize(1200, 0);
        ask(&request)
    };
    let is_found = |reply: &[u8]| ProofRequest::ref_from_prefix(reply).unwrap().0.status.get() == 0;
    let mut number = 100;
    let found = loop {
        let reply = prove(number);
        if is_found(&reply) {
            break reply;
        }
        number += 1;
        assert!(number < 700, "the operation gets into no block");
        std::thread::sleep(Duration::from_millis(100));
    };
    for again in 1..=AGAIN {
        assert_eq!(prove(number + again)[8..], found[8..], "the node's answer, byte for byte");
    }
    let rtl = node.state().rtl().unwrap();
    println!("{:?}", rtl.all());
    assert_eq!(rtl.proofs.get(), u64::from(AGAIN), "the NIC answered all but the first");
}

#[test]
fn the_node_behind_the_nic_conforms() {
    conforms_on_loopback(Promise::Durable, 2000, &[""]);
}

#[test]
fn the_nic_answers_proofs_and_at_accepted_operations_by_itself() {
    conforms_on_loopback(Promise::Accepted, 0, &["compact", "proof"]);
}

/// The node's memory is full before the NIC's window is: the NIC hands over, and what it executed is known to the node.
#[test]
fn the_node_behind_the_nic_remembers_little() {
    let Some(executed) = remembers_little(Promise::Durable) else { return };
    assert!(executed > 2048, "the NIC executed: {executed}");
}

/// A NIC that answers at once does not execute what the node may have no room for.
#[test]
fn a_nic_that_remembers_more_than_the_node_leaves_all_to_it_at_accepted() {
    let Some(executed) = remembers_little(Promise::Accepted) else { return };
    assert_eq!(executed, 0);
}

/// The cases of retries with a node whose memory is small, and how many operations the NIC executed.
fn remembers_little(promise: Promise) -> Option<u64> {
    let library = library()?;
    // A simulation takes its time to fill it.
    let memory = SmallMemory { operations: 4096, time: Duration::from_secs(10) };
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(library, directory.path(), "127.0.0.1:0", "127.0.0.1/32", promise);
    (config.ledger.retry_operations, config.ledger.retry_seconds) = (memory.operations as u64, memory.time.as_secs());
    let node = Node::start(&config).unwrap();
    let target = Target { retries: Some(memory), ..target(&node, "127.0.0.1", "127.0.0.2") };
    let outcomes = run(&target, "retries", |outcome| println!("{outcome}")).unwrap();
    assert_eq!(Summary::from_outcomes(&outcomes), Summary { passed: 3, ..Summary::default() });
    let rtl = node.state().rtl().unwrap();
    println!("{:?}", rtl.all());
    let executed = rtl.executed.get();
    node.stop();
    Some(executed)
}

/// What verify frames ask for in packets of up to 1,792 bytes is answered by the NIC's engines, all else by the node.
#[test]
fn the_nic_verifies() {
    let Some(library) = built("turnpike_nic_verify", None) else { return };
    let directory = tempfile::tempdir().unwrap();
    let config = config(library, directory.path(), "127.0.0.1:0", "127.0.0.1/32", Promise::Accepted);
    let node = Node::start(&config).unwrap();
    let target = target(&node, "127.0.0.1", "127.0.0.2");
    let outcomes = run(&target, "verify", |outcome| println!("{outcome}")).unwrap();
    let rtl = node.state().rtl().unwrap();
    println!("{:?}", rtl.all());
    let summary = Summary::from_outcomes(&outcomes);
    assert!(summary.failed == 0 && summary.skipped == 0, "{summary}");
    // The cases of single ECDSA and BIP340 signatures; those of trees; of headers all but the one with other parameters.
    let answered = [&rtl.signatures, &rtl.roots, &rtl.headers].map(|counter| counter.get());
    assert!(answered[0] >= 15 && answered[1] >= 4 && answered[2] >= 9, "the engines answered {answered:?}");
    assert_eq!(rtl.lost.get(), 0);
    node.stop();
}

/// A namespace with a TAP device, which go when this is dropped.
struct Namespace(String);

impl Namespace {
    fn new() -> Result<Self, String> {
        let namespace = Self(format!("rtl-{}", std::process::id()));
        let name = &namespace.0;
        ip(&format!("netns add {name}"))?;
        ip(&format!("-n {name} tuntap add name {TAP} mode tap"))?;
        ip(&format!("-n {name} address add {LINUX}/24 dev {TAP}"))?;
        ip(&format!("-n {name} address add {STRANGER}/24 dev {TAP}"))?;
        // The most that Linux allows: datagrams of up to 65,493 bytes fit.
        ip(&format!("-n {name} link set {TAP} up mtu 65521"))?;
        Ok(namespace)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&format!("netns delete {}", self.0));
    }
}

const TAP: &str = "tp0";
const LINUX: &str = "10.79.1.1";
const STRANGER: &str = "10.79.1.3";
const NODE: &str = "10.79.1.2";

/// Asks the node for an echo of so many bytes, as `ping` does. Gives what came back.
fn ping(length: usize) -> usize {
    let socket = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).unwrap();
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
    let mut echo = [[8, 0, 0, 0, 0, 7].as_slice(), &[0, 1], &vec![0x5a; length]].concat();
    let words = echo.chunks(2).map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low)));
    let sum = words.sum::<u32>();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    echo[2..4].copy_from_slice(&checksum.to_be_bytes());
    let node = SocketAddr::new(NODE.parse().unwrap(), 0);
    sendto(&socket, &echo, SendFlags::empty(), &node).unwrap();
    let mut reply = [0; 2048];
    loop {
        let (received, _) = recv(&socket, &mut reply, RecvFlags::empty()).expect("Linux hears no echo");
        // Behind the header of IPv4; the answer to it is of type 0.
        let reply = &reply[20..received];
        if (reply[0], &reply[4..8]) == (0, &echo[4..8]) {
            assert_eq!(reply[8..], echo[8..]);
            return reply.len() - 8;
        }
    }
}

#[test]
fn linux_pings_and_talks_to_the_node_through_the_nic() {
    let Some(library) = library() else { return };
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(why) => return skip::lacking(Ability::Namespaces, why),
    };
    let directory = tempfile::tempdir().unwrap();
    let trusted = format!("{LINUX}/32");
    let mut config = config(library, directory.path(), &format!("{NODE}:7400"), &trusted, Promise::Durable);
    config.io.interface = TAP.to_owned();
    let node = within(&namespace.0, || Node::start(&config).unwrap());
    within(&namespace.0, || {
        for length in [0, 56, 1400] {
            assert_eq!(ping(length), length);
        }
        // Both questions, for the hardware address and for echoes.
        let answered = node.state().rtl().unwrap().answered.get();
        assert!(answered >= 4, "{answered} packets below UDP were answered");
    });
    within(&namespace.0, || {
        for filter in ["compact", "batch"] {
            conforms(&node, LINUX, STRANGER, filter);
        }
    });
    node.stop();
}
