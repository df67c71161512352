//! A follower beside its node: the same ledger, refused writes, and nodes that lie.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use client::{Client, Signer};
use common::{account, config, connect, id};
use secp256k1::SecretKey;
use spv::{HeaderChain, SealedHeader};
use turnpike_node::{Config, FollowError, Node, backup::back_up, config::PublicKey};
use wire::{
    AccountId, FeedEntry, FeedFrame, FrameType, HeadersFrame, Operation, Promise, REPLY_BIT, SignedOperation, Status,
};
use zerocopy::FromBytes;

/// Longer than anything takes on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(120);

fn node_config(data: &Path) -> Config {
    // Dialling an address that nobody listens on can take its port as the source port, but only of 127.0.0.1.
    let (listen, http) = ("127.0.0.2:0".parse().unwrap(), "127.0.0.1:0".parse().unwrap());
    let mut config = Config { listen, http: Some(http), ..config(data) };
    config.issuers = vec![PublicKey(*signer(9, [0; 32]).public_key())];
    config
}

fn follower_config(data: &Path, node: SocketAddr) -> Config {
    let mut config = node_config(data);
    config.follow.node = Some(node);
    config
}

fn signer(seed: u8, network: [u8; 32]) -> Signer {
    Signer::new(SecretKey::from_byte_array([seed; 32]).unwrap(), network)
}

fn now() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as u32
}

fn wait_until(mut holds: impl FnMut() -> bool, what: &str) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < TIMEOUT, "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until the follower has all that the node has in blocks and in the journal.
fn wait_for_copy(node: &Node, follower: &Node) {
    let has_all = || {
        let status = follower.state().followed().unwrap();
        assert!(status.stopped().is_none(), "{:?}", status.stopped());
        let is_settled = !node.is_open() && node.behind() == 0;
        is_settled && follower.height() == node.height() && follower.state().durable() == node.state().durable()
    };
    wait_until(has_all, "the follower has what the node has");
}

/// Operations of all kinds: successful ones, failed ones, linked chains, holds and their ends, and retries. Rounds have
/// ids and accounts of their own.
fn load(node: &Node, round: u32) {
    let mut client = connect(node, Promise::Durable);
    let base = round * 1000;
    let (one, two, three) = (account(base + 1), account(base + 2), account(base + 3));
    let mut next = base;
    let mut number = || {
        next += 1;
        id(next)
    };
    let opened = [one, two, three].map(|account| Operation::create(number(), account));
    client.submit(&opened).unwrap();
    client.submit(&[Operation::issue(number(), one, 10_000)]).unwrap();
    for batch in 0..4_u32 {
        let transfers = (0..50_u32).map(|at| {
            let amount = if at % 7 == batch { 1_000_000 } else { 1 + u64::from(at) };
            Operation::transfer(number(), one, two, amount)
        });
        let transfers = Vec::from_iter(transfers);
        client.submit(&transfers).unwrap();
        client.submit(&transfers[..10]).unwrap();
    }
    // A chain that succeeds, and one whose last operation fails.
    for fee in [1, 1_000_000] {
        let chain = [
            Operation::transfer(number(), two, three, 10).linked(),
            Operation::transfer(number(), three, one, 3).linked(),
            Operation::transfer(number(), two, one, fee),
        ];
        client.submit(&chain).unwrap();
    }
    // Holds: one ended by each command, one that stays, one that has expired already, and ends that fail.
    let holds = [0; 4].map(|_| Operation::hold(number(), one, two, 20, 0));
    client.submit(&holds).unwrap();
    let [captured, released, open, _] = &holds;
    client.submit(&[Operation::capture(captured, 15), Operation::release(released)]).unwrap();
    client.submit(&[Operation::capture(captured, 15), Operation::capture(open, 21)]).unwrap();
    let expired = Operation::hold(number(), one, two, 20, now() - 1);
    assert_eq!(client.submit(&[expired]).unwrap()[0].status, Status::HoldExpired);
    let expiry = now() + 1;
    let short = Operation::hold(number(), one, two, 30, expiry);
    if client.submit(&[short]).unwrap()[0].status == Status::Ok {
        let reclaim = Operation::reclaim(&short);
        wait_until(|| client.submit(&[reclaim]).unwrap()[0].status == Status::Ok, "the hold expires");
    }
    // Signed operations, also failed and linked ones.
    let [mut alice, mut bob] = [10 + round as u8, 100 + round as u8].map(|seed| signer(seed, *node.network()));
    let mut issuer = signer(9, *node.network());
    let (from, to) = (alice.account(), bob.account());
    let mut sign = |signer: &mut Signer, operation| {
        let signed = signer.sign(operation, Promise::Durable).unwrap();
        client.execute_signed(&signed).unwrap().status
    };
    for open in [from, to] {
        assert_eq!(sign(&mut issuer, Operation::create(number(), open)), Status::Ok);
    }
    assert_eq!(sign(&mut issuer, Operation::issue(number(), from, 1000)), Status::Ok);
    assert_eq!(sign(&mut alice, Operation::transfer(number(), from, to, 300)), Status::Ok);
    assert_eq!(sign(&mut bob, Operation::transfer(number(), to, from, 301)), Status::InsufficientBalance);
    let legs = [Operation::transfer(number(), from, to, 5), Operation::transfer(number(), from, one, 7)];
    let chain = alice.sign_chain(&legs, Promise::Durable).unwrap();
    let receipts = client.submit_signed(&chain).unwrap();
    assert!(receipts.iter().all(|receipt| receipt.status == Status::Ok));
    let timed = [Operation::transfer(number(), one, two, 1).timed()];
    client.submit(&timed).unwrap();
}

