//! What a channel counts.

/// Counts since the channel was connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages and frames of credits that were sent.
    pub sent: u64,
    /// Messages that were received.
    pub received: u64,
    /// Sends of `rdma://` that the device was asked to tell the end of: see [`Config::signal_every`](crate::Config).
    pub signalled: u64,
}
