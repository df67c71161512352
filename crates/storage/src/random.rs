//! Random numbers that follow from a seed.

/// SplitMix64: small, fast, and the same on every machine. For simulations and tests only; not for secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, of 64 random bits.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(bound)) >> 64) as u64
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        ((self.number() >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// A separate generator for a part of the simulation, so that changes in one part do not disturb another.
    pub fn fork(&mut self) -> Self {
        Self(self.number())
    }
}
