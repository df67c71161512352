//! How long polled channels are looked at without success before a selector sleeps.

use std::time::Duration;

/// An adaptive number of looks: it doubles with each sleep shorter than falling asleep and waking take, and halves with
/// each longer one, so an idle selector costs next to nothing. It is least when other threads want the processor: a
/// thread that spins then loses it for milliseconds, while one that sleeps is woken at once.
#[derive(Debug)]
pub(crate) struct Spinning {
    looks: u32,
}

/// Looks at a single channel, together some tens of microseconds: about what a sleep costs both sides.
const FULL: u32 = 1024;

/// Looks at each of many channels, unless sleeps are long: some microseconds, about what a bell costs both sides. A
/// peer that goes through all of its channels then finishes before these fall asleep, even if it rings a bell for each.
/// With fewer looks bells cause more bells without end.
const EACH: u32 = 256;

/// Minimum number of looks, however idle the channels were.
const LEAST: u32 = 48;

/// A sleep shorter than this was not worth it.
const SHORT: Duration = Duration::from_micros(50);

impl Spinning {
    pub(crate) fn new() -> Self {
        Self { looks: FULL }
    }

    /// Looks at each of `channels` channels.
    pub(crate) fn looks(&self, channels: usize) -> u32 {
        (self.looks / u32::try_from(channels.max(1)).unwrap_or(u32::MAX)).max(self.looks.min(EACH))
    }

    /// Notes how long the selector slept.
    pub(crate) fn slept(&mut self, time: Duration) {
        self.looks = if time < SHORT { self.looks * 2 } else { self.looks / 2 }.clamp(LEAST, FULL);
    }

    /// Notes how long the selector yielded the processor.
    pub(crate) fn yielded(&mut self, time: Duration) {
        if time >= SHORT {
            self.looks = LEAST;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sleeps_end_spinning_as_others_do_and_short_ones_begin_it_again() {
        let mut spinning = Spinning::new();
        assert_eq!((spinning.looks(1), spinning.looks(2), spinning.looks(1000)), (FULL, FULL / 2, EACH));
        for _ in 0..20 {
            spinning.slept(Duration::from_millis(1));
        }
        assert_eq!((spinning.looks(1), spinning.looks(1000)), (LEAST, LEAST));
        for _ in 0..5 {
            spinning.slept(Duration::from_micros(20));
        }
        assert_eq!(spinning.looks(1), FULL);
        spinning.yielded(Duration::from_micros(2));
        assert_eq!(spinning.looks(1), FULL);
        spinning.yielded(Duration::from_millis(4));
        assert_eq!(spinning.looks(1), LEAST);
    }
}
