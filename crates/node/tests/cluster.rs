//! Four nodes that order together, in one process.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream, UdpSocket},
    num::NonZeroU64,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use client::{Client, Options, Signer};
use common::{account, id};
use order::{Member, Membership};
use secp256k1::SecretKey;
use spv::finality::MemberChange;
use turnpike_node::{
    Config, InNic, Node,
    config::{Cluster, PublicKey},
    state_sync::{FetchError, Present, Source, fetch},
};
use wire::{AccountId, CompactFrame, Operation, Promise, Reply, SignedOperation, Status};
use zerocopy::{FromBytes as _, IntoBytes as _};

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

fn configs(data: &Path, change: impl Fn(&mut Config)) -> Vec<Config> {
    let addresses = order::free_addresses(4).unwrap();
    let sections = Cluster::generate(&addresses, 1_700_000_000).unwrap().into_iter().enumerate();
    let config = sections.map(|(number, (secret, section))| {
        let folder = data.join(number.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        let key = folder.join("replica.key");
        storage::key_file::create(&key, &secret).unwrap();
        let cluster = Cluster { key, patience: 1000, ..section };
        let mut config = Config { cluster, ..common::config(&folder.join("data")) };
        // Whoever asks again on a slow machine is to get the first answer.
        config.ledger.retry_seconds = 600;
        change(&mut config);
        config
    });
    config.collect()
}

fn connect(node: &Node) -> Client {
    let options = Options { promise: Promise::Final, give_up_after: PATIENCE, ..Options::default() };
    Client::connect(node.local_address(), &options).unwrap()
}

fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(10));
    }
}

/// Waits until all have the same blocks, and gives their height.
fn settle(nodes: &[Node]) -> u64 {
    let tip = |node: &Node| {
        let info = connect(node).info().unwrap();
        (info.tip_height.get(), info.tip_hash)
    };
    let mut height = 0;
    wait("replicas come to the same tip", || {
        let tips = Vec::from_iter(nodes.iter().map(tip));
        height = tips[0].0;
        tips.iter().all(|tip| *tip == tips[0])
    });
    height
}

