//! Sizes that the engine's parts share.
use commonware_utils::NZUsize;
use std::num::NonZeroUsize;

/// Queue length between the engine's parts, as in its own examples: some hundred views of all replicas.
pub(crate) const MAILBOX: NonZeroUsize = NZUsize!(1024);
/// Views before the last final one whose votes and blocks are kept for replicas that lag.
pub(crate) const VIEWS_KEPT: u64 = 256;
/// Write buffer of the journals, in bytes: a vote is 200 bytes, and each is synced on its own.
pub(crate) const VOTE_BUFFER: NonZeroUsize = NZUsize!(64 << 10);
/// Write buffer of the archives, in bytes: a few blocks of maximum size.
pub(crate) const BLOCK_BUFFER: NonZeroUsize = NZUsize!(1 << 20);
