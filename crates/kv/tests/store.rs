//! The store next to a plain map.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use proptest::prelude::*;
use turnpike_kv::store::{Arithmetic, Config, Mode, NotChanged, Store, Stored, Write};

fn store(memory: usize) -> Store {
    Store::new(Config { memory, largest_item: 1 << 20, evict: true, threads: 1 }).unwrap()
}

fn write<'a>(store: &Store, mode: Mode, key: &'a [u8], value: &'a [u8]) -> Write<'a> {
    Write { flags: 7, ..Write::new(mode, store.key(key), value) }
}

fn read(store: &Store, key: &[u8], now: u32) -> Option<Vec<u8>> {
    let hash = store.key(key).hash;
    let mut shard = store.shard(hash);
    let item = shard.get(key, hash, now)?;
    assert_eq!(shard.key(item), key);
    Some(shard.value(item).collect::<Vec<_>>().concat())
}

fn put(store: &Store, write: &Write<'_>, now: u32) -> Stored {
    store.shard(write.hash).write(write, now)
}

/// Bytes derived from key and length, so that parts of other values are noticed.
fn value(key: u16, len: usize) -> Vec<u8> {
    (0..len).map(|i| (usize::from(key) * 31 + len * 7 + i + i / 251) as u8).collect()
}

fn key(number: u16) -> Vec<u8> {
    let mut key = format!("key:{number}:").into_bytes();
    key.resize(5 + usize::from(number) % 246, b'k');
    key.extend_from_slice(format!("{number}").as_bytes());
    key.truncate(250);
    key
}

#[derive(Clone, Debug)]
enum Step {
    Write(Mode, u16, usize, u32),
    Delete(u16),
    Add(u16, u64),
    Touch(u16, u32),
    Flush(u32),
    Wait(u32),
}

fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..200_usize, 2 => 200..5000_usize, 1 => 5000..60_000_usize]
}

