//! The own chain: its store, its index, and the two handles to them.
//!
//! [`OwnChain`] is the block builder's: it appends blocks and writes snapshots. [`OwnReader`] is for everybody else:
//! any number of them answer proof requests on other threads.
//!
//! ```text
//! records-000000     288 bytes a block: header and seal, position in the journal, checksums    [`record`]
//! blocks-000000      operations, links, stored nodes, table of ids, signed tails      [`record`]
//! index-0000000042   the index after a block                                          [`snapshot`]
//! retained           the first block that is not pruned                               [`retained`]
//! catalog            which parts of the above are committed                           [`catalog`]
//! ```
//!
//! A block is in the chain if and only if its commit is in the catalog. To append one:
//!
//! 1. Check that it can follow the tip, and write its operations after the committed bytes.
//! 2. Apply the operations to the index, alternating with readers, who see the previous state.
//! 3. Compute the header from the transaction tree and the root of the index. Large blocks of a large index repeat the
//!    previous root ([`root_schedule`]).
//! 4. If a key seals the chain: record height, hash and end in the journal as the *proposal*, durably, unless it is
//!    recorded already. Then have the header sealed, and verify the seal. Replicas skip this: their blocks are agreed
//!    on before.
//! 5. Write the other sections and the record. Sync the blocks, then the records.
//! 6. Commit to the catalog, atomically and durably.
//! 7. Publish the bytes, the index and the tip to readers.
//!
//! On an error before 7 the index is reverted and readers see nothing. The same block must be appended again, and no
//! other: a signer may have sealed it (4), or the commit may have reached the disk (6).
//!
//! A crash before 6 leaves bytes after the committed ones, which opening truncates. If a proposal is recorded,
//! [`OwnChain::proposed_end`] returns where that block ends, so that the builder makes the same one, and no two headers
//! of a height are ever sealed. A process that is killed in 3 or 6 may leave a proposal or a commit that others read
//! but that is not on the disk: opening syncs the catalog first. A crash after 6 loses nothing: opening loads the
//! newest valid snapshot of the index, and applies the blocks after it. The two newest snapshots are kept. A damaged
//! one is skipped, since the blocks have everything, or at least what follows the older one.
//!
//! [`OwnChain::prune`] removes old blocks. Their records stay, and so does the index: headers, balances and their proofs
//! are complete, but transactions of pruned blocks cannot be read or proved. A start then needs a snapshot.
//!
//! Reads verify: a transaction is checked against the root in its block's header, a link against the transaction that
//! it leads to, and whole sections against their checksums. A mismatch is recorded as damage, and is no answer.

mod audit;
mod catalog;
mod chain;
mod chain_state;
mod copy;
mod damage;
mod error;
mod history;
mod partition_point;
mod reader;
mod record;
mod retained;
mod root_schedule;
mod scrub;
mod sealer;
mod snapshot;
mod store;
#[cfg(test)]
mod tests;
mod tip;

pub use audit::{Audit, Audited, audit};
pub use catalog::{Catalog, Commit, FileCatalog, KeyValueCatalog};
pub use chain::{NextBlock, OwnChain};
pub use copy::copy;
pub use error::{Damage, DamagedBlock, Error};
pub use history::{Filter, History, Page, PageLimits, Role};
pub use reader::{EARLIER_BLOCKS, IndexEntryAnswer, IssuedPage, OwnReader, TransactionAnswer, WholeBlock};
pub use record::block_bytes;
pub use root_schedule::RootSchedule;
pub use scrub::{Scrub, Scrubbed};
pub use sealer::{NoSealer, Sealer, SealingError, seal};
pub use snapshot::SLICE as SNAPSHOT_SLICE;
pub use store::{Levels, Options};
pub use tip::Tip;
