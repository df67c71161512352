//! BLAKE2b in lanes of x86-64's vectors. Each kernel is compiled for its own instructions, however the program was
//! built.

mod avx2;
mod avx512;

use super::blake2b::{AT_ONCE, Hash, Midstate, Twice};

/// # Safety
///
/// The processor must have AVX-512 F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn avx512(midstate: &Midstate, indices: &[u32; AT_ONCE], count: usize, hashes: &mut [Hash; AT_ONCE]) {
    // SAFETY: the caller guarantees the instructions.
    unsafe { midstate.hash_lanes::<Twice<avx512::Vector>, 16>(indices, count, hashes) }
}

/// # Safety
///
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn avx2(midstate: &Midstate, indices: &[u32; AT_ONCE], count: usize, hashes: &mut [Hash; AT_ONCE]) {
    // SAFETY: the caller guarantees AVX2, which is all that `avx2::Vector` uses.
    unsafe { midstate.hash_lanes::<avx2::Vector, 4>(indices, count, hashes) }
}
