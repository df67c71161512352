//! The part of a shard's items that is in the mirror.

use table::Hash;

use super::{
    item::{Address, mark},
    mirror::LONGEST_TEXT,
    shard::Shard,
};
use crate::clock::{NEVER, Seconds};

impl Shard {
    /// Puts a key's item into the mirror, if there is one and it is small.
    pub fn mirror(&mut self, key: &[u8], hash: Hash, now: Seconds) {
        // The program would not know of a future flush.
        if self.mirror.is_none() || self.flush_at != NEVER || hash.to_bits() == 0 {
            return;
        }
        let Some(item) = self.peek(key, hash, now) else { return };
        let header = *self.header(item);
        let Some(mirror) = &self.mirror else { return };
        let fits = key.len() + (header.value_len as usize) < LONGEST_TEXT;
        if fits && mirror.fill(key, hash, &header, self.value(item)) {
            self.set_marks(item, mark::MIRRORED, 0);
        }
    }

    /// Removes an item from the mirror that is about to change or to be removed.
    #[inline(always)]
    pub(super) fn unmirror(&mut self, at: Address) {
        if self.blocks.header(at).marks & mark::MIRRORED != 0 {
            self.forget_mirrored(at);
        }
    }

    #[cold]
    fn forget_mirrored(&mut self, at: Address) {
        let hash = self.hasher.hash_bytes(self.key_at(at));
        if let Some(mirror) = &self.mirror {
            mirror.forget(hash);
        }
        self.blocks.header_mut(at).marks &= !mark::MIRRORED;
    }

    /// Whether an item was read from the mirror since the last call, or since it entered it.
    pub(super) fn was_read_ahead(&self, at: Address) -> bool {
        let is_mirrored = self.blocks.header(at).marks & mark::MIRRORED != 0;
        is_mirrored
            && self.mirror.as_ref().is_some_and(|mirror| mirror.take_used(self.hasher.hash_bytes(self.key_at(at))))
    }
}