fn steps() -> impl Strategy<Value = Step> {
    let mode = prop_oneof![
        4 => Just(Mode::Set),
        1 => Just(Mode::Add),
        1 => Just(Mode::Replace),
        1 => Just(Mode::Append),
        1 => Just(Mode::Prepend)
    ];
    let expires = prop_oneof![3 => Just(0_u32), 1 => 1..20_u32];
    prop_oneof![
        12 => (mode, 0..60_u16, lengths(), expires.clone()).prop_map(|(m, k, l, e)| Step::Write(m, k, l, e)),
        3 => (0..60_u16).prop_map(Step::Delete),
        3 => (0..60_u16, any::<u64>()).prop_map(|(k, by)| Step::Add(k, by)),
        2 => (0..60_u16, expires).prop_map(|(k, e)| Step::Touch(k, e)),
        1 => (0..4_u32).prop_map(Step::Flush),
        2 => (1..4_u32).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_store_with_room_is_a_map_with_expiry(steps in prop::collection::vec(steps(), 1..300)) {
        let store = store(64 << 20);
        let mut model: HashMap<u16, (Vec<u8>, u32)> = HashMap::new();
        let (mut now, mut flush_at) = (10, 0);
        for step in steps {
            if flush_at != 0 && flush_at <= now {
                model.clear();
                flush_at = 0;
            }
            model.retain(|_, (_, expires)| *expires == 0 || *expires > now);
            match step {
                Step::Write(mode, number, len, expires) => {
                    let (key, value) = (key(number), value(number, len));
                    let expires = if expires == 0 { 0 } else { now + expires };
                    let stored = put(&store, &Write { expires, ..write(&store, mode, &key, &value) }, now);
                    let old = model.get(&number).cloned();
                    let new = match (mode, old) {
                        (Mode::Set, _) | (Mode::Add, None) | (Mode::Replace, Some(_)) => Some((value, expires)),
                        (Mode::Append, Some((old, expires))) => Some(([old, value].concat(), expires)),
                        (Mode::Prepend, Some((old, expires))) => Some(([value, old].concat(), expires)),
                        _ => None,
                    };
                    match new {
                        Some(new) if new.0.len() < 1_000_000 => {
                            prop_assert!(matches!(stored, Stored::Stored(_)), "{stored:?}");
                            model.insert(number, new);
                        }
                        Some(_) => prop_assert_eq!(stored, Stored::NotStored),
                        None => prop_assert_eq!(stored, Stored::NotStored),
                    }
                }
                Step::Delete(number) => {
                    let key = key(number);
                    let hash = store.key(&key).hash;
                    let mut shard = store.shard(hash);
                    let item = shard.peek(&key, hash, now);
                    prop_assert_eq!(item.is_some(), model.remove(&number).is_some());
                    item.into_iter().for_each(|item| shard.delete(item));
                }
                Step::Add(number, by) => {
                    let key = key(number);
                    let hash = store.key(&key).hash;
                    let changed = store.shard(hash).add(store.key(&key), &Arithmetic { increment: true, delta: by, cas: 0, new_cas: None }, now);
                    match model.get_mut(&number) {
                        None => prop_assert_eq!(changed, Err(NotChanged::NotFound)),
                        Some((value, _)) => match turnpike_kv::number::unsigned(value) {
                            Some(before) if value.len() < 10_000 => {
                                let after = before.wrapping_add(by);
                                prop_assert_eq!(changed.map(|(_, number)| number), Ok(after));
                                let width = value.len();
                                *value = format!("{after:<width$}").into_bytes();
                            }
                            _ => prop_assert_eq!(changed, Err(NotChanged::NotNumeric)),
                        },
                    }
                }
                Step::Touch(number, expires) => {
                    let key = key(number);
                    let hash = store.key(&key).hash;
                    let mut shard = store.shard(hash);
                    let expires = if expires == 0 { 0 } else { now + expires };
                    let item = shard.peek(&key, hash, now);
                    prop_assert_eq!(item.is_some(), model.contains_key(&number));
                    if let (Some(item), Some(entry)) = (item, model.get_mut(&number)) {
                        shard.set_expiry(item, expires);
                        entry.1 = expires;
                    }
                }
                Step::Flush(delay) => {
                    store.flush(now + delay, now);
                    if delay == 0 {
                        model.clear();
                        flush_at = 0;
                    } else {
                        flush_at = now + delay;
                    }
                }
                Step::Wait(seconds) => now += seconds,
            }
        }
        if flush_at != 0 && flush_at <= now {
            model.clear();
        }
        model.retain(|_, (_, expires)| *expires == 0 || *expires > now);
        for number in 0..60 {
            let expected = model.get(&number).map(|(value, _)| value.clone());
            prop_assert_eq!(read(&store, &key(number), now), expected, "key {}", number);
        }
    }

    #[test]
    fn under_pressure_what_is_read_is_what_was_written_last(
        writes in prop::collection::vec((0..400_u16, lengths(), 0..12_u32), 200..900),
    ) {
        // 17 pages, fewer than there are classes.
        let store = store(17 << 16);
        let mut last = HashMap::new();
        for (n, (number, len, expires)) in writes.into_iter().enumerate() {
            let now = 10 + n as u32 / 50;
            let (key, value) = (key(number), value(number, len));
            let expires = if expires > 8 { now + expires } else { 0 };
            let stored = put(&store, &Write { expires, ..write(&store, Mode::Set, &key, &value) }, now);
            prop_assert!(matches!(stored, Stored::Stored(_)), "{stored:?}");
            prop_assert_eq!(read(&store, &key, now), Some(value), "an item is there when it was just stored");
            last.insert(number, (len, expires));
            let number = (number * 7 + n as u16) % 400;
            if let Some(found) = read(&store, &crate::key(number), now) {
                let (len, expires) = last[&number];
                prop_assert!(expires == 0 || expires > now);
                prop_assert_eq!(found, crate::value(number, len));
            }
        }
        // Blocks in use are those of the items: none is leaked.
        let mut shard = store.shards().next().unwrap();
        let items: Vec<_> = shard.items(0).collect();
        prop_assert!(shard.used_bytes() <= shard.memory());
        items.into_iter().for_each(|item| shard.delete(item));
        shard.flush(0, 1);
        prop_assert_eq!((shard.used_bytes(), shard.len()), (0, 0));
    }
}

#[test]
fn without_eviction_a_full_store_refuses() {
    let config = Config { memory: 4 << 20, largest_item: 1 << 20, evict: false, threads: 1 };
    let store = Store::new(config).unwrap();
    let mut stored = 0;
    for number in 0..u16::MAX {
        match put(&store, &write(&store, Mode::Set, format!("{number}").as_bytes(), &[1; 1000]), 5) {
            Stored::Stored(_) => stored += 1,
            other => {
                assert_eq!(other, Stored::NoMemory);
                break;
            }
        }
    }
    assert!((3500..4100).contains(&stored), "{stored} items of 1,000 bytes in 4 MiB");
    assert!(read(&store, b"0", 5).is_some());
    // A value that fits where the old one was is taken.
    assert!(matches!(put(&store, &write(&store, Mode::Set, b"0", &[2; 1000]), 5), Stored::Stored(_)));
    // A value that does not fit removes the old one.
    assert_eq!(put(&store, &write(&store, Mode::Set, b"0", &[2; 9000]), 5), Stored::NoMemory);
    assert!(read(&store, b"0", 5).is_none());
    assert_eq!(put(&store, &write(&store, Mode::Append, b"1", &[2; 9000]), 5), Stored::NoMemory);
    assert_eq!(read(&store, b"1", 5), Some(vec![1; 1000]));
}

#[test]
fn values_of_a_mebibyte_come_and_go() {
    let store = store(8 << 20);
    for number in 0..100_u16 {
        let len = (1 << 20) - 300 - usize::from(number) * 777;
        let (key, value) = (key(number), value(number, len));
        assert!(matches!(put(&store, &write(&store, Mode::Set, &key, &value), 5), Stored::Stored(_)));
        assert_eq!(read(&store, &key, 5), Some(value));
    }
    assert_eq!(put(&store, &write(&store, Mode::Set, b"k", &vec![0; 1 << 20]), 5), Stored::TooLarge);
    let left: usize = store.shards().map(|shard| shard.len()).sum();
    assert!((4..=8).contains(&left), "{left} items of 1 MiB in 8 MiB");
}

#[test]
fn what_is_used_again_outlives_a_scan() {
    let store = store(4 << 20);
    let hot: Vec<_> = (0..1000).map(|n| format!("hot{n}")).collect();
    for _ in 0..3 {
        for key in &hot {
            if read(&store, key.as_bytes(), 5).is_none() {
                put(&store, &write(&store, Mode::Set, key.as_bytes(), &[1; 100]), 5);
            }
        }
    }
    for n in 0..200_000 {
        put(&store, &write(&store, Mode::Set, format!("scan{n}").as_bytes(), &[1; 100]), 5);
    }
    let kept = hot.iter().filter(|key| read(&store, key.as_bytes(), 5).is_some()).count();
    assert!(kept == hot.len(), "{kept} of {} are left", hot.len());
}

/// Reads an item that is stored where it is missing, as a program with a database does. Returns whether it was there.
fn fetch(store: &Store, key: &str, value: &[u8], now: u32) -> bool {
    let hit = read(store, key.as_bytes(), now).is_some();
    if !hit {
        put(store, &write(store, Mode::Set, key.as_bytes(), value), now);
    }
    hit
}

/// A store gets twice the small items that fit. One in `step` of them is read all the while. Then large items are asked
/// for that need 60 % of the memory. Returns the share of them that was found in the second minute.
fn hits_beside_small_items_in_use(step: usize) -> f64 {
    const MEMORY: usize = 4 << 20;
    const LARGE: usize = 10_000;
    let store = store(MEMORY);
    let small = Vec::from_iter((0..MEMORY / 80).map(|n| format!("small{n:07}")));
    let in_use = |store: &Store, stored: usize, now| {
        small[..stored].iter().step_by(step).for_each(|key| {
            fetch(store, key, &[1; 100], now);
        });
    };
    for (n, key) in small.iter().enumerate() {
        fetch(&store, key, &[1; 100], 10);
        if n.is_multiple_of(2000) {
            in_use(&store, n, 10);
        }
    }
    let large = Vec::from_iter((0..MEMORY * 6 / 10 / LARGE).map(|n| format!("large{n}")));
    let (mut hits, mut gets, mut random) = (0, 0, 1_u64);
    for half_second in 0..240 {
        let now = 10 + half_second / 2;
        in_use(&store, small.len(), now);
        for _ in 0..250 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let hit = fetch(&store, &large[(random >> 33) as usize % large.len()], &[2; LARGE], now);
            gets += u32::from(half_second >= 120);
            hits += u32::from(half_second >= 120 && hit);
        }
    }
    f64::from(hits) / f64::from(gets)
}

