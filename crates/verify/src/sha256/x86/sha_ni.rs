//! The SHA extensions. The rounds of one message wait for each other, so several messages are interleaved.

use std::arch::x86_64::*;

use super::super::kernel::Kernel;
use super::super::plan::Padding;
use super::super::scalar::{INITIAL, ROUND};

/// `N` messages at once.
pub(super) struct Streams<const N: usize>;

/// The words of a state as the instructions need them: {a, b, e, f} and {c, d, g, h}, the first in the highest place.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    abef: __m128i,
    cdgh: __m128i,
}

/// # Safety
///
/// The processor must have the SHA extensions and SSE 4.1, here and below.
#[inline(always)]
unsafe fn pack(words: &[u32; 8]) -> Pair {
    // SAFETY: the caller's promise.
    unsafe {
        let abcd = _mm_shuffle_epi32::<0x1b>(_mm_loadu_si128(words.as_ptr().cast()));
        let efgh = _mm_shuffle_epi32::<0x1b>(_mm_loadu_si128(words[4..].as_ptr().cast()));
        Pair { abef: _mm_unpackhi_epi64(efgh, abcd), cdgh: _mm_unpacklo_epi64(efgh, abcd) }
    }
}

/// The words in order, the first in the lowest place.
#[inline(always)]
unsafe fn unpack(state: Pair) -> [__m128i; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        let abcd = _mm_unpackhi_epi64(state.cdgh, state.abef);
        let efgh = _mm_unpacklo_epi64(state.cdgh, state.abef);
        [_mm_shuffle_epi32::<0x1b>(abcd), _mm_shuffle_epi32::<0x1b>(efgh)]
    }
}

/// Reverses the bytes of each word.
#[inline(always)]
unsafe fn swap(words: __m128i) -> __m128i {
    // SAFETY: the caller's promise.
    unsafe { _mm_shuffle_epi8(words, _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3)) }
}

/// Four rounds with four words to which the round constants are already added.
#[inline(always)]
unsafe fn rounds(state: &mut Pair, words: __m128i) {
    // SAFETY: the caller's promise.
    unsafe {
        state.cdgh = _mm_sha256rnds2_epu32(state.cdgh, state.abef, words);
        state.abef = _mm_sha256rnds2_epu32(state.abef, state.cdgh, _mm_shuffle_epi32::<0x0e>(words));
    }
}

#[inline(always)]
unsafe fn constants(round: usize, table: &[u32; 64]) -> __m128i {
    // SAFETY: the caller's promise; the slice has four words.
    unsafe { _mm_loadu_si128(table[round..round + 4].as_ptr().cast()) }
}

#[inline(always)]
unsafe fn add<const N: usize>(mut state: [Pair; N], before: [Pair; N]) -> [Pair; N] {
    for (state, before) in state.iter_mut().zip(before) {
        // SAFETY: the caller's promise.
        unsafe {
            state.abef = _mm_add_epi32(state.abef, before.abef);
            state.cdgh = _mm_add_epi32(state.cdgh, before.cdgh);
        }
    }
    state
}

#[inline(always)]
unsafe fn compress<const N: usize>(before: [Pair; N], mut words: [[__m128i; 4]; N]) -> [Pair; N] {
    let mut state = before;
    // SAFETY: the caller's promise.
    unsafe {
        macro_rules! first {
            ($($i:literal)*) => {$(
                let k = constants(4 * $i, &ROUND);
                for n in 0..N {
                    rounds(&mut state[n], _mm_add_epi32(words[n][$i], k));
                }
            )*};
        }
        first!(0 1 2 3);
        for group in 1..4 {
            macro_rules! next {
                ($($i:literal)*) => {$(
                    let k = constants(16 * group + 4 * $i, &ROUND);
                    for n in 0..N {
                        let w = &mut words[n];
                        let seven = _mm_alignr_epi8::<4>(w[($i + 3) % 4], w[($i + 2) % 4]);
                        let partial = _mm_add_epi32(_mm_sha256msg1_epu32(w[$i], w[($i + 1) % 4]), seven);
                        w[$i] = _mm_sha256msg2_epu32(partial, w[($i + 3) % 4]);
                        rounds(&mut state[n], _mm_add_epi32(w[$i], k));
                    }
                )*};
            }
            next!(0 1 2 3);
        }
        add(state, before)
    }
}

impl<const N: usize> Kernel<N> for Streams<N> {
    type ChainingValue = [Pair; N];

    #[inline(always)]
    unsafe fn splat(words: &[u32; 8]) -> [Pair; N] {
        // SAFETY: the caller guarantees the SHA extensions and SSE 4.1.
        [unsafe { pack(words) }; N]
    }

    #[inline(always)]
    unsafe fn compress(state: [Pair; N], blocks: &[&[u8; 64]; N]) -> [Pair; N] {
        // SAFETY: the caller guarantees the SHA extensions and SSE 4.1; each block is 64 bytes long, and the loads need
        // no alignment.
        unsafe {
            let mut words = [[_mm_setzero_si128(); 4]; N];
            for (words, block) in words.iter_mut().zip(blocks) {
                for i in 0..4 {
                    words[i] = swap(_mm_loadu_si128(block[16 * i..16 * i + 16].as_ptr().cast()));
                }
            }
            compress(state, words)
        }
    }

    #[inline(always)]
    unsafe fn compress_padding(before: [Pair; N], padding: &Padding) -> [Pair; N] {
        let mut state = before;
        // SAFETY: the caller guarantees the SHA extensions and SSE 4.1.
        unsafe {
            for group in 0..16 {
                let words = constants(4 * group, &padding.schedule.0);
                for state in &mut state {
                    rounds(state, words);
                }
            }
            add(state, before)
        }
    }

    #[inline(always)]
    unsafe fn second(state: [Pair; N]) -> [Pair; N] {
        // SAFETY: the caller guarantees the SHA extensions and SSE 4.1.
        unsafe {
            let end = _mm_set_epi32(0, 0, 0, i32::MIN);
            let bits = _mm_set_epi32(256, 0, 0, 0);
            let mut words = [[end; 4]; N];
            for (words, state) in words.iter_mut().zip(state) {
                let [abcd, efgh] = unpack(state);
                *words = [abcd, efgh, end, bits];
            }
            compress([pack(&INITIAL); N], words)
        }
    }

    #[inline(always)]
    unsafe fn digests(state: [Pair; N], digests: &mut [[u8; 32]; N]) {
        for (state, digest) in state.into_iter().zip(digests) {
            // SAFETY: the caller guarantees the SHA extensions and SSE 4.1; a digest is as long as two vectors, and the
            // stores need no alignment.
            unsafe {
                let [abcd, efgh] = unpack(state);
                _mm_storeu_si128(digest[..16].as_mut_ptr().cast(), swap(abcd));
                _mm_storeu_si128(digest[16..].as_mut_ptr().cast(), swap(efgh));
            }
        }
    }
}
