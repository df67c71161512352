//! A connection's turn: how much work it may do before the other connections of its worker have theirs.

use std::time::{Duration, Instant};

/// Units of work in a turn. A request costs one, and so do [`BYTES_PER_UNIT`] bytes: some 50 to 100 us in all.
const UNITS: u32 = 512;

/// Units of work for a datagram: more keys than fit one Ethernet frame, and well below a millisecond.
const DATAGRAM: u32 = 2048;

/// Bytes that are read, written or copied for the cost of a request.
const BYTES_PER_UNIT: usize = 256;

/// Units between two looks at the clock, which cost little beside them.
const LOOK: u32 = 64;

/// Maximum duration of a turn, for example if others hold locks or the processor.
const LONGEST: Duration = Duration::from_millis(1);

/// The rest of a connection's turn.
#[derive(Debug)]
pub struct Turn {
    left: u32,
    /// Units left at the next look at the clock.
    look: u32,
    /// When the turn is over. Short turns never read the clock.
    deadline: Option<Instant>,
}

impl Default for Turn {
    fn default() -> Self {
        Self::new()
    }
}

impl Turn {
    /// A turn that begins now.
    pub fn new() -> Self {
        Self { left: UNITS, look: UNITS - LOOK, deadline: None }
    }

    /// A turn for the requests in a datagram, which are all executed: time does not end it.
    pub fn for_datagram() -> Self {
        Self { left: DATAGRAM, look: 0, deadline: None }
    }

    /// Counts requests.
    #[inline]
    pub fn spend(&mut self, requests: usize) {
        self.left = self.left.saturating_sub(u32::try_from(requests).unwrap_or(u32::MAX));
        if self.left <= self.look {
            self.look_at_clock();
        }
    }

    /// Counts bytes.
    #[inline]
    pub fn spend_bytes(&mut self, bytes: usize) {
        self.spend(bytes / BYTES_PER_UNIT);
    }

    /// Counts a request that is worth a whole turn.
    pub fn end(&mut self) {
        self.left = 0;
    }

    /// Whether the turn has ended.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    #[cold]
    fn look_at_clock(&mut self) {
        self.look = self.left.saturating_sub(LOOK);
        if self.left > 0 {
            let now = Instant::now();
            if now >= *self.deadline.get_or_insert(now + LONGEST) {
                self.left = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_by_requests_bytes_and_time() {
        let mut turn = Turn::new();
        (0..UNITS - 1).for_each(|_| turn.spend(1));
        // A machine that is busy may have ended it by time.
        turn.spend(1);
        assert!(turn.is_over());
        let mut turn = Turn::new();
        turn.spend_bytes(BYTES_PER_UNIT * UNITS as usize);
        assert!(turn.is_over());
        let mut turn = Turn::new();
        turn.spend(LOOK as usize);
        std::thread::sleep(LONGEST);
        turn.spend(LOOK as usize);
        assert!(turn.is_over());
        assert!(!Turn::new().is_over());
    }
}
