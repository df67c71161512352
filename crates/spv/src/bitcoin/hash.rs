//! Bitcoin's double SHA-256.
use crate::hash::Hash;
use sha2::{Digest, Sha256};
use std::fmt;

/// SHA-256 of the SHA-256 of the concatenated parts.
pub fn sha256d(parts: &[&[u8]]) -> Hash {
    let mut state = Sha256::new();
    for part in parts {
        state.update(part);
    }
    Sha256::digest(state.finalize()).into()
}

/// The hash of a transaction without its witness.
pub fn transaction_hash(stripped: &[u8]) -> Hash {
    sha256d(&[stripped])
}

/// An inner node of a Merkle tree.
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    sha256d(&[left, right])
}

/// A hash as people write it, its last byte first.
#[derive(Clone, Copy, Debug)]
pub struct Display<'a>(&'a Hash);

/// Displays a hash as people write it, its last byte first.
pub fn display(hash: &Hash) -> Display<'_> {
    Display(hash)
}

impl fmt::Display for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().rev().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
