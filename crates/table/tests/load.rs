//! How full a table gets, and that nothing is lost then.
#![allow(missing_docs, clippy::unwrap_used)]

use turnpike_table::{Config, Full, Table};

const SEED: [u8; 16] = *b"load load load .";

fn key(number: u64) -> [u8; 16] {
    (u128::from(number) << 64 | 0x5eed).to_be_bytes()
}

fn fill(capacity: usize, load: u32) -> Table<16, 8> {
    let mut table = Table::with_capacity(&Config::new(capacity).load(load).seed(SEED)).unwrap();
    for number in 0..capacity as u64 {
        table.insert(&key(number), number.to_le_bytes()).unwrap_or_else(|_| panic!("full at {number} of {capacity}"));
    }
    table
}

fn check(table: &Table<16, 8>, present: impl Iterator<Item = u64>) {
    let reader = table.reader();
    for number in present {
        assert_eq!(table.get(&key(number)), Some(number.to_le_bytes()), "{number} is lost");
        assert_eq!(reader.get(&key(number)), Some(number.to_le_bytes()), "{number} is lost to readers");
    }
}

#[test]
fn the_configured_number_of_entries_fits() {
    for capacity in [1, 2, 7, 8, 9, 64, 1000, 16_384, 100_003, 300_000] {
        let mut table = fill(capacity, 95);
        check(&table, 0..capacity as u64);
        assert_eq!(table.len(), capacity);
        assert_eq!(table.insert(&key(u64::MAX), [1; 8]), Err(Full));
        assert_eq!(table.len(), capacity);
        assert_eq!(table.insert(&key(0), 0_u64.to_le_bytes()), Ok(table.find(table.hash(&key(0)), &key(0)).unwrap()));
    }
}

/// Under these secrets one bucket would be both buckets of at least nine keys, without the minimum number of buckets.
#[test]
fn a_few_entries_fit_under_any_secret() {
    for (entries, seed) in [(10, 18_741_u128), (16, 10_776), (30, 2_136)] {
        let mut table = Table::<16, 8>::with_capacity(&Config::new(entries).seed(seed.to_be_bytes())).unwrap();
        for number in 0..entries as u64 {
            assert!(table.insert(&key(number), [0; 8]).is_ok(), "full at {number} of {entries}");
        }
    }
}

#[test]
fn ninety_nine_per_cent_of_the_slots_can_be_used() {
    for capacity in [20_000, 300_000] {
        check(&fill(capacity, 99), 0..capacity as u64);
    }
}

#[test]
fn a_full_table_can_change_for_ever() {
    let capacity = 20_000;
    let mut table = fill(capacity as usize, 98);
    for number in capacity..10 * capacity {
        assert_eq!(table.remove(&key(number - capacity)), Some((number - capacity).to_le_bytes()));
        table.insert(&key(number), number.to_le_bytes()).unwrap();
    }
    check(&table, 9 * capacity..10 * capacity);
    assert!((0..9 * capacity).all(|number| table.get(&key(number)).is_none()));
    assert!(table.iter().all(|(index, ..)| u64::from(index.get()) < capacity));
    for number in 9 * capacity..10 * capacity {
        assert!(table.remove(&key(number)).is_some());
    }
    assert!(table.is_empty());
    assert_eq!(table.iter().count(), 0);
}
