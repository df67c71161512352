//! 256-bit unsigned numbers, with the operations that targets and work need.
use std::fmt;

/// A 256-bit unsigned number.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct U256 {
    /// The least significant limb first.
    limbs: [u64; 4],
}

impl U256 {
    /// Zero.
    pub const ZERO: Self = Self { limbs: [0; 4] };
    /// The largest number.
    pub const MAX: Self = Self { limbs: [u64::MAX; 4] };

    /// Reads 32 bytes, least significant first: the order in which a block's hash is compared with its target.
    pub fn from_le_bytes(bytes: &[u8; 32]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        Self { limbs: std::array::from_fn(|i| u64::from_le_bytes(words[i])) }
    }

    /// The number as 32 bytes, most significant first.
    pub fn to_be_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (word, limb) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.limbs.iter().rev()) {
            *word = limb.to_be_bytes();
        }
        bytes
    }

    /// The number of bits without leading zeros.
    pub fn bits(self) -> u32 {
        self.limbs
            .iter()
            .rposition(|limb| *limb != 0)
            .map_or(0, |i| 64 * (i as u32 + 1) - self.limbs[i].leading_zeros())
    }

    /// The lowest 64 bits.
    pub fn low_u64(self) -> u64 {
        self.limbs[0]
    }

    /// The sum; `None` if it needs more than 256 bits.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let mut carry = false;
        let limbs = std::array::from_fn(|i| {
            let (sum, first) = self.limbs[i].overflowing_add(other.limbs[i]);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            sum
        });
        (!carry).then_some(Self { limbs })
    }

    /// The difference modulo 2^256.
    fn wrapping_sub(self, other: Self) -> Self {
        let mut borrow = false;
        let limbs = std::array::from_fn(|i| {
            let (difference, first) = self.limbs[i].overflowing_sub(other.limbs[i]);
            let (difference, second) = difference.overflowing_sub(u64::from(borrow));
            borrow = first || second;
            difference
        });
        Self { limbs }
    }

    /// The product; `None` if it needs more than 256 bits.
    pub fn checked_mul(self, factor: u32) -> Option<Self> {
        let mut carry = 0;
        let limbs = std::array::from_fn(|i| {
            let product = u128::from(self.limbs[i]) * u128::from(factor) + carry;
            carry = product >> 64;
            product as u64
        });
        (carry == 0).then_some(Self { limbs })
    }

    /// The quotient; `None` if the divisor is zero.
    pub fn div_u32(self, divisor: u32) -> Option<Self> {
        let divisor = u128::from(divisor);
        let mut limbs = self.limbs;
        let mut rest = 0;
        for limb in limbs.iter_mut().rev() {
            let value = rest << 64 | u128::from(*limb);
            *limb = value.checked_div(divisor)? as u64;
            rest = value % divisor;
        }
        Some(Self { limbs })
    }

    /// The number shifted up by `by` bits; bits beyond the top are lost.
    pub fn shift_left(self, by: u32) -> Self {
        let (words, bits) = ((by / 64) as usize, by % 64);
        let limb = |i: usize| self.limbs[i];
        let limbs = std::array::from_fn(|i| match (i.checked_sub(words), bits) {
            (None, _) => 0,
            (Some(from), 0) => limb(from),
            (Some(from), _) => limb(from) << bits | from.checked_sub(1).map_or(0, limb) >> (64 - bits),
        });
        Self { limbs }
    }

    /// The number shifted down by `by` bits.
    pub fn shift_right(self, by: u32) -> Self {
        let (words, bits) = ((by / 64) as usize, by % 64);
        let limb = |i: usize| if i < 4 { self.limbs[i] } else { 0 };
        let limbs = std::array::from_fn(|i| match bits {
            0 => limb(i + words),
            _ => limb(i + words) >> bits | limb(i + words + 1) << (64 - bits),
        });
        Self { limbs }
    }

    /// The expected number of hashes for one at or below the target: 2^256 / (target + 1).
    ///
    /// 2^256 itself does not fit, so this is (2^256 - target - 1) / (target + 1) + 1, as in Bitcoin Core.
    pub fn work_of_target(target: Self) -> Self {
        let one = Self { limbs: [1, 0, 0, 0] };
        let Some(divisor) = target.checked_add(one) else { return one };
        let complement = Self { limbs: target.limbs.map(|limb| !limb) };
        complement.div(divisor).checked_add(one).unwrap_or(Self::MAX)
    }

    /// Long division, bit by bit. The divisor must not be zero.
    fn div(self, divisor: Self) -> Self {
        let mut quotient = Self::ZERO;
        let mut rest = self;
        for shift in (0..=self.bits().saturating_sub(divisor.bits())).rev() {
            let part = divisor.shift_left(shift);
            if part <= rest {
                rest = rest.wrapping_sub(part);
                quotient.limbs[(shift / 64) as usize] |= 1 << (shift % 64);
            }
        }
        quotient
    }
}

