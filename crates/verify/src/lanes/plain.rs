//! One lane, on any processor.

use std::ops::{Add, BitAnd, BitOr, Sub};

use super::{LIMB, Mask, Row, Vector, columns_are_words};

/// A 64-bit word.
#[derive(Clone, Copy)]
pub(crate) struct Plain(pub(crate) u64);

/// The product of two words.
pub(crate) fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

impl Vector for Plain {
    const LANES: usize = 1;

    columns_are_words!();

    #[inline(always)]
    unsafe fn start<R>(work: impl FnOnce(Self) -> R) -> R {
        work(Self(0))
    }

    #[inline(never)]
    fn call<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }

    #[inline(always)]
    fn with(self, word: u64) -> Self {
        Self(word)
    }

    #[inline(always)]
    fn with_each(self, word: impl Fn(usize) -> u64) -> Self {
        Self(word(0))
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        words[0] = self.0;
    }

    #[inline(always)]
    fn load_rows<'a>(self, row: impl Fn(usize) -> &'a Row) -> [Self; 8] {
        row(0).0.map(Self)
    }

    #[inline(always)]
    fn store_rows(words: [Self; 8], rows: &mut [Row]) {
        rows[0].0 = words.map(|word| word.0);
    }

    #[inline(always)]
    fn add_low(self, a: Self, b: Self) -> Self {
        Self(self.0.wrapping_add(wide(a.0 & LIMB, b.0 & LIMB) as u64 & LIMB))
    }

    #[inline(always)]
    fn add_high(self, a: Self, b: Self) -> Self {
        Self(self.0.wrapping_add((wide(a.0 & LIMB, b.0 & LIMB) >> 52) as u64))
    }

    #[inline(always)]
    fn factor(self) -> Self {
        self
    }

    #[inline(always)]
    fn left<const BITS: u32>(self) -> Self {
        Self(self.0 << BITS)
    }

    #[inline(always)]
    fn right<const BITS: u32>(self) -> Self {
        Self(self.0 >> BITS)
    }

    #[inline(always)]
    fn right_signed<const BITS: u32>(self) -> Self {
        Self((self.0 as i64 >> BITS) as u64)
    }

    #[inline(always)]
    fn equals(self, other: Self) -> Mask {
        Mask::from(self.0 == other.0)
    }

    #[inline(always)]
    fn or_if(self, mask: Mask, other: Self) -> Self {
        if mask & 1 == 1 { other } else { self }
    }
}

impl Add for Plain {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

impl Sub for Plain {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }
}

impl BitAnd for Plain {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Plain {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
