//! Readers with a concurrent writer: never a torn value, never another key's, never a miss of a key that is there.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    sync::atomic::{
        AtomicBool, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
};

use turnpike_table::{Config, Pages, Reader, Table, ValueHandle, ValueStore};

const SEED: [u8; 16] = *b"storm storm stor";

/// Sanitizers slow everything down; `TURNPIKE_STORM` then makes the storm shorter.
fn rounds() -> u64 {
    std::env::var("TURNPIKE_STORM").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(300_000)
}

fn key(number: u64) -> [u8; 33] {
    let mut key = [7; 33];
    key[..8].copy_from_slice(&number.to_le_bytes());
    key[25..].copy_from_slice(&number.to_be_bytes());
    key
}

/// A value that identifies its key, and whose words belong together.
fn value(number: u64, version: u64) -> [u8; 32] {
    let mut value = [0; 32];
    let words = [number, version, version.wrapping_mul(number | 1), !version];
    for (chunk, word) in value.chunks_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    value
}

/// Checks a value, and returns its version.
fn version(number: u64, bytes: [u8; 32]) -> u64 {
    let version = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
    assert_eq!(bytes, value(number, version), "torn, or another key's");
    version
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Some keys stay and are updated, in a table so full that other keys, which come and go, constantly displace them.
#[test]
fn readers_never_see_a_torn_value_nor_miss_a_key() {
    const STAYING: u64 = 200;
    const CAPACITY: u64 = 1000;
    let mut table = Table::<33, 32>::with_capacity(&Config::new(CAPACITY as usize).load(97).seed(SEED)).unwrap();
    for number in 0..STAYING {
        table.insert(&key(number), value(number, 0)).unwrap();
    }
    let versions: Vec<AtomicU64> = (0..STAYING).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    let storm = |reader: Reader<33, 32>, seed: u64| {
        let mut state = seed;
        let mut reads = 0_u64;
        while !done.load(Relaxed) || reads < 1000 {
            let number = random(&mut state) % STAYING;
            let oldest = versions[number as usize].load(Acquire);
            let found = reader.get(&key(number)).unwrap_or_else(|| panic!("{number} is missed"));
            assert!(version(number, found) >= oldest, "an older value came back");
            let passing = STAYING + random(&mut state) % (4 * CAPACITY);
            if let Some(found) = reader.get(&key(passing)) {
                version(passing, found);
            }
            reads += 2;
        }
        reads
    };
    thread::scope(|scope| {
        let readers: Vec<_> = (1..3).map(|seed| (table.reader(), seed)).collect();
        let readers: Vec<_> =
            readers.into_iter().map(|(reader, seed)| scope.spawn(move || storm(reader, seed))).collect();
        let mut state = 99;
        let mut passing = std::collections::VecDeque::new();
        for round in 1..=rounds() {
            let number = random(&mut state) % STAYING;
            let index = table.find(table.hash(&key(number)), &key(number)).unwrap();
            table.set_value(index, value(number, round));
            versions[number as usize].store(round, Release);
            let comer = STAYING + random(&mut state) % (4 * CAPACITY);
            if table.get(&key(comer)).is_none() {
                if table.insert(&key(comer), value(comer, round)).is_err() {
                    let goer = passing.pop_front().unwrap();
                    table.remove(&key(goer)).unwrap();
                    table.insert(&key(comer), value(comer, round)).unwrap();
                }
                passing.push_back(comer);
            }
        }
        done.store(true, Release);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
    assert_eq!(table.len() as u64, CAPACITY);
}

/// A key is removed and another one gets its entry, repeatedly: nobody reads one's value as the other's.
#[test]
fn entries_change_hands_unmixed() {
    let mut table = Table::<33, 32>::with_capacity(&Config::new(2).seed(SEED)).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            let reader = table.reader();
            scope.spawn(|| {
                let reader = reader;
                while !done.load(Relaxed) {
                    for number in 0..3 {
                        if let Some(found) = reader.get(&key(number)) {
                            version(number, found);
                        }
                    }
                }
            });
        }
        for round in 0..rounds() {
            table.insert(&key(round % 3), value(round % 3, round)).unwrap();
            assert!(table.remove(&key(round % 3)).is_some());
        }
        done.store(true, Release);
    });
}

/// Values of many sizes come and go while readers use old handles: they get the value, whole, or nothing.
#[test]
fn value_blocks_change_hands_unmixed() {
    let mut store = ValueStore::with_capacity(256 << 10, 1000, Pages::Small, false).unwrap();
    let handles: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    let reader = store.reader();
    thread::scope(|scope| {
        for seed in 1..3 {
            let (reader, handles, done) = (&reader, &handles, &done);
            scope.spawn(move || {
                let (mut state, mut room, mut read) = (seed, [0; 1000], 0);
                while !done.load(Relaxed) || read == 0 {
                    let handle = handles[random(&mut state) as usize % handles.len()].load(Acquire);
                    if let Ok(len) = reader.read(ValueHandle::from_bits(handle), &mut room) {
                        assert!(
                            len >= 1 && room[..len].iter().all(|byte| usize::from(*byte) == len % 251),
                            "a mixed value"
                        );
                        read += 1;
                    }
                }
            });
        }
        let mut state = 7;
        for round in 0..rounds() as u32 {
            let (place, len) = (round % 64, 1 + random(&mut state) as usize % 1000);
            store.remove(ValueHandle::from_bits(handles[place as usize].load(Relaxed)));
            let handle = loop {
                match store.insert(&vec![(len % 251) as u8; len], place) {
                    Ok(handle) => break handle,
                    Err(_) => store.evict(len, |_| ()),
                }
            };
            handles[place as usize].store(handle.to_bits(), Release);
        }
        done.store(true, Release);
    });
}
