//! How long polled channels are looked at in vain before a selector sleeps.

use std::time::Duration;

/// A number of looks that adapts: it is full when sleeps turn out shorter than it takes to fall asleep and wake, and halves with
/// each longer one, so an idle selector costs next to nothing.
#[derive(Debug)]
pub(crate) struct Spinning {
    looks: u32,
}

/// Looks at one channel, together some tens of microseconds: about what a sleep costs both sides.
const FULL: u32 = 1024;

/// However many channels there are and however idle they were, each is looked at a few times: what is answered at once is worth
/// no system call.
const LEAST: u32 = 8;

/// A sleep that was shorter was not worth it.
const SHORT: Duration = Duration::from_micros(50);

impl Spinning {
    pub(crate) fn new() -> Self {
        Self { looks: FULL }
    }

    /// Looks at each of so many channels.
    pub(crate) fn looks(&self, channels: usize) -> u32 {
        (self.looks / u32::try_from(channels.max(1)).unwrap_or(u32::MAX)).max(LEAST)
    }

    /// The selector slept so long.
    pub(crate) fn slept(&mut self, time: Duration) {
        self.looks = if time < SHORT { FULL } else { self.looks / 2 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sleeps_end_spinning_and_a_short_one_begins_it_again() {
        let mut spinning = Spinning::new();
        assert_eq!((spinning.looks(1), spinning.looks(64), spinning.looks(1000)), (FULL, FULL / 64, LEAST));
        for _ in 0..20 {
            spinning.slept(Duration::from_millis(1));
        }
        assert_eq!(spinning.looks(1), LEAST);
        spinning.slept(Duration::from_micros(20));
        assert_eq!(spinning.looks(1), FULL);
    }
}