#[test]
fn what_clients_send_to_any_replica_is_executed_by_all() {
    let data = tempfile::tempdir().unwrap();
    let secret = |byte| SecretKey::from_byte_array([byte; 32]).unwrap();
    let issuer = PublicKey(secp256k1::PublicKey::from_secret_key_global(&secret(9)).serialize());
    let configs = configs(data.path(), |config| config.issuers = vec![issuer]);
    let nodes = Vec::from_iter(configs.iter().map(|config| Node::start(config).unwrap()));
    assert!(nodes.iter().all(|node| node.network() == nodes[0].network()));

    let mut first = connect(&nodes[0]);
    for number in 1..=4 {
        let receipt = first.create(account(number)).unwrap();
        assert_eq!((receipt.status, receipt.promise), (Status::Ok, Promise::Final));
        first.issue(account(number), 1000).unwrap();
    }
    // Each replica answers its own clients, with what all have executed.
    for (number, node) in (1..).zip(&nodes) {
        let mut client = connect(node);
        let transfer = Operation::transfer(id(number), account(number), account(number % 4 + 1), 100);
        let receipt = client.execute(&transfer).unwrap();
        assert_eq!((receipt.status, receipt.promise), (Status::Ok, Promise::Final));
        // A retry gets the first answer, and from another replica, too.
        assert_eq!(client.execute(&transfer).unwrap(), receipt);
        assert_eq!(first.execute(&transfer).unwrap(), receipt);
        let batch = Vec::from_iter((0..50).map(|at| {
            let transaction = id(number * 1000 + at);
            match at {
                0..48 => Operation::transfer(transaction, account(number), account(number % 4 + 1), 1),
                48 => Operation::transfer(transaction, account(number), account(number), 1),
                _ => Operation::refer(transaction, account(number)),
            }
        }));
        let receipts = client.submit(&batch).unwrap();
        assert!(receipts[..48].iter().all(|receipt| receipt.status == Status::Ok), "{receipts:?}");
        assert_eq!(receipts[48].status, Status::SelfTransfer);
        assert_eq!((receipts[49].status, receipts[49].value), (Status::Ok, receipts[47].value));
    }
    // Signed, in full frames, by a follower or a leader.
    let mut issuer = Signer::new(secret(9), *nodes[1].network());
    let keyed = issuer.account();
    let mut client = connect(&nodes[1]);
    for operation in [Operation::create(id(5000), keyed), Operation::issue(id(5001), keyed, 70)] {
        let signed = issuer.sign(operation, Promise::Final).unwrap();
        let receipt = client.execute_signed(&signed).unwrap();
        assert_eq!((receipt.status, receipt.promise), (Status::Ok, Promise::Final));
        assert_eq!(client.execute_signed(&signed).unwrap(), receipt);
    }
    let forged = Signer::new(secret(8), *nodes[1].network()).sign(Operation::issue(id(5002), keyed, 1), Promise::Final);
    assert_eq!(client.execute_signed(&forged.unwrap()).unwrap().status, Status::NotIssuer);

    let height = settle(&nodes);
    let refer = issuer.sign(Operation::refer(id(5003), keyed), Promise::Final).unwrap();
    assert!(nodes.iter().all(|node| connect(node).execute_signed(&refer).unwrap().value == 70));
    let balances = |node: &Node| -> Vec<u64> {
        (1..=4).map(|number| connect(node).refer(account(number)).unwrap().value).collect()
    };
    let expected = balances(&nodes[0]);
    assert_eq!(expected, [1000; 4]);
    assert!(nodes.iter().all(|node| balances(node) == expected));

    // Where nothing is sent, nothing is ordered.
    let since = Instant::now();
    let mut idle = (height, Instant::now());
    wait("idle replicas order nothing", || {
        let now = settle(&nodes);
        if now != idle.0 {
            idle = (now, Instant::now());
        }
        idle.1.elapsed() > Duration::from_millis(2500)
    });
    assert!(idle.0 <= height + 2, "{height} to {} in {:?}", idle.0, since.elapsed());

    // A stopped replica restarts with its data, and fetches the blocks that it missed.
    let mut nodes = nodes;
    nodes.pop().unwrap().stop();
    let mut first = connect(&nodes[0]);
    for _ in 0..10 {
        first.transfer(account(1), account(2), 1).unwrap();
    }
    nodes.push(Node::start(&configs[3]).unwrap());
    assert!(settle(&nodes) > height);
    assert_eq!(balances(&nodes[3]), [990, 1010, 1000, 1000]);
    nodes.into_iter().for_each(Node::stop);
}

/// The block that all replicas reach once they are idle.
fn settle_idle(nodes: &[Node]) -> u64 {
    let mut idle = (settle(nodes), Instant::now());
    wait("idle replicas order nothing", || {
        let height = settle(nodes);
        if height != idle.0 {
            idle = (height, Instant::now());
        }
        idle.1.elapsed() > Duration::from_millis(2500)
    });
    idle.0
}

/// Nodes that trust no sender, and the signer of their issuer.
fn for_strangers(data: &Path, account_rate: u32) -> (Vec<Node>, Signer) {
    let secret = SecretKey::from_byte_array([9; 32]).unwrap();
    let issuer = PublicKey(secp256k1::PublicKey::from_secret_key_global(&secret).serialize());
    let configs = configs(data, |config| {
        config.issuers = vec![issuer];
        config.trusted.clear();
        config.cluster.account_rate = account_rate;
    });
    let nodes = Vec::from_iter(configs.iter().map(|config| Node::start(config).unwrap()));
    let issuer = Signer::new(secret, *nodes[0].network());
    (nodes, issuer)
}

/// Sends a batch of signed operations until it is answered, and gives statuses and values.
fn submit_signed(node: &Node, operations: &[SignedOperation]) -> Vec<(Status, u64)> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    // "TP", version, type, id, count, format, promise, status, reserved.
    let mut frame = vec![b'T', b'P', 1, 2, 0, 0, 0, 7, 0, operations.len() as u8, 2, Promise::Final as u8, 0, 0, 0, 0];
    frame.extend(operations.as_bytes());
    let (mut reply, since) = (vec![0; 65_535], Instant::now());
    loop {
        assert!(since.elapsed() < PATIENCE, "no answer");
        socket.send_to(&frame, node.local_address()).unwrap();
        let Ok(length) = socket.recv(&mut reply) else { continue };
        // The batch as a whole may be refused for now.
        if reply[12..14] == [0, 0] && length == frame.len() {
            let entries = <[SignedOperation]>::ref_from_bytes(&reply[16..length]).unwrap();
            let result = |entry: &SignedOperation| (entry.operation.status().unwrap(), entry.operation.amount());
            return entries.iter().map(result).collect();
        }
    }
}