#[test]
fn small_items_that_nobody_reads_go_for_large_ones_whatever_lies_between_them() {
    for step in [200, 20] {
        let ratio = hits_beside_small_items_in_use(step);
        assert!(ratio > 0.8, "{ratio:.3} of the large items were found, with one small item in {step} in use");
    }
}

#[test]
fn replies_refer_to_the_right_values_whatever_numbers_clients_choose() {
    let store = store(8 << 20);
    let values = [vec![1; 100_000], vec![2; 100_000]];
    let [first, second] = [&b"first"[..], b"second"].map(|key| store.key(key));
    for (key, value) in [first, second].into_iter().zip(&values) {
        let write = Write { new_cas: Some(7), ..Write::new(Mode::Set, key, value) };
        assert_eq!(put(&store, &write, 5), Stored::Stored(7));
    }
    let mut shard = store.shard(first.hash);
    let held = [first, second].map(|key| {
        let item = shard.peek(key.bytes, key.hash, 5).unwrap();
        [shard.hold(item), shard.hold(item)]
    });
    // One of them changes while replies refer to it.
    shard.delete_key(first.bytes, first.hash, 5);
    for (numbers, value) in held.iter().zip(&values) {
        for number in numbers {
            let mut read = Vec::new();
            assert!(shard.read_held(*number, 0, value.len(), &mut read) && read == *value);
            shard.release_held(*number);
        }
    }
}
