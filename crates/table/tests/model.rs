//! The table against a plain model, for any sequence of operations.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::HashMap;

use proptest::prelude::*;
use turnpike_table::{Config, Table};

#[derive(Clone, Debug)]
enum Step {
    Insert(u16, u64),
    SetValue(u16, u64),
    Remove(u16),
    Get(u16),
}

/// Keys from a small set, so that they repeat.
fn step(keys: u16) -> impl Strategy<Value = Step> {
    let key = 0..keys;
    prop_oneof![
        4 => (key.clone(), any::<u64>()).prop_map(|(key, value)| Step::Insert(key, value)),
        1 => (key.clone(), any::<u64>()).prop_map(|(key, value)| Step::SetValue(key, value)),
        2 => key.clone().prop_map(Step::Remove),
        1 => key.prop_map(Step::Get),
    ]
}

fn key<const K: usize>(number: u16) -> [u8; K] {
    let mut key = [0; K];
    key[K - 2..].copy_from_slice(&number.to_be_bytes());
    key
}

fn value<const V: usize>(number: u64) -> [u8; V] {
    std::array::from_fn(|i| (number >> (i % 8 * 8)) as u8 ^ (i / 8) as u8)
}

fn check<const K: usize, const V: usize>(config: &Config, capacity: usize, steps: Vec<Step>) {
    let mut table = Table::<K, V>::with_capacity(config).unwrap();
    let reader = table.reader();
    let mut model = HashMap::new();
    let mut indices = HashMap::new();
    for step in steps {
        match step {
            Step::Insert(k, v) => match table.insert(&key(k), value(v)) {
                Ok(index) => {
                    model.insert(key::<K>(k), value::<V>(v));
                    assert_eq!(*indices.entry(k).or_insert(index), index, "an entry moved");
                    assert!((index.get() as usize) < capacity);
                }
                Err(_) => assert!(!model.contains_key(&key(k)), "there was no room for a key that is there"),
            },
            Step::SetValue(k, v) => {
                let found = table.find(table.hash(&key(k)), &key(k));
                assert_eq!(found, indices.get(&k).copied());
                if let Some(index) = found {
                    table.set_value(index, value(v));
                    model.insert(key(k), value(v));
                }
            }
            Step::Remove(k) => {
                assert_eq!(table.remove(&key(k)), model.remove(&key(k)));
                indices.remove(&k);
            }
            Step::Get(k) => {
                assert_eq!(table.get(&key(k)), model.get(&key(k)).copied());
                assert_eq!(reader.get(&key(k)), model.get(&key(k)).copied());
            }
        }
        assert_eq!(table.len(), model.len());
    }
    let all: HashMap<_, _> = table.iter().map(|(_, key, value)| (key, value)).collect();
    assert_eq!(all, model);
    for (k, index) in indices {
        assert_eq!(table.key(index), key(k));
        assert_eq!(Some(&table.value(index)), model.get(&key(k)));
    }
    let keys: Vec<[u8; K]> = (0..600).map(key).collect();
    let (mut found, mut values) = (vec![None; keys.len()], vec![None; keys.len()]);
    table.lookup_batch(&keys, &mut found);
    reader.lookup_batch(&keys, &mut values);
    for ((key, found), seen) in keys.iter().zip(found).zip(values) {
        assert_eq!(found.map(|index| table.value(index)), model.get(key).copied());
        assert_eq!(seen, model.get(key).copied());
    }
}

proptest! {
    // The fewest buckets have 256 slots: if there are more entries than that, some are displaced.

    #[test]
    fn accounts(seed in any::<[u8; 16]>(), capacity in 1..500_usize, load in 20..99_u32, near in any::<bool>(),
                steps in prop::collection::vec(step(600), 0..1500)) {
        let config = Config::new(capacity).load(load).seed(seed);
        check::<16, 8>(&if near { config.near() } else { config }, capacity, steps);
    }

    #[test]
    fn long_keys_and_values(seed in any::<[u8; 16]>(), capacity in 200..300_usize,
                            steps in prop::collection::vec(step(300), 300..1200)) {
        check::<33, 20>(&Config::new(capacity).load(95).seed(seed), capacity, steps);
    }

    #[test]
    fn short_keys_and_no_values(seed in any::<[u8; 16]>(), steps in prop::collection::vec(step(350), 0..1000)) {
        check::<2, 0>(&Config::new(250).load(95).seed(seed), 250, steps);
    }
}
