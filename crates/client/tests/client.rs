//! The client against a node on a faulty network.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashSet;
use std::net::UdpSocket;
use std::ops::ControlFlow;
use std::time::Duration;

use common::{Faults, TestNode, mine, next_block};
use secp256k1::SecretKey;
use spv::{Locator, bitcoin, verify_path};
use turnpike_client::load::{self, Choice, Distribution, Format, Mix, Operations, Pace, Proofs, Until};
use turnpike_client::{AssetPage, Client, Error, HistoryFilter, Options, Pipeline, Signer, fresh_transaction_id};
use wire::{AccountId, BatchFormat, Chain, Command, CompactFrame, Operation, Promise, Query, Status, TransactionId};

const FAULTS: Faults = Faults { loss: 40, doubling: 40, reordering: 40, busy: 20 };

/// Short enough for a test, long enough for a busy machine.
fn options() -> Options {
    Options {
        retry_after: Duration::from_millis(15),
        retry_at_most: Duration::from_millis(100),
        give_up_after: Duration::from_secs(30),
        window: 8,
        ..Options::default()
    }
}

fn account(number: u32) -> AccountId {
    AccountId::from(number)
}

fn id(number: u32) -> TransactionId {
    TransactionId::from(number)
}

#[test]
fn operations_one_by_one() {
    let node = TestNode::start(FAULTS);
    let mut client = Client::connect(node.address, &options()).unwrap();
    let (alice, bob) = (account(1), account(2));
    let missing = client.refer(alice).unwrap_err();
    assert_eq!(missing.status(), Some(Status::SourceUnknown));
    client.create(alice).unwrap();
    client.create(bob).unwrap();
    assert_eq!(client.issue(alice, 1000).unwrap().value, 1000);
    let receipt = client.transfer(alice, bob, 50).unwrap();
    assert_eq!((receipt.value, receipt.promise, receipt.source), (950, Promise::Durable, alice));
    assert_eq!(client.refer(bob).unwrap().value, 50);
    let refused = client.transfer(alice, bob, 951).unwrap_err();
    assert!(matches!(refused, Error::Operation { status: Status::InsufficientBalance, value: 950, .. }), "{refused}");
    // However often requests and replies arrived, each of create, create, issue, transfer, transfer was executed once.
    assert_eq!(node.state.lock().unwrap().ledger.last_sequence(), 5);

    let same = Operation::transfer(id(9), alice, bob, 1);
    assert_eq!(client.execute(&same).unwrap(), client.execute(&same).unwrap());
    let other = client.execute(&Operation::transfer(id(9), alice, bob, 2)).unwrap();
    assert_eq!(other.status, Status::TransactionIdReused);
}

/// Of three replicas, the first address has no listener, and the second is silent.
#[test]
fn a_client_turns_to_a_node_that_answers() {
    let node = TestNode::start(FAULTS);
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let gone = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let others = vec![silent.local_addr().unwrap(), node.address];
    let options = Options { others, turn_after: Duration::from_millis(200), ..options() };
    let mut client = Client::connect(gone, &options).unwrap();
    client.create(account(1)).unwrap();
    assert_eq!(client.node(), node.address);
    assert_eq!(client.issue(account(1), 7).unwrap().value, 7);
    assert!(client.turns() >= 2, "{}", client.turns());
    assert_eq!(node.state.lock().unwrap().ledger.last_sequence(), 2);
    assert!(silent.recv(&mut [0; 2048]).unwrap() > 0, "it was asked");

    let tcp = Options { tcp: true, others: vec![gone], give_up_after: Duration::from_millis(300), ..options };
    assert!(matches!(Client::connect(gone, &tcp), Err(Error::Socket { .. })), "nobody is there at all");
}

#[test]
fn many_operations_keep_their_order() {
    let node = TestNode::start(FAULTS);
    let mut client = Client::connect(node.address, &Options { datagram: Some(300), ..options() }).unwrap();
    let mut operations = vec![Operation::create(id(0), account(1)), Operation::create(id(0), account(2))];
    operations.extend((1..50).map(|number| Operation::issue(id(number), account(1), 1)));
    operations.extend((50..99).map(|number| Operation::transfer(id(number), account(1), account(2), 1)));
    let receipts = client.submit(&operations).unwrap();
    assert_eq!(receipts.len(), operations.len());
    assert!(receipts.iter().all(|receipt| receipt.status.is_ok()));
    assert_eq!(receipts[50].value, 49);
    assert_eq!(receipts[99].value, 0);
    assert_eq!(client.submit(&operations).unwrap(), receipts, "retries get the first results");
    assert!(client.submit(&[]).unwrap().is_empty());
}

