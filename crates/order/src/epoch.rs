//! The epoch of a block.
use std::num::NonZeroU64;

/// The epoch of the block at a height, for epochs of `length` blocks.
pub fn epoch_of(height: u64, length: NonZeroU64) -> u64 {
    height / length
}

/// Whether the block at a height is the last of its epoch.
pub fn ends_epoch(height: u64, length: NonZeroU64) -> bool {
    (height + 1).is_multiple_of(length.get())
}