/// An operation of the journal, with its time.
type Entry = (u64, u64, Operation, u64, Option<SignedOperation>);

fn journal(node: &Node) -> Vec<Entry> {
    let mut reader = node.state().log.reader(1).unwrap();
    let mut entries = Vec::new();
    while let Some(batch) = reader.next().unwrap() {
        let all = (batch.first_sequence..).zip(batch.entries());
        entries.extend(all.map(|(sequence, (record, signed))| {
            (sequence, batch.timestamp, record.operation, record.value.get(), signed)
        }));
    }
    entries
}

fn get(node: &Node, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(node.http_address().unwrap()).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    (head[9..12].to_owned(), body.to_owned())
}

fn headers(client: &mut Client, network: [u8; 32]) -> HeaderChain {
    let mut chain = client.open_chain(Some(network)).unwrap();
    client.sync_headers(&mut chain).unwrap();
    chain
}

/// Compares all that clients of both get, and verifies the follower's proofs.
fn assert_same(node: &Node, follower: &Node, accounts: &[AccountId]) {
    assert_eq!(journal(node), journal(follower));
    let (mut original, mut copy) = (connect(node, Promise::Durable), connect(follower, Promise::Durable));
    let network = *node.network();
    let mut chain = headers(&mut copy, network);
    assert_eq!(headers(&mut original, network).encode(), chain.encode());
    for path in ["/accounts?count=100", "/blocks?count=100"] {
        assert_eq!(get(node, path), get(follower, path), "{path}");
    }
    for &account in accounts {
        // Only its key may read a keyed account without a proof.
        if !account.is_keyed() {
            assert_eq!(original.refer(account).unwrap().value, copy.refer(account).unwrap().value);
        }
        for list in ["history?count=100", "holds"] {
            let path = format!("/accounts/{account}/{list}");
            let (status, body) = get(follower, &path);
            assert_eq!((status.as_str(), &body), ("200", &get(node, &path).1), "{path}");
        }
        let balance = copy.prove_index(&mut chain, account).unwrap().entry.unwrap();
        assert_eq!(balance, original.prove_index(&mut chain, account).unwrap().entry.unwrap());
        copy.prove_latest(&mut chain, account).unwrap();
    }
}

fn accounts(node: &Node, round: u32) -> Vec<AccountId> {
    let opened = (1..=3).map(|number| account(round * 1000 + number));
    let keyed = [10 + round as u8, 100 + round as u8].map(|seed| signer(seed, *node.network()).account());
    opened.chain(keyed).collect()
}

