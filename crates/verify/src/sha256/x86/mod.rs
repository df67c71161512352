//! The kernels for x86-64: each is compiled for its own instructions, however the program was built.

mod avx2;
mod avx512;
mod lanes;
mod sha_ni;

use super::Digest;
use super::kernel::hash_lanes;
use super::plan::Plan;

/// # Safety
///
/// The processor must have AVX-512 F and BW.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn avx512(plan: &Plan<'_>, messages: &[&[u8]; 32], digests: &mut [Digest; 32]) {
    // SAFETY: the caller guarantees the instructions.
    unsafe { hash_lanes::<lanes::Lanes<lanes::Twice<avx512::Vector>>, 32>(plan, messages, digests) }
}

/// # Safety
///
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn avx2(plan: &Plan<'_>, messages: &[&[u8]; 8], digests: &mut [Digest; 8]) {
    // SAFETY: the caller guarantees AVX2, which is all that `avx2::Vector` uses.
    unsafe { hash_lanes::<lanes::Lanes<avx2::Vector>, 8>(plan, messages, digests) }
}

/// # Safety
///
/// The processor must have the SHA extensions and SSE 4.1.
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
pub(super) unsafe fn sha_ni_two(plan: &Plan<'_>, messages: &[&[u8]; 2], digests: &mut [Digest; 2]) {
    // SAFETY: the caller guarantees the SHA extensions and SSE 4.1, which is all that `Streams` uses.
    unsafe { hash_lanes::<sha_ni::Streams<2>, 2>(plan, messages, digests) }
}

/// # Safety
///
/// The processor must have the SHA extensions and SSE 4.1.
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
pub(super) unsafe fn sha_ni_one(plan: &Plan<'_>, messages: &[&[u8]; 1], digests: &mut [Digest; 1]) {
    // SAFETY: the caller guarantees the SHA extensions and SSE 4.1, which is all that `Streams` uses.
    unsafe { hash_lanes::<sha_ni::Streams<1>, 1>(plan, messages, digests) }
}