impl From<u64> for U256 {
    fn from(value: u64) -> Self {
        Self { limbs: [value, 0, 0, 0] }
    }
}

impl Ord for U256 {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.limbs.iter().rev().cmp(other.limbs.iter().rev())
    }
}

impl PartialOrd for U256 {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for U256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for U256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_be_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(high: u128, low: u128) -> U256 {
        U256 { limbs: [low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64] }
    }

    #[test]
    fn bytes_are_in_either_order() {
        let mut bytes: [u8; 32] = std::array::from_fn(|at| at as u8);
        let number = U256::from_le_bytes(&bytes);
        bytes.reverse();
        assert_eq!(number.to_be_bytes(), bytes);
        assert_eq!(number.to_string(), "1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100");
    }

    proptest! {
        #[test]
        fn agrees_with_u128(a in any::<u128>(), b in 1..=u128::MAX, small in 1..=u32::MAX, shift in 0..128_u32) {
            let (x, y) = (number(0, a), number(0, b));
            prop_assert_eq!(x.div(y), number(0, a / b));
            prop_assert_eq!(x.div_u32(small), Some(number(0, a / u128::from(small))));
            let (sum, carry) = a.overflowing_add(b);
            prop_assert_eq!(x.checked_add(y), Some(number(u128::from(carry), sum)));
            prop_assert_eq!(x.checked_add(y).unwrap().wrapping_sub(y), x);
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(x.shift_right(shift), number(0, a >> shift));
            prop_assert_eq!(x.shift_left(shift).shift_right(shift), x);
            prop_assert_eq!(x.shift_left(128), number(a, 0));
            prop_assert_eq!(x.bits(), 128 - a.leading_zeros());
            prop_assert_eq!(x.checked_mul(small).unwrap().div_u32(small), Some(x));
        }

        #[test]
        fn division_is_the_inverse_of_multiplication(high in any::<u128>(), low in any::<u128>(), small in 1..=u32::MAX) {
            let x = number(high, low);
            prop_assert_eq!(x.div(U256::from(u64::from(small))), x.div_u32(small).unwrap());
            prop_assert_eq!(x.checked_mul(small).is_none(), U256::MAX.div_u32(small).unwrap() < x);
        }
    }

    #[test]
    fn edges() {
        assert_eq!(U256::MAX.checked_add(1.into()), None);
        assert_eq!(U256::ZERO.div_u32(0), None);
        assert_eq!(U256::work_of_target(U256::MAX), 1.into());
        assert_eq!(U256::work_of_target(U256::ZERO), U256::MAX);
        assert_eq!(U256::work_of_target(U256::from(0xffff).shift_left(208)), 0x1_0001_0001.into());
        assert_eq!(U256::MAX.div(U256::MAX), 1.into());
        assert_eq!(U256::from(1).shift_left(255).bits(), 256);
    }
}
