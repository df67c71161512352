//! The work for messages of one length: everything about them that does not depend on their bytes.

use super::scalar::{self, Schedule};

/// A hash function of the SHA-256 family: what is compressed before the message, and whether the digest is hashed
/// again.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) initial: [u32; 8],
    /// Bytes compressed into the initial state, a multiple of 64.
    pub(super) prefix: usize,
    pub(super) double: bool,
}

impl Function {
    /// SHA-256.
    pub(super) const SINGLE: Self = Self { initial: scalar::INITIAL, prefix: 0, double: false };

    /// SHA-256 of SHA-256.
    pub(super) const DOUBLE: Self = Self { initial: scalar::INITIAL, prefix: 0, double: true };

    pub(super) const fn tagged(name: &[u8]) -> Self {
        Self { initial: scalar::tag_midstate(name), prefix: 64, double: false }
    }
}

/// A last block that contains no byte of the message.
pub(super) struct Padding {
    #[cfg(target_arch = "aarch64")]
    pub(super) block: [u8; 64],
    pub(super) schedule: Schedule,
}

impl Padding {
    /// The block that ends a message of `total` bytes, of which `total % 64` are in the block before.
    pub(super) const fn new(total: usize) -> Self {
        let mut block = [0; 64];
        if total.is_multiple_of(64) {
            block[0] = 0x80;
        }
        let bits = (8 * total as u64).to_be_bytes();
        let mut at = 0;
        while at < 8 {
            block[56 + at] = bits[at];
            at += 1;
        }
        Self {
            schedule: Schedule::new(&block),
            #[cfg(target_arch = "aarch64")]
            block,
        }
    }

    /// For the most common lengths: a node without and with a tag.
    pub(super) const AFTER_64: &Self = &Self::new(64);
    pub(super) const AFTER_128: &Self = &Self::new(128);
}

/// A function and a length.
pub(super) struct Plan<'a> {
    pub(super) function: &'a Function,
    pub(super) length: usize,
    pub(super) padding: Option<&'a Padding>,
}
