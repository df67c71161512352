//! Blocks, Merkle trees, the latest-transaction index, the chain store, Bitcoin import.

pub mod bitcoin;
