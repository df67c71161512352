//! Splits scalars into halves, and halves into signed digits.

/// The curve's parameter is -Z.
pub(super) const Z: u64 = 0xd201_0000_0001_0000;

/// Bits of half a scalar, with its sign: its digits need no more, because it is closer to zero than two thirds of
/// 2^127.
const BITS: u32 = 128;

/// Numbers k0 and k1 with k0 + k1 Z² = k modulo the order, for a k below 2^255 in little-endian limbs. Their distance
/// from zero is at most half of Z², plus one.
pub(super) fn split(scalar: [u64; 4]) -> [i128; 2] {
    // Divided by Z twice: there is an instruction for division by one word, but none for two.
    let (quotient, first) = divide(scalar);
    let ([low, high, rest @ ..], second) = divide(quotient);
    assert_eq!(rest, [0, 0], "a quotient below 2^128");
    let square = u128::from(Z) * u128::from(Z);
    let mut first = u128::from(second) * u128::from(Z) + u128::from(first);
    let mut second = u128::from(high) << 64 | u128::from(low);
    // Differences may be negative: the highest bit has the sign.
    if first > square / 2 {
        (first, second) = (first.wrapping_sub(square), second + 1);
    }
    // Modulo the order, Z⁴ is Z² minus one.
    if second > square / 2 {
        (first, second) = (first.wrapping_sub(1), second.wrapping_sub(square - 1));
    }
    [first as i128, second as i128]
}

/// The numbers k0 to k3 with k0 + k1 Z + k2 Z² + k3 Z³ = k, for a k below 2^255 in little-endian limbs.
pub(super) fn split_in_four(scalar: [u64; 4]) -> [i128; 4] {
    let (quotient, first) = divide(scalar);
    let (quotient, second) = divide(quotient);
    let ([last, rest @ ..], third) = divide(quotient);
    assert_eq!(rest, [0; 3], "a quotient below 2^64");
    [first, second, third, last].map(i128::from)
}

/// Quotient and remainder by Z.
fn divide(mut number: [u64; 4]) -> ([u64; 4], u64) {
    let mut rest = 0;
    for limb in number.iter_mut().rev() {
        let dividend = u128::from(rest) << 64 | u128::from(*limb);
        *limb = (dividend / u128::from(Z)) as u64;
        rest = (dividend % u128::from(Z)) as u64;
    }
    (number, rest)
}

/// How halves are split.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Bits of a digit.
    pub(super) bits: u32,
    /// Digits of a half: one per window.
    pub(super) windows: usize,
    /// Half of 2^bits in all digits but the last, see [`Plan::digit`].
    halves: i128,
}

impl Plan {
    /// The fastest plan for this number of scalars.
    pub(super) fn for_scalars(count: usize) -> Self {
        // A bucket addition per scalar, and one more per bucket: the first point takes none, and then there are two, to
        // a row and a column; a few for each of those.
        let cost = |plan: &Self| plan.windows * (count + plan.buckets() + 4 * plan.square().iter().sum::<usize>());
        // With more than 13 bits, the buckets of a window exceed the second-level cache.
        (3..=13).map(Self::with_bits).min_by_key(cost).unwrap_or(Self::with_bits(13))
    }

    /// The plan with digits of `bits` bits, at least three: with two, sums of [`Plan::digit`] would not fit.
    pub(super) fn with_bits(bits: u32) -> Self {
        let windows = BITS.div_ceil(bits);
        let halves = (0..windows - 1).fold(0, |halves, window| halves | 1 << (window * bits + bits - 1));
        Self { bits, windows: windows as usize, halves }
    }

    /// Buckets in a window, which is the maximum absolute digit.
    pub(super) const fn buckets(&self) -> usize {
        1 << (self.bits - 1)
    }

    /// Maximum absolute value of the last digit, which may have few bits.
    pub(super) fn last(&self) -> usize {
        let limit = (u128::from(Z) * u128::from(Z) / 2) as i128 + 1;
        let digit = |half| self.digit(half, self.windows - 1).unsigned_abs() as usize;
        digit(limit).max(digit(-limit))
    }

    /// Rows and columns of a square of the buckets, or of two squares.
    pub(super) const fn square(&self) -> [usize; 2] {
        let columns = 1 << (self.bits / 2);
        [self.buckets() / columns, columns]
    }

    /// A digit of a half: between minus and plus the number of buckets.
    ///
    /// Half of 2^bits is added to all digits except the last before splitting, and subtracted again afterwards: so one
    /// addition does all carries, and each digit can be computed without the others.
    pub(super) fn digit(&self, half: i128, window: usize) -> i32 {
        let rest = (half + self.halves) >> (window as u32 * self.bits);
        let is_last = window + 1 == self.windows;
        if is_last { rest as i32 } else { (rest as i32 & ((1 << self.bits) - 1)) - self.buckets() as i32 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bls12_381::Scalar;

    fn check(scalar: &Scalar) -> Result<(), TestCaseError> {
        let bytes = scalar.little_endian();
        let limbs = std::array::from_fn(|at| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * at + byte])));
        let halves = split(limbs);
        let lambda = Scalar::from(Z) * Scalar::from(Z);
        let signed = |half: i128| {
            let size = Scalar::from(half.unsigned_abs());
            if half < 0 { -size } else { size }
        };
        prop_assert_eq!(signed(halves[0]) + signed(halves[1]) * lambda, *scalar);
        let quarters = split_in_four(limbs);
        let sum = quarters.iter().rev().fold(Scalar::default(), |sum, part| sum * Scalar::from(Z) + signed(*part));
        prop_assert_eq!(sum, *scalar);
        prop_assert!(quarters.iter().all(|part| (0..1 << 64).contains(part)));
        for plan in (3..=16).map(Plan::with_bits) {
            for half in halves.into_iter().chain(quarters) {
                let number = (0..plan.windows).rev().fold(Scalar::default(), |number, window| {
                    let digit = plan.digit(half, window);
                    assert_in_range(digit, &plan, window);
                    let size = Scalar::from(u64::from(digit.unsigned_abs()));
                    number * Scalar::from(1_u64 << plan.bits) + if digit < 0 { -size } else { size }
                });
                prop_assert_eq!(number, signed(half), "{:?}", plan);
            }
        }
        Ok(())
    }

    fn assert_in_range(digit: i32, plan: &Plan, window: usize) {
        let most = if window + 1 == plan.windows { plan.last() } else { plan.buckets() };
        assert!(digit.unsigned_abs() as usize <= most, "{digit} of {plan:?}");
    }

    proptest! {
        #[test]
        fn digits_make_up_the_scalar(bytes in any::<[u8; 32]>()) {
            check(&Scalar::reduce(&bytes))?;
        }
    }

    #[test]
    fn digits_make_up_special_scalars() {
        let lambda = Scalar::from(Z) * Scalar::from(Z);
        for near in [Scalar::default(), Scalar::from(Z), lambda, lambda * lambda, Scalar::from(u128::MAX), -lambda] {
            for distance in 0..3_u64 {
                check(&(near + Scalar::from(distance))).unwrap();
                check(&(near - Scalar::from(distance))).unwrap();
            }
        }
    }
}