/// Opens the account of a signer with an amount, through a node.
fn open(node: &Node, issuer: &mut Signer, owner: &Signer, number: u32) {
    let operations =
        [Operation::create(id(number), owner.account()), Operation::issue(id(number + 1), owner.account(), 1000)];
    for operation in operations {
        let signed = issuer.sign(operation, Promise::Final).unwrap();
        assert_eq!(connect(node).execute_signed(&signed).unwrap().status, Status::Ok);
    }
}

#[test]
fn what_leaves_no_trace_is_answered_and_not_ordered() {
    let data = tempfile::tempdir().unwrap();
    let (nodes, mut issuer) = for_strangers(data.path(), 0);
    let network = *nodes[0].network();
    let [mut owner, mut stranger] =
        [5, 6].map(|byte| Signer::new(SecretKey::from_byte_array([byte; 32]).unwrap(), network));
    open(&nodes[0], &mut issuer, &owner, 1);
    open(&nodes[0], &mut issuer, &Signer::new(SecretKey::from_byte_array([4; 32]).unwrap(), network), 3);
    let friend = Signer::new(SecretKey::from_byte_array([4; 32]).unwrap(), network).account();
    let paid = owner.sign(Operation::transfer(id(10), owner.account(), friend, 7), Promise::Final).unwrap();
    let first = connect(&nodes[1]).execute_signed(&paid).unwrap();
    assert_eq!((first.status, first.value), (Status::Ok, 993));

    let before = settle_idle(&nodes);
    let own = stranger.account();
    let unknown = [
        (Operation::transfer(id(20), own, friend, 1), Status::SourceUnknown),
        (Operation::create_for(id(21), AccountId::keyed(&[8; 32]), own, 1000), Status::DestinationUnknown),
    ];
    for node in &nodes {
        let mut client = connect(node);
        for (operation, status) in unknown {
            let signed = stranger.sign(operation, Promise::Final).unwrap();
            let receipt = client.execute_signed(&signed).unwrap();
            assert_eq!((receipt.status, receipt.promise), (status, Promise::Final));
        }
        // A retry gets its first answer, however often it comes.
        for _ in 0..20 {
            assert_eq!(client.execute_signed(&paid).unwrap(), first);
        }
        // So does one beside an operation of an account that does not exist.
        let other = stranger.sign(unknown[0].0, Promise::Final).unwrap();
        let [retry, unknown] = submit_signed(node, &[paid, other])[..] else { panic!("two results") };
        assert_eq!((retry, unknown.0), ((first.status, first.value), Status::SourceUnknown));
    }
    // Each would have a block of its own, as clients wait for the one before; idle replicas order one every 30 s.
    let blocks = settle_idle(&nodes) - before;
    assert!(blocks < 20, "{blocks} blocks were ordered for what leaves no trace");
    nodes.into_iter().for_each(Node::stop);
}

/// How long a replica waits for the CREATE of an account: three times its wait for a leader.
const GRACE: Duration = Duration::from_secs(3);

