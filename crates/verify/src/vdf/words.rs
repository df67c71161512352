//! Numbers of any length in 64-bit words, the lowest first: their products, row by row, and Montgomery's reduction.
//!
//! A squaring computes the products off the diagonal once and doubles them, which leaves three quarters of the work of
//! a multiplication, including the reduction.

/// Maximum number of words in a number: 4,096 bits, and a word for the check prime.
pub(super) const MAX_WORDS: usize = 65;

/// The building block: a row of a product.
pub(super) trait Row: Copy {
    /// Adds `a` · `factor` + `carry` to `sum`. Returns the carry out of it.
    fn add(self, sum: &mut [u64], a: &[u64], factor: u64, carry: u64) -> u64;
}

/// Rows on any processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Row for Portable {
    #[inline(always)]
    fn add(self, sum: &mut [u64], a: &[u64], factor: u64, carry: u64) -> u64 {
        let mut carry = carry;
        for (sum, a) in sum.iter_mut().zip(a) {
            (*sum, carry) = multiply_add(*sum, *a, factor, carry);
        }
        carry
    }
}

/// `sum` + `a` · `b` + `carry`, which always fits two words: the lower one and the upper one.
#[inline(always)]
fn multiply_add(sum: u64, a: u64, b: u64, carry: u64) -> (u64, u64) {
    let wide = u128::from(a) * u128::from(b) + u128::from(sum) + u128::from(carry);
    (wide as u64, (wide >> 64) as u64)
}

#[inline(always)]
pub(super) fn subtract(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(borrow.into());
    (difference, first | second)
}

#[inline(always)]
pub(super) fn product<R: Row>(row: R, a: &[u64], b: &[u64], wide: &mut [u64]) {
    let length = a.len();
    wide.fill(0);
    for (place, factor) in b.iter().enumerate() {
        wide[place + length] = row.add(&mut wide[place..place + length], a, *factor, 0);
    }
}

#[inline(always)]
pub(super) fn square<R: Row>(row: R, a: &[u64], wide: &mut [u64]) {
    let length = a.len();
    wide.fill(0);
    for place in 0..length - 1 {
        // The products above the diagonal.
        let (from, to) = (2 * place + 1, place + length);
        wide[to] = row.add(&mut wide[from..to], &a[place + 1..], a[place], 0);
    }
    let (mut shifted, mut carry) = (0, 0);
    for (pair, a) in wide.as_chunks_mut::<2>().0.iter_mut().zip(a) {
        let [low, high] = *pair;
        let doubled = [low << 1 | shifted, high << 1 | low >> 63];
        shifted = high >> 63;
        let (low, upper) = multiply_add(doubled[0], *a, *a, carry);
        let (high, over) = doubled[1].overflowing_add(upper);
        *pair = [low, high];
        carry = over.into();
    }
    debug_assert!(shifted == 0 && carry == 0, "a square fits");
}

/// `a` becomes wide / 2^(64 · words), below the modulus.
#[inline(always)]
pub(super) fn reduce<R: Row>(row: R, wide: &mut [u64], modulus: &[u64], negated_inverse: u64, a: &mut [u64]) {
    let length = modulus.len();
    let mut over = false;
    for place in 0..length {
        let factor = wide[place].wrapping_mul(negated_inverse);
        let carry = row.add(&mut wide[place..place + length], modulus, factor, 0);
        let (sum, first) = wide[place + length].overflowing_add(carry);
        let (sum, second) = sum.overflowing_add(over.into());
        wide[place + length] = sum;
        over = first | second;
    }
    a.copy_from_slice(&wide[length..]);
    subtract_if_not_below(a, &mut over.into(), modulus);
}

pub(super) fn is_below(a: &[u64], modulus: &[u64]) -> bool {
    a.iter().rev().lt(modulus.iter().rev())
}

/// Digit `number` of `BITS` bits, counted from the lowest; zero after the last word.
#[cfg(target_arch = "x86_64")]
pub(super) fn digit<const BITS: usize>(words: &[u64], number: usize) -> u64 {
    let word = |at: usize| words.get(at).copied().unwrap_or(0);
    let (at, shift) = (number * BITS / 64, number * BITS % 64);
    (word(at) >> shift | word(at + 1).checked_shl(64 - shift as u32).unwrap_or(0)) & ((1 << BITS) - 1)
}

/// 2 to the power of `exponent`, modulo the modulus.
#[cfg(target_arch = "x86_64")]
pub(super) fn power_of_two(exponent: usize, modulus: &[u64]) -> Box<[u64]> {
    let mut power: Box<[u64]> = vec![0; modulus.len()].into();
    power[0] = 1;
    (0..exponent).for_each(|_| _ = double(&mut power, modulus));
    power
}

/// Doubles `a`, which is below the modulus before and after. Returns whether it had to be reduced.
pub(super) fn double(a: &mut [u64], modulus: &[u64]) -> bool {
    let mut carry = 0;
    for word in a.iter_mut() {
        (*word, carry) = (*word << 1 | carry, *word >> 63);
    }
    subtract_if_not_below(a, &mut carry, modulus)
}

/// Subtracts the modulus from `over` · 2^(64 · words) + `a` unless that is below it. Returns whether it did.
#[inline(always)]
pub(super) fn subtract_if_not_below(a: &mut [u64], over: &mut u64, modulus: &[u64]) -> bool {
    let is_reduced = *over != 0 || !is_below(a, modulus);
    if is_reduced {
        let mut borrow = false;
        for (a, modulus) in a.iter_mut().zip(modulus) {
            (*a, borrow) = subtract(*a, *modulus, borrow);
        }
        *over -= u64::from(borrow);
    }
    is_reduced
}
