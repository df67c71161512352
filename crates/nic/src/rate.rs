//! Rate limit by prefix: token buckets in a table of fixed size.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::Instant;

use net::Prefix;

/// Limit of a prefix, in operations: a single frame costs 1, a batch its number of operations, a verify frame the
/// result of [`Costs`](crate::cost::Costs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Operations per second.
    pub per_second: u32,
    /// Operations at once, after a pause.
    pub burst: u32,
    /// Number of prefixes that are tracked.
    pub prefixes: usize,
}

impl Default for RateLimit {
    /// 1000 signatures per second are 3 % of what a core verifies, and a burst of 4096 lets the largest batch of any
    /// format pass. 65,536 prefixes take 1.5 MiB.
    fn default() -> Self {
        Self { per_second: 1000, burst: 4096, prefixes: 65_536 }
    }
}

/// The limiter's decision on a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Under the limit.
    Pass,
    /// Over it: reply so.
    Refuse,
    /// Over it, and a reply has said so already.
    Drop,
}

/// Number of buckets that a prefix may be in.
const WAYS: usize = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// The prefix's bits, from the top; 0 in buckets never used.
    prefix: u64,
    /// In thousandths, so that the earnings of a millisecond are an integer; negative for a debt.
    tokens: i64,
    /// Time of `tokens`, in milliseconds since the start.
    updated: u32,
    /// Refusals since the last pass.
    refusals: u32,
}

/// Token buckets of many prefixes.
#[derive(Debug)]
pub struct RateLimiter {
    limit: RateLimit,
    buckets: Vec<[Bucket; WAYS]>,
    hasher: RandomState,
    start: Instant,
}

impl RateLimiter {
    /// A limiter in which every prefix may start with a burst.
    pub fn new(limit: RateLimit) -> Self {
        let sets = (limit.prefixes / WAYS).next_power_of_two();
        let full = Bucket { tokens: limit.most(), ..Bucket::default() };
        // The hash has a random key, so that nobody can choose prefixes that meet in one set.
        Self { limit, buckets: vec![[full; WAYS]; sets], hasher: RandomState::new(), start: Instant::now() }
    }

    /// Charges `cost` to the prefix of `address`. A cost above the burst passes if the bucket is full, and nothing else
    /// of the prefix passes until the debt is paid.
    pub fn charge(&mut self, address: IpAddr, cost: u32, now: Instant) -> Verdict {
        self.charge_key(key(address), cost, now)
    }

    /// Charges `cost` to the bucket of a nonzero key, as [`Self::charge`] does for a prefix: for limits that are not by
    /// address. A limiter has keys of one kind.
    pub fn charge_key(&mut self, prefix: u64, cost: u32, now: Instant) -> Verdict {
        // Milliseconds wrap around after 49 days; a bucket that was idle for that long is treated as idle for a short
        // time.
        let now = now.saturating_duration_since(self.start).as_millis() as u32;
        let limit = self.limit;
        let hash = self.hasher.hash_one(prefix) as usize;
        let mask = self.buckets.len() - 1;
        let set = &mut self.buckets[hash & mask];
        let bucket = match set.iter().position(|bucket| bucket.prefix == prefix) {
            Some(way) => &mut set[way],
            None => {
                // The fullest bucket is replaced: its prefix loses least. The newcomer inherits its tokens, so
                // alternating between many prefixes gains nothing.
                let fullest = set.iter_mut().max_by_key(|bucket| bucket.tokens_at(now, limit));
                let Some(bucket) = fullest else { return Verdict::Pass };
                *bucket = Bucket { prefix, tokens: bucket.tokens_at(now, limit), updated: now, refusals: 0 };
                bucket
            }
        };
        bucket.tokens = bucket.tokens_at(now, limit);
        bucket.updated = now;
        let cost = i64::from(cost) * 1000;
        if bucket.tokens >= cost.min(limit.most()) {
            bucket.tokens -= cost;
            bucket.refusals = 0;
            return Verdict::Pass;
        }
        bucket.refusals = bucket.refusals.saturating_add(1);
        // The 1st, 2nd, 4th, 8th: an honest client learns of the limit, and a flood does not cause a flood of replies.
        if bucket.refusals.is_power_of_two() { Verdict::Refuse } else { Verdict::Drop }
    }
}

