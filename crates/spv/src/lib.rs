//! Verification of headers and Merkle proofs, without a node.
