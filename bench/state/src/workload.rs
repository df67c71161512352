//! The updates that every store gets: the same keys, values and batches.

use sha2::{Digest, Sha256};

/// A key of the widest store; others use its first bytes.
pub type Key = [u8; 32];

/// The bytes of an entry of Turnpike's index after the account: balance (8), height (4) and position (4) of the latest
/// transaction, big-endian. Peers store them as opaque values.
pub type Value = [u8; 16];

/// Sets a key to a value. The balance is the number of updates of the key so far: zero creates it.
#[derive(Clone, Copy, Debug)]
pub struct Update {
    pub key: Key,
    pub value: Value,
}

impl Update {
    /// Whether the key is new.
    pub fn is_new(&self) -> bool {
        self.value[..8] == [0; 8]
    }
}

/// The key with this prefix. All bytes are uniform.
fn key(prefix: u64) -> Key {
    let mut key: Key = Sha256::digest(prefix.to_le_bytes()).into();
    key[..8].copy_from_slice(&prefix.to_be_bytes());
    key
}

/// Random prefixes of keys, by splitmix64: a bijection of the numbers, so all differ.
fn prefix(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// What each entry holds.
#[derive(Clone, Copy, Default)]
struct Latest {
    updates: u32,
    height: u32,
    position: u32,
}

/// Makes batches, the same in each run, and computes what a correct store holds after them.
#[derive(Clone)]
pub struct Workload {
    /// Of all entries, ascending. Creation in the order of keys writes each page of a tree once.
    prefixes: Vec<u64>,
    entries: Vec<Latest>,
    height: u32,
    random: u64,
}

impl Workload {
    pub fn new(entries: u64) -> Self {
        let mut prefixes: Vec<_> = (0..entries).map(prefix).collect();
        prefixes.sort_unstable();
        Self { prefixes, entries: Vec::with_capacity(entries as usize), height: 0, random: 0x9e37_79b9_7f4a_7c15 }
    }

    /// After all creations, in batches of a size.
    pub fn created(entries: u64, batch: u64) -> Self {
        let mut workload = Self::new(entries);
        while workload.entries() < entries {
            workload.create(batch.min(entries - workload.entries()));
        }
        workload
    }

    pub fn entries(&self) -> u64 {
        self.entries.len() as u64
    }

    /// A random entry, by xorshift: good enough to spread updates.
    pub fn random_entry(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % self.entries()
    }

    pub fn key(&self, entry: u64) -> Key {
        key(self.prefixes[entry as usize])
    }

    /// A key of no entry.
    pub fn absent_key(&self, number: u64) -> Key {
        key(prefix(self.entries() + number))
    }

    pub fn value(&self, entry: u64) -> Value {
        let Latest { updates, height, position } = self.entries[entry as usize];
        let mut value = [0; 16];
        value[..8].copy_from_slice(&u64::from(updates).to_be_bytes());
        value[8..12].copy_from_slice(&height.to_be_bytes());
        value[12..].copy_from_slice(&position.to_be_bytes());
        value
    }

    fn update(&self, entry: u64) -> Update {
        Update { key: self.key(entry), value: self.value(entry) }
    }

    fn create(&mut self, count: u64) {
        self.height += 1;
        let latest = |position| Latest { updates: 0, height: self.height, position };
        self.entries.extend((0..count as u32).map(latest));
    }

    /// A batch that creates entries.
    pub fn creations(&mut self, count: u64) -> Vec<Update> {
        let first = self.entries();
        self.create(count);
        (first..first + count).map(|entry| self.update(entry)).collect()
    }

    /// A batch of updates of random entries, each at most once.
    pub fn updates(&mut self, count: u64) -> Vec<Update> {
        assert!(count <= self.entries() / 2, "a batch of distinct entries");
        self.height += 1;
        let mut updates = Vec::with_capacity(count as usize);
        while updates.len() < count as usize {
            let entry = self.random_entry();
            let latest = &mut self.entries[entry as usize];
            if latest.height != self.height {
                let position = updates.len() as u32;
                *latest = Latest { updates: latest.updates + 1, height: self.height, position };
                updates.push(self.update(entry));
            }
        }
        updates
    }

    /// The updates of the last batch, by entry.
    pub fn last_batch(&self) -> impl Iterator<Item = Update> {
        (0..self.entries())
            .filter(|entry| self.entries[*entry as usize].height == self.height)
            .map(|entry| self.update(entry))
    }
}
