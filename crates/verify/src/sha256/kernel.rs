//! The interface of a backend's kernel, and the common code that hashes a message in each lane.

use super::Digest;
use super::plan::{Padding, Plan};

/// A kernel: the compression function over `LANES` independent states.
///
/// # Safety
///
/// The processor must have the instructions that the kernel is written with.
pub(super) trait Kernel<const LANES: usize> {
    type ChainingValue: Copy;

    unsafe fn splat(words: &[u32; 8]) -> Self::ChainingValue;
    unsafe fn compress(state: Self::ChainingValue, blocks: &[&[u8; 64]; LANES]) -> Self::ChainingValue;
    unsafe fn compress_padding(state: Self::ChainingValue, padding: &Padding) -> Self::ChainingValue;
    /// SHA-256 of the digests in the state.
    unsafe fn second(state: Self::ChainingValue) -> Self::ChainingValue;
    unsafe fn digests(state: Self::ChainingValue, digests: &mut [Digest; LANES]);
}

/// Aligned as the widest vectors are.
///
/// This serves more than the loads: a function with such a variable has an aligned stack, and so are the vectors that
/// the compiler keeps there. They would straddle cache lines otherwise.
#[repr(align(64))]
struct Aligned<T>(T);

/// Hashes one message in each lane.
///
/// # Safety
///
/// That of [`Kernel`].
#[inline(always)]
pub(super) unsafe fn hash_lanes<K: Kernel<LANES>, const LANES: usize>(
    plan: &Plan<'_>,
    messages: &[&[u8]; LANES],
    digests: &mut [Digest; LANES],
) {
    let bits = (8 * (plan.function.prefix + plan.length) as u64).to_be_bytes();
    let mut staging = Aligned([[0; 64]; LANES]);
    let mut blocks = [&[0; 64]; LANES];
    // SAFETY: the caller's promise is that of the kernel.
    unsafe {
        let mut state = K::splat(&plan.function.initial);
        for number in 0..plan.length / 64 {
            for (block, message) in blocks.iter_mut().zip(messages) {
                *block = &message.as_chunks().0[number];
            }
            state = K::compress(state, &blocks);
        }
        if !plan.length.is_multiple_of(64) {
            for (block, message) in staging.0.iter_mut().zip(messages) {
                let tail = message.as_chunks::<64>().1;
                block[..tail.len()].copy_from_slice(tail);
                block[tail.len()] = 0x80;
                if plan.padding.is_none() {
                    block[56..].copy_from_slice(&bits);
                }
            }
            for (block, staging) in blocks.iter_mut().zip(&staging.0) {
                *block = staging;
            }
            state = K::compress(state, &blocks);
        }
        if let Some(padding) = plan.padding {
            state = K::compress_padding(state, padding);
        }
        if plan.function.double {
            state = K::second(state);
        }
        K::digests(state, digests);
    }
}
