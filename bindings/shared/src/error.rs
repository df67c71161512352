use std::io;

use thiserror::Error;

use crate::{Backend, Scheme};

/// Why nothing was verified. None of these depends on the contents of items, only on their number and layout.
#[derive(Debug, Error)]
pub enum Error {
    /// Corresponding arguments differ in number.
    #[error("{found} {what} are given where {needed} are needed")]
    Count {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there must be.
        needed: usize,
    },
    /// Items of one length do not fill their memory, or exceed any memory.
    #[error("{count} items of {width} bytes are not {length} bytes")]
    Length {
        /// The number of items.
        count: usize,
        /// The length of each.
        width: usize,
        /// The length of all.
        length: usize,
    },
    /// Invalid offsets.
    #[error("offsets must begin at 0 or later, never fall, and end within the {length} bytes of the items")]
    Offsets {
        /// The length of all.
        length: usize,
    },
    /// A tree without leaves has no root.
    #[error("a tree has one leaf at least")]
    NoLeaves,
    /// Unsupported parameters of Equihash.
    #[error(
        "({n},{k}) are not parameters of Equihash that can be verified: use (200,9), (144,5) or what your chain has"
    )]
    Parameters {
        /// Bits of a leaf.
        n: usize,
        /// Levels of the tree.
        k: usize,
    },
    /// Invalid verifying key of Groth16.
    #[error("this is not a verifying key of Groth16 in bellman's encoding: {0}")]
    VerifyingKey(verify::bls12_381::Rule),
    /// This processor, or this scheme, does not support the backend.
    #[error("there is no backend {backend:?} for {scheme:?} on this processor: use Fastest or Portable")]
    Backend {
        /// The backend that was asked for.
        backend: Backend,
        /// The scheme.
        scheme: Scheme,
    },
    /// The caller stopped the call: codes of unverified items say so, and no other output is valid.
    #[error("the call was broken off")]
    BrokenOff,
    /// The threads could not be started.
    #[error("{threads} threads cannot be started ({source}): use fewer")]
    Threads {
        /// Number of threads requested.
        threads: usize,
        /// The system's error.
        source: io::Error,
    },
}
