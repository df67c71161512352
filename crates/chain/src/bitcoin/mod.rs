//! Bitcoin: import, the most-work chain, address history.
//!
//! - [`Importer`] takes blocks from [`BlockFiles`], or one by one, in any order. It checks everything that does not
//!   take running scripts: proof of work and all other rules of headers, the form of blocks and transactions, Merkle
//!   roots. It follows the branch with the most work.
//! - [`BitcoinChain`] is the store that it writes. A [`View`] finds a transaction, and the last one that touched a
//!   script, and proves both.
//! - Blocks and their Merkle levels are in a flat file; everything looked up by key is in an index. A commit of the
//!   index contains the flat file's length and the tip, so the two never disagree after a crash.
//! - [`Branch`] holds in memory what is looked up by height, for servers of many requests.
//! - [`claims`] returns the signatures and keys that the inputs of a transaction claim, for a verifier.
mod block;
mod branch;
mod claims;
mod coins;
mod connect;
mod error;
mod files;
mod header_tree;
mod import;
mod index;
mod orphans;
mod pending;
mod records;
mod script;
mod sighash;
mod start;
mod tree;
mod view;
mod witness_tree;

pub use block::{Block, BlockError, Input, MAX_BLOCK_SIZE, Output, Transaction, TransactionError};
pub use branch::Branch;
pub use claims::{Claim, Rules, Scheme, Signature, Unclaimed, claims};
pub use coins::{Coin, Coins, CoinsError, OutpointBytes};
pub use connect::{is_spendable, script_hash};
pub use error::{Error, InvalidBlock, Origin};
pub use files::{BlockFiles, BlockReader, FileError, FrameError, Key, RawBlock, Skipped, Verdict};
pub use header_tree::HeaderTree;
pub use import::{Change, ChangeKind, Importer, Observer, Progress, Summary};
pub use start::{Start, check_files};
pub use tree::{Repeated, Tree};
pub use view::{BitcoinChain, BlockInfo, DEFAULT_CACHE_SIZE, Options, Proof, Tip, Unspent, View};
pub use witness_tree::{WitnessTree, WitnessTreeError};
