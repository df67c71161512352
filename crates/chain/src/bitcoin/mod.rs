//! Bitcoin: import, the most-work chain, address history.
mod block;
mod files;
mod flat_file;
mod tree;

pub use block::{Block, BlockError, Input, MAX_BLOCK_SIZE, Output, Transaction, TransactionError};
pub use files::{BlockFiles, BlockReader, FileError, FrameError, Key, RawBlock};
pub use tree::{Repeated, Tree};
