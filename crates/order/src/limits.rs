//! Sizes that the engine's parts have in common.
use commonware_utils::NZUsize;
use std::num::NonZeroUsize;

/// Messages that wait between the engine's parts, as its own examples have it: some hundred views of all replicas.
pub(crate) const MAILBOX: NonZeroUsize = NZUsize!(1024);
/// Views behind what is final whose votes and blocks are kept for replicas that lag.
pub(crate) const VIEWS_KEPT: u64 = 256;
/// Buffers of the journals, in bytes: a vote is 200 bytes, and each is synced alone.
pub(crate) const VOTE_BUFFER: NonZeroUsize = NZUsize!(64 << 10);
/// Buffers of the archives, in bytes: some blocks of full size.
pub(crate) const BLOCK_BUFFER: NonZeroUsize = NZUsize!(1 << 20);
