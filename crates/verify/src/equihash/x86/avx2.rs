//! 4 lanes.

use std::arch::asm;
use std::arch::x86_64::*;

use super::super::blake2b::{Hash, Word};

#[derive(Clone, Copy)]
pub(super) struct Vector(__m256i);

/// Rotates by one shuffle; to save its constant, the compiler would use two.
#[target_feature(enable = "avx2")]
#[inline]
fn rotate_by_16(words: __m256i) -> __m256i {
    static BYTES: [[u8; 16]; 2] = [[2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9]; 2];
    let rotated;
    // SAFETY: only reads the constant; its 32 bytes need not be aligned in this encoding.
    unsafe {
        asm!(
            "vpshufb {rotated}, {words}, ymmword ptr [rip + {bytes}]",
            rotated = lateout(ymm_reg) rotated,
            words = in(ymm_reg) words,
            bytes = sym BYTES,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    rotated
}

impl Word<4> for Vector {
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: the caller guarantees AVX2.
        Self(unsafe { _mm256_set1_epi64x(word as i64) })
    }

    #[inline(always)]
    unsafe fn load(words: &[u64; 4]) -> Self {
        // SAFETY: the caller guarantees AVX2; the words are as long as a vector, and the load needs no alignment.
        Self(unsafe { _mm256_loadu_si256(words.as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller guarantees AVX2.
        Self(unsafe { _mm256_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller guarantees AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    /// One shuffle of whole bytes where that suffices, otherwise two shifts; for 63 bits, the left shift is an
    /// addition.
    #[inline(always)]
    unsafe fn rotate<const R: i32>(self) -> Self {
        // SAFETY: the caller guarantees AVX2.
        Self(unsafe {
            match R {
                32 => _mm256_shuffle_epi32::<0b10_11_00_01>(self.0),
                24 => {
                    let bytes = _mm_setr_epi8(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10);
                    _mm256_shuffle_epi8(self.0, _mm256_broadcastsi128_si256(bytes))
                }
                16 => rotate_by_16(self.0),
                63 => _mm256_xor_si256(_mm256_srli_epi64::<63>(self.0), _mm256_add_epi64(self.0, self.0)),
                _ => unreachable!("BLAKE2b rotates by 32, 24, 16 and 63 bits"),
            }
        })
    }

    #[inline(always)]
    unsafe fn store(words: &[Self; 8], hashes: &mut [Hash; 4]) {
        for (half, words) in words.as_chunks::<4>().0.iter().enumerate() {
            // SAFETY: the caller guarantees AVX2; half a hash is as long as a vector, and the stores need no alignment.
            unsafe {
                let [a, b, c, d] = [words[0].0, words[1].0, words[2].0, words[3].0];
                // Of hashes 0 and 2, and of 1 and 3.
                let (ab, ab_odd) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
                let (cd, cd_odd) = (_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
                let rows = [
                    _mm256_permute2x128_si256::<0x20>(ab, cd),
                    _mm256_permute2x128_si256::<0x20>(ab_odd, cd_odd),
                    _mm256_permute2x128_si256::<0x31>(ab, cd),
                    _mm256_permute2x128_si256::<0x31>(ab_odd, cd_odd),
                ];
                for (row, hash) in rows.into_iter().zip(&mut *hashes) {
                    _mm256_storeu_si256(hash[32 * half..][..32].as_mut_ptr().cast(), row);
                }
            }
        }
    }
}
