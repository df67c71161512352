//! Scalars cut into halves, and halves into signed digits.

/// The curve's parameter is -Z.
pub(super) const Z: u64 = 0xd201_0000_0001_0000;

/// Bits of half a scalar, one for the carry of its signed digits included.
const BITS: u32 = 129;

/// The numbers k0 and k1 with k0 + k1 Z² = k, for a k below 2^255 in little-endian limbs.
pub(super) fn split(scalar: [u64; 4]) -> [u128; 2] {
    // Divided by Z twice: there is an instruction that divides by one word, and none that does by two.
    let (quotient, first) = divide(scalar);
    let ([low, high, rest @ ..], second) = divide(quotient);
    assert_eq!(rest, [0, 0], "a quotient below 2^128");
    [u128::from(second) * u128::from(Z) + u128::from(first), u128::from(high) << 64 | u128::from(low)]
}

/// The numbers k0 to k3 with k0 + k1 Z + k2 Z² + k3 Z³ = k, for a k below 2^255 in little-endian limbs.
pub(super) fn split_in_four(scalar: [u64; 4]) -> [u128; 4] {
    let (quotient, first) = divide(scalar);
    let (quotient, second) = divide(quotient);
    let ([last, rest @ ..], third) = divide(quotient);
    assert_eq!(rest, [0; 3], "a quotient below 2^64");
    [first, second, third, last].map(u128::from)
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

/// How halves are cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Bits of a digit.
    pub(super) bits: u32,
    /// Digits of a half: one for each window.
    pub(super) windows: usize,
    /// Half of 2^bits in all digits but the last, see [`Plan::digit`].
    halves: u128,
}

impl Plan {
    /// The one that takes the fewest multiplications, for so many halves.
    pub(super) fn for_halves(count: usize) -> Self {
        // Where the bits of a digit divide 128, the last one would begin at bit 128.
        let plans = (2..=15).filter(|bits| 128 % bits != 0);
        let plans = plans.map(Self::of);
        // 7 for an addition to a bucket, with what goes on around it; 30 for a bucket's own two.
        let cost = |plan: &Self| plan.windows * (7 * count + 30 * plan.buckets());
        plans.min_by_key(cost).unwrap_or(Self::of(13))
    }

    /// The one with digits of so many bits, which do not divide 128.
    pub(super) fn of(bits: u32) -> Self {
        let windows = BITS.div_ceil(bits);
        let halves = (0..windows - 1).fold(0, |halves, window| halves | 1 << (window * bits + bits - 1));
        Self { bits, windows: windows as usize, halves }
    }

    /// Buckets in a window: no digit is further from zero.
    pub(super) const fn buckets(&self) -> usize {
        1 << (self.bits - 1)
    }

    /// A half's digit: between minus and plus the number of buckets.
    ///
    /// Half of 2^bits is added to all digits but the last before they are cut, and taken away again after: so what is carried from
    /// one to the next is carried by one addition, and any digit can be had without the others.
    pub(super) fn digit(&self, half: u128, window: usize) -> i32 {
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
        prop_assert_eq!(Scalar::from(halves[0]) + Scalar::from(halves[1]) * lambda, *scalar);
        let quarters = split_in_four(limbs);
        let sum =
            quarters.iter().rev().fold(Scalar::default(), |sum, part| sum * Scalar::from(Z) + Scalar::from(*part));
        prop_assert_eq!(sum, *scalar);
        prop_assert!(quarters.iter().all(|part| *part < 1 << 64));
        for plan in [1, 8, 100, 1000, 10_000, 100_000, 1 << 20, 1 << 28].map(Plan::for_halves) {
            for half in halves {
                let number = (0..plan.windows).rev().fold(Scalar::default(), |number, window| {
                    let digit = plan.digit(half, window);
                    assert_in_range(digit, &plan);
                    let size = Scalar::from(u64::from(digit.unsigned_abs()));
                    number * Scalar::from(1_u64 << plan.bits) + if digit < 0 { -size } else { size }
                });
                prop_assert_eq!(number, Scalar::from(half), "{:?}", plan);
            }
        }
        Ok(())
    }

    fn assert_in_range(digit: i32, plan: &Plan) {
        assert!(digit.unsigned_abs() as usize <= plan.buckets(), "{digit} of {plan:?}");
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
