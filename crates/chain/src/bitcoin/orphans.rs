//! Blocks that came before the one that they follow: Bitcoin Core writes them down as they arrive.
use super::error::Origin;
use spv::Hash;
use std::collections::HashMap;

/// The most bytes of waiting blocks. Bitcoin Core downloads within a window of 1,024 blocks, 1.5 to 2 GB today, but the blocks that a
/// file brings too early are usually those of a few seconds.
pub(super) const MAX_WAITING: usize = 1 << 30;

/// A block that waits for the one that it follows.
#[derive(Debug)]
pub(super) struct Orphan {
    pub hash: Hash,
    pub bytes: Box<[u8]>,
    pub origin: Origin,
    /// Blocks that were put aside before it.
    number: u64,
}

/// The blocks that wait, by the hash of the one that they follow.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    by_previous: HashMap<Hash, Vec<Orphan>>,
    bytes: usize,
    added: u64,
}

impl Orphans {
    /// Puts a block aside; one that waits already is left as it is. Fails if there is no room.
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

    /// Takes a block that follows this one.
    pub fn take(&mut self, previous: &Hash) -> Option<Orphan> {
        let orphan = self.by_previous.get_mut(previous)?.pop();
        match &orphan {
            Some(orphan) => self.bytes -= orphan.bytes.len(),
            None => drop(self.by_previous.remove(previous)),
        }
        orphan
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.by_previous.values().map(Vec::len).sum()
    }

    /// The one that waits longest, and what it waits for.
    pub fn first(&self) -> Option<(&Hash, &Orphan)> {
        let all = self
            .by_previous
            .iter()
            .flat_map(|(previous, waiting)| waiting.iter().map(move |orphan| (previous, orphan)));
        all.min_by_key(|(_, orphan)| orphan.number)
    }
}
