//! Four lanes of AVX2 whose products come from FMA: for processors without AVX-512 IFMA.
//!
//! A fused multiply-add of doubles rounds only once, so it can return either half of a product p of two numbers of 52
//! bits. One adds p to 2^104, next to which only multiples of 2^52 remain of it: its upper half, rounded to nearest.
//! The other subtracts that from p again, and the rest is exact, between -2^51 and 2^51. So the lower half may be
//! negative, and the upper half is then one more than IFMA's. (With truncation it would equal IFMA's, but everything
//! else in the process relies on rounding to nearest.)
//!
//! A double's bits are those of its base plus the excess, counted in its last bit; so they are added up as words. The
//! compiler combines the bits of all bases in a column into one constant.
//!
//! The limit: both halves take two fused multiply-adds, a subtraction of doubles, an addition and a subtraction of
//! words; each factor takes two operations. Zen 3 starts four of them at once (two of the first kind), Intel's cores
//! three. (Chained squarings need four, `vdf/fma.rs`: their columns stay doubles, of signed digits of 47 bits, which no
//! other code must read.)

use std::arch::x86_64::*;
use std::array::from_fn;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::{Add, BitAnd, BitOr, Sub};

use super::{LIMB, Mask, Row, Vector};

/// Four words.
#[derive(Clone, Copy)]
pub(crate) struct Fma(__m256i);

/// 2^52: the last bit counts 1, as it does up to 2^53.
const INTEGER: f64 = (1_u64 << 52) as f64;
/// 2^104: the last bit counts 2^52, as it does up to 2^105, inclusive for a sum of bits.
const UPPER: f64 = INTEGER * INTEGER;
/// The middle of the negative numbers whose last bit counts 1. Larger bits mean a smaller number.
const LOWER: f64 = -1.5 * INTEGER;

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// # Safety
///
/// The processor must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
#[inline(never)]
unsafe fn call<R>(work: impl FnOnce() -> R) -> R {
    // Makes the compiler align the stack, as [`super::ifma`] does.
    black_box(&mut MaybeUninit::<Fma>::uninit());
    work()
}

/// A sum of words and of the bits of doubles.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    words: Fma,
    /// The bits minus the parts of products that they represent. It does not depend on the parts, so the compiler makes
    /// one constant of it.
    excess: u64,
}

impl Vector for Fma {
    const LANES: usize = 4;
    const LEAST_LOW: i64 = -(1 << 51);
    const IS_LONG: bool = true;

    type Factor = __m256d;
    type Column = Column;

    #[inline(always)]
    unsafe fn start<R>(work: impl FnOnce(Self) -> R) -> R {
        // SAFETY: the caller's promise.
        unsafe {
            call(
                #[inline(always)]
                || work(Self(_mm256_setzero_si256())),
            )
        }
    }

    #[inline(always)]
    fn call<R>(self, work: impl FnOnce() -> R) -> R {
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        unsafe { call(work) }
    }

    #[inline(always)]
    fn with(self, word: u64) -> Self {
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        Self(unsafe { _mm256_set1_epi64x(word as i64) })
    }

    #[inline(always)]
    fn with_each(self, word: impl Fn(usize) -> u64) -> Self {
        load(&from_fn(word))
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        let words: &mut [u64; 4] = words.first_chunk_mut().expect("a word for each lane");
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists; the chunk is as long as a vector, and the store
        // needs no alignment.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), self.0) };
    }

