//! Peers of `shm://` that corrupt their memory or share something else: their channel is closed with the error for
//! that, and nothing else is disturbed.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    io::{BufRead, BufReader, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::Release},
    thread,
    time::{Duration, Instant},
};

use common::{PATIENCE, accept};
use rustix::{
    cmsg_space,
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create},
    io::Errno,
    mm::{MapFlags, ProtFlags, mmap},
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
        SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, recvmsg, send, sendmsg, socket_with,
    },
};
use turnpike_link::{
    Address, Channel, Config, Error, Operations, SelectionKey, Selector, ServerChannel, ZeroCopyFrom,
    tcp::frame::Greeting,
};

/// Offsets in the memory of either side, for the buffers of [`config`] (docs/link.md).
const MESSAGES: usize = 128;
const GIVEN_BACK: usize = 256;
const FIRST_BUFFER: usize = 4096 + 128;
const BYTES: usize = 8192;

fn config() -> Config {
    let greeting_timeout = Duration::from_millis(300);
    Config { buffers: 4, buffer_bytes: 256, greeting: 8, greeting_timeout, ..Config::default() }
}

fn server(config: &Config) -> (ServerChannel, String) {
    let server = ServerChannel::bind(&"shm://".parse().unwrap(), config).unwrap();
    let Address::Shm(name) = server.address() else { panic!("another address") };
    (server, name)
}

/// Memory like that of an honest peer.
fn sealed(bytes: usize) -> OwnedFd {
    let file = memfd_create(c"peer", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, bytes as u64).unwrap();
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW).unwrap();
    file
}

/// A peer that does everything by hand.
struct Peer {
    socket: OwnedFd,
    /// Its memory, never unmapped.
    words: &'static [AtomicU64],
    file: OwnedFd,
}

impl Peer {
    fn connect(name: &str) -> Self {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let address = SocketAddrUnix::new_abstract_name(format!("turnpike-link/{name}").as_bytes()).unwrap();
        connect(&socket, &address).unwrap();
        let file = sealed(BYTES);
        // SAFETY: a new mapping, which is never unmapped; its words are used as atomics only.
        let words = unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let start = mmap(std::ptr::null_mut(), BYTES, protection, MapFlags::SHARED, &file, 0).unwrap();
            std::slice::from_raw_parts(start.cast::<AtomicU64>(), BYTES / 8)
        };
        Self { socket, words, file }
    }

    fn greet(&self) {
        send(&self.socket, &Greeting::from_config(&config()).encode(), SendFlags::empty()).unwrap();
    }

    fn share(&self, file: BorrowedFd<'_>) {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files = [file];
        control.push(SendAncillaryMessage::ScmRights(&files));
        sendmsg(&self.socket, &[IoSlice::new(&[0])], &mut control, SendFlags::empty()).unwrap();
    }

    /// Their memory.
    fn shared(&self) -> OwnedFd {
        recv(&self.socket, &mut [0; 16][..], RecvFlags::empty()).unwrap();
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        recvmsg(&self.socket, &mut [IoSliceMut::new(&mut [0; 1])], &mut control, RecvFlags::empty()).unwrap();
        let file = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        file.unwrap()
    }

    fn ring(&self) {
        let _ = send(&self.socket, &[0], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    /// Stores a word and wakes the other side.
    fn put(&self, offset: usize, word: u64) {
        self.words[offset / 8].store(word, Release);
        self.ring();
    }

    /// Sends what an honest peer would: a buffer, as message number `position`.
    fn send(&self, position: u64, index: u64, length: u64) {
        self.put(MESSAGES + (position as usize % 4) * 8, (position + 1) << 48 | index << 32 | length);
    }
}

fn connected(config: &Config) -> (Peer, Channel) {
    let (mut server, name) = server(config);
    let peer = Peer::connect(&name);
    peer.greet();
    peer.share(peer.file.as_fd());
    let channel = accept(&mut server);
    (peer, channel)
}

/// The error of a channel, and the number of messages before it.
fn said(channel: Channel) -> (usize, Error) {
    let mut selector = Selector::new().unwrap();
    let key = selector.register(channel, Operations::RECEIVE).unwrap();
    let mut held = Vec::new();
    loop {
        assert_eq!(selector.select(Some(PATIENCE)).unwrap(), 1, "nothing was told");
        match selector.channel(key).unwrap().receive() {
            Ok(message) => held.extend(message),
            Err(error) => return (held.len(), error),
        }
    }
}

#[test]
fn entries_that_break_a_rule_are_told_by_name() {
    type Breaks = fn(&Peer);
    let cases: [(Breaks, Error); 6] = [
        (|peer| peer.put(MESSAGES + 8, 9 << 48), Error::OutOfSequence { expected: 2, got: 9 }),
        (|peer| peer.put(MESSAGES + 8, u64::MAX), Error::OutOfSequence { expected: 2, got: 0xffff }),
        (|peer| peer.send(1, 1, 257), Error::TooLong { length: 257, limit: 256 }),
        (|peer| peer.send(1, 4, 1), Error::NotItsToSend),
        // The buffer of the first message, which is held.
        (|peer| peer.send(1, 0, 1), Error::NotItsToSend),
        (|peer| peer.put(GIVEN_BACK, 1 << 48), Error::NotItsBuffer),
    ];
    for (breaks, expected) in cases {
        let (peer, channel) = connected(&config());
        peer.send(0, 0, 3);
        breaks(&peer);
        let (messages, error) = said(channel);
        assert_eq!(error, expected);
        assert!(messages == 1 || expected == Error::NotItsBuffer, "{messages} messages before {error}");
    }
}

#[test]
fn who_shares_something_else_is_not_accepted() {
    let unsealed = memfd_create(c"peer", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&unsealed, BYTES as u64).unwrap();
    let shrinks = memfd_create(c"peer", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&shrinks, BYTES as u64).unwrap();
    fcntl_add_seals(&shrinks, SealFlags::GROW).unwrap();
    let others = [
        unsealed,
        shrinks,
        sealed(BYTES - 4096),
        sealed(BYTES + 4096),
        std::fs::File::open("/dev/zero").unwrap().into(),
        std::fs::File::open(std::env::current_exe().unwrap()).unwrap().into(),
    ];
    for other in &others {
        let (mut server, name) = server(&config());
        let peer = Peer::connect(&name);
        peer.greet();
        peer.share(other.as_fd());
        is_refused(&mut server, &peer);
    }
    // No file at all, a greeting that is too long, or none.
    for packets in [&[&Greeting::from_config(&config()).encode()[..], &[0]][..], &[&[0x54; 17][..]], &[&[][..]]] {
        let (mut server, name) = server(&config());
        let peer = Peer::connect(&name);
        for packet in packets {
            send(&peer.socket, packet, SendFlags::empty()).unwrap();
        }
        is_refused(&mut server, &peer);
    }
}

/// The connection ends, and nothing was accepted.
fn is_refused(server: &mut ServerChannel, peer: &Peer) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(server.accept().unwrap().is_none());
        match recv(&peer.socket, &mut [0; 64][..], RecvFlags::DONTWAIT) {
            Ok((0, _)) | Err(Errno::CONNRESET) => return,
            Ok(_) => {}
            Err(Errno::AGAIN) => thread::sleep(Duration::from_millis(1)),
            Err(errno) => panic!("{errno}"),
        }
        assert!(Instant::now() < deadline, "the connection stays");
    }
}

