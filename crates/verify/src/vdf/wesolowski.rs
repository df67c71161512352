//! Proofs of repeated squaring (B. Wesolowski, *Efficient verifiable delay functions*, Eurocrypt 2019).
//!
//! The proof that y is x squared t times is π = x^⌊2^t / ℓ⌋, where the prime ℓ is a hash of t, the modulus, x and y.
//! The verifier checks that π^ℓ · x^(2^t mod ℓ) is y. A number counts as equal to its negation: -1 has a known order,
//! so anybody could change the sign of a proof.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::kernel::{Backend, Kernel};
use super::modulus::{Modulus, Number};
use super::prime::{WORDS, Word256, hash_to_prime};
use super::ring::Ring;

/// The most powers kept of a segment: 16 MiB at 2,048 bits, 24 MiB in the vectors' digits.
const POWERS: u64 = 1 << 16;

/// The most bits of a digit: its buckets cost a quarter of what longer digits would save.
const MOST_BITS: u32 = 13;

/// How the proof of `iterations` squarings is computed: the quotient 2^t / ℓ is cut into digits, and some of the
/// numbers on the way, at regular intervals, are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digits {
    iterations: u64,
    bits: u32,
    /// Digits between two kept powers.
    stride: u64,
}

impl Digits {
    pub(super) fn with_iterations(iterations: u64) -> Self {
        // A digit has two to the power of its bits buckets, each multiplied twice; they cost less than the digits.
        let bits = iterations.max(1).ilog2().saturating_sub(6).clamp(1, MOST_BITS);
        let stride = iterations.div_ceil(u64::from(bits)).div_ceil(POWERS).max(1);
        Self { iterations, bits, stride }
    }

    /// Squarings between two kept powers.
    pub(super) fn every(&self) -> u64 {
        u64::from(self.bits) * self.stride
    }

    /// The number of kept powers; the first one is x itself.
    pub(super) fn powers(&self) -> u64 {
        self.iterations.div_ceil(self.every())
    }

    /// The quotient's digits, lowest first.
    fn quotient(&self, prime: &Word256) -> Vec<u16> {
        let count = self.iterations.div_ceil(self.bits.into()) as usize;
        let mut digits = vec![0_u16; count];
        // Long division of 2^t, bit by bit: the remainder is doubled and, where possible, reduced.
        let (kernel, mut remainder) = (Kernel::new((*prime).into(), Backend::Portable), [1, 0, 0, 0]);
        for place in (0..self.iterations).rev() {
            let bit = kernel.double(&mut remainder);
            digits[(place / u64::from(self.bits)) as usize] |= u16::from(bit) << (place % u64::from(self.bits));
        }
        digits
    }
}

/// The prime of a proof.
fn challenge(modulus: &Modulus, x: &Number, y: &Number, iterations: u64) -> Word256 {
    let parts = [&iterations.to_be_bytes()[..], &modulus.to_bytes(), &modulus.write(x), &modulus.write(y)];
    hash_to_prime(&parts.concat())
}

/// The representative of a number and its negation: the smaller of the two.
pub(super) fn canonical(modulus: &Modulus, number: &Number) -> Number {
    let negation = modulus.negate(number);
    if modulus.write(&negation) < modulus.write(number) { negation } else { number.clone() }
}

/// The proof that `y` is `x` squared `iterations` times: the product of all powers, each to the power of the quotient's
/// digits at its place.
///
/// `powers` are those that [`Digits`] says to keep, the first of them `x`. Returns `None` once `is_broken_off` is set.
pub(super) fn prove<R: Ring>(
    modulus: &Modulus,
    ring: &R,
    iterations: u64,
    [x, y]: [&Number; 2],
    powers: &[R::Element],
    is_broken_off: &AtomicBool,
) -> Option<Number> {
    let digits = Digits::with_iterations(iterations);
    assert_eq!(powers.len() as u64, digits.powers(), "all powers that were to be kept");
    let quotient = digits.quotient(&challenge(modulus, x, y, iterations));
    let stride = digits.stride as usize;
    let mut proof = ring.enter(&modulus.one().0);
    let mut buckets = vec![None; 1 << digits.bits];
    // All powers share the squarings between them: the digits furthest above a kept power come first.
    for offset in (0..stride).rev() {
        if is_broken_off.load(Relaxed) {
            return None;
        }
        ring.square(&mut proof, digits.bits.into());
        for (power, digit) in powers.iter().zip(quotient.iter().skip(offset).step_by(stride)) {
            if *digit != 0 {
                join(ring, &mut buckets[usize::from(*digit)], Some(power));
            }
        }
        // Raises each bucket to the power of its digit, by summing up twice.
        let (mut above, mut sum) = (None, None);
        for bucket in buckets.iter_mut().skip(1).rev() {
            join(ring, &mut above, bucket.take().as_ref());
            join(ring, &mut sum, above.as_ref());
        }
        if let Some(sum) = sum {
            ring.multiply(&mut proof, &sum);
        }
    }
    Some(canonical(modulus, &Number(ring.leave(&proof))))
}

/// `a` becomes a · b; `None` stands for 1.
fn join<R: Ring>(ring: &R, a: &mut Option<R::Element>, b: Option<&R::Element>) {
    match (a.as_mut(), b) {
        (Some(a), Some(b)) => ring.multiply(a, b),
        (None, Some(b)) => *a = Some(b.clone()),
        (_, None) => {}
    }
}

/// Whether `proof` proves that `y` is `x` squared `iterations` times, up to the sign.
pub(super) fn is_proved(modulus: &Modulus, iterations: u64, x: &Number, y: &Number, proof: &Number) -> bool {
    let prime = challenge(modulus, x, y, iterations);
    let mut claimed = modulus.power(proof, &prime);
    modulus.multiply(&mut claimed, &modulus.power(x, &power_of_two(iterations, &prime)));
    claimed == *y || claimed == modulus.negate(y)
}

/// 2^exponent modulo the prime.
fn power_of_two(exponent: u64, prime: &Word256) -> Word256 {
    let modulus = Modulus::from_words((*prime).into(), 8 * WORDS);
    let power = modulus.power(&modulus.small(2), &[exponent]);
    let mut words = [0; WORDS];
    words.copy_from_slice(&modulus.plain(&power));
    words
}
