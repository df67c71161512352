//! Bitcoin: headers with proof of work, and proofs that a transaction is in a block.
//!
//! [`HeaderChain`] follows the header rules of Bitcoin Core: proof of work, exact difficulty, median time, links, most
//! work. [`TransactionProof`] is what a Turnpike node answers with, [`MerkleBlock`] what Core's `gettxoutproof` writes.
//! Whatever headers alone cannot show is not checked: scripts, amounts, and the signatures of signet blocks.
mod chain;
mod coinbase;
mod encoding;
mod hash;
mod header;
mod merkle_block;
mod network;
mod proof;
mod target;
mod tree;
mod uint;
mod witness;

pub use chain::{FUTURE_LIMIT, HeaderChain, HeaderError, Inserted, MAX_SIDE_HEADERS, check_proof_of_work};
pub use coinbase::{CoinbaseError, check_coinbase};
pub use encoding::{Encoding, EncodingError};
pub use hash::{Display, display, node_hash, sha256d, transaction_hash};
pub use header::{BlockHeader, HEADER_SIZE};
pub use merkle_block::{Match, MerkleBlock, MerkleBlockError};
pub use network::{Network, RETARGET_INTERVAL};
pub use proof::{ProofError, TransactionProof};
pub use target::{Compact, TargetError};
pub use tree::{MAX_TRANSACTIONS, PathError, root_of_path};
pub use uint::U256;
pub use witness::{WitnessCoinbase, WitnessCommitment, WitnessProof, WitnessProofError};
