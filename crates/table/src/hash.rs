//! The keyed hash.
//!
//! It offsets the words of the key by secret words, multiplies them in pairs, and folds the two halves of each 128-bit
//! product together (the construction of wyhash and its relatives, with every constant secret). Two multiplications
//! hash a 16-byte key. It uses only multiplication, exclusive or and shifts, so that readers in the kernel and in
//! hardware compute the same value.
//!
//! # Chosen keys
//!
//! The secret words come from a 128-bit seed through SipHash-2-4, and nothing visible to a client depends on the hash:
//! replies do not contain it, and two buckets bound the time of a lookup whatever the keys are. Without the secret,
//! colliding keys look like any others. If somebody finds some anyway, lookups keep their bound, the search for a place
//! keeps its limit, and the insertion of the seventeenth such key is refused; nothing in the table is lost. This is not
//! a cryptographic hash: do not publish its values.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher24;

use crate::shared_layout::SECRETS;

/// Maximum length of a key in bytes, for which the secret words suffice.
pub(crate) const MAX_KEY: usize = (SECRETS - 2) * 8;

/// The secret seed of a table's hash function.
pub type Seed = [u8; 16];

/// A key's hash: it determines the key's two buckets, and the tag that represents the key there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hash(pub(crate) u64);

impl Hash {
    /// Converts a number, all of whose bits matter, to a hash: of another hash function, for experiments.
    #[inline]
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Converts it to a number.
    #[inline]
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The tag: never 0, which marks a free slot.
    #[inline]
    pub fn tag(self) -> u16 {
        (self.0 as u16).max(1)
    }

    /// A number below `count`: the first of the key's two buckets, or the preferred group of its entry.
    #[inline]
    pub(crate) fn pick(self, count: u32) -> u32 {
        (((self.0 >> 32) * u64::from(count)) >> 32) as u32
    }
}

/// The other bucket of a key with this tag that may be in `bucket`. Applied twice it returns `bucket`, so a key can be
/// moved without being read.
#[inline]
pub fn alternate(bucket: u32, tag: u16, buckets: u32) -> u32 {
    // 2^32 divided by the golden ratio spreads the tags evenly.
    let spread = u32::from(tag).wrapping_mul(0x9e37_79b1);
    let sum = ((u64::from(spread) * u64::from(buckets)) >> 32) as u32;
    if sum >= bucket { sum - bucket } else { sum + (buckets - bucket) }
}

/// A hash function, selected by a secret.
#[derive(Clone, Debug)]
pub struct Hasher {
    secrets: [u64; SECRETS],
}

impl Hasher {
    /// The hash function of a seed.
    pub fn new(seed: &Seed) -> Self {
        let secrets = std::array::from_fn(|i| {
            let mut sip = SipHasher24::new_with_key(seed);
            sip.write_u64((i as u64).to_le());
            sip.finish()
        });
        Self { secrets }
    }

    pub(crate) fn from_secrets(secrets: [u64; SECRETS]) -> Self {
        Self { secrets }
    }

    /// The secret words, for kernel readers.
    pub fn secrets(&self) -> &[u64; SECRETS] {
        &self.secrets
    }

    /// Hashes a key.
    #[inline]
    pub fn hash<const K: usize>(&self, key: &[u8; K]) -> Hash {
        const { assert!(K > 0 && K <= MAX_KEY, "keys have from 1 to 112 bytes") }
        let mut state = 0;
        for pair in 0..K.div_ceil(16) {
            let [left, right] = [self.secrets[2 * pair], self.secrets[2 * pair + 1]];
            state = fold(word(key, 2 * pair) ^ left ^ state, word(key, 2 * pair + 1) ^ right);
        }
        self.finish(state, 0)
    }

