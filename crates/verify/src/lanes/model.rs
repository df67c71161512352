//! The lanes of AVX-512 IFMA on plain integers, to test the kernels on processors without it.

use std::array::from_fn;
use std::ops::{Add, BitAnd, BitOr, Sub};

use super::{LIMB, Mask, Plain, Row, Vector, columns_are_words};

/// Eight words.
#[derive(Clone, Copy)]
pub(crate) struct Model([Plain; 8]);

impl Model {
    fn map(self, word: impl Fn(Plain) -> Plain) -> Self {
        Self(self.0.map(word))
    }

    fn zip(self, other: Self, word: impl Fn(Plain, Plain) -> Plain) -> Self {
        Self(from_fn(|lane| word(self.0[lane], other.0[lane])))
    }
}

impl Vector for Model {
    const LANES: usize = 8;

    columns_are_words!();

    unsafe fn start<R>(work: impl FnOnce(Self) -> R) -> R {
        work(Self([Plain(0); 8]))
    }

    #[inline(never)]
    fn call<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }

    #[inline(never)]
    fn with(self, word: u64) -> Self {
        Self([Plain(word); 8])
    }

    fn with_each(self, word: impl Fn(usize) -> u64) -> Self {
        Self(from_fn(|lane| Plain(word(lane))))
    }

    fn store(self, words: &mut [u64]) {
        words.copy_from_slice(&self.0.map(|word| word.0));
    }

    fn load_rows<'a>(self, row: impl Fn(usize) -> &'a Row) -> [Self; 8] {
        from_fn(|word| self.with_each(|lane| row(lane).0[word]))
    }

    fn store_rows(words: [Self; 8], rows: &mut [Row]) {
        assert_eq!(rows.len(), 8);
        for (lane, row) in rows.iter_mut().enumerate() {
            row.0 = words.map(|word| word.0[lane].0);
        }
    }

    #[inline(never)]
    fn add_low(self, a: Self, b: Self) -> Self {
        Self(from_fn(|lane| self.0[lane].add_low(a.0[lane], b.0[lane])))
    }

    #[inline(never)]
    fn add_high(self, a: Self, b: Self) -> Self {
        Self(from_fn(|lane| self.0[lane].add_high(a.0[lane], b.0[lane])))
    }

    fn factor(self) -> Self {
        assert!(self.0.iter().all(|word| word.0 <= LIMB), "a factor is a limb");
        self
    }

    #[inline(never)]
    fn left<const BITS: u32>(self) -> Self {
        self.map(Plain::left::<BITS>)
    }

    #[inline(never)]
    fn right<const BITS: u32>(self) -> Self {
        self.map(Plain::right::<BITS>)
    }

    #[inline(never)]
    fn right_signed<const BITS: u32>(self) -> Self {
        self.map(Plain::right_signed::<BITS>)
    }

    #[inline(never)]
    fn equals(self, other: Self) -> Mask {
        (0..8).fold(0, |mask, lane| mask | self.0[lane].equals(other.0[lane]) << lane)
    }

    #[inline(never)]
    fn or_if(self, mask: Mask, other: Self) -> Self {
        Self(from_fn(|lane| self.0[lane].or_if(mask >> lane, other.0[lane])))
    }
}

impl Add for Model {
    type Output = Self;

    #[inline(never)]
    fn add(self, other: Self) -> Self {
        self.zip(other, Plain::add)
    }
}

impl Sub for Model {
    type Output = Self;

    #[inline(never)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, Plain::sub)
    }
}

impl BitAnd for Model {
    type Output = Self;

    #[inline(never)]
    fn bitand(self, other: Self) -> Self {
        self.zip(other, Plain::bitand)
    }
}

impl BitOr for Model {
    type Output = Self;

    #[inline(never)]
    fn bitor(self, other: Self) -> Self {
        self.zip(other, Plain::bitor)
    }
}
