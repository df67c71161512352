//! Compact targets: the `bits` of a header.
use super::uint::U256;
use thiserror::Error;

/// A target in the floating point form of headers: an exponent in bytes, then a mantissa of 23 bits and a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compact(pub u32);

/// Why `bits` do not encode a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// The sign bit is set.
    #[error("the target is negative")]
    Negative,
    /// It needs more than 256 bits.
    #[error("the target does not fit in 256 bits")]
    Overflow,
    /// No hash could ever be below it.
    #[error("the target is zero")]
    Zero,
}

impl Compact {
    /// The target as a number.
    pub fn target(self) -> Result<U256, TargetError> {
        let size = self.0 >> 24;
        let mut mantissa = self.0 & 0x7f_ffff;
        if size <= 3 {
            mantissa >>= 8 * (3 - size);
        }
        if mantissa == 0 {
            return Err(TargetError::Zero);
        }
        if self.0 & 0x80_0000 != 0 {
            return Err(TargetError::Negative);
        }
        if size > 34 || (size > 33 && mantissa > 0xff) || (size > 32 && mantissa > 0xffff) {
            return Err(TargetError::Overflow);
        }
        Ok(U256::from(u64::from(mantissa)).shift_left(8 * size.saturating_sub(3)))
    }

    /// The compact form of a target. Precision below the mantissa is lost, as the consensus rules require.
    pub fn from_target(target: U256) -> Self {
        let mut size = target.bits().div_ceil(8);
        let mut mantissa = match size {
            0..=3 => target.low_u64() << (8 * (3 - size)),
            _ => target.shift_right(8 * (size - 3)).low_u64(),
        } as u32;
        if mantissa & 0x80_0000 != 0 {
            mantissa >>= 8;
            size += 1;
        }
        Self(size << 24 | mantissa)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The cases of Bitcoin Core's `bignum_SetCompact` test.
    #[test]
    fn compact_forms_of_bitcoin_core() {
        for zero in [0, 0x0012_3456, 0x0100_3456, 0x0200_0056, 0x0300_0000, 0x0400_0000, 0x0092_3456, 0x0180_3456] {
            assert_eq!(Compact(zero).target(), Err(TargetError::Zero), "{zero:08x}");
        }
        for (compact, value, back) in [
            (0x0112_3456, 0x12, 0x0112_0000),
            (0x0212_3456, 0x1234, 0x0212_3400),
            (0x0312_3456, 0x12_3456, 0x0312_3456),
            (0x0412_3456, 0x1234_5600, 0x0412_3456),
            (0x0500_9234, 0x9234_0000, 0x0500_9234),
        ] {
            let target = Compact(compact).target().unwrap();
            assert_eq!(target, U256::from(value));
            assert_eq!(Compact::from_target(target), Compact(back));
        }
        let large = Compact(0x2012_3456).target().unwrap();
        assert_eq!(large, U256::from(0x12_3456).shift_left(232));
        assert_eq!(Compact::from_target(large), Compact(0x2012_3456));
        for negative in [0x01fe_dcba, 0x0492_3456] {
            assert_eq!(Compact(negative).target(), Err(TargetError::Negative));
        }
        for overflow in [0xff12_3456, 0x2312_3456, 0x2200_0100, 0x2101_0000] {
            assert_eq!(Compact(overflow).target(), Err(TargetError::Overflow), "{overflow:08x}");
        }
        assert!(Compact(0x2200_00ff).target().is_ok() && Compact(0x2100_ffff).target().is_ok());
    }

    proptest! {
        #[test]
        fn compact_of_target_is_canonical(bits in any::<u32>()) {
            if let Ok(target) = Compact(bits).target() {
                let compact = Compact::from_target(target);
                prop_assert_eq!(compact.target(), Ok(target));
            }
        }
    }
}
