//! Which epoch a block is of.
use std::num::NonZeroU64;

/// The epoch of a block, by the number of blocks in one.
pub fn epoch_of(height: u64, length: NonZeroU64) -> u64 {
    height / length
}

/// Whether a block is the last of its epoch.
pub fn ends_epoch(height: u64, length: NonZeroU64) -> bool {
    (height + 1).is_multiple_of(length.get())
}