impl RateLimit {
    /// Thousandths of tokens in a full bucket.
    fn most(&self) -> i64 {
        i64::from(self.burst) * 1000
    }
}

impl Bucket {
    fn tokens_at(&self, now: u32, limit: RateLimit) -> i64 {
        let elapsed = i64::from(now.wrapping_sub(self.updated));
        limit.most().min(self.tokens.saturating_add(elapsed.saturating_mul(limit.per_second.into())))
    }
}

/// The bits that hosts in one bucket share, and a marker that distinguishes the families and makes the key nonzero.
fn key(address: IpAddr) -> u64 {
    match Prefix::shared_by(address).address() {
        IpAddr::V4(v4) => u64::from(v4.to_bits()) << 8 | 4,
        IpAddr::V6(v6) => (v6.to_bits() >> 64) as u64 | 6,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const LIMIT: RateLimit = RateLimit { per_second: 1000, burst: 100, prefixes: 64 };

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn refuses_and_recovers() {
        let mut limiter = RateLimiter::new(LIMIT);
        let start = Instant::now();
        let mut charge = |cost, after| limiter.charge(address("192.0.2.1"), cost, start + Duration::from_millis(after));
        assert_eq!(charge(100, 0), Verdict::Pass);
        let refusals: Vec<_> = (0..8).map(|_| charge(1, 0)).collect();
        use Verdict::{Drop, Refuse};
        assert_eq!(refusals, [Refuse, Refuse, Drop, Refuse, Drop, Drop, Drop, Refuse]);
        assert_eq!(charge(10, 11), Verdict::Pass);
        assert_eq!(charge(100, 20), Verdict::Refuse);
        assert_eq!(charge(100, 1000), Verdict::Pass);
        assert_eq!(charge(500, 1099), Verdict::Refuse, "more than a burst passes when the bucket is full");
        assert_eq!(charge(500, 1100), Verdict::Pass);
        assert_eq!(charge(1, 1500), Verdict::Refuse, "and is paid before anything else passes");
        assert_eq!(charge(1, 1501), Verdict::Pass);
    }

    #[test]
    fn hosts_of_a_prefix_share_a_bucket() {
        let mut limiter = RateLimiter::new(LIMIT);
        let now = Instant::now();
        let mut passes = |text: &str| limiter.charge(address(text), 100, now) == Verdict::Pass;
        assert!(passes("192.0.2.1"));
        assert!(!passes("192.0.2.255"));
        assert!(!passes("::ffff:192.0.2.7"));
        assert!(passes("2001:db8:0:100::1"));
        assert!(!passes("2001:db8:0:1ff::2"));
        assert!(passes("2001:db8:0:200::1"));
    }

    #[test]
    fn many_prefixes_gain_nothing_together() {
        let mut limiter = RateLimiter::new(LIMIT);
        let now = Instant::now();
        let passed = (0..100_000u32)
            .filter(|&host| limiter.charge(IpAddr::from((host << 8).to_be_bytes()), 1, now) == Verdict::Pass)
            .count();
        assert!(passed <= LIMIT.prefixes * LIMIT.burst as usize);
    }

    proptest! {
        /// Compared with a simple model: tokens as a fraction, one prefix.
        #[test]
        fn never_passes_more_than_the_model(steps in prop::collection::vec((0u64..50, 1u32..120), 1..200)) {
            let mut limiter = RateLimiter::new(LIMIT);
            let start = limiter.start;
            let (mut now, mut model) = (0, f64::from(LIMIT.burst));
            let most = f64::from(LIMIT.burst);
            for (pause, cost) in steps {
                now += pause;
                model = (model + pause as f64).min(most);
                let verdict = limiter.charge(address("10.0.0.1"), cost, start + Duration::from_millis(now));
                prop_assert_eq!(verdict == Verdict::Pass, f64::from(cost).min(most) <= model);
                if verdict == Verdict::Pass {
                    model -= f64::from(cost);
                }
            }
        }
    }
}
