//! 8 lanes.

use std::arch::x86_64::*;

use super::lanes::Word;

#[derive(Clone, Copy)]
pub(super) struct Vector(__m256i);

impl Word<8> for Vector {
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller guarantees AVX2.
        Self(unsafe { _mm256_set1_epi32(word as i32) })
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller guarantees AVX2.
        Self(unsafe { _mm256_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn xor3(self, second: Self, third: Self) -> Self {
        // SAFETY: the caller guarantees AVX2.
        Self(unsafe { _mm256_xor_si256(_mm256_xor_si256(self.0, second.0), third.0) })
    }

    #[inline(always)]
    unsafe fn rotate<const R: i32, const L: i32>(self) -> Self {
        // SAFETY: the caller guarantees AVX2.
        Self(unsafe { _mm256_or_si256(_mm256_srli_epi32::<R>(self.0), _mm256_slli_epi32::<L>(self.0)) })
    }

    #[inline(always)]
    unsafe fn shift<const R: i32>(self) -> Self {
        // SAFETY: the caller guarantees AVX2.
        Self(unsafe { _mm256_srli_epi32::<R>(self.0) })
    }

    #[inline(always)]
    unsafe fn choose(self, first: Self, second: Self) -> Self {
        // SAFETY: the caller guarantees AVX2.
        unsafe {
            let differ = _mm256_xor_si256(first.0, second.0);
            Self(_mm256_xor_si256(_mm256_and_si256(self.0, differ), second.0))
        }
    }

    #[inline(always)]
    unsafe fn majority(self, second: Self, third: Self) -> Self {
        // SAFETY: the caller guarantees AVX2.
        unsafe {
            let both = _mm256_and_si256(self.0, second.0);
            let one = _mm256_and_si256(_mm256_or_si256(self.0, second.0), third.0);
            Self(_mm256_or_si256(both, one))
        }
    }

    #[inline(always)]
    unsafe fn load(blocks: &[&[u8; 64]; 8]) -> [Self; 16] {
        // SAFETY: the caller guarantees AVX2; each block is 64 bytes long, and the loads need no alignment.
        unsafe {
            let mut halves = [[_mm256_setzero_si256(); 8]; 2];
            for i in 0..8 {
                halves[0][i] = swap(_mm256_loadu_si256(blocks[i].as_ptr().cast()));
                halves[1][i] = swap(_mm256_loadu_si256(blocks[i][32..].as_ptr().cast()));
            }
            let halves = [transpose(halves[0]), transpose(halves[1])];
            let mut words = [Self(halves[0][0]); 16];
            for i in 0..16 {
                words[i] = Self(halves[i / 8][i % 8]);
            }
            words
        }
    }

    #[inline(always)]
    unsafe fn store(words: &[Self; 8], digests: &mut [[u8; 32]; 8]) {
        // SAFETY: the caller guarantees AVX2; each digest is as long as a vector, and the stores need no alignment.
        unsafe {
            let mut columns = [words[0].0; 8];
            for i in 0..8 {
                columns[i] = words[i].0;
            }
            for (row, digest) in transpose(columns).into_iter().zip(digests) {
                _mm256_storeu_si256(digest.as_mut_ptr().cast(), swap(row));
            }
        }
    }
}

/// Reverses the bytes of each word.
#[inline(always)]
unsafe fn swap(words: __m256i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        let order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
        _mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(order))
    }
}

/// Rows to columns.
#[inline(always)]
unsafe fn transpose(rows: [__m256i; 8]) -> [__m256i; 8] {
    let mut r = rows;
    // SAFETY: the caller's promise.
    unsafe {
        let mut t = r;
        for i in 0..4 {
            t[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        for i in 0..2 {
            r[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
            r[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
            r[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
            r[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
        }
        for c in 0..4 {
            t[c] = _mm256_permute2x128_si256::<0x20>(r[c], r[4 + c]);
            t[4 + c] = _mm256_permute2x128_si256::<0x31>(r[c], r[4 + c]);
        }
        t
    }
}
