//! Primes of 256 bits.

use std::sync::LazyLock;

use super::modulus::Modulus;
use crate::{
    sha256::Tag,
    tags::{VDF_BASE_TAG, VDF_PRIME_TAG},
};

/// Words of a prime.
pub(super) const WORDS: usize = 4;

/// A number of 256 bits, its lowest word first.
pub(super) type Word256 = [u64; WORDS];

static CANDIDATE: Tag = Tag::new(VDF_PRIME_TAG);
static BASE: Tag = Tag::new(VDF_BASE_TAG);

/// Primes by which candidates are divided first: that removes nine of ten composites, for a hundredth of the cost of a
/// test.
static SMALL_PRIMES: LazyLock<Vec<u64>> = LazyLock::new(|| {
    (3..2000).step_by(2).filter(|n| (3..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0)).collect()
});

/// Rounds of the test. Any composite number passes a round with a probability of at most a quarter, as the bases are
/// hashed from the number.
const ROUNDS: u64 = 64;

/// Hashes a message to a prime whose highest bit is set.
pub(super) fn hash_to_prime(message: &[u8]) -> Word256 {
    // One in 89 odd numbers of this size is prime, so this ends after a few hundred.
    let mut counter = 0_u64;
    loop {
        let mut digest = CANDIDATE.hash_parts(&[&counter.to_be_bytes(), message]);
        digest[0] |= 0x80;
        digest[31] |= 1;
        if is_prime(&digest) {
            return from_bytes(&digest);
        }
        counter += 1;
    }
}

fn from_bytes(bytes: &[u8; 32]) -> Word256 {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().rev().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    words
}

/// Whether an odd number with its highest bit set is prime: trial division, then the Miller-Rabin test.
pub(super) fn is_prime(bytes: &[u8; 32]) -> bool {
    let words = from_bytes(bytes);
    let remainder = |divisor: u64| {
        let divide =
            |rest: u64, word: &u64| ((u128::from(rest) << 64 | u128::from(*word)) % u128::from(divisor)) as u64;
        words.iter().rev().fold(0, divide)
    };
    if SMALL_PRIMES.iter().any(|prime| remainder(*prime) == 0) {
        return false;
    }
    let modulus = Modulus::from_words(words.into(), bytes.len());
    // The number minus one is a power of two times an odd number.
    let mut odd = words;
    odd[0] -= 1;
    let twos = trailing_zeros(&odd);
    shift_right(&mut odd, twos);
    let (one, minus_one) = (modulus.one(), modulus.negate(&modulus.one()));
    (0..ROUNDS).all(|round| {
        let base = modulus.hash(&BASE.hash_parts(&[&round.to_be_bytes(), bytes]));
        let mut power = modulus.power(&base, &odd);
        if power == one || power == minus_one {
            return true;
        }
        (1..twos).any(|_| {
            modulus.square(&mut power, 1);
            power == minus_one
        })
    })
}

fn trailing_zeros(words: &Word256) -> u32 {
    let zeros = words.iter().take_while(|word| **word == 0).count();
    64 * zeros as u32 + words.get(zeros).map_or(0, |word| word.trailing_zeros())
}

fn shift_right(words: &mut Word256, bits: u32) {
    for _ in 0..bits {
        let mut carry = 0;
        for word in words.iter_mut().rev() {
            (*word, carry) = (*word >> 1 | carry << 63, *word & 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number with `low` as its lower 128 bits, and 2^128 - 1 - `rest` as its upper 128 bits.
    fn below(low: u128, rest: u32) -> [u8; 32] {
        let mut bytes = [0xff; 32];
        bytes[16..].copy_from_slice(&low.to_be_bytes());
        bytes[15] -= rest as u8;
        bytes
    }

    #[test]
    fn known_primes_and_composites() {
        // SEC 2: the prime of the field and the order of the group of secp256k1.
        assert!(is_prime(&below(0xffff_ffff_ffff_ffff_ffff_fffe_ffff_fc2f, 0)));
        assert!(is_prime(&below(0xbaae_dce6_af48_a03b_bfd2_5e8c_d036_4141, 1)));
        assert!(!is_prime(&below(0xffff_ffff_ffff_ffff_ffff_fffe_ffff_fc31, 0)));
        // FIPS 186-4: the prime of P-256, and a product of two of 128 bits: (2^128 - 159)(2^128 - 173).
        let p256 = [
            0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        ];
        assert!(is_prime(&p256));
        let mut product = [0; 32];
        product[..16].copy_from_slice(&(u128::MAX - 331).to_be_bytes());
        product[16..].copy_from_slice(&(159 * 173_u128).to_be_bytes());
        assert!(!is_prime(&product));
    }

    #[test]
    fn a_hash_is_a_prime_of_full_length() {
        let prime = hash_to_prime(b"message");
        assert!(prime[3] >> 63 == 1 && prime[0] & 1 == 1);
        assert_eq!(prime, hash_to_prime(b"message"));
        assert_ne!(prime, hash_to_prime(b"messagf"));
    }
}
