//! Positions in the NIC's stream.

use std::sync::MutexGuard;

use super::state::State;
use crate::{
    clock::Seconds,
    store::{Shard, Stored, Write},
};

/// What a request does with the store.
#[derive(Clone, Copy, Debug)]
pub enum Access<'a> {
    /// Reads items.
    Read,
    /// Changes a key's item, depending on it.
    Change(&'a [u8]),
    /// Writes an item.
    Write(&'a Write<'a>),
    /// Removes all items, at this moment.
    Flush(Seconds),
}

/// A position in the NIC's stream, at which a request may be executed. Without a NIC, any moment is one.
#[derive(Debug, Default)]
#[must_use = "the order ends when it is dropped"]
pub struct Position<'a> {
    state: Option<MutexGuard<'a, State>>,
    /// The number of the item that the NIC has stored.
    cas: Option<u64>,
}

impl<'a> Position<'a> {
    pub(super) fn new(state: MutexGuard<'a, State>, cas: Option<u64>) -> Self {
        Self { state: Some(state), cas }
    }

    /// Executes the write that the position is for.
    pub fn write(&mut self, shard: &mut Shard, write: &Write<'_>, now: Seconds) -> Stored {
        let Some(cas) = self.cas.take() else { return shard.write(write, now) };
        let stored = shard.write(&Write { new_cas: Some(cas), ..*write }, now);
        if let (Some(state), false) = (&mut self.state, matches!(stored, Stored::Stored(_))) {
            // The NIC must not have an item that the store has no room for.
            state.remove(write.key);
        }
        stored
    }
}
