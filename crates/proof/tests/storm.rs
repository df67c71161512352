//! Requests, fills and announcements at once: every hit is true as of the tip that it names, and that tip is not an old
//! one.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    sync::atomic::{
        AtomicBool, AtomicU64,
        Ordering::{Acquire, Release},
    },
    thread,
};

use turnpike_proof::{Cache, Config, Lookup, Tip};
use wire::{Chain, Query};

const ADDRESSES: u64 = 64;

/// The number of blocks. Sanitizers slow everything down; `TURNPIKE_STORM` then makes the storm shorter.
fn blocks() -> u64 {
    std::env::var("TURNPIKE_STORM").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1500)
}

fn mix(number: u64) -> u64 {
    let mixed = (number ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32
}

fn tip(height: u64) -> Tip {
    let mut hash = [0; 32];
    hash.chunks_mut(8).for_each(|word| word.copy_from_slice(&mix(height).to_le_bytes()));
    Tip { hash, height }
}

/// Whether the block of a height touches an address.
fn touches(height: u64, address: u64) -> bool {
    mix(height * ADDRESSES + address).is_multiple_of(8)
}

/// The last block up to a height that touched an address.
fn latest(height: u64, address: u64) -> u64 {
    (0..=height).rev().find(|height| touches(*height, address)).unwrap_or(0)
}

fn body(height: u64, address: u64) -> Vec<u8> {
    let mut body = tip(height).hash.to_vec();
    body.extend_from_slice(&height.to_be_bytes());
    body.extend_from_slice(&address.to_be_bytes());
    body.extend_from_slice(&latest(height, address).to_be_bytes());
    body.resize(300 + (latest(height, address) % 900) as usize, address as u8);
    body
}

fn key(address: u64) -> [u8; 32] {
    [address as u8; 32]
}

/// Signals that the announcements are over, also if they failed.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Release);
    }
}

#[test]
fn hits_are_true_as_of_the_tip_they_name() {
    let cache = Cache::new(&Config { bytes: 48 << 10, ..Config::default() }).unwrap();
    let announced = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let last = blocks();
    cache.reorganise(Chain::Own, tip(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _done = Done(&done);
            for height in 1..=last {
                let touched = (0..ADDRESSES).filter(|address| touches(height, *address)).map(key);
                cache.announce(Chain::Own, &tip(height - 1).hash, tip(height), touched);
                announced.store(height, Release);
                // Some replies between two blocks, some of which arrive while the next one is announced.
                let before = cache.counters().fills;
                while cache.counters().fills < before + 4 {
                    thread::yield_now();
                }
            }
        });
        // Computes replies now, and fills the cache with them now or some time later.
        scope.spawn(|| {
            let mut late = Vec::new();
            let mut number = 0;
            while !done.load(Acquire) {
                number += 1;
                let address = mix(number) % ADDRESSES;
                let reply = body(announced.load(Acquire), address);
                if number % 3 == 0 {
                    late.push((address, reply))
                } else {
                    cache.fill(Chain::Own, Query::Latest, &key(address), &reply)
                }
                if late.len() > 20 {
                    for (address, reply) in late.drain(..) {
                        cache.fill(Chain::Own, Query::Latest, &key(address), &reply);
                    }
                }
            }
        });
        let mut hits = 0_u64;
        let mut number = 1 << 40;
        while !done.load(Acquire) {
            number += 1;
            let address = mix(number) % ADDRESSES;
            let before = announced.load(Acquire);
            let mut room = [0; 1424];
            if let Lookup::Hit(len) = cache.get(Chain::Own, Query::Latest, &key(address), &mut room) {
                let height = u64::from_be_bytes(room[32..40].try_into().unwrap());
                assert!(height >= before, "as of {height}, when {before} had been announced");
                assert_eq!(room[..len], body(height, address));
                hits += 1;
            }
        }
        assert!(hits > 0, "nobody asked for anything");
    });
}
