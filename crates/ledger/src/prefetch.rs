//! Asks the processor for a cache line before it is needed.

/// Starts to load the cache line that `place` is in. A hint: it changes nothing but time.
#[inline(always)]
pub(crate) fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch neither reads nor writes as far as the program can tell, and the address is that of a
        // live reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(place).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