    #[inline(always)]
    fn load_rows<'a>(self, row: impl Fn(usize) -> &'a Row) -> [Self; 8] {
        let mut lower = [self; 4];
        let mut upper = [self; 4];
        for lane in 0..4 {
            let (row, []) = row(lane).0.as_chunks() else { unreachable!("two vectors make a row") };
            lower[lane] = load(&row[0]);
            upper[lane] = load(&row[1]);
        }
        let ([a, b, c, d], [e, f, g, h]) = (transpose(lower), transpose(upper));
        [a, b, c, d, e, f, g, h]
    }

    #[inline(always)]
    fn store_rows(words: [Self; 8], rows: &mut [Row]) {
        let [a, b, c, d, e, f, g, h] = words;
        let rows: &mut [Row; 4] = rows.first_chunk_mut().expect("a row for each lane");
        for ((row, lower), upper) in rows.iter_mut().zip(transpose([a, b, c, d])).zip(transpose([e, f, g, h])) {
            lower.store(&mut row.0[..4]);
            upper.store(&mut row.0[4..]);
        }
    }

    #[inline(always)]
    fn add_low(self, a: Self, b: Self) -> Self {
        // Products of 32 bits are faster where only the lower half is wanted.
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        let product = |a: Self, b: Self| Self(unsafe { _mm256_mul_epu32(a.0, b.0) });
        let middle = product(a.right::<32>(), b) + product(a, b.right::<32>());
        self + ((product(a, b) + middle.left::<32>()) & self.with(LIMB))
    }

    #[inline(always)]
    fn add_high(self, a: Self, b: Self) -> Self {
        let limb = self.with(LIMB);
        let zero = self.with(0).column();
        let [low, high] = Self::add_product([zero, zero], (a & limb).factor(), (b & limb).factor());
        self + Self::sum(high) - Self::sum(low).right::<63>()
    }

    #[inline(always)]
    fn factor(self) -> __m256d {
        let bits = self | self.with(INTEGER.to_bits());
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        unsafe { _mm256_sub_pd(_mm256_castsi256_pd(bits.0), _mm256_set1_pd(INTEGER)) }
    }

    #[inline(always)]
    fn column(self) -> Column {
        Column { words: self, excess: 0 }
    }

    #[inline(always)]
    fn add_product([low, high]: [Column; 2], a: __m256d, b: __m256d) -> [Column; 2] {
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        let (lower, upper) = unsafe {
            let upper = _mm256_fmadd_pd(a, b, _mm256_set1_pd(UPPER));
            // Exact: less than 2^53 times 2^51, because the product is at most 2^104 - 2^53 + 1.
            let less = _mm256_sub_pd(_mm256_set1_pd(UPPER + LOWER), upper);
            let lower = _mm256_fmadd_pd(a, b, less);
            (Self(_mm256_castpd_si256(lower)), Self(_mm256_castpd_si256(upper)))
        };
        [
            Column { words: low.words - lower, excess: low.excess.wrapping_sub(LOWER.to_bits()) },
            Column { words: high.words + upper, excess: high.excess.wrapping_add(UPPER.to_bits()) },
        ]
    }

    #[inline(always)]
    fn twice(column: Column) -> Column {
        Column { words: column.words + column.words, excess: column.excess.wrapping_mul(2) }
    }

    #[inline(always)]
    fn sum(column: Column) -> Self {
        column.words - column.words.with(column.excess)
    }

    #[inline(always)]
    fn left<const BITS: u32>(self) -> Self {
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        Self(unsafe { _mm256_sll_epi64(self.0, _mm_cvtsi32_si128(BITS as i32)) })
    }

    #[inline(always)]
    fn right<const BITS: u32>(self) -> Self {
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        Self(unsafe { _mm256_srl_epi64(self.0, _mm_cvtsi32_si128(BITS as i32)) })
    }

    #[inline(always)]
    fn right_signed<const BITS: u32>(self) -> Self {
        // There is no arithmetic right shift of 64 bits.
        let lowest = 1 << 63;
        (self + self.with(lowest)).right::<BITS>() - self.with(lowest >> BITS)
    }

    #[inline(always)]
    fn equals(self, other: Self) -> Mask {
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        let mask = unsafe { _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(self.0, other.0))) };
        mask as Mask
    }

    #[inline(always)]
    fn or_if(self, mask: Mask, other: Self) -> Self {
        let bits = load(&[1, 2, 4, 8]);
        let is = self.with(mask.into()) & bits;
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        Self(unsafe { _mm256_blendv_epi8(self.0, other.0, _mm256_cmpeq_epi64(is.0, bits.0)) })
    }
}

/// Must be called where the instructions are enabled.
#[inline(always)]
fn load(words: &[u64; 4]) -> Fma {
    // SAFETY: every caller has an `Fma`, so AVX2 is present; the array is as long as a vector, and the load needs no
    // alignment.
    Fma(unsafe { _mm256_loadu_si256(words.as_ptr().cast()) })
}

impl Add for Fma {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        Self(unsafe { _mm256_add_epi64(self.0, other.0) })
    }
}

impl Sub for Fma {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        Self(unsafe { _mm256_sub_epi64(self.0, other.0) })
    }
}

impl BitAnd for Fma {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        Self(unsafe { _mm256_and_si256(self.0, other.0) })
    }
}

impl BitOr for Fma {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
        Self(unsafe { _mm256_or_si256(self.0, other.0) })
    }
}

/// Moves word `i` of row `j` to word `j` of row `i`.
#[inline(always)]
fn transpose(rows: [Fma; 4]) -> [Fma; 4] {
    let [a, b, c, d] = rows;
    // SAFETY: AVX2 and FMA are present, because an `Fma` exists.
    unsafe {
        let (ab, cd) = (_mm256_unpacklo_epi64(a.0, b.0), _mm256_unpacklo_epi64(c.0, d.0));
        let (ba, dc) = (_mm256_unpackhi_epi64(a.0, b.0), _mm256_unpackhi_epi64(c.0, d.0));
        [
            Fma(_mm256_permute2x128_si256::<0x20>(ab, cd)),
            Fma(_mm256_permute2x128_si256::<0x20>(ba, dc)),
            Fma(_mm256_permute2x128_si256::<0x31>(ab, cd)),
            Fma(_mm256_permute2x128_si256::<0x31>(ba, dc)),
        ]
    }
}