#[test]
fn signed_and_compact_frames() {
    let node = TestNode::start(FAULTS);
    let mut client = Client::connect(node.address, &options()).unwrap();
    let network = client.info().unwrap().network;
    let mut signer = Signer::new(SecretKey::from_byte_array([5; 32]).unwrap(), network);
    let own = signer.account();
    let create = signer.sign(Operation::create(fresh_transaction_id().unwrap(), own), Promise::Durable).unwrap();
    let receipt = client.execute_signed(&create).unwrap().success().unwrap();
    assert_eq!((receipt.promise, receipt.source), (Promise::Durable, own));
    assert_eq!(client.execute_signed(&create).unwrap(), receipt);

    let frame = |command, transaction, amount| CompactFrame::new(command, transaction, 7, 0, amount);
    assert_eq!(client.execute_compact(frame(Command::Create, 1, 0)).unwrap().status(), Ok(Status::Ok));
    let issued = client.execute_compact(frame(Command::Issue, 2, 90)).unwrap();
    assert_eq!((issued.value(), issued.transaction.get()), (90, 2));
    let again = client.execute_compact(frame(Command::Issue, 2, 90)).unwrap();
    assert_eq!(again, issued);
    let unknown = CompactFrame { command: 77.into(), ..frame(Command::Refer, 3, 0) };
    assert_eq!(client.execute_compact(unknown).unwrap().status(), Ok(Status::UnknownCommand));
}

#[test]
fn errors_tell_what_is_wrong() {
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let patience = Duration::from_millis(100);
    let mut client = Client::connect(nobody, &Options { give_up_after: patience, ..options() }).unwrap();
    let error = client.create(account(1)).unwrap_err();
    assert!(matches!(error, Error::NoReply { .. }), "{error}");
    assert!(error.to_string().contains("repeat it with the same id"), "{error}");

    let node = TestNode::start(Faults { busy: 255, ..Faults::default() });
    let mut client = Client::connect(node.address, &Options { give_up_after: patience, ..options() }).unwrap();
    assert_eq!(client.create(account(1)).unwrap_err().status(), Some(Status::Busy));
    for (datagram, window) in [(Some(10), 1), (Some(70_000), 1), (None, 0), (None, 1 << 20)] {
        let error = Client::connect(node.address, &Options { datagram, window, ..options() });
        // The one-shot client has a window of its own.
        assert_eq!(error.is_ok(), datagram.is_none());
        assert!(Pipeline::connect(node.address, &Options { datagram, window, ..options() }).is_err());
    }
}

#[test]
fn pages_that_would_never_end_are_wrong_replies() {
    let node = TestNode::start(FAULTS);
    let mut client = Client::connect(node.address, &options()).unwrap();
    assert_eq!(client.assets(0, 10).unwrap(), AssetPage { height: 0, issued: vec![(0, 7)], next: None });
    // The node claims that the page continues where it began.
    let error = client.assets(5, 10).unwrap_err();
    assert!(matches!(error, Error::WrongReply), "{error}");
    let cursor = Locator { height: 9, position: 9 };
    let error = client.history(account(1), &HistoryFilter::default(), Some(cursor), 1).unwrap_err();
    assert!(matches!(error, Error::WrongReply), "{error}");
    let error = client.history(account(1), &HistoryFilter::default(), None, 1).unwrap_err();
    assert!(matches!(error, Error::Refused(Status::NotFound)), "{error}");
}

