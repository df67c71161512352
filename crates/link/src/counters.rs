//! Counters of a channel.

/// Counts since the channel was connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages and credit frames sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Sends of `rdma://` for which the device reported completion: see [`Config::signal_every`](crate::Config).
    pub signalled: u64,
}
