//! One lane, on any processor.

use std::ops::{Add, BitAnd, BitOr, Sub};

use super::field::{FOLD, LIMB, TOP};
use super::point::Row;
use super::vector::{Mask, Vector};

/// A 64-bit word.
#[derive(Clone, Copy)]
pub(in crate::secp256k1) struct Plain(pub(super) u64);

fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// The element with these columns, which are sums of at most five products of limbs each.
#[inline(always)]
fn reduce(mut columns: [u128; 9]) -> [Plain; 5] {
    // 2^260 is 16 times 2^256.
    let fold = 16 * FOLD;
    let mut upper = [0; 5];
    for at in 0..4 {
        upper[at] = columns[5 + at] as u64 & LIMB;
        let carry = columns[5 + at] >> 52;
        if at < 3 { columns[6 + at] += carry } else { upper[4] = carry as u64 }
    }
    let mut limbs = [0; 5];
    let mut carry = 0;
    for at in 0..5 {
        let column = columns[at] + wide(upper[at], fold) + carry;
        limbs[at] = column as u64 & LIMB;
        carry = column >> 52;
    }
    // What is above 2^256: at most 55 bits above 2^260, and four below.
    let over = (carry as u64) << 4 | limbs[4] >> 48;
    limbs[4] &= TOP;
    let mut carry = wide(over, FOLD);
    for limb in &mut limbs {
        carry += u128::from(*limb);
        *limb = carry as u64 & LIMB;
        carry >>= 52;
    }
    limbs.map(Plain)
}

impl Vector for Plain {
    const LANES: usize = 1;

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

    // As long as it is, a call costs it nothing.
    #[inline(never)]
    fn multiply(a: &[Self; 5], b: &[Self; 5]) -> [Self; 5] {
        let mut columns = [0; 9];
        for i in 0..5 {
            for j in 0..5 {
                columns[i + j] += wide(a[i].0, b[j].0);
            }
        }
        reduce(columns)
    }

    #[inline(never)]
    fn square(a: &[Self; 5]) -> [Self; 5] {
        let mut columns = [0; 9];
        for i in 0..5 {
            columns[2 * i] += wide(a[i].0, a[i].0);
            for j in i + 1..5 {
                columns[i + j] += wide(2 * a[i].0, a[j].0);
            }
        }
        reduce(columns)
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
