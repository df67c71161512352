//! The own chain: its store, its index, and the two handles to them.
//!
//! [`OwnChain`] is the block builder's: it appends blocks and writes snapshots. [`OwnReader`] is for everybody else: any
//! number of them answer proof requests on other threads.
//!
//! ```text
//! records-000000     288 bytes a block: header and seal, position in the journal, checksums    [`record`]
//! blocks-000000      operations, links, stored nodes, table of ids, signed tails      [`record`]
//! index-0000000042   the index after a block                                          [`snapshot`]
//! catalog            what of the above is committed                                   [`catalog`]
//! ```

mod audit;
mod catalog;
mod chain;
mod chain_state;
mod copy;
mod damage;
mod error;
mod reader;
mod record;
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
pub use reader::{History, IndexEntryAnswer, OwnReader, TransactionAnswer, WholeBlock};
pub use scrub::{Scrub, Scrubbed};
pub use sealer::{NoSealer, Sealer, SealingError, seal};
pub use store::{Levels, Options};
pub use tip::Tip;
