//! Verification of headers and Merkle proofs, without a node.
//!
//! A light client keeps only headers ([`HeaderChain`]), each sealed by the chain's key ([`SealedHeader`]) or covered by
//! the votes of its replicas ([`finality`]). Against them it checks what any node says: that a transaction is in a
//! block ([`TransactionProof`]), what an account holds and which transaction touched it last, or that it does not exist
//! ([`IndexProof`]). Nothing here opens a socket or a file: everything works on the bytes of the wire's replies.
//!
//! Start with [`HeaderChain`] (`chain`), then [`TransactionProof`] (`transaction`), [`IndexProof`] (`index`) and
//! [`finality`].
//!
//! ```
//! use turnpike_spv::{ZERO_HASH, hash::transaction_node, verify_path};
//!
//! // A tree of three transactions: the third one has no sibling.
//! let [first, second, third] = [[1; 32], [2; 32], [3; 32]];
//! let left = transaction_node(&first, &second);
//! let root = transaction_node(&left, &transaction_node(&third, &ZERO_HASH));
//! assert!(verify_path(&root, 3, 2, &third, &[ZERO_HASH, left]).is_ok());
//! // Nothing else is at that position.
//! assert!(verify_path(&root, 3, 2, &second, &[ZERO_HASH, left]).is_err());
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod authority;
pub mod bitcoin;
mod chain;
pub mod finality;
pub mod hash;
mod header;
mod index;
mod reply;
mod seal;
mod tags;
mod transaction;

pub use authority::{
    Authority, ChainKey, HEADER_VERSION, HEADER_VERSION_WITHOUT_INDEX, ORDERED_VERSION, ORDERED_VERSION_WITHOUT_INDEX,
    Seal,
};
pub use chain::{HeaderChain, HeaderError, check_headers_after};
pub use hash::{Hash, ZERO_HASH};
pub use header::{BlockHeader, HEADER_SIZE, MAX_BLOCK_TRANSACTIONS, tree_depth};
pub use index::{
    ASSET_BIT, ASSET_ENTRY, FROZEN_BIT, HOLD_BIT, IndexEntry, IndexProof, IndexProofError, Locator, MAX_DEPTH,
    MAX_LEAF_ENTRIES, account_path, asset_id,
};
pub use seal::{CheckSeals, Equivocation, OneByOne, SEALED_HEADER_SIZE, SealedHeader, SealingKey};
pub use transaction::{ProofError, TransactionProof, verify_path};
