//! The measuring tools work on each transport, and a message allocates nothing.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use turnpike_link::{
    Address, Config, Identity, KEY_BYTES, SecretKey,
    measure::{Prober, Responder, Role},
};

const ADDRESSES: [&str; 2] = ["tcp://127.0.0.1:0", "shm://"];

/// Both sides have the same key and accept each other.
fn identity() -> Arc<Identity> {
    let secret = SecretKey::from_bytes([42; KEY_BYTES]);
    let public = secret.public().unwrap();
    Arc::new(Identity::new(secret, [public]).unwrap())
}

/// Counts allocations of both sides' threads. The test runner has other threads, which time the test.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: everything is the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IS_COUNTED.get() {
            ALLOCATIONS.fetch_add(1, Relaxed);
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_message_allocates_nothing_in_the_steady_state() {
    IS_COUNTED.set(true);
    let addresses = ADDRESSES.map(|address| address.parse::<Address>().unwrap());
    let encrypted = addresses.iter().filter(|address| address.can_encrypt()).map(|address| (address, Some(identity())));
    for (address, identity) in addresses.iter().map(|address| (address, None)).chain(encrypted) {
        let is_encrypted = identity.is_some();
        let config = Config { buffers: 8, buffer_bytes: 1 << 16, identity, ..Config::default() };
        let mut responder = Responder::bind(address, &config).unwrap();
        let (at, waker, is_over) = (responder.address().clone(), responder.waker(), Arc::new(AtomicBool::new(false)));
        let responding = thread::spawn({
            let is_over = Arc::clone(&is_over);
            move || {
                IS_COUNTED.set(true);
                responder.run(&is_over).unwrap();
            }
        });
        let mut echo = Prober::connect(&at, &config, Role::Echo).unwrap();
        let mut streams = [Role::Drop, Role::Copy].map(|role| Prober::connect(&at, &config, role).unwrap());
        let mut some = |count| {
            for length in [0, 1, 64, 1 << 10, 1 << 16] {
                for _ in 0..count {
                    echo.round_trip(length).unwrap();
                }
                for stream in streams.iter_mut().filter(|_| length > 0) {
                    stream.stream(&[7; 1 << 16][..length], count).unwrap();
                    stream.stream_in_place(length, count).unwrap();
                }
            }
        };
        some(20);
        let before = ALLOCATIONS.load(Relaxed);
        some(200);
        assert_eq!(
            ALLOCATIONS.load(Relaxed),
            before,
            "{address}, encrypted {is_encrypted}: allocations for thousands of messages"
        );
        is_over.store(true, Relaxed);
        waker.wake();
        responding.join().unwrap();
    }
}
