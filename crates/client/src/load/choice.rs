//! Choosing accounts at random.

/// The distribution of the accounts chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// All with the same probability.
    Uniform,
    /// The n-th roughly in proportion to 1/n, by Zipf's law.
    Zipf,
    /// Only the first two.
    HotPair,
}

/// Chooses among numbered accounts; the same seed gives the same choices.
#[derive(Clone, Debug)]
pub struct Choice {
    distribution: Distribution,
    first: u64,
    count: u32,
    /// The binary logarithm of `count`, with 32 binary places.
    octaves: u64,
    state: u64,
}

impl Choice {
    /// A choice among `count` accounts, at least two, numbered from `first` on.
    pub fn new(distribution: Distribution, first: u64, count: u32, seed: u64) -> Self {
        let count = if distribution == Distribution::HotPair { 2 } else { count.max(2) };
        let octaves = (f64::from(count).log2() * 2f64.powi(32)) as u64;
        Self { distribution, first, count, octaves, state: seed }
    }

    /// An account.
    #[inline]
    pub fn account(&mut self) -> u64 {
        self.first + u64::from(self.index())
    }

    /// Two different accounts.
    #[inline]
    pub fn pair(&mut self) -> (u64, u64) {
        let source = self.index();
        let mut destination = self.index();
        if source == destination {
            destination = if source + 1 == self.count { 0 } else { source + 1 };
        }
        (self.first + u64::from(source), self.first + u64::from(destination))
    }

    #[inline]
    fn index(&mut self) -> u32 {
        let random = self.random();
        match self.distribution {
            Distribution::Uniform => scale(random, u64::from(self.count)) as u32,
            Distribution::HotPair => (random >> 63) as u32,
            Distribution::Zipf => {
                // An octave, then a place in it: 1/n in straight pieces, without floating point.
                let octave = scale(random, self.octaves);
                let (whole, part) = (octave >> 32, octave & 0xffff_ffff);
                let rank = (1 << whole) + ((part << whole) >> 32);
                (rank - 1).min(u64::from(self.count) - 1) as u32
            }
        }
    }

    /// SplitMix64.
    #[inline]
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// A number below `bound`, in proportion to a random one.
#[inline]
fn scale(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(distribution: Distribution, count: u32) -> Vec<u32> {
        let mut choice = Choice::new(distribution, 5, count, 1);
        let mut counts = vec![0; count as usize];
        for _ in 0..100_000 {
            let (source, destination) = choice.pair();
            assert_ne!(source, destination);
            counts[(source - 5) as usize] += 1;
            counts[(destination - 5) as usize] += 1;
        }
        counts
    }

    #[test]
    fn distributions_have_their_shape() {
        let uniform = counts(Distribution::Uniform, 100);
        assert!(uniform.iter().all(|&n| (1600..2400).contains(&n)), "{uniform:?}");
        let zipf = counts(Distribution::Zipf, 1000);
        assert!(zipf[0] > 5 * zipf[15] && zipf[15] > 5 * zipf[255], "{zipf:?}");
        assert!(zipf[..512].iter().all(|&n| n > 0));
        assert_eq!(counts(Distribution::HotPair, 1000)[..2], [100_000, 100_000]);
        for count in [2, 3, 4, 5] {
            assert!(counts(Distribution::Zipf, count).iter().all(|&n| n > 0));
        }
    }
}
