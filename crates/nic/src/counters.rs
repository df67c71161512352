//! What the data path counts, for whoever wants to look.

use std::sync::atomic::{AtomicU64, Ordering};

use wire::Status;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Its value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Makes it larger.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

/// One more than the largest code of a status.
const STATUS_CODES: usize = 68;

/// Counters of a data path.
#[derive(Debug)]
pub struct Counters {
    /// Messages received: datagrams, or several that came as one.
    pub messages: Counter,
    /// Datagrams received.
    pub datagrams: Counter,
    /// Those of them that came past the host's network stack (AF_XDP).
    pub frames: Counter,
    /// Bytes received.
    pub bytes: Counter,
    /// Operations executed, or refused one by one.
    pub operations: Counter,
    /// Queries received.
    pub queries: Counter,
    /// Datagrams that got no answer: not a frame, from the node's own port, or over the rate limit and told so before.
    pub dropped: Counter,
    /// Replies sent.
    pub replies: Counter,
    /// Replies that could not be sent.
    pub lost: Counter,
    refused: [Counter; STATUS_CODES],
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            messages: Counter::default(),
            datagrams: Counter::default(),
            frames: Counter::default(),
            bytes: Counter::default(),
            operations: Counter::default(),
            queries: Counter::default(),
            dropped: Counter::default(),
            replies: Counter::default(),
            lost: Counter::default(),
            refused: [const { Counter(AtomicU64::new(0)) }; STATUS_CODES],
        }
    }
}

impl Counters {
    /// How many whole frames were refused with a status.
    pub fn refused(&self, status: Status) -> u64 {
        self.refused.get(usize::from(status.code())).map_or(0, Counter::get)
    }

    /// Counts a whole frame that is refused with a status.
    pub fn refuse(&self, status: Status) {
        if let Some(counter) = self.refused.get(usize::from(status.code())) {
            counter.add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_counter() {
        let counters = Counters::default();
        for &status in Status::ALL {
            counters.refuse(status);
            assert_eq!(counters.refused(status), 1, "{status}");
        }
    }
}
