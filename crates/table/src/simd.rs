//! The two operations that need special instructions: comparing eight tags at once, and prefetching.

pub use crate::shared_layout::SLOTS;

/// Which of the eight tags in two words equal `tag`: one bit per slot.
#[inline(always)]
pub(crate) fn matches(words: [u64; 2], tag: u16) -> u8 {
    #[cfg(target_arch = "x86_64")]
    {
        sse2::matches(words, tag)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        portable_matches(words, tag)
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn portable_matches(words: [u64; 2], tag: u16) -> u8 {
    (0..SLOTS).fold(0, |mask, slot| {
        let found = (words[slot / 4] >> (slot % 4 * 16)) as u16 == tag;
        mask | u8::from(found) << slot
    })
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi16, _mm_movemask_epi8, _mm_packs_epi16, _mm_set_epi64x, _mm_set1_epi16, _mm_setzero_si128,
    };

    #[inline(always)]
    pub(super) fn matches(words: [u64; 2], tag: u16) -> u8 {
        // SAFETY: SSE2 is part of x86-64, so every processor that runs this has these instructions.
        unsafe {
            let tags = _mm_set_epi64x(words[1].cast_signed(), words[0].cast_signed());
            let equal = _mm_cmpeq_epi16(tags, _mm_set1_epi16(tag.cast_signed()));
            _mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128())) as u8
        }
    }
}

/// Prefetches the cache line of `place`, which is read soon. Only a hint: it affects nothing but time.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no effect that a program can see, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_ways_of_comparing_agree(mut tags in any::<[u16; 8]>(), slot in 0..8_usize, tag in any::<u16>()) {
            tags[slot] = tag;
            let word = |half: usize| (0..4).fold(0, |word, i| word | u64::from(tags[half * 4 + i]) << (i * 16));
            let words = [word(0), word(1)];
            let expected = (0..8).fold(0_u8, |mask, i| mask | u8::from(tags[i] == tag) << i);
            prop_assert_eq!(matches(words, tag), expected);
            prop_assert_eq!(portable_matches(words, tag), expected);
        }
    }
}