#[test]
fn a_follower_has_what_its_node_has_through_restarts_of_both() {
    let [data, copied, late, restored] = [(); 4].map(|()| tempfile::tempdir().unwrap());
    let node = Node::start(&node_config(data.path())).unwrap();
    let listen = node.local_address();
    let mut follower = Node::start(&follower_config(copied.path(), listen)).unwrap();
    assert_eq!(follower.network(), node.network());
    let mut all = Vec::new();
    for round in 0..2 {
        follower = thread::scope(|scope| {
            let loading = scope.spawn(|| load(&node, round));
            wait_until(|| follower.state().durable() > u64::from(round) * 150, "the follower follows");
            // Not when it is level: in the middle.
            drop(follower);
            let restarted = Node::start(&follower_config(copied.path(), listen)).unwrap();
            loading.join().unwrap();
            restarted
        });
        all.extend(accounts(&node, round));
        wait_for_copy(&node, &follower);
        assert_same(&node, &follower, &all);
    }
    // From empty, after the load, and stopped by an orderly stop.
    let second = Node::start(&follower_config(late.path(), listen)).unwrap();
    wait_for_copy(&node, &second);
    assert_same(&node, &second, &all);
    second.stop();
    // From a backup without the key, which a follower does not need.
    back_up(data.path(), restored.path()).unwrap();
    std::fs::remove_file(restored.path().join("chain.key")).unwrap();
    let third = Node::start(&follower_config(restored.path(), listen)).unwrap();
    wait_for_copy(&node, &third);
    assert_same(&node, &third, &all);
    drop(third);

    // The node is away for a while; the follower serves, and continues.
    let network = *node.network();
    node.stop();
    wait_until(|| !follower.state().followed().unwrap().is_up(), "the outage is seen");
    connect(&follower, Promise::Durable).refer(all[0]).unwrap();
    assert_eq!(get(&follower, "/ready").0, "200");
    let node = Node::start(&Config { listen, ..node_config(data.path()) }).unwrap();
    assert_eq!(*node.network(), network);
    load(&node, 2);
    all.extend(accounts(&node, 2));
    wait_for_copy(&node, &follower);
    assert_same(&node, &follower, &all);
    let status = follower.state().followed().unwrap();
    assert_eq!((status.behind(), status.reconnections() > 0), (0, true));

    // Its directory has everything that a node needs, except the key.
    follower.stop();
    std::fs::copy(data.path().join("chain.key"), copied.path().join("chain.key")).unwrap();
    let before = journal(&node);
    let retry = Operation::transfer(id(2005), account(2001), account(2002), 1_000_000);
    let answer = connect(&node, Promise::Durable).submit(&[retry]).unwrap()[0];
    node.stop();
    let promoted = Node::start(&node_config(copied.path())).unwrap();
    assert_eq!(journal(&promoted), before);
    assert_eq!(connect(&promoted, Promise::Durable).submit(&[retry]).unwrap()[0], answer);
    assert_eq!(journal(&promoted), before, "it is a retry there, too");
    load(&promoted, 3);
}

#[test]
fn a_follower_refuses_writes_and_names_its_node() {
    let [data, copied] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let node = Node::start(&node_config(data.path())).unwrap();
    let listen = node.local_address();
    load(&node, 0);
    let follower = Node::start(&follower_config(copied.path(), listen)).unwrap();
    wait_for_copy(&node, &follower);
    let mut client = connect(&follower, Promise::Durable);
    let value = 0x7f00_0002_0000 | u64::from(listen.port());
    let balance = client.refer(account(1)).unwrap().value;
    let receipts = client.submit(&[
        Operation::transfer(id(500), account(1), account(2), 1),
        Operation::refer(id(501), account(1)),
        Operation::refer(id(502), account(77)),
    ]);
    let results = Vec::from_iter(receipts.unwrap().iter().map(|receipt| (receipt.status, receipt.value)));
    assert_eq!(results, [(Status::Follower, value), (Status::Ok, balance), (Status::SourceUnknown, 0)]);
    let mut alice = signer(10, *node.network());
    let signed = alice.sign(Operation::transfer(id(503), alice.account(), account(1), 1), Promise::Durable).unwrap();
    let receipt = client.execute_signed(&signed).unwrap();
    assert_eq!((receipt.status, receipt.value), (Status::Follower, value));
    assert!(client.info().unwrap().follows() && !connect(&node, Promise::Durable).info().unwrap().follows());
    assert!(get(&follower, "/status").1.contains(&listen.to_string()));
    let metrics = follower.metrics();
    for metric in ["follow_up 1", "follow_behind_operations 0", "follow_diverged 0", "follow_stopped 0"] {
        assert!(metrics.contains(&format!("turnpike_{metric}\n")), "{metric}: {metrics}");
    }
    assert!(metrics.contains("turnpike_follow_behind_seconds ") && !node.metrics().contains("turnpike_follow_"));
}