#[test]
fn the_memory_of_one_side_is_not_written_by_the_other() {
    let (peer, mut channel) = connected(&config());
    let theirs = peer.shared();
    assert!(channel.send_copy(b"as sent").unwrap());
    let map = |protection| {
        // SAFETY: a new mapping, which is never unmapped.
        unsafe { mmap(std::ptr::null_mut(), BYTES, protection, MapFlags::SHARED, &theirs, 0) }
    };
    assert_eq!(map(ProtFlags::READ | ProtFlags::WRITE).unwrap_err(), Errno::PERM);
    assert_eq!(rustix::io::pwrite(&theirs, b"scribble", FIRST_BUFFER as u64), Err(Errno::PERM));
    assert_eq!(ftruncate(&theirs, 0), Err(Errno::PERM));
    assert!(fcntl_add_seals(&theirs, SealFlags::WRITE).is_err(), "the channel itself could write no more");
    let mut bytes = [0; 7];
    rustix::io::pread(&theirs, &mut bytes, FIRST_BUFFER as u64).unwrap();
    assert_eq!(&bytes, b"as sent");
}

/// Both ends of an honest connection, in a selector.
fn honest(selector: &mut Selector) -> (SelectionKey, SelectionKey) {
    let (mut server, name) = server(&config());
    let mut near = Channel::connect(&Address::Shm(name), &config()).unwrap();
    let mut far = None;
    while !near.finish_connect().unwrap() || far.is_none() {
        far = far.or_else(|| server.accept().unwrap());
    }
    let near = selector.register(near, Operations::NONE).unwrap();
    (near, selector.register(far.unwrap(), Operations::RECEIVE).unwrap())
}

/// Sends messages from one end to the other.
fn goes_on(selector: &mut Selector, (near, far): (SelectionKey, SelectionKey)) {
    for number in 0_u32..50 {
        assert!(selector.channel(near).unwrap().send_copy(&number.to_be_bytes()).unwrap());
        let deadline = Instant::now() + PATIENCE;
        loop {
            selector.select(Some(PATIENCE)).unwrap();
            if let Some(message) = selector.channel(far).unwrap().receive().unwrap() {
                assert_eq!(message[..], number.to_be_bytes());
                break;
            }
            assert!(Instant::now() < deadline, "an honest channel is disturbed");
        }
    }
}

