//! What can go wrong with the own chain.
use crate::index::EffectError;
use std::path::PathBuf;
use thiserror::Error;

/// What is damaged in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum Damage {
    /// The record does not have its checksum.
    #[error("the record does not match its checksum")]
    Record,
    /// The header does not follow the one before, or is not sealed by the chain's key.
    #[error("the header does not follow the previous header, or is not sealed by the chain key")]
    Header,
    /// The operations do not have their checksum, or are not what the header commits to.
    #[error("the operations do not match the commitment in the header")]
    Operations,
    /// The back-links do not have their checksum, or lead elsewhere.
    #[error("the back-links do not match their checksum or the operations")]
    Links,
    /// The stored nodes do not have their checksum, or are not those of the tree.
    #[error("the Merkle nodes do not match the commitment in the header")]
    Nodes,
    /// The table of ids does not have its checksum.
    #[error("the table of transaction ids does not match its checksum")]
    Ids,
    /// The signed tails do not have their checksum, or are out of order.
    #[error("the signatures do not match their checksum, or are out of order")]
    Tails,
    /// The index after the block does not have the root that the header commits to.
    #[error("the accounts after the block do not match the commitment in the header")]
    Index,
    /// The sum of balances after the block is not the sum issued, less the deposits.
    #[error("the sum of balances after the block is not the sum issued, less deposits")]
    Conservation,
}

/// Damage to a block, and where on the disk it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("block {height}: {damage}: {} from byte {offset} on, {length} bytes", path.display())]
pub struct DamagedBlock {
    /// The block's height.
    pub height: u64,
    /// The part of the block.
    pub damage: Damage,
    /// The file with the damaged part, or with its beginning.
    pub path: PathBuf,
    /// Where in the file that begins.
    pub offset: u64,
    /// Its bytes, one or more of which are wrong. They may go on in the next file.
    pub length: u64,
}

/// An error of the own chain.
#[derive(Debug, Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// The key-value store of the catalog fails.
    #[error("the catalog of the chain failed: {0}; check the disk, then start again")]
    Catalog(#[from] fjall::Error),
    /// What the catalog says is not what was written, or it is missing.
    #[error(
        "the catalog of the chain does not match its files; restore the whole data directory from a backup, or \
         replace that of a replica with `turnpike cluster sync --replace`"
    )]
    CatalogDamaged,
    /// A block is damaged.
    #[error(
        "{0}; restore the whole data directory from a backup, or replace that of a replica with \
         `turnpike cluster sync --replace`"
    )]
    Damaged(DamagedBlock),
    /// A block's operations contradict the state before it.
    #[error(transparent)]
    Effect(#[from] EffectError),
    /// There is no chain in the directory, and no genesis header was given to begin one.
    #[error("this directory has no chain; initialise it, or name another directory")]
    NoChain,
    /// Nobody sealed a header.
    #[error("block {height} is not sealed: {source}")]
    Sealing {
        /// Height of the block.
        height: u64,
        /// What the sealer said.
        source: super::SealingError,
    },
    /// A sealer gave something else than a seal by the chain's key.
    #[error("block {height} is not sealed with the chain's key; name the key or the signer that the chain began with")]
    WrongSeal {
        /// Height of the block.
        height: u64,
    },
    /// A block that nobody may build.
    #[error("cannot build a block: {0}")]
    InvalidBlock(&'static str),
}

impl Error {
    /// Whether files on disk are damaged or missing.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Storage(error) => {
                matches!(error, storage::Error::Corrupt { .. } | storage::Error::NotFound { .. })
            }
            Self::Catalog(_) | Self::CatalogDamaged | Self::Damaged(_) => true,
            _ => false,
        }
    }

    /// Whether a block waits for whoever seals it, and for nothing else.
    pub fn is_of_the_sealer(&self) -> bool {
        matches!(self, Self::Sealing { .. } | Self::WrongSeal { .. })
    }
}
