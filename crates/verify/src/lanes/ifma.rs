//! Eight lanes of AVX-512 IFMA.

use std::arch::x86_64::*;
use std::array::from_fn;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::{Add, BitAnd, BitOr, Sub};

use super::{Mask, Row, Vector, columns_are_words};

/// Eight words.
#[derive(Clone, Copy)]
pub(crate) struct Ifma(__m512i);

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma")
}

/// # Safety
///
/// The processor must have AVX-512 F and IFMA.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline(never)]
unsafe fn call<R>(work: impl FnOnce() -> R) -> R {
    // Makes the compiler align the stack of this function as vectors are. It keeps vectors there without asking for
    // that alignment, and they would straddle cache lines.
    black_box(&mut MaybeUninit::<Ifma>::uninit());
    work()
}

impl Vector for Ifma {
    const LANES: usize = 8;

    columns_are_words!();

    #[inline(always)]
    unsafe fn start<R>(work: impl FnOnce(Self) -> R) -> R {
        // SAFETY: the caller's promise.
        unsafe {
            call(
                #[inline(always)]
                || work(Self(_mm512_setzero_si512())),
            )
        }
    }

    #[inline(always)]
    fn call<R>(self, work: impl FnOnce() -> R) -> R {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
        unsafe { call(work) }
    }

    #[inline(always)]
    fn with(self, word: u64) -> Self {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
        Self(unsafe { _mm512_set1_epi64(word as i64) })
    }

    #[inline(always)]
    fn with_each(self, word: impl Fn(usize) -> u64) -> Self {
        load(&from_fn(word))
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        let words: &mut [u64; 8] = words.first_chunk_mut().expect("a word for each lane");
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists; the chunk is as long as a vector, and the
        // store needs no alignment.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), self.0) };
    }

    #[inline(always)]
    fn load_rows<'a>(self, row: impl Fn(usize) -> &'a Row) -> [Self; 8] {
        let mut rows = [self; 8];
        for (lane, vector) in rows.iter_mut().enumerate() {
            *vector = load(&row(lane).0);
        }
        transpose(rows)
    }

    #[inline(always)]
    fn store_rows(words: [Self; 8], rows: &mut [Row]) {
        let rows: &mut [Row; 8] = rows.first_chunk_mut().expect("a row for each lane");
        for (row, vector) in rows.iter_mut().zip(transpose(words)) {
            vector.store(&mut row.0);
        }
    }

    #[inline(always)]
    fn add_low(self, a: Self, b: Self) -> Self {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
        Self(unsafe { _mm512_madd52lo_epu64(self.0, a.0, b.0) })
    }

    #[inline(always)]
    fn add_high(self, a: Self, b: Self) -> Self {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
        Self(unsafe { _mm512_madd52hi_epu64(self.0, a.0, b.0) })
    }

    #[inline(always)]
    fn factor(self) -> Self {
        self
    }

    #[inline(always)]
    fn low_factor(self) -> Self {
        // The multiplications ignore the upper bits.
        self
    }

    #[inline(always)]
    fn left<const BITS: u32>(self) -> Self {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
        Self(unsafe { _mm512_slli_epi64::<BITS>(self.0) })
    }

    #[inline(always)]
    fn right<const BITS: u32>(self) -> Self {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
        Self(unsafe { _mm512_srli_epi64::<BITS>(self.0) })
    }

    #[inline(always)]
    fn right_signed<const BITS: u32>(self) -> Self {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
        Self(unsafe { _mm512_srai_epi64::<BITS>(self.0) })
    }

    #[inline(always)]
    fn equals(self, other: Self) -> Mask {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
        unsafe { _mm512_cmpeq_epi64_mask(self.0, other.0) }.into()
    }

    #[inline(always)]
    fn or_if(self, mask: Mask, other: Self) -> Self {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists. Eight lanes need only the lower eight bits
        // of the mask.
        Self(unsafe { _mm512_mask_mov_epi64(self.0, mask as u8, other.0) })
    }
}

/// Must be called where the instructions are available.
#[inline(always)]
fn load(words: &[u64; 8]) -> Ifma {
    // SAFETY: every caller has an `Ifma`, so AVX-512 F is present; the array is as long as a vector, and the load needs
    // no alignment.
    Ifma(unsafe { _mm512_loadu_si512(words.as_ptr().cast()) })
}

impl Add for Ifma {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
        Self(unsafe { _mm512_add_epi64(self.0, other.0) })
    }
}

impl Sub for Ifma {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
        Self(unsafe { _mm512_sub_epi64(self.0, other.0) })
    }
}

impl BitAnd for Ifma {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
        Self(unsafe { _mm512_and_si512(self.0, other.0) })
    }
}

impl BitOr for Ifma {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
        Self(unsafe { _mm512_or_si512(self.0, other.0) })
    }
}

/// Word `i` of row `j` to word `j` of row `i`.
#[inline(always)]
fn transpose(rows: [Ifma; 8]) -> [Ifma; 8] {
    let mut t = rows;
    let mut r = rows;
    // SAFETY: AVX-512 F and IFMA are present, because an `Ifma` exists.
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