/// Whether a lie fits a frame; it then changes the frame.
type Lie = fn(&mut [u8]) -> bool;

/// Passes connections on to a node, and changes the first frame of the node that the lie fits.
fn lying_proxy(node: SocketAddr, lie: Lie) -> (SocketAddr, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, has_lied) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
    let lied = has_lied.clone();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(mut client), Ok(mut server)) = (client, TcpStream::connect(node)) else { return };
            let (mut requests, mut to_node) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let has_lied = lied.clone();
            thread::spawn(move || {
                // Either side may leave.
                let _ = std::io::copy(&mut requests, &mut to_node);
                let _ = to_node.shutdown(Shutdown::Both);
            });
            thread::spawn(move || {
                let mut prefix = [0; 4];
                while server.read_exact(&mut prefix).is_ok() {
                    let mut frame = vec![0; u32::from_be_bytes(prefix) as usize];
                    if server.read_exact(&mut frame).is_err() {
                        break;
                    }
                    if !has_lied.load(SeqCst) && lie(&mut frame) {
                        has_lied.store(true, SeqCst);
                    }
                    if client.write_all(&[&prefix[..], &frame].concat()).is_err() {
                        break;
                    }
                }
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    (address, has_lied)
}

/// Changes an entry of a feed that has this status.
fn change_entry(frame: &mut [u8], status: Status, change: impl Fn(&mut FeedEntry)) -> bool {
    if frame[3] != FrameType::Feed as u8 | REPLY_BIT {
        return false;
    }
    let (fixed, rest) = FeedFrame::mut_from_prefix(frame).unwrap();
    let (entries, _) = <[FeedEntry]>::mut_from_prefix_with_elems(rest, fixed.count.get().into()).unwrap();
    // Not among the first, so that the follower has published something before.
    let lied = entries.iter_mut().find(|entry| entry.sequence.get() > 60 && entry.operation.status() == Ok(status));
    lied.map(change).is_some()
}

fn change_header(frame: &mut [u8], change: impl Fn(&mut SealedHeader)) -> bool {
    if frame[3] != FrameType::Headers as u8 | REPLY_BIT {
        return false;
    }
    let (_, headers) = frame.split_at_mut(HeadersFrame::LENGTH);
    let (headers, _) = headers.as_chunks_mut::<{ size_of::<SealedHeader>() }>();
    let lied = headers.iter_mut().map(|header| SealedHeader::mut_from_bytes(header).unwrap());
    lied.filter(|sealed| sealed.header.height.get() > 1).last().map(change).is_some()
}

#[test]
fn lies_are_found_and_nothing_of_them_is_served() {
    let lies: [(&str, Lie); 8] = [
        ("amount", |frame| change_entry(frame, Status::Ok, |entry| entry.operation.amount.set(9))),
        ("value", |frame| change_entry(frame, Status::Ok, |entry| entry.value.set(entry.value.get() ^ 1))),
        ("success", |frame| {
            change_entry(frame, Status::InsufficientBalance, |entry| entry.operation.status.set(Status::Ok.code()))
        }),
        ("failure", |frame| {
            let code = Status::InsufficientBalance.code();
            change_entry(frame, Status::Ok, |entry| entry.operation.status.set(code))
        }),
        ("failed value", |frame| {
            change_entry(frame, Status::InsufficientBalance, |entry| entry.value.set(entry.value.get() + 1))
        }),
        ("full table", |frame| {
            let code = Status::TableFull.code();
            change_entry(frame, Status::InsufficientBalance, |entry| entry.operation.status.set(code))
        }),
        ("header", |frame| change_header(frame, |sealed| sealed.header.index_root[7] ^= 1)),
        ("seal", |frame| change_header(frame, |sealed| sealed.seal.0[7] ^= 1)),
    ];
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&node_config(data.path())).unwrap();
    load(&node, 0);
    wait_until(|| !node.is_open() && node.behind() == 0, "all operations are in blocks");
    let genuine = headers(&mut connect(&node, Promise::Durable), *node.network());
    for (name, lie) in lies {
        let copied = tempfile::tempdir().unwrap();
        let (proxy, has_lied) = lying_proxy(node.local_address(), lie);
        let follower = Node::start(&follower_config(copied.path(), proxy)).unwrap();
        let status = follower.state().followed().unwrap().clone();
        wait_until(|| status.has_diverged(), name);
        assert!(has_lied.load(SeqCst));
        let error = status.stopped().unwrap();
        assert!(matches!(error, FollowError::Contradiction { .. } | FollowError::Invalid { .. }), "{name}: {error}");
        // Nothing is served, and /status says why.
        let mut client = connect(&follower, Promise::Durable);
        assert_eq!(client.refer(account(1)).unwrap_err().status(), Some(Status::Diverged), "{name}");
        let refused = client.submit(&[Operation::transfer(id(900), account(1), account(2), 1)]).unwrap();
        assert_eq!(refused[0].status, Status::Diverged);
        assert_eq!(client.open_chain(Some(*node.network())).unwrap_err().status(), Some(Status::Diverged));
        for path in ["/ready", "/health", "/accounts", "/blocks"] {
            assert_eq!(get(&follower, path).0, "503", "{name}: {path}");
        }
        assert!(follower.metrics().contains("turnpike_follow_diverged 1\n"));
        drop(follower);
        // The stored blocks are genuine: with an honest connection it continues.
        let follower = Node::start(&follower_config(copied.path(), node.local_address())).unwrap();
        wait_for_copy(&node, &follower);
        assert_same(&node, &follower, &accounts(&node, 0));
        let continued = headers(&mut connect(&follower, Promise::Durable), *node.network());
        assert!(continued.all().starts_with(genuine.all()));
    }
}

