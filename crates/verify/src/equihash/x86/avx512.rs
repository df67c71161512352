//! 8 lanes.

use std::arch::x86_64::*;

use super::super::blake2b::{Hash, Word};

#[derive(Clone, Copy)]
pub(super) struct Vector(__m512i);

impl Word<8> for Vector {
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: the caller guarantees AVX-512 F.
        Self(unsafe { _mm512_set1_epi64(word as i64) })
    }

    #[inline(always)]
    unsafe fn load(words: &[u64; 8]) -> Self {
        // SAFETY: the caller guarantees AVX-512 F; the words are as long as a vector, and the load needs no alignment.
        Self(unsafe { _mm512_loadu_si512(words.as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller guarantees AVX-512 F.
        Self(unsafe { _mm512_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller guarantees AVX-512 F.
        Self(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn rotate<const R: i32>(self) -> Self {
        // SAFETY: the caller guarantees AVX-512 F.
        Self(unsafe { _mm512_ror_epi64::<R>(self.0) })
    }

    #[inline(always)]
    unsafe fn store(words: &[Self; 8], hashes: &mut [Hash; 8]) {
        // SAFETY: the caller guarantees AVX-512 F; a hash is as long as a vector, and the stores need no alignment.
        unsafe {
            let mut r = [words[0].0; 8];
            for i in 0..8 {
                r[i] = words[i].0;
            }
            let mut t = r;
            for i in 0..4 {
                t[2 * i] = _mm512_unpacklo_epi64(r[2 * i], r[2 * i + 1]);
                t[2 * i + 1] = _mm512_unpackhi_epi64(r[2 * i], r[2 * i + 1]);
            }
            // Now row 2q + c holds, in its 128-bit part p, words 2q and 2q + 1 of hash 2p + c.
            for c in 0..2 {
                let a = _mm512_shuffle_i64x2::<0x88>(t[c], t[2 + c]);
                let b = _mm512_shuffle_i64x2::<0xdd>(t[c], t[2 + c]);
                let d = _mm512_shuffle_i64x2::<0x88>(t[4 + c], t[6 + c]);
                let e = _mm512_shuffle_i64x2::<0xdd>(t[4 + c], t[6 + c]);
                r[c] = _mm512_shuffle_i64x2::<0x88>(a, d);
                r[4 + c] = _mm512_shuffle_i64x2::<0xdd>(a, d);
                r[2 + c] = _mm512_shuffle_i64x2::<0x88>(b, e);
                r[6 + c] = _mm512_shuffle_i64x2::<0xdd>(b, e);
            }
            for (row, hash) in r.into_iter().zip(hashes) {
                _mm512_storeu_si512(hash.as_mut_ptr().cast(), row);
            }
        }
    }
}
