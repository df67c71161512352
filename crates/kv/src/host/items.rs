//! The items that the NIC has, in the order of their writes, for eviction.

use std::{array, collections::VecDeque};

use nic::rtl::kv::BLOCK_CLASSES;

use crate::store::Store;

/// Records of a class until those of items that changed meanwhile are removed.
const RECORDS: usize = 1024;

/// A write of an item.
#[derive(Debug)]
struct Record {
    key: Box<[u8]>,
    cas: u64,
}

/// Records of the items of one class of blocks, the oldest first.
#[derive(Debug)]
struct Class {
    records: VecDeque<Record>,
    /// Number of records at which those of other items are removed next.
    limit: usize,
}

/// The items that the NIC has, by class of blocks.
#[derive(Debug)]
pub struct NicItems([Class; BLOCK_CLASSES]);

impl NicItems {
    pub fn new() -> Self {
        Self(array::from_fn(|_| Class { records: VecDeque::new(), limit: RECORDS }))
    }

    /// Adds an item that the NIC has written.
    pub fn add(&mut self, store: &Store, class: usize, key: &[u8], cas: u64) {
        let class = &mut self.0[class];
        class.records.push_back(Record { key: key.into(), cas });
        if class.records.len() >= class.limit {
            class.records.retain(|record| record.is_current(store));
            class.limit = RECORDS + 2 * class.records.len();
        }
    }

    /// Removes the oldest item of a class, or else of any, and returns its key.
    pub fn evict(&mut self, store: &Store, class: usize) -> Option<Box<[u8]>> {
        let classes = [class].into_iter().chain(0..BLOCK_CLASSES);
        classes.into_iter().find_map(|class| {
            let records = &mut self.0[class].records;
            std::iter::from_fn(|| records.pop_front()).find(|record| record.is_current(store)).map(|record| record.key)
        })
    }
}

impl Record {
    /// Whether the item is still the key's: its number is that of one write of the NIC.
    fn is_current(&self, store: &Store) -> bool {
        let key = store.key(&self.key);
        store.shard(key.hash).number_of(key) == Some(self.cas)
    }
}