/// An account is created and used at once, at the same replica and at another one, whatever order the frames come in.
#[test]
fn an_account_that_was_just_created_is_known() {
    let data = tempfile::tempdir().unwrap();
    let (nodes, mut issuer) = for_strangers(data.path(), 0);
    let network = *nodes[0].network();
    for round in 0..8_u8 {
        let mut owner = Signer::new(SecretKey::from_byte_array([20 + round; 32]).unwrap(), network);
        let (own, number) = (owner.account(), 100 * (u32::from(round) + 1));
        let operations = [Operation::create(id(number), own), Operation::issue(id(number + 1), own, 1000)];
        let operations = operations.map(|operation| issuer.sign(operation, Promise::Final).unwrap());
        let pay = Operation::transfer(id(number + 2), own, issuer.account(), 1);
        let pay = owner.sign(pay, Promise::Final).unwrap();
        let since = Instant::now();
        let paid = std::thread::scope(|scope| {
            let mut other = connect(&nodes[usize::from(round % 2)]);
            // It comes before the CREATE, at the same time, or just after.
            let paying = scope.spawn(move || other.execute_signed(&pay).unwrap());
            let opened = submit_signed(&nodes[0], &operations);
            assert!(opened.iter().all(|(status, _)| *status == Status::Ok), "{opened:?}");
            paying.join().unwrap()
        });
        // The issuer has no account. Another replica that lags by more than the grace, as beside other work, may not
        // know the new one yet.
        let may_lag = round % 2 == 1 && since.elapsed() >= GRACE;
        let is_refused = paid.status == Status::SourceUnknown && may_lag;
        assert!(is_refused || paid.status == Status::DestinationUnknown, "round {round}: {}", paid.status);
    }
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn an_account_has_no_more_ordered_than_its_rate_allows() {
    let data = tempfile::tempdir().unwrap();
    let (nodes, mut issuer) = for_strangers(data.path(), 1);
    let network = *nodes[0].network();
    let mut owner = Signer::new(SecretKey::from_byte_array([5; 32]).unwrap(), network);
    open(&nodes[0], &mut issuer, &owner, 1);
    let own = owner.account();
    let batch = |owner: &mut Signer, first: u32| {
        let operations = (first..first + 100).map(|number| Operation::transfer(id(number), own, issuer.account(), 1));
        Vec::from_iter(operations.map(|operation| owner.sign(operation, Promise::Final).unwrap()))
    };
    // A burst passes; then one operation a second does.
    let statuses = (1..=8).flat_map(|number| submit_signed(&nodes[0], &batch(&mut owner, number * 1000)));
    let statuses = Vec::from_iter(statuses.map(|(status, _)| status));
    let count = |which| statuses.iter().filter(|status| **status == which).count();
    let [passed, refused] = [Status::DestinationUnknown, Status::RateLimited].map(count);
    assert!(passed >= 500 && refused >= 100 && passed + refused == 800, "{passed} passed, {refused} were refused");
    // Another account's are ordered meanwhile.
    let other = Signer::new(SecretKey::from_byte_array([6; 32]).unwrap(), network);
    open(&nodes[0], &mut issuer, &other, 20);
    nodes.into_iter().for_each(Node::stop);
}

/// Approves a change at a node, as the replicas of these configurations.
fn approve(configs: &[&Config], node: &Node, change: &MemberChange, membership: &Membership) -> Vec<Status> {
    let before = membership.committee_of(change.generation.get()).unwrap().replicas();
    let approve = |config: &&Config| {
        let (order, _) = turnpike_node::replica_engine(config).unwrap();
        let approval = order.key.approve(*change, node.network(), before);
        connect(node).approve(&approval).map_or_else(|error| error.status().unwrap(), |()| Status::Ok)
    };
    configs.iter().map(approve).collect()
}

/// A fifth replica follows, joins, and stays so over a restart of all; a founder leaves. Clients follow the sets from
/// the founders.
#[test]
fn the_set_of_replicas_changes() {
    let data = tempfile::tempdir().unwrap();
    let configs = configs(data.path(), |config| config.cluster.epoch = 32);
    let mut nodes = Vec::from_iter(configs.iter().map(|config| Node::start(config).unwrap()));
    let mut first = connect(&nodes[0]);
    for number in 1..=2 {
        first.create(account(number)).unwrap();
        first.issue(account(number), 1000).unwrap();
    }
    let network = *nodes[0].network();
    let epoch = NonZeroU64::new(32).unwrap();
    let mut membership = Membership::new(network, epoch, configs[0].cluster.replicas.clone()).unwrap();

    // The joining replica.
    let other = self::configs(&data.path().join("other"), |_| {}).remove(0);
    let (engine, _) = turnpike_node::replica_engine(&other).unwrap();
    let address = other.cluster.listen.unwrap();
    let member = Member { name: engine.key.name(), address };
    let joining = Cluster {
        key: other.cluster.key.clone(),
        listen: Some(address),
        contacts: configs[0].cluster.replicas.clone(),
        ..configs[0].cluster.clone()
    };
    let joining = Config { data: other.data.clone(), listen: other.listen, cluster: joining, ..configs[0].clone() };
    let change = membership.addition(&member).unwrap();
    let approved = approve(&[&configs[0], &configs[1], &configs[0]], &nodes[2], &change, &membership);
    assert_eq!(approved, [Status::Ok; 3]);
    // A signer outside the set, and invalid changes.
    let stranger = &self::configs(&data.path().join("stranger"), |_| {})[0];
    assert_eq!(approve(&[stranger], &nodes[0], &change, &membership), [Status::NotAuthorised]);
    let wrong = MemberChange { number: (change.number + 1) % 5, ..change };
    assert_eq!(approve(&[&configs[2]], &nodes[0], &wrong, &membership), [Status::Malformed]);
    let elsewhere = MemberChange { address: [7; 16], ..change };
    let forged = engine.key.approve(elsewhere, &[1; 32], membership.committee_of(0).unwrap().replicas());
    assert_eq!(first.approve(&forged).unwrap_err().status(), Some(Status::BadSignature));
    assert_eq!(approve(&[&configs[3]], &nodes[3], &change, &membership), [Status::Ok]);

    // It follows, and answers reads, before it is of the set.
    nodes.push(Node::start(&joining).unwrap());
    settle(&nodes);
    assert_eq!(connect(&nodes[4]).refer(account(1)).unwrap().value, 1000);
    assert_eq!(connect(&nodes[4]).finality().unwrap().replica, None);
    is_answered_without_order(nodes[4].local_address());
    assert_eq!(first.finality().unwrap().generation, 0);
    assert_eq!(approve(&[&joining], &nodes[1], &change, &membership), [Status::Ok]);
    assert_eq!(approve(&[&configs[1]], &nodes[0], &change, &membership), [Status::StaleGeneration]);
    let is_changed = |node: &Node| connect(node).finality().is_ok_and(|told| told.generation == 1);
    wait("the fifth replica is of the set", || nodes.iter().all(is_changed));
    assert!(connect(&nodes[4]).finality().unwrap().replica.is_some());
    let told = first.finality().unwrap();
    assert_eq!((told.generation, told.replicas), (1, 5));
    // Its clients are answered, and one of five may be away.
    assert_eq!(connect(&nodes[4]).transfer(account(1), account(2), 10).unwrap().status, Status::Ok);
    nodes.remove(1).stop();
    assert_eq!(connect(&nodes[3]).transfer(account(1), account(2), 10).unwrap().status, Status::Ok);
    settle(&nodes);
    nodes.into_iter().for_each(Node::stop);

    // Changes survive a restart of all replicas.
    let all = [&configs[..], &[joining]].concat();
    let nodes = Vec::from_iter(all.iter().map(|config| Node::start(config).unwrap()));
    let mut last = connect(&nodes[4]);
    assert_eq!(last.transfer(account(1), account(2), 10).unwrap().status, Status::Ok);
    let vouched = last.finality().unwrap().vouched.unwrap();
    let [reconfiguration] = <[_; 1]>::try_from(vouched.reconfigurations).unwrap();
    membership.follow(reconfiguration, 1).unwrap();
    let change = membership.removal(&configs[0].cluster.replicas[0].name).unwrap();
    let approved = approve(&[&all[1], &all[2], &all[3], &all[4]], &nodes[2], &change, &membership);
    assert_eq!(approved, [Status::Ok; 4]);
    wait("a founder leaves", || connect(&nodes[0]).finality().is_ok_and(|told| told.replica.is_none()));
    let mut nodes = nodes;
    nodes.remove(0).stop();
    assert_eq!(connect(&nodes[3]).transfer(account(1), account(2), 10).unwrap().status, Status::Ok);
    settle(&nodes);
    // A client that trusts the network's id alone takes what the new set vouches for.
    let mut chain = connect(&nodes[3]).open_chain(Some(network)).unwrap();
    wait("headers are vouched for", || {
        connect(&nodes[3]).sync_headers(&mut chain).unwrap();
        chain.vouched().is_some_and(|vouched| vouched.reconfigurations.len() == 2)
    });
    let vouched = chain.vouched().unwrap();
    assert_eq!((vouched.certificate.epoch, vouched.replicas(&network).unwrap().keys().len()), (2, 4));
    nodes.into_iter().for_each(Node::stop);
}

/// A node that is not a member refuses operations at once, and answers reads.
fn is_answered_without_order(node: SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    // It answers at once: without a quorum, members answer the same after 5 s.
    socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    let ask = |operation: &Operation| {
        let mut frame = CompactFrame::from_operation(operation).unwrap().as_bytes().to_vec();
        socket.send_to(&frame, node).unwrap();
        let length = socket.recv(&mut frame).unwrap();
        let Reply::Compact(reply) = Reply::parse(&frame[..length]).unwrap() else { panic!("{frame:?}") };
        reply.status().unwrap()
    };
    assert_eq!(ask(&Operation::create(9_000_u32.into(), account(900))), Status::NotFinal);
    assert_eq!(ask(&Operation::transfer(9_001_u32.into(), account(1), account(2), 1)), Status::NotFinal);
    assert_eq!(ask(&Operation::refer(9_002_u32.into(), account(1))), Status::Ok);
}

/// A replica that serves its data with one change.
struct Changed<F> {
    http: SocketAddr,
    change: F,
}

impl<F: FnMut(&str, &mut Vec<u8>)> Source for Changed<F> {
    fn get(&mut self, path: &str) -> Result<Vec<u8>, FetchError> {
        let mut stream = TcpStream::connect(self.http).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let body = answer.windows(4).position(|found| found == b"\r\n\r\n").unwrap() + 4;
        let mut page = answer.split_off(body);
        if !answer.starts_with(b"HTTP/1.1 200 ") {
            let reason = String::from_utf8(page).unwrap();
            return Err(FetchError::Refused { what: path.to_owned(), reason });
        }
        (self.change)(path, &mut page);
        Ok(page)
    }
}

/// A replica installs the ledger of another one only if a quorum agrees with it: with any byte changed, it installs
/// nothing.
#[test]
fn a_ledger_is_given_as_it_is_or_not_at_all() {
    let data = tempfile::tempdir().unwrap();
    let configs = configs(data.path(), |config| {
        config.cluster.epoch = 32;
        config.http = Some("127.0.0.1:0".parse().unwrap());
        config.ledger.retry_seconds = 10;
        config.ledger.replay_window = 8;
    });
    let nodes = Vec::from_iter(configs.iter().map(|config| Node::start(config).unwrap()));
    let mut client = connect(&nodes[0]);
    let mut issuer = Signer::new(SecretKey::from_byte_array([9; 32]).unwrap(), *nodes[0].network());
    client.create(account(1)).unwrap();
    client.issue(account(1), 1000).unwrap();
    client.create(account(2)).unwrap();
    let mut number = 0;
    let mut trade = |batches| {
        for _ in 0..batches {
            number += 1;
            // Some of it is refused, and in no block.
            let transfers = [(2, 1), (1, 2), (2, 5000)].map(|(to, amount)| {
                Operation::transfer(id(number * 10_000 + amount), account(1), account(to), amount.into())
            });
            client.submit(&transfers).unwrap();
            let keyed = Operation::create(id(number), issuer.account());
            client.execute_signed(&issuer.sign(keyed, Promise::Final).unwrap()).unwrap();
        }
    };
    trade(20);
    // What came before is in blocks alone then.
    sleep(Duration::from_secs(12));
    trade(20);
    let joining = self::configs(&data.path().join("other"), |_| {}).remove(0);
    let joining = |name: &str| {
        let contacts = configs[0].cluster.replicas.clone();
        let cluster = Cluster { key: joining.cluster.key.clone(), contacts, ..configs[0].cluster.clone() };
        Config { data: data.path().join(name), cluster, ..configs[0].clone() }
    };
    let http = nodes[0].http_address().unwrap();
    // As it is.
    let mut pages: Vec<(String, usize)> = Vec::new();
    let mut source =
        Changed { http, change: |path: &str, page: &mut Vec<u8>| pages.push((path.to_owned(), page.len())) };
    let mut height = fetch(&joining("given"), Present::Extend, &mut source, |_| {}).unwrap();
    assert!(height > 20 && height <= settle(&nodes));
    // An idle leader still orders a block that states the last ones; once it has, there is nothing newer.
    wait("there is nothing newer", || match fetch(&joining("given"), Present::Extend, &mut source, |_| {}) {
        Err(FetchError::NotNewer { own, .. }) => {
            assert_eq!(own, height);
            true
        }
        found => {
            let newer = found.unwrap();
            assert!(newer > std::mem::replace(&mut height, newer));
            false
        }
    });
    for kind in ["checkpoint", "blocks", "batches"] {
        let (_, length) = *pages.iter().find(|(path, _)| path.contains(kind)).unwrap();
        for step in 0..12 {
            // Spread over the page, its begin and its end among them.
            let place = (length - 1) * step / 11;
            let mut first = true;
            let mut change = |path: &str, page: &mut Vec<u8>| {
                if path.contains(kind) && std::mem::take(&mut first) {
                    let place = place.min(page.len() - 1);
                    page[place] ^= 1 << (step % 8);
                }
            };
            let config = joining("changed");
            let given = fetch(&config, Present::Extend, &mut Changed { http, change: &mut change }, |_| {});
            assert!(given.is_err(), "byte {place} of {kind} does not matter");
            assert!(!config.data.join("state-sync").exists(), "nothing is left of what does not hold");
        }
        let mut cut = |path: &str, page: &mut Vec<u8>| {
            page.truncate(if path.contains(kind) { page.len() - 1 } else { usize::MAX })
        };
        assert!(fetch(&joining("changed"), Present::Extend, &mut Changed { http, change: &mut cut }, |_| {}).is_err());
    }
    // Missing heights.
    for (path, reason) in [
        ("/replica/nothing", "there is /replica/checkpoint"),
        ("/replica/blocks?from=1", "there is /replica/checkpoint"),
        ("/replica/blocks?from=0&to=9", "does not have block 0"),
        ("/replica/blocks?from=9&to=8", "does not have block 9"),
        ("/replica/blocks?from=-1&to=x", "there is /replica/checkpoint"),
        ("/replica/batches?from=1", "there is /replica/checkpoint"),
        ("/replica/batches?of=999999", "does not have block 999999"),
        ("/replica/batches?of=9&from=10", "does not have block 10"),
    ] {
        let refused = Changed { http, change: |_: &str, _: &mut Vec<u8>| {} }.get(path);
        assert!(
            matches!(&refused, Err(FetchError::Refused { reason: said, .. }) if said.contains(reason)),
            "{refused:?}"
        );
    }
    // Of another network.
    let mut other = joining("other-network");
    other.cluster.began += 1;
    let mut whole = |_: &str, _: &mut Vec<u8>| {};
    assert!(fetch(&other, Present::Extend, &mut Changed { http, change: &mut whole }, |_| {}).is_err());
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn a_configuration_that_makes_no_replica_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let good = &configs(data.path(), |_| {})[0];
    let other = configs(&data.path().join("other"), |_| {}).remove(0);
    type Change = fn(&mut Config, &Config);
    let cases: [(Change, &str); 9] = [
        (|config, _| config.cluster.listen = None, "`cluster.listen` is empty"),
        (|config, _| config.cluster.key = Default::default(), "`cluster.key` is empty"),
        (|config, _| config.cluster.began = 0, "`cluster.began` is 0"),
        (|config, _| config.cluster.replicas.clear(), "`cluster.replicas` is empty"),
        (|config, _| config.cluster.replicas[1] = config.cluster.replicas[0].clone(), "the same key"),
        (|config, _| config.ledger.retry_seconds = 9, "at least 10"),
        (
            |config, _| config.io.backend = turnpike_node::config::Backend::Rtl,
            "executes operations before they are ordered",
        ),
        (|config, other| config.cluster.key = other.cluster.key.clone(), "is not the key of a replica in the set"),
        (|config, _| config.cluster.key = "missing".into(), "is missing"),
    ];
    for (change, expected) in cases {
        let mut config = good.clone();
        change(&mut config, &other);
        let error = Node::start(&config).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    // Another one listens where it is to hear from the others.
    let listen = good.cluster.listen.unwrap();
    let taken = std::net::TcpListener::bind(listen).unwrap();
    let error = Node::start(good).unwrap_err().to_string();
    assert!(error.contains(&format!("cannot listen on {listen} (`cluster.listen`)")), "{error}");
    drop(taken);
    // What executes by itself is no replica's, nor goes on with the data of one.
    let error = InNic::start(good).unwrap_err().to_string();
    assert!(error.contains("use `turnpike serve --io xdp`"), "{error}");
    Node::start(good).unwrap().stop();
    let alone = Config { cluster: Cluster::default(), listen: "127.0.0.1:0".parse().unwrap(), ..good.clone() };
    let error = InNic::start(&alone).unwrap_err().to_string();
    assert!(error.contains("replicas order the chain"), "{error}");
    let error = Config::parse("promise = \"final\"").unwrap_err().to_string();
    assert!(error.contains("\"accepted\" or \"durable\""), "{error}");
}
