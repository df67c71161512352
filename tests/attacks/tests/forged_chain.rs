//! A node that makes up blocks: it has the real genesis, answers where the real node does, and proves a balance that nobody has.
#![allow(missing_docs, clippy::unwrap_used)]

use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client::{Client, Error, Options};
use node::Node;
use spv::hash::index_leaf;
use spv::{BlockHeader, HeaderChain, HeaderError, Seal, SealedHeader, SealingKey};
use turnpike_attacks::Victim;
use wire::{
    AccountId, Chain, FrameMut, HeadersFrame, IndexEntry, IndexReply, InfoFrame, ProofRequest, Status, U32, U64,
};
use zerocopy::IntoBytes;

/// What the fake node proves that the account has.
const LOOT: u64 = 1_000_000_000;

fn thief() -> AccountId {
    666_u32.into()
}

/// The index of one account that has it all.
fn entries() -> [IndexEntry; 1] {
    [IndexEntry { account: thief(), balance: U64::new(LOOT), height: U32::new(1), position: U32::ZERO }]
}

/// Blocks behind `from` that give the thief what he wants, sealed by `seal`.
fn forged(from: &BlockHeader, count: usize, seal: impl Fn(&BlockHeader) -> SealedHeader) -> Vec<SealedHeader> {
    let mut previous = *from;
    let next = || {
        previous = BlockHeader {
            transactions: 1.into(),
            height: (previous.height.get() + 1).into(),
            timestamp: (previous.timestamp.get() + 1).into(),
            accounts: previous.accounts.get().max(1).into(),
            previous: previous.hash(),
            transaction_root: [6; 32],
            index_root: index_leaf(entries().as_bytes()),
            ..previous
        };
        seal(&previous)
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// A node that answers info, headers and proofs of a balance out of made-up headers.
struct Fake {
    address: SocketAddr,
    headers: Arc<Mutex<Vec<SealedHeader>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Fake {
    /// Says that it is of `network`, whatever its headers are.
    fn start(network: [u8; 32], headers: Vec<SealedHeader>) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let address = socket.local_addr().unwrap();
        let (headers, stop) = (Arc::new(Mutex::new(headers)), Arc::new(AtomicBool::new(false)));
        let thread = std::thread::spawn({
            let (headers, stop) = (headers.clone(), stop.clone());
            move || {
                let mut buffer = vec![0; 1 << 16];
                while !stop.load(Ordering::Relaxed) {
                    let Ok((length, peer)) = socket.recv_from(&mut buffer) else { continue };
                    let reply = answer(&mut buffer[..length], network, &headers.lock().unwrap());
                    socket.send_to(&reply, peer).unwrap();
                }
            }
        });
        Self { address, headers, stop, thread: Some(thread) }
    }

    fn client(&self) -> Client {
        Client::connect(self.address, &Options::default()).unwrap()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn answer(datagram: &mut [u8], network: [u8; 32], headers: &[SealedHeader]) -> Vec<u8> {
    let tip = headers.last().unwrap();
    match FrameMut::parse(datagram).unwrap() {
        FrameMut::Info(info) => {
            info.header.set_reply();
            (info.network, info.tip_hash) = (network, tip.hash());
            info.tip_height.set(tip.height());
            info.promise = 2;
            InfoFrame::as_bytes(info).to_vec()
        }
        FrameMut::Headers(request, room) => {
            let most = usize::from(request.count.get()).min(room.len() / spv::SEALED_HEADER_SIZE);
            let first = usize::try_from(request.first_height.get()).unwrap().min(headers.len());
            let given = &headers[first..(first + most).min(headers.len())];
            request.set_reply(Chain::Own, given.len() as u16, tip.height(), tip.hash());
            [HeadersFrame::as_bytes(request), given.as_bytes()].concat()
        }
        FrameMut::Proof(request, _) => {
            let mut reply = IndexReply {
                request: *request,
                block_hash: tip.hash(),
                block_height: tip.height().into(),
                reserved: U64::ZERO,
                depth: 0,
                entry_count: 1,
                reserved_end: [0; 6],
            };
            let used = reply.frame_length() - ProofRequest::LENGTH;
            reply.request.set_reply(Status::Ok, used as u32);
            [reply.as_bytes(), entries().as_bytes()].concat()
        }
        _ => panic!("asked for something else"),
    }
}

/// A node with some blocks, its headers, and its chain's key.
fn robbed() -> (Victim, HeaderChain, SealingKey) {
    let victim = Victim::start(|_| {});
    let mut client = victim.client();
    let mut chain = client.open_chain(None).unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    for account in 1_u32.. {
        client.create(account.into()).unwrap();
        client.sync_headers(&mut chain).unwrap();
        if chain.height() >= 4 {
            break;
        }
        assert!(Instant::now() < until, "no blocks are built");
        std::thread::sleep(Duration::from_millis(20));
    }
    let text = std::fs::read_to_string(victim.directory().join("data/chain.key")).unwrap();
    let secret = std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap());
    (victim, chain, SealingKey::from_bytes(&secret).unwrap())
}

fn stranger() -> SealingKey {
    SealingKey::from_bytes(&[66; 32]).unwrap()
}

/// Nothing that the fake node shows is taken, with the network id known or not, and what was synchronised before stays.
fn is_refused(fake: &Fake, known: &HeaderChain, with: impl Fn(&Error) -> bool) {
    let mut client = fake.client();
    for network in [None, Some(*known.network_id())] {
        let proved = client.open_chain(network).and_then(|mut chain| client.prove_index(&mut chain, thief()));
        let error = proved.unwrap_err();
        assert!(with(&error), "{error}");
    }
    let mut chain = known.clone();
    let error = client.prove_index(&mut chain, thief()).unwrap_err();
    assert!(with(&error), "{error}");
    assert_eq!((chain.all(), chain.tip_hash()), (known.all(), known.tip_hash()));
}

#[test]
fn blocks_behind_the_real_genesis_that_nobody_sealed() {
    let (_victim, known, _) = robbed();
    let genesis = *known.sealed(0).unwrap();
    let unsealed = |header: &BlockHeader| SealedHeader { header: *header, seal: Seal([0; 64]) };
    let borrowed = |header: &BlockHeader| SealedHeader { header: *header, seal: genesis.seal };
    let headers = |blocks: Vec<SealedHeader>| [vec![genesis], blocks].concat();
    let fake = Fake::start(*known.network_id(), headers(forged(&genesis.header, 5, unsealed)));
    let is_forged = |error: &Error| matches!(error, Error::Header(HeaderError::Seal { height: 1 }));
    is_refused(&fake, &known, is_forged);
    *fake.headers.lock().unwrap() = headers(forged(&genesis.header, 9, borrowed));
    is_refused(&fake, &known, is_forged);
    *fake.headers.lock().unwrap() = headers(forged(&genesis.header, 50, |header| stranger().seal(header)));
    is_refused(&fake, &known, is_forged);
}

#[test]
fn a_longer_branch_and_a_longer_end_by_another_key() {
    let (_victim, known, _) = robbed();
    let fork = known.header(2).unwrap();
    let branch = forged(fork, 20, |header| stranger().seal(header));
    let fake = Fake::start(*known.network_id(), [&known.all()[..=2], &branch].concat());
    is_refused(&fake, &known, |error| matches!(error, Error::Header(HeaderError::Seal { height: 3 })));
    let end = forged(known.tip(), 20, |header| stranger().seal(header));
    *fake.headers.lock().unwrap() = [known.all(), &end].concat();
    let height = known.height() + 1;
    is_refused(
        &fake,
        &known,
        |error| matches!(error, Error::Header(HeaderError::Seal { height: at }) if *at == height),
    );
}

#[test]
fn another_network_is_told_apart_by_whoever_knows_which_it_is() {
    let (_victim, known, _) = robbed();
    let genesis = stranger().seal(&BlockHeader::genesis("turnpike", &[1; 16], 1, &stranger().public()));
    let headers = [vec![genesis], forged(&genesis.header, 5, |header| stranger().seal(header))].concat();
    let honest = Fake::start(genesis.hash(), headers.clone());
    let error = honest.client().open_chain(Some(*known.network_id())).unwrap_err();
    assert!(matches!(error, Error::WrongNetwork { .. }), "{error}");
    let mut chain = known.clone();
    let error = honest.client().prove_index(&mut chain, thief()).unwrap_err();
    assert!(matches!(error, Error::WrongNetwork { .. }), "{error}");
    assert_eq!(chain.all(), known.all());
    // One that only says it is of the network has not got its genesis.
    let liar = Fake::start(*known.network_id(), headers);
    let error = liar.client().open_chain(None).unwrap_err();
    assert!(matches!(error, Error::Header(HeaderError::WrongNetwork)), "{error}");
}

#[test]
fn a_branch_by_the_same_key_is_told_and_not_taken() {
    let (_victim, known, key) = robbed();
    let fork = known.header(2).unwrap();
    let branch = forged(fork, 20, |header| key.seal(header));
    let fake = Fake::start(*known.network_id(), [&known.all()[..=2], &branch].concat());
    let mut client = fake.client();
    let mut chain = known.clone();
    let Err(Error::Reorganised(told)) = client.prove_index(&mut chain, thief()) else { panic!("it was taken") };
    assert_eq!((chain.all(), chain.tip_hash()), (known.all(), known.tip_hash()));
    assert!(told.evidence.holds(known.key().unwrap()));
    assert_eq!((told.common, told.here.height, told.there.height), (2, known.height(), 22));
    assert_eq!((told.here.hash, told.there.hash), (*known.tip_hash(), branch[19].hash()));
    // Whoever takes it all the same is told what it replaced.
    let (came, replaced) = client.accept_reorganisation(&mut chain).unwrap();
    assert_eq!((came, replaced.unwrap().replaced.as_slice()), (20, &known.all()[3..]));
}

#[test]
fn a_key_that_others_can_read_seals_nothing() {
    let (mut victim, ..) = robbed();
    victim.stop();
    let file = victim.directory().join("data/chain.key");
    let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    let error = Node::start(victim.config()).unwrap_err().to_string();
    assert!(error.contains("other users can read this secret") && error.contains("chain.key"), "{error}");
    mode(0o600);
    // Nor does another key go on with the chain, or none.
    std::fs::write(&file, format!("{:064x}\n", 5)).unwrap();
    let error = Node::start(victim.config()).unwrap_err().to_string();
    assert!(error.contains("set `chain_key` to its key"), "{error}");
    std::fs::remove_file(&file).unwrap();
    let error = Node::start(victim.config()).unwrap_err().to_string();
    assert!(error.contains("restore it"), "{error}");
    assert!(!file.exists());
}
