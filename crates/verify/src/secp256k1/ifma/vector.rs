//! Eight 64-bit words.

use std::arch::x86_64::*;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::{Add, BitAnd, BitOr, Sub};

/// One bit for each lane.
pub(super) type Mask = u8;

/// Eight lanes of 64 bits.
///
/// The functions that make one from nothing are unsafe: they are to be called where the processor has AVX-512 F and
/// IFMA. So whoever holds one may use the instructions, which is why all else is safe.
#[derive(Clone, Copy)]
pub(super) struct Vector(__m512i);

impl Vector {
    /// # Safety
    ///
    /// The processor must have AVX-512 F and IFMA.
    #[inline(always)]
    pub(super) unsafe fn load(words: &[u64; 8]) -> Self {
        // SAFETY: the caller's promise; the words are as long as a vector.
        Self(unsafe { _mm512_loadu_si512(words.as_ptr().cast()) })
    }

    /// The same word in all lanes.
    #[inline(always)]
    pub(super) fn with(self, word: u64) -> Self {
        // SAFETY: as the type says, here and below.
        Self(unsafe { _mm512_set1_epi64(word as i64) })
    }

    /// `self` plus the lower 52 bits of the product of the lower 52 bits of `a` and of `b`.
    #[inline(always)]
    pub(super) fn add_low(self, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_madd52lo_epu64(self.0, a.0, b.0) })
    }

    /// `self` plus the upper 52 bits of the product of the lower 52 bits of `a` and of `b`.
    #[inline(always)]
    pub(super) fn add_high(self, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_madd52hi_epu64(self.0, a.0, b.0) })
    }

    #[inline(always)]
    pub(super) fn left<const BITS: u32>(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_slli_epi64::<BITS>(self.0) })
    }

    #[inline(always)]
    pub(super) fn right<const BITS: u32>(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_srli_epi64::<BITS>(self.0) })
    }

    /// The shift that keeps the sign.
    #[inline(always)]
    pub(super) fn right_signed<const BITS: u32>(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_srai_epi64::<BITS>(self.0) })
    }

    #[inline(always)]
    pub(super) fn equals(self, other: Self) -> Mask {
        // SAFETY: as above.
        unsafe { _mm512_cmpeq_epi64_mask(self.0, other.0) }
    }

    /// `other` in the lanes of the mask.
    #[inline(always)]
    pub(super) fn or_if(self, mask: Mask, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_mask_mov_epi64(self.0, mask, other.0) })
    }
}

impl Add for Vector {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_add_epi64(self.0, other.0) })
    }
}

impl Sub for Vector {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_sub_epi64(self.0, other.0) })
    }
}

impl BitAnd for Vector {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_and_si512(self.0, other.0) })
    }
}

impl BitOr for Vector {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_or_si512(self.0, other.0) })
    }
}

#[cfg(test)]
impl Vector {
    pub(super) fn words(self) -> [u64; 8] {
        let mut words = [0; 8];
        // SAFETY: as above; the words are as long as a vector.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), self.0) };
        words
    }
}

/// Has the stack of the function that this is called in aligned as vectors are. The compiler keeps vectors there, but does
/// not ask for that by itself, and they would straddle cache lines.
#[inline(always)]
pub(super) fn align_stack() {
    black_box(&mut MaybeUninit::<Vector>::uninit());
}

/// Word `i` of row `j` to word `j` of row `i`.
#[inline(always)]
pub(super) fn transpose(rows: [Vector; 8]) -> [Vector; 8] {
    let mut t = rows;
    let mut r = rows;
    // SAFETY: as above.
    unsafe {
        for i in 0..4 {
            t[2 * i].0 = _mm512_unpacklo_epi64(rows[2 * i].0, rows[2 * i + 1].0);
            t[2 * i + 1].0 = _mm512_unpackhi_epi64(rows[2 * i].0, rows[2 * i + 1].0);
        }
        // Now row 2q + c holds, in its 128-bit part p, word 2p + c of rows 2q and 2q + 1.
        for c in 0..2 {
            let a = _mm512_shuffle_i64x2::<0x88>(t[c].0, t[2 + c].0);
            let b = _mm512_shuffle_i64x2::<0xdd>(t[c].0, t[2 + c].0);
            let d = _mm512_shuffle_i64x2::<0x88>(t[4 + c].0, t[6 + c].0);
            let e = _mm512_shuffle_i64x2::<0xdd>(t[4 + c].0, t[6 + c].0);
            r[c].0 = _mm512_shuffle_i64x2::<0x88>(a, d);
            r[4 + c].0 = _mm512_shuffle_i64x2::<0xdd>(a, d);
            r[2 + c].0 = _mm512_shuffle_i64x2::<0x88>(b, e);
            r[6 + c].0 = _mm512_shuffle_i64x2::<0xdd>(b, e);
        }
    }
    r
}