#[test]
fn whatever_is_scribbled_anywhere_ends_in_a_message_or_an_error() {
    let mut selector = Selector::new().unwrap();
    let honest = honest(&mut selector);
    let copying = Config { zero_copy_from: ZeroCopyFrom::Nobody, ..config() };
    for seed in 1..40_u64 {
        let (peer, channel) = connected(&copying);
        let key = selector.register(channel, Operations::RECEIVE | Operations::SEND).unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                while !is_over.load(Relaxed) {
                    // xorshift64 (Marsaglia 2003)
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    // Mostly close to valid words, so that some are taken for entries.
                    let word = if seed.is_multiple_of(2) {
                        random
                    } else {
                        ((random % 5) << 48) | ((random % 5) << 32) | (random % 300)
                    };
                    let part = if random.is_multiple_of(3) { BYTES / 8 } else { FIRST_BUFFER / 64 };
                    peer.words[(random >> 20) as usize % part].store(word, Relaxed);
                    if random.is_multiple_of(64) {
                        peer.ring();
                    }
                }
            });
            let until = Instant::now() + Duration::from_millis(20);
            while Instant::now() < until {
                selector.select(Some(Duration::from_millis(1))).unwrap();
                let channel = selector.channel(key).unwrap();
                let sent = channel.send_copy(&seed.to_be_bytes());
                match channel.receive() {
                    Ok(Some(message)) => assert!(message.len() <= 256),
                    Ok(None) => {}
                    Err(error) => {
                        assert!(sent.is_err() || channel.send_copy(b"").is_err(), "failed for good: {error}");
                        break;
                    }
                }
            }
            goes_on(&mut selector, honest);
            is_over.store(true, Relaxed);
        });
        selector.close(key).unwrap();
    }
}

#[test]
fn what_a_copied_message_says_is_not_changed_any_more() {
    let copying = Config { zero_copy_from: ZeroCopyFrom::Nobody, ..config() };
    let (peer, mut channel) = connected(&copying);
    peer.words[FIRST_BUFFER / 8].store(u64::from_ne_bytes(*b"what was"), Relaxed);
    peer.words[FIRST_BUFFER / 8 + 1].store(u64::from_ne_bytes(*b" said..."), Relaxed);
    peer.send(0, 0, 13);
    let message = channel.receive().unwrap().unwrap();
    peer.words[FIRST_BUFFER / 8].store(0, Relaxed);
    assert_eq!(&message[..], b"what was said");
    // Its buffer was returned at once.
    let theirs = peer.shared();
    let mut given_back = [0; 8];
    rustix::io::pread(&theirs, &mut given_back, GIVEN_BACK as u64).unwrap();
    assert_eq!(u64::from_ne_bytes(given_back), 1 << 48);
}

#[test]
fn a_flood_of_bells_disturbs_no_other_channel() {
    let mut selector = Selector::new().unwrap();
    let honest = honest(&mut selector);
    let (peer, channel) = connected(&config());
    selector.register(channel, Operations::RECEIVE).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                peer.ring();
            }
        });
        goes_on(&mut selector, honest);
        is_over.store(true, Relaxed);
    });
}

/// Not a test by itself: the process that the next test kills.
#[test]
#[ignore = "the peer of a test"]
fn peer_that_is_killed() {
    let address: Address = std::env::var("TURNPIKE_LINK_PEER").unwrap().parse().unwrap();
    let mut channel = Channel::connect(&address, &config()).unwrap();
    while !channel.finish_connect().unwrap() {}
    assert!(channel.send_copy(b"last words").unwrap());
    println!("sent");
    thread::sleep(PATIENCE);
}

#[test]
fn the_death_of_a_process_is_noticed_behind_its_last_message() {
    let (mut server, name) = server(&config());
    let mut peer = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "peer_that_is_killed", "--nocapture"])
        .env("TURNPIKE_LINK_PEER", format!("shm://{name}"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let channel = accept(&mut server);
    assert!(BufReader::new(peer.stdout.take().unwrap()).lines().any(|line| line.unwrap().ends_with("sent")));
    peer.kill().unwrap();
    peer.wait().unwrap();
    let mut selector = Selector::new().unwrap();
    let key = selector.register(channel, Operations::RECEIVE).unwrap();
    let mut said = Vec::new();
    let error = loop {
        assert_eq!(selector.select(Some(PATIENCE)).unwrap(), 1, "its death is not noticed");
        match selector.channel(key).unwrap().receive() {
            Ok(message) => said.extend(message.map(|message| message.to_vec())),
            Err(error) => break error,
        }
    };
    assert_eq!((said, error), (vec![b"last words".to_vec()], Error::Closed));
}
