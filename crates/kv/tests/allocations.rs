//! Requests take no memory of the system's: in the steady state nothing is allocated for one. A test of its own, as it
//! counts for the whole process.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    io::{Read, Write},
    net::UdpSocket,
    os::unix::net::UnixStream,
    sync::atomic::{
        AtomicBool, AtomicU64,
        Ordering::{Relaxed, SeqCst},
    },
    time::Duration,
};

use common::{Ours, small_store};
use turnpike_kv::{service::Settings, store};

/// Counts allocations while it is enabled.
struct Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

fn count() {
    if COUNTS.load(Relaxed) {
        ALLOCATIONS.fetch_add(1, Relaxed);
    }
}

// SAFETY: every call is forwarded to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same, and `alloc` gave it.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is the same, and `alloc` gave it.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of all threads while something is done.
fn allocations(work: impl FnOnce()) -> u64 {
    ALLOCATIONS.store(0, SeqCst);
    COUNTS.store(true, SeqCst);
    work();
    COUNTS.store(false, SeqCst);
    ALLOCATIONS.load(SeqCst)
}

/// Sends requests and reads replies of the buffer's size, without an allocation.
fn ask(mut stream: &UnixStream, requests: &[u8], reply: &mut [u8]) {
    stream.write_all(requests).unwrap();
    stream.read_exact(reply).unwrap();
}

/// A binary request.
fn binary(code: u8, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    let body = (extras.len() + key.len() + value.len()) as u32;
    let mut bytes = vec![0x80, code, 0, key.len() as u8, extras.len() as u8, 0, 0, 0];
    bytes.extend_from_slice(&body.to_be_bytes());
    bytes.extend_from_slice(&[0; 12]);
    [bytes, extras.to_vec(), key.to_vec(), value.to_vec()].concat()
}

const ROUNDS: usize = 2000;

#[test]
fn no_allocation_for_a_request() {
    let evicting = store::Config { memory: 4 << 20, ..small_store() };
    let ours = Ours::with(evicting, Settings::default(), |_| {});
    let text = [
        &b"set a 0 0 5\r\nhello\r\nset b 0 0 2\r\n41\r\nget a b c\r\ngets a\r\nincr b 1\r\ndecr b 1\r\n"[..],
        b"append a 0 0 1\r\n!\r\nprepend a 0 0 1\r\n!\r\nreplace a 0 0 5\r\nhello\r\nadd a 0 0 1\r\n1\r\n",
        b"cas a 0 0 1 1\r\n1\r\ntouch a 100\r\ngat 100 a\r\ndelete c\r\ndelete b\r\nset d 0 0 300\r\n",
        &[b'd'; 300],
        b"\r\nverbosity 0\r\nversion\r\nmg a v f t c k s\r\nms b 2 T100 c\r\n41\r\nma b v\r\nmd b q\r\nmn\r\n",
    ]
    .concat();
    let set = binary(1, &[0; 8], b"a", b"hello");
    let binaries = [
        set,
        binary(0, &[], b"a", b""),
        binary(9, &[], b"none", b""),
        binary(4, &[], b"a", b""),
        binary(10, &[], b"", b""),
    ];
    let datagram = b"\0\x01\0\0\0\x01\0\0get a\r\n";

    let connections = [ours.connect(), ours.connect()];
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.connect(ours.server().udp()[0]).unwrap();
    udp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut replies = vec![0; 64 << 10];
    // Each round ends with a request whose reply marks its end.
    let work = |stream: &UnixStream, requests: &[u8], sentinel: &[u8], rounds: usize, reply: &mut [u8]| {
        for _ in 0..rounds {
            (&*stream).write_all(requests).unwrap();
            let mut len = 0;
            while !reply[..len].ends_with(sentinel) {
                let count = (&*stream).read(&mut reply[len..]).unwrap();
                assert!(count > 0, "the connection is closed");
                len += count;
            }
        }
    };
    let binaries = binaries.concat();
    let noop = [&[0x81, 10][..], &[0; 22]].concat();
    let mut datagram_reply = [0; 2000];
    let mut by_udp = |rounds| {
        for _ in 0..rounds {
            udp.send(datagram).unwrap();
            udp.recv(&mut datagram_reply).unwrap();
        }
    };
    work(&connections[0], &text, b"MN\r\n", 10, &mut replies);
    work(&connections[1], &binaries, &noop, 10, &mut replies);
    by_udp(10);
    let of_text = allocations(|| work(&connections[0], &text, b"MN\r\n", ROUNDS, &mut replies));
    let of_binary = allocations(|| work(&connections[1], &binaries, &noop, ROUNDS, &mut replies));
    let of_udp = allocations(|| by_udp(ROUNDS));
    // A list of the process may grow at any time; a request of each kind that allocates would do so in each round.
    assert!(of_text < ROUNDS as u64 / 100, "{of_text} by text in {ROUNDS} rounds");
    assert!(of_binary < ROUNDS as u64 / 100, "{of_binary} by binary in {ROUNDS} rounds");
    assert!(of_udp < ROUNDS as u64 / 100, "{of_udp} by UDP in {ROUNDS} rounds");

    // New keys, with room for the old ones only: the index stops growing after a while.
    let stream = ours.connect();
    let mut request = *b"set 00000000 0 0 100\r\n----------------------------------------------------------------------------------------------------\r\n";
    let mut new_keys = |from: usize| {
        let mut stored = [0; 8];
        for number in from..from + 100_000 {
            (0..8).for_each(|digit| request[4 + digit] = b'0' + (number / 10_usize.pow(7 - digit as u32) % 10) as u8);
            ask(&stream, &request, &mut stored);
            assert_eq!(&stored, b"STORED\r\n");
        }
    };
    new_keys(0);
    new_keys(100_000);
    let evictions = ours.server().service().store.counters().evictions;
    let allocated = allocations(|| new_keys(200_000));
    assert!(ours.server().service().store.counters().evictions >= evictions + 90_000);
    assert!(allocated < 100, "{allocated} allocations for 100,000 new items");
}
