//! How long polled channels are looked at in vain before a selector sleeps.

use std::time::Duration;

/// A number of looks that adapts: it doubles with each sleep that turns out shorter than it takes to fall asleep and wake, and
/// halves with each longer one, so an idle selector costs next to nothing. It is least where others want the processor: who
/// spins then loses it for milliseconds, while who sleeps is woken at once.
#[derive(Debug)]
pub(crate) struct Spinning {
    looks: u32,
}

/// Looks at one channel, together some tens of microseconds: about what a sleep costs both sides.
const FULL: u32 = 1024;

/// Looks at each channel where there are many, unless sleeps are long: some microseconds, as long as a bell takes both sides. So
/// who goes through all of its channels is done with them before the peer's fall asleep, even where it rings a bell for each.
/// With fewer looks bells bring about bells, and do not end.
const EACH: u32 = 256;

/// However idle channels were, each is looked at so often.
const LEAST: u32 = 48;

/// A sleep that was shorter was not worth it.
const SHORT: Duration = Duration::from_micros(50);

impl Spinning {
    pub(crate) fn new() -> Self {
        Self { looks: FULL }
    }

    /// Looks at each of so many channels.
    pub(crate) fn looks(&self, channels: usize) -> u32 {
        (self.looks / u32::try_from(channels.max(1)).unwrap_or(u32::MAX)).max(self.looks.min(EACH))
    }

    /// The selector slept so long.
    pub(crate) fn slept(&mut self, time: Duration) {
        self.looks = if time < SHORT { self.looks * 2 } else { self.looks / 2 }.clamp(LEAST, FULL);
    }

    /// The selector let others have the processor for so long.
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
