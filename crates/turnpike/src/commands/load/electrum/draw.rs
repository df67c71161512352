//! Random numbers.

/// Random numbers, the same for the same seed (splitmix64).
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(seed.wrapping_add(stream.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_spread_and_repeat() {
        let draws = |seed, stream| {
            let mut draw = Draw::new(seed, stream);
            Vec::from_iter((0..1000).map(|_| draw.next() % 10))
        };
        assert_eq!(draws(1, 2), draws(1, 2));
        assert_ne!(draws(1, 2), draws(1, 3));
        assert!((0..10).all(|digit| draws(7, 0).iter().filter(|drawn| **drawn == digit).count() > 50));
    }
}