    /// Hashes a key of any length, including the length. The pairs of secret words repeat beyond 112 bytes.
    #[inline]
    pub fn hash_bytes(&self, key: &[u8]) -> Hash {
        let mut state = 0;
        let (whole, rest) = key.as_chunks::<16>();
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        let pairs = self.secrets[..SECRETS - 2].as_chunks::<2>().0.iter().cycle();
        for (part, [left, right]) in whole.iter().chain((!rest.is_empty()).then_some(&last)).zip(pairs) {
            state = fold(word(part, 0) ^ left ^ state, word(part, 1) ^ right);
        }
        self.finish(state, key.len() as u64)
    }

    #[inline(always)]
    fn finish(&self, state: u64, len: u64) -> Hash {
        Hash(fold(state ^ self.secrets[SECRETS - 2], (self.secrets[SECRETS - 1] ^ len << 1) | 1))
    }
}

/// Both halves of the product, XORed.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The `i`th word of a key, little-endian; bytes beyond the key's end are zero.
#[inline(always)]
pub(crate) fn word<const N: usize>(bytes: &[u8; N], i: usize) -> u64 {
    let start = i * 8;
    match bytes.get(start..start + 8) {
        Some(whole) => whole.try_into().map_or(0, u64::from_le_bytes),
        None => {
            let mut word = [0; 8];
            if let Some(rest) = bytes.get(start..) {
                word[..rest.len()].copy_from_slice(rest);
            }
            u64::from_le_bytes(word)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_hash_of_a_seed_never_changes() {
        // Readers in other languages compute the same values. Another program computed these.
        let hasher = Hasher::new(b"0123456789abcdef");
        let key: [u8; 33] = std::array::from_fn(|i| i as u8);
        let hashes = [hasher.hash(b"sixteen bytes..k").0, hasher.hash(&key).0, hasher.hash(&[0; 8]).0];
        assert_eq!(hashes, [0x7932552159ae22e0, 0xb2d26aae54b91f1b, 0xe5b5d7edca8d47fa]);
    }

    #[test]
    fn every_byte_of_a_key_of_any_length_counts() {
        let hasher = Hasher::new(b"0123456789abcdef");
        let mut seen = std::collections::HashSet::new();
        for len in 0..=300 {
            let mut key = vec![0; len];
            assert!(seen.insert(hasher.hash_bytes(&key).0), "{len} zeros");
            for at in 0..len {
                key[at] = 1;
                assert!(seen.insert(hasher.hash_bytes(&key).0), "{len} bytes, changed at {at}");
                key[at] = 0;
            }
        }
    }

    #[test]
    fn words_cover_the_key_once() {
        let key: [u8; 11] = std::array::from_fn(|i| i as u8 + 1);
        assert_eq!(word(&key, 0), 0x0807_0605_0403_0201);
        assert_eq!(word(&key, 1), 0x000b_0a09);
        assert_eq!(word(&key, 2), 0);
    }

    #[test]
    fn single_bits_change_half_of_the_hash() {
        let hasher = Hasher::new(b"0123456789abcdef");
        let (mut total, mut count) = (0, 0);
        for bit in 0..33 * 8 {
            for base in 0..50_u8 {
                let key = [base; 33];
                let mut flipped = key;
                flipped[bit / 8] ^= 1 << (bit % 8);
                let changed = (hasher.hash(&key).0 ^ hasher.hash(&flipped).0).count_ones();
                assert!(changed > 6, "bit {bit} of {base} changes {changed} bits");
                total += changed;
                count += 1;
            }
        }
        let mean = f64::from(total) / f64::from(count);
        assert!((31.5..32.5).contains(&mean), "{mean}");
    }

    proptest! {
        #[test]
        fn the_alternate_of_the_alternate_is_the_bucket(
            buckets in 1..u32::MAX, pick in any::<u32>(), tag in 1..=u16::MAX,
        ) {
            let bucket = pick % buckets;
            let other = alternate(bucket, tag, buckets);
            prop_assert!(other < buckets);
            prop_assert_eq!(alternate(other, tag, buckets), bucket);
        }

        #[test]
        fn buckets_are_within_bounds(hash in any::<u64>(), buckets in 1..u32::MAX) {
            prop_assert!(Hash(hash).pick(buckets) < buckets);
            prop_assert!(Hash(hash).tag() > 0);
        }
    }
}