#[test]
fn load_with_faults_loses_nothing() {
    for (mix, distribution, format) in [
        (Mix::Transfer, Distribution::Uniform, Format::Batch(BatchFormat::Operation)),
        (Mix::Transfer, Distribution::Zipf, Format::Batch(BatchFormat::Compact)),
        (Mix::Transfer, Distribution::HotPair, Format::CompactFrame),
        (Mix::Linked, Distribution::Uniform, Format::Batch(BatchFormat::Compact)),
        (Mix::TwoPhase, Distribution::Zipf, Format::CompactFrame),
    ] {
        let node = TestNode::start(FAULTS);
        let mut pipeline = Pipeline::connect(node.address, &options()).unwrap();
        let balances = load::prepare(&mut pipeline, 10, 500, 100_000, Promise::Durable, |_| ()).unwrap();
        assert_eq!(balances.total(), 500 * 100_000);
        assert_eq!(
            load::prepare(&mut pipeline, 10, 500, 100_000, Promise::Durable, |_| ()).unwrap(),
            balances,
            "nothing to do"
        );

        let choice = Choice::new(distribution, 10, 500, 1);
        let mut transfers = Operations::new(mix, format, 50, Promise::Durable, choice)
            .unwrap()
            .following(balances.clone())
            .sampling(11);
        let before = node.state.lock().unwrap().ledger.last_sequence();
        let report = load::run(&mut pipeline, &mut transfers, Pace::Closed, Until::operations(2000), |_| {
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!((report.sent, report.answered, report.ok()), (2000, 2000, 2000));
        assert_eq!((report.lost, report.wrong), (0, 0));
        assert!(report.retries > 0 && report.latency.len() == report.datagrams);
        assert_eq!(node.state.lock().unwrap().ledger.last_sequence() - before, 2000);
        let samples = transfers.samples();
        let names: HashSet<_> = samples.iter().map(Operation::name).collect();
        assert_eq!(names.len(), 2000 / 11);
        assert_eq!(samples.iter().any(Operation::is_linked), mix == Mix::Linked);
        assert_eq!(samples.iter().any(Operation::ends_hold), mix == Mix::TwoPhase);

        let followed = transfers.balances().unwrap();
        let open: u64 = node.state.lock().unwrap().ledger.holds().values().sum();
        assert_eq!(followed.total() + u128::from(open), balances.total());
        assert_ne!(followed, &balances);
        assert_eq!(load::check(&mut pipeline, followed).unwrap(), 0);
        assert!(load::check(&mut pipeline, &balances).unwrap() > 0);
    }
}

#[test]
fn open_loops_keep_their_rate() {
    let node = TestNode::start(Faults::default());
    let mut pipeline = Pipeline::connect(node.address, &options()).unwrap();
    load::prepare(&mut pipeline, 1, 10, 1000, Promise::Default, |_| ()).unwrap();
    let choice = Choice::new(Distribution::Uniform, 1, 10, 1);
    let mut refers =
        Operations::new(Mix::Refer, Format::Batch(BatchFormat::Operation), 2, Promise::Default, choice).unwrap();
    // The only timing asserted is what the pace guarantees: nothing is sent before it is due.
    let mut beats = 0;
    let report = load::run(&mut pipeline, &mut refers, Pace::Open(1000.0), Until::operations(300), |report| {
        beats += 1;
        assert!(report.sent <= 302);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((report.ok(), report.sent), (300, 300));
    assert!(report.elapsed >= Duration::from_millis(297) && beats > 0, "{report:?}");

    let report =
        load::run(&mut pipeline, &mut refers, Pace::Closed, Until::operations(u64::MAX), |_| ControlFlow::Break(()));
    assert!(report.unwrap().ok() > 0);
    let until = Until::time(Duration::from_millis(50));
    let report = load::run(&mut pipeline, &mut refers, Pace::Closed, until, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((report.sent, report.lost), (report.ok(), 0));
}

#[test]
fn load_on_a_node_that_is_gone_ends() {
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let impatient = Options { give_up_after: Duration::from_millis(100), ..options() };
    let mut pipeline = Pipeline::connect(nobody, &impatient).unwrap();
    let choice = Choice::new(Distribution::Uniform, 1, 10, 1);
    let mut refers = Operations::new(Mix::Refer, Format::CompactFrame, 1, Promise::Default, choice).unwrap();
    let until = Until::operations(u64::MAX);
    let report = load::run(&mut pipeline, &mut refers, Pace::Closed, until, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((report.answered, report.lost), (0, report.sent));
    assert!(load::prepare(&mut pipeline, 1, 10, 5, Promise::Default, |_| ()).is_err());
}

#[test]
fn headers_follow_the_node() {
    let node = TestNode::start(FAULTS);
    for number in 0..20 {
        node.add_block(vec![Operation::create(id(number), account(number % 5))]);
    }
    let mut client = Client::connect(node.address, &options()).unwrap();
    let network = client.info().unwrap().network;
    let wrong = client.open_chain(Some([9; 32])).unwrap_err();
    assert!(matches!(wrong, Error::WrongNetwork { .. }));
    let mut chain = client.open_chain(Some(network)).unwrap();
    assert_eq!(client.sync_headers(&mut chain).unwrap(), 20);
    assert_eq!(client.sync_headers(&mut chain).unwrap(), 0);
    assert_eq!(chain.height(), 20);

    // A node that is behind changes nothing.
    let behind = node.state.lock().unwrap().blocks.split_off(15);
    assert_eq!(client.sync_headers(&mut chain).unwrap(), 0);
    node.state.lock().unwrap().blocks.extend(behind);

    // Another sealed branch replaces nothing unless requested.
    {
        let mut state = node.state.lock().unwrap();
        state.blocks.truncate(6);
        for number in 100..120 {
            let block = next_block(&state.blocks, vec![Operation::create(id(number), account(9))]);
            state.blocks.push(block);
        }
    }
    let before = chain.clone();
    let Err(Error::Reorganised(fork)) = client.sync_headers(&mut chain) else { panic!("it was taken") };
    assert_eq!((fork.common, fork.here.height, fork.there.height), (5, 20, 25));
    assert_eq!(fork.evidence.first, *before.sealed(6).unwrap());
    assert!(fork.evidence.holds(chain.key().unwrap()) && fork.to_string().contains("sealed two chains"));
    assert_eq!(chain.all(), before.all());
    let (came, reorganised) = client.accept_reorganisation(&mut chain).unwrap();
    let reorganised = reorganised.unwrap();
    assert_eq!((came, &reorganised.fork), (20, &*fork));
    assert_eq!(reorganised.replaced, before.all()[6..]);
    assert_eq!(client.accept_reorganisation(&mut chain).unwrap(), (0, None));
    assert_eq!(chain.tip_hash(), &node.state.lock().unwrap().blocks.last().unwrap().header.hash());

    // A header that breaks a rule is refused, and nothing is appended.
    node.add_block(vec![Operation::create(id(1), account(1))]);
    node.state.lock().unwrap().blocks.last_mut().unwrap().header.timestamp = 1.into();
    assert!(matches!(client.sync_headers(&mut chain), Err(Error::Header(_))));
    assert_eq!(chain.height(), 25);
}

#[test]
fn proofs_are_checked_against_headers() {
    let node = TestNode::start(FAULTS);
    let mut client = Client::connect(node.address, &options()).unwrap();
    let mut chain = client.open_chain(None).unwrap();
    for number in 0..5 {
        let base = number * 10;
        node.add_block(vec![
            Operation::create(id(base), account(base)),
            Operation::issue(id(base + 1), account(base), 100),
            Operation::transfer(id(base + 2), account(base), account(0), 30),
        ]);
    }
    // The first proof that needs the headers fetches them.
    let latest = client.prove_latest(&mut chain, account(20)).unwrap();
    assert_eq!((latest.height, latest.position, latest.operation.amount()), (3, 2, 30));
    assert_eq!(chain.height(), 5);
    let proved = client.prove_transaction(&mut chain, id(11), account(10)).unwrap();
    assert_eq!((proved.height, proved.position, proved.operation.transaction), (2, 1, id(11)));
    let located = client.prove_locator(&mut chain, 4, 0).unwrap();
    assert_eq!(located.operation.command(), Ok(Command::Create));
    let entry = client.prove_index(&mut chain, account(20)).unwrap().entry.unwrap();
    assert_eq!((entry.balance.get(), entry.height.get(), entry.position.get()), (70, 3, 2));
    assert!(client.prove_index(&mut chain, account(99)).unwrap().entry.is_none());
    let missing = client.prove_latest(&mut chain, account(99)).unwrap_err();
    assert_eq!(missing.status(), Some(Status::NotFound));

    // A stored proof can be verified without the node.
    let kept = spv::TransactionProof::parse(&latest.reply).unwrap();
    kept.verify(&chain).unwrap();
    let root = &chain.header(3).unwrap().transaction_root;
    assert!(verify_path(root, kept.transactions, kept.position, &kept.leaf, kept.path).is_ok());

    // Forgeries by a node are detected.
    let forgeries: [fn(&mut Vec<u8>); 4] = [
        |reply| reply[180] ^= 1,
        |reply| reply[135] ^= 1,
        |reply| reply[90] ^= 1,
        |reply| *reply.last_mut().unwrap() ^= 1,
    ];
    for forge in forgeries {
        node.state.lock().unwrap().forge = Some(forge);
        let error = client.prove_latest(&mut chain, account(20)).unwrap_err();
        assert!(
            matches!(error, Error::Proof(_) | Error::Header(_) | Error::WrongReply | Error::WrongNetwork { .. }),
            "{error}"
        );
    }
    node.state.lock().unwrap().forge = None;

    let mut pipeline = Pipeline::connect(node.address, &options()).unwrap();
    let mut proofs = Proofs::new(Chain::Own, Query::Latest, 1400, || account(20).into())
        .verified_by(|bytes| spv::TransactionProof::parse(bytes).is_ok_and(|proof| proof.verify(&chain).is_ok()));
    let run = |pipeline: &mut Pipeline, proofs: &mut Proofs<'_>| {
        load::run(pipeline, proofs, Pace::Closed, Until::operations(200), |_| ControlFlow::Continue(())).unwrap()
    };
    let report = run(&mut pipeline, &mut proofs);
    assert_eq!((report.ok(), report.wrong, report.lost), (200, 0, 0));
    node.state.lock().unwrap().forge = Some(|reply| reply[180] ^= 1);
    assert_eq!(run(&mut pipeline, &mut proofs).wrong, 200);
    let mut absent = Proofs::latest(1400, Choice::new(Distribution::HotPair, 98, 2, 1));
    node.state.lock().unwrap().forge = None;
    assert_eq!(run(&mut pipeline, &mut absent).count(Status::NotFound), 200);
}

#[test]
fn a_proof_that_is_too_long_is_asked_for_again() {
    let node = TestNode::start(Faults::default());
    let mut client = Client::connect(node.address, &Options { datagram: Some(400), ..options() }).unwrap();
    let mut chain = client.open_chain(None).unwrap();
    node.add_block((0..16).map(|number| Operation::create(id(number), account(number))).collect());
    // Sixteen entries need 616 bytes.
    let error = client.prove_index(&mut chain, account(3)).unwrap_err();
    assert!(matches!(error, Error::ReplyTooLarge { needed: 616, limit: 400 }), "{error}");
    assert!(client.prove_latest(&mut chain, account(3)).is_ok());
}

#[test]
fn bitcoin_headers_and_proofs() {
    let node = TestNode::start(FAULTS);
    let mut blocks = Vec::new();
    mine(&mut blocks, 20, 1);
    node.state.lock().unwrap().bitcoin = blocks.clone();
    let mut client = Client::connect(node.address, &options()).unwrap();
    let mut chain = bitcoin::HeaderChain::new(bitcoin::Network::Regtest);
    let proved = client.prove_bitcoin(&mut chain, blocks[12].transaction).unwrap();
    assert_eq!((proved.height, proved.position, proved.block), (12, 1, blocks[12].header.hash()));
    assert_eq!(chain.height(), 20);
    assert_eq!(client.sync_bitcoin_headers(&mut chain).unwrap(), 0);

    // A longer branch wins, and proofs of disconnected blocks are refused.
    let mut branch = blocks[..=10].to_vec();
    mine(&mut branch, 15, 2);
    node.state.lock().unwrap().bitcoin = branch.clone();
    assert_eq!(client.sync_bitcoin_headers(&mut chain).unwrap(), 15);
    assert_eq!(chain.tip_hash(), &branch[25].header.hash());
    assert!(client.prove_bitcoin(&mut chain, branch[11].transaction).is_ok());
    node.state.lock().unwrap().bitcoin = blocks.clone();
    let error = client.prove_bitcoin(&mut chain, blocks[12].transaction).unwrap_err();
    assert!(matches!(error, Error::UnknownBlock), "{error}");

    node.state.lock().unwrap().bitcoin = branch.clone();
    node.state.lock().unwrap().bitcoin[5].coinbase[41] ^= 1;
    let error = client.prove_bitcoin(&mut chain, branch[5].transaction).unwrap_err();
    assert!(matches!(error, Error::BitcoinProof(_)), "{error}");
    let mut other = bitcoin::HeaderChain::new(bitcoin::Network::Mainnet);
    assert!(matches!(client.sync_bitcoin_headers(&mut other), Err(Error::NothingInCommon)));
}