#[test]
fn what_cannot_be_followed_is_refused_with_a_remedy() {
    let [data, other, copied, older, empty] = [(); 5].map(|()| tempfile::tempdir().unwrap());
    let node = Node::start(&node_config(data.path())).unwrap();
    load(&node, 0);
    let listen = node.local_address();
    let mut pinned = follower_config(copied.path(), listen);
    pinned.follow.network = "00".repeat(32);
    let error = Node::start(&pinned).unwrap_err().to_string();
    assert!(error.contains("network"), "{error}");
    pinned.follow.network = node.network().iter().map(|byte| format!("{byte:02x}")).collect();
    let follower = Node::start(&pinned).unwrap();
    wait_for_copy(&node, &follower);
    follower.stop();
    pinned.follow.network = "11".repeat(32);
    let error = Node::start(&pinned).unwrap_err().to_string();
    assert!(error.contains("follow.network"), "{error}");

    // Another network at the node's address: its headers do not follow those here.
    node.stop();
    let stranger = Node::start(&Config { listen, ..node_config(other.path()) }).unwrap();
    load(&stranger, 0);
    let follower = Node::start(&follower_config(copied.path(), listen)).unwrap();
    let status = follower.state().followed().unwrap().clone();
    wait_until(|| status.stopped().is_some(), "the other network is seen");
    let error = status.stopped().unwrap();
    assert!(matches!(error, FollowError::OtherNode { .. }), "{error}");
    // It serves its blocks.
    assert!(connect(&follower, Promise::Durable).refer(account(1)).unwrap().value > 0);
    assert_eq!(get(&follower, "/ready").0, "503");
    stranger.stop();
    drop(follower);

    // A node that was set back ends before the follower.
    let node = Node::start(&Config { listen, ..node_config(data.path()) }).unwrap();
    back_up(data.path(), older.path()).unwrap();
    load(&node, 1);
    let follower = Node::start(&follower_config(copied.path(), listen)).unwrap();
    wait_for_copy(&node, &follower);
    node.stop();
    let set_back = Node::start(&Config { listen, ..node_config(older.path()) }).unwrap();
    let status = follower.state().followed().unwrap().clone();
    wait_until(|| status.stopped().is_some(), "the older ledger is seen");
    let error = status.stopped().unwrap();
    assert!(matches!(error, FollowError::Ahead { .. }), "{error}");
    assert_eq!(connect(&follower, Promise::Durable).refer(account(1001)).unwrap().status, Status::Ok);
    set_back.stop();
    drop(follower);

    let mut wrong = follower_config(empty.path(), listen);
    wrong.follow.network = "x".into();
    assert!(wrong.check().unwrap_err().to_string().contains("follow.network"));
}
