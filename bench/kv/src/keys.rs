//! Which keys are asked for, and what they look like.

/// How requests are spread over the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Spread {
    /// Each as often as any other.
    Uniform,
    /// The nth most frequent one n times as seldom as the first, about (exponent 0.99, as in YCSB).
    Zipf,
}

/// Exponent of YCSB.
const EXPONENT: f64 = 0.99;

/// Shortest and longest key: what the hash-table paper measures, from 16 bytes on.
const KEY: (usize, usize) = (16, 168);

/// A generator of pseudorandom numbers (xorshift*), the same in every run.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that begins anywhere.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Items drawn in advance, so that drawing costs nothing while it is measured.
pub fn draws(spread: Spread, items: u32, count: usize) -> Vec<u32> {
    let mut random = Random::new(7);
    match spread {
        Spread::Uniform => (0..count).map(|_| (random.next() >> 32) as u32 % items).collect(),
        Spread::Zipf => {
            let mut sum = 0.0;
            let sums: Vec<f64> = (1..=items)
                .map(|rank| {
                    sum += f64::from(rank).powf(-EXPONENT);
                    sum
                })
                .collect();
            let rank = |at: f64| sums.partition_point(|sum| *sum < at) as u32;
            // Frequent items lie anywhere.
            let item = |rank: u32| (u64::from(rank) * 0x9e37_79b1 % u64::from(items)) as u32;
            (0..count).map(|_| item(rank(random.unit() * sum).min(items - 1))).collect()
        }
    }
}

/// Appends the key of an item.
pub fn append(item: u32, out: &mut Vec<u8>) {
    let (shortest, longest) = KEY;
    let len = shortest + (u64::from(item) * 7919 % (longest - shortest + 1) as u64) as usize;
    let start = out.len();
    out.extend_from_slice(format!("{item:016x}").as_bytes());
    out.resize(start + len, b'k');
}
