//! 16 lanes: rotations and three-input logic are one instruction each.

use std::arch::x86_64::*;

use super::lanes::Word;

#[derive(Clone, Copy)]
pub(super) struct Vector(__m512i);

/// Reverses the bytes of each word.
const SWAP: [u8; 16] = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12];

impl Word<16> for Vector {
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller guarantees AVX-512 F and BW.
        Self(unsafe { _mm512_set1_epi32(word as i32) })
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller guarantees AVX-512 F and BW.
        Self(unsafe { _mm512_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn xor3(self, second: Self, third: Self) -> Self {
        // SAFETY: the caller guarantees AVX-512 F and BW.
        Self(unsafe { _mm512_ternarylogic_epi32::<0x96>(self.0, second.0, third.0) })
    }

    #[inline(always)]
    unsafe fn rotate<const R: i32, const L: i32>(self) -> Self {
        // SAFETY: the caller guarantees AVX-512 F and BW.
        Self(unsafe { _mm512_ror_epi32::<R>(self.0) })
    }

    #[inline(always)]
    unsafe fn shift<const R: i32>(self) -> Self {
        // SAFETY: the caller guarantees AVX-512 F and BW. The intrinsic with an immediate has an unsigned parameter,
        // which a const parameter of ours cannot be converted to.
        Self(unsafe { _mm512_srl_epi32(self.0, _mm_cvtsi32_si128(R)) })
    }

    #[inline(always)]
    unsafe fn choose(self, first: Self, second: Self) -> Self {
        // SAFETY: the caller guarantees AVX-512 F and BW.
        Self(unsafe { _mm512_ternarylogic_epi32::<0xca>(self.0, first.0, second.0) })
    }

    #[inline(always)]
    unsafe fn majority(self, second: Self, third: Self) -> Self {
        // SAFETY: the caller guarantees AVX-512 F and BW.
        Self(unsafe { _mm512_ternarylogic_epi32::<0xe8>(self.0, second.0, third.0) })
    }

    #[inline(always)]
    unsafe fn load(blocks: &[&[u8; 64]; 16]) -> [Self; 16] {
        // SAFETY: the caller guarantees AVX-512 F and BW; each block is 64 bytes long, and the loads need no alignment.
        unsafe {
            let swap = _mm512_broadcast_i32x4(_mm_loadu_si128(SWAP.as_ptr().cast()));
            let mut rows = [swap; 16];
            for i in 0..16 {
                rows[i] = _mm512_shuffle_epi8(_mm512_loadu_si512(blocks[i].as_ptr().cast()), swap);
            }
            let columns = transpose(rows);
            let mut words = [Self(swap); 16];
            for i in 0..16 {
                words[i] = Self(columns[i]);
            }
            words
        }
    }

    #[inline(always)]
    unsafe fn store(words: &[Self; 8], digests: &mut [[u8; 32]; 16]) {
        // SAFETY: the caller guarantees AVX-512 F and BW; each store writes the lower half of a vector, 32 bytes, to
        // one digest, and needs no alignment.
        unsafe {
            let swap = _mm512_broadcast_i32x4(_mm_loadu_si128(SWAP.as_ptr().cast()));
            let mut columns = [_mm512_setzero_si512(); 16];
            for i in 0..8 {
                columns[i] = words[i].0;
            }
            for (row, digest) in transpose(columns).into_iter().zip(digests) {
                let row = _mm256_shuffle_epi8(_mm512_castsi512_si256(row), _mm512_castsi512_si256(swap));
                _mm256_storeu_si256(digest.as_mut_ptr().cast(), row);
            }
        }
    }
}

/// Rows to columns, in four steps of 16 shuffles.
#[inline(always)]
unsafe fn transpose(rows: [__m512i; 16]) -> [__m512i; 16] {
    let mut r = rows;
    // SAFETY: the caller's promise.
    unsafe {
        let mut t = r;
        for i in 0..8 {
            t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        for i in 0..4 {
            r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
            r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
            r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
            r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
        }
        // Now row 4q + c holds, in its 128-bit part p, word 4p + c of rows 4q to 4q + 3.
        for c in 0..4 {
            let low = [r[c], r[4 + c], r[8 + c], r[12 + c]];
            let a = _mm512_shuffle_i32x4::<0x88>(low[0], low[1]);
            let b = _mm512_shuffle_i32x4::<0xdd>(low[0], low[1]);
            let d = _mm512_shuffle_i32x4::<0x88>(low[2], low[3]);
            let e = _mm512_shuffle_i32x4::<0xdd>(low[2], low[3]);
            t[c] = _mm512_shuffle_i32x4::<0x88>(a, d);
            t[8 + c] = _mm512_shuffle_i32x4::<0xdd>(a, d);
            t[4 + c] = _mm512_shuffle_i32x4::<0x88>(b, e);
            t[12 + c] = _mm512_shuffle_i32x4::<0xdd>(b, e);
        }
        t
    }
}
