//! The SHA extensions of ARMv8, one message at a time: crate `sha2`, which uses them where available.

use sha2::block_api::compress256;

use super::kernel::Kernel;
use super::plan::Padding;
use super::scalar;

pub(super) struct Sha2;

impl Kernel<1> for Sha2 {
    type ChainingValue = [u32; 8];

    unsafe fn splat(words: &[u32; 8]) -> Self::ChainingValue {
        *words
    }

    unsafe fn compress(mut state: Self::ChainingValue, [block]: &[&[u8; 64]; 1]) -> Self::ChainingValue {
        compress256(&mut state, std::slice::from_ref(*block));
        state
    }

    unsafe fn compress_padding(mut state: Self::ChainingValue, padding: &Padding) -> Self::ChainingValue {
        compress256(&mut state, std::slice::from_ref(&padding.block));
        state
    }

    unsafe fn second(state: Self::ChainingValue) -> Self::ChainingValue {
        let mut block = [0; 64];
        block[..32].copy_from_slice(&scalar::digest(state));
        block[32] = 0x80;
        block[62] = 1; // the digest's 256 bits
        let mut state = scalar::INITIAL;
        compress256(&mut state, &[block]);
        state
    }

    unsafe fn digests(state: Self::ChainingValue, [digest]: &mut [[u8; 32]; 1]) {
        *digest = scalar::digest(state);
    }
}
