//! Blocks that came before their parent: Bitcoin Core writes blocks to its files as they arrive.
use super::error::Origin;
use spv::Hash;
use std::collections::HashMap;

/// The most bytes of waiting blocks.
///
/// Bitcoin Core downloads within a window of 1,024 blocks, 1.5 to 2 GB today, but the blocks that come too early in a
/// file are usually those of a few seconds.
pub(super) const MAX_WAITING: usize = 1 << 30;

/// A block that waits for its parent.
#[derive(Debug)]
pub(super) struct Orphan {
    pub hash: Hash,
    pub bytes: Box<[u8]>,
    pub origin: Origin,
    /// How many blocks had been put aside when it was, itself included.
    number: u64,
}

/// The waiting blocks, by the hash of their parent.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    by_previous: HashMap<Hash, Vec<Orphan>>,
    bytes: usize,
    added: u64,
}

impl Orphans {
    /// Puts a block aside, unless it is waiting already. Fails if there is no room.
    pub fn add(&mut self, previous: Hash, hash: Hash, bytes: &[u8], origin: &Origin, limit: usize) -> Result<(), ()> {
        let waiting = self.by_previous.entry(previous).or_default();
        if waiting.iter().any(|orphan| orphan.hash == hash) {
            return Ok(());
        }
        if self.bytes + bytes.len() > limit {
            return Err(());
        }
        self.bytes += bytes.len();
        self.added += 1;
        waiting.push(Orphan { hash, bytes: bytes.into(), origin: origin.clone(), number: self.added });
        Ok(())
    }

    /// Removes and returns a block that follows this one.
    pub fn take(&mut self, previous: &Hash) -> Option<Orphan> {
        let orphan = self.by_previous.get_mut(previous)?.pop();
        match &orphan {
            Some(orphan) => self.bytes -= orphan.bytes.len(),
            None => drop(self.by_previous.remove(previous)),
        }
        orphan
    }

    /// The number of waiting blocks.
    pub fn len(&self) -> usize {
        self.by_previous.values().map(Vec::len).sum()
    }

    /// The block that has waited longest, and the hash of the parent that it waits for.
    pub fn first(&self) -> Option<(&Hash, &Orphan)> {
        let all = self
            .by_previous
            .iter()
            .flat_map(|(previous, waiting)| waiting.iter().map(move |orphan| (previous, orphan)));
        all.min_by_key(|(_, orphan)| orphan.number)
    }
}
