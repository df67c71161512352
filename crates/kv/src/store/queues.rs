//! Eviction order: for each class of blocks, two queues of items, and fingerprints of evicted ones (S3-FIFO, Yang and
//! others, SOSP 2023).
//!
//! - A new item enters the probation queue, or the protected one if its key's fingerprint is remembered.
//! - A use adds 1 to the item's uses, up to 3. So it writes a number of two bits, no list.
//! - The oldest item on probation moves to the protected queue if it was used; else it is evicted, and a fingerprint of
//!   its key stays.
//! - The oldest protected item is evicted if it was not used; else it is requeued with one use less.
//! - One item in ten is kept on probation, so a scan passes through that queue only.
//! - An item that is over goes, however often it was used.

use table::Hash;

use super::{
    blocks::Blocks,
    counters::Counters,
    item::{Address, Header, mark},
};

/// Uses that are counted.
pub(super) const MOST_USES: u8 = 3;

/// Maximum number of items of a class to requeue at a time when the class must release a page and none is old enough.
const TURNED: usize = 4;

/// One item in this number is on probation, per class.
const PROBATION: usize = 10;

/// A queue of items, linked through their headers.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    oldest: Address,
    newest: Address,
    len: usize,
}

impl Queue {
    /// A restored queue: its oldest and newest item, and its length.
    pub(super) fn from_ends([oldest, newest, len]: [u32; 3]) -> Self {
        Self { oldest: Address(oldest), newest: Address(newest), len: len as usize }
    }

    /// The argument of [`Self::from_ends`].
    pub(super) fn ends(&self) -> [u32; 3] {
        [self.oldest.0, self.newest.0, self.len as u32]
    }

    pub(super) fn oldest(&self) -> Option<Address> {
        self.oldest.is_some().then_some(self.oldest)
    }

    /// Number of items.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn push(&mut self, blocks: &mut Blocks, at: Address) {
        let header = blocks.header_mut(at);
        (header.older, header.newer) = (self.newest, Address::NONE);
        match self.newest {
            Address::NONE => self.oldest = at,
            newest => blocks.header_mut(newest).newer = at,
        }
        self.newest = at;
        self.len += 1;
    }

    fn remove(&mut self, blocks: &mut Blocks, at: Address) {
        let header = blocks.header(at);
        let (older, newer) = (header.older, header.newer);
        match older {
            Address::NONE => self.oldest = newer,
            older => blocks.header_mut(older).newer = newer,
        }
        match newer {
            Address::NONE => self.newest = older,
            newer => blocks.header_mut(newer).older = older,
        }
        self.len -= 1;
    }
}

/// The queues of a class.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    pub(super) probation: Queue,
    pub(super) protected: Queue,
}

impl Queues {
    /// Number of items.
    pub(super) fn len(&self) -> usize {
        self.probation.len() + self.protected.len()
    }

    /// Items in the protected queue.
    pub(super) fn protected(&self) -> usize {
        self.protected.len()
    }

    /// Adds an item.
    pub(super) fn push(&mut self, blocks: &mut Blocks, at: Address, protected: bool) {
        let header = blocks.header_mut(at);
        header.uses = 0;
        header.marks = header.marks & !mark::PROTECTED | if protected { mark::PROTECTED } else { 0 };
        if protected { self.protected.push(blocks, at) } else { self.probation.push(blocks, at) }
    }

    /// Removes an item.
    pub(super) fn remove(&mut self, blocks: &mut Blocks, at: Address) {
        if blocks.header(at).marks & mark::PROTECTED != 0 {
            self.protected.remove(blocks, at);
        } else {
            self.probation.remove(blocks, at);
        }
    }

    /// The item that is to go, if there is any; it stays in its queue. One that `is_dead` goes, however often it was
    /// used.
    pub(super) fn victim(
        &mut self,
        blocks: &mut Blocks,
        counters: &mut Counters,
        is_dead: impl Fn(&Header) -> bool,
    ) -> Option<Address> {
        loop {
            let is_probation = self.protected.len() == 0 || self.probation.len() * PROBATION >= self.len();
            let queue = if is_probation { &mut self.probation } else { &mut self.protected };
            let oldest = queue.oldest()?;
            let header = blocks.header(oldest);
            let uses = header.uses;
            if uses == 0 || is_dead(header) {
                return Some(oldest);
            }
            // Each time around an item has one use less, so this ends; items that go round were used as often before.
            queue.remove(blocks, oldest);
            self.push(blocks, oldest, true);
            if is_probation {
                counters.moves_to_warm += 1;
            } else {
                counters.moves_within_lru += 1;
                blocks.header_mut(oldest).uses = uses - 1;
            }
        }
    }

    /// The item that was used the longest time ago, about: the oldest of either queue.
    pub(super) fn eldest(&self, blocks: &Blocks) -> Option<Address> {
        let oldest = [self.probation.oldest(), self.protected.oldest()];
        oldest.into_iter().flatten().min_by_key(|at| blocks.header(*at).accessed)
    }

    /// Passes over used items at the start of both queues. Without evictions, a class would be judged by items that are
    /// read all the time, however old those after them are. In the protected queue the uses stay, as no eviction was
    /// saved by them.
    pub(super) fn turn(&mut self, blocks: &mut Blocks, counters: &mut Counters) {
        let is_used = |blocks: &Blocks, at: &Address| blocks.header(*at).uses > 0;
        for _ in 0..TURNED {
            if let Some(oldest) = self.probation.oldest().filter(|at| is_used(blocks, at)) {
                self.probation.remove(blocks, oldest);
                self.push(blocks, oldest, true);
                counters.moves_to_warm += 1;
            }
            if let Some(oldest) = self.protected.oldest().filter(|at| is_used(blocks, at)) {
                self.protected.remove(blocks, oldest);
                self.protected.push(blocks, oldest);
                counters.moves_within_lru += 1;
            }
        }
    }
}

/// Fingerprints of keys whose items were evicted from probation; a new one overwrites the one in its slot.
#[derive(Debug)]
pub(super) struct Ghosts {
    pub(super) fingerprints: Vec<u32>,
}

impl Ghosts {
    /// A memory of `keys` keys.
    pub(super) fn new(keys: usize) -> Self {
        Self { fingerprints: vec![0; keys.max(1)] }
    }

    fn slot(&self, hash: Hash) -> (usize, u32) {
        let bits = hash.to_bits();
        let slot = ((bits >> 32) * self.fingerprints.len() as u64) >> 32;
        (slot as usize, bits as u32 | 1)
    }

    pub(super) fn remember(&mut self, hash: Hash) {
        let (slot, fingerprint) = self.slot(hash);
        self.fingerprints[slot] = fingerprint;
    }

    /// Forgets a key. Returns whether it was remembered.
    pub(super) fn recall(&mut self, hash: Hash) -> bool {
        let (slot, fingerprint) = self.slot(hash);
        let found = self.fingerprints[slot] == fingerprint;
        if found {
            self.fingerprints[slot] = 0;
        }
        found
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.fingerprints)
    }
}
