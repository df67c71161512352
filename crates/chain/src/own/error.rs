//! Errors of our own chain.
use crate::index::EffectError;
use std::path::PathBuf;
use thiserror::Error;

/// The damaged part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum Damage {
    /// The record has the wrong checksum.
    #[error("the record does not match its checksum")]
    Record,
    /// The header does not follow the previous one, or has no seal by the chain's key.
    #[error("the header does not follow the previous header, or is not sealed by the chain key")]
    Header,
    /// The operations have the wrong checksum, or the header commits to others.
    #[error("the operations do not match the commitment in the header")]
    Operations,
    /// The back-links have the wrong checksum, or lead elsewhere.
    #[error("the back-links do not match their checksum or the operations")]
    Links,
    /// The stored nodes have the wrong checksum, or do not belong to the tree.
    #[error("the Merkle nodes do not match the commitment in the header")]
    Nodes,
    /// The table of ids has the wrong checksum.
    #[error("the table of transaction ids does not match its checksum")]
    Ids,
    /// The signed tails have the wrong checksum, or are out of order.
    #[error("the signatures do not match their checksum, or are out of order")]
    Tails,
    /// The index after the block does not have the root in the header.
    #[error("the accounts after the block do not match the commitment in the header")]
    Index,
    /// The sum of balances after the block is not the total issued minus deposits.
    #[error("the sum of balances after the block is not the sum issued, less deposits")]
    Conservation,
}

/// Damage to a block, and its place on disk.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("block {height}: {damage}: {} from byte {offset} on, {length} bytes", path.display())]
pub struct DamagedBlock {
    /// The block's height.
    pub height: u64,
    /// The part of the block.
    pub damage: Damage,
    /// The file with the damaged part, or with its start.
    pub path: PathBuf,
    /// Offset of the part in the file.
    pub offset: u64,
    /// Length of the part in bytes, at least one of which is wrong. It may continue in the next file.
    pub length: u64,
}

/// An error of our own chain.
#[derive(Debug, Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// The key-value store of the catalog fails.
    #[error("the catalog of the chain failed: {0}; check the disk, then start again")]
    Catalog(#[from] fjall::Error),
    /// The catalog is missing, or does not match the files.
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
    /// A copy of a chain has blocks that the chain lacks.
    #[error(
        "block {height} of {} is not in the chain to copy: name an empty directory, or a copy of this chain",
        path.display()
    )]
    Diverged {
        /// The directory of the copy.
        path: std::path::PathBuf,
        /// Height of the copy's last block.
        height: u64,
    },
    /// A block is pruned.
    #[error(
        "block {height} is pruned: this node retains blocks from {first} on; ask a node with a longer \
         `blocks.retention`, or look in a backup"
    )]
    Pruned {
        /// Height of the block.
        height: u64,
        /// Height of the first retained block.
        first: u64,
    },
    /// No snapshot of the index leads to the state of the tip, and the blocks that would are pruned.
    #[error(
        "no snapshot of the index is intact, and the blocks before {first} are pruned, so the balances cannot be \
         computed again; restore the whole data directory from a backup"
    )]
    NoSnapshot {
        /// Height of the first retained block.
        first: u64,
    },
    /// A copy of a chain ends before the first retained block of the chain.
    #[error(
        "the copy in {} ends with block {height}, and the node has pruned the blocks before {first}: name an empty \
         directory, and keep the copy, which has the pruned blocks",
        path.display()
    )]
    Gap {
        /// The directory of the copy.
        path: PathBuf,
        /// Height of the copy's last block.
        height: u64,
        /// Height of the first retained block.
        first: u64,
    },
    /// There is no chain in the directory, and no genesis header to begin one.
    #[error("this directory has no chain; initialise it, or name another directory")]
    NoChain,
    /// The header was not sealed.
    #[error("block {height} is not sealed: {source}")]
    Sealing {
        /// Height of the block.
        height: u64,
        /// The sealer's error.
        source: super::SealingError,
    },
    /// The seal is not by the chain's key.
    #[error("block {height} is not sealed with the chain's key; name the key or the signer that the chain began with")]
    WrongSeal {
        /// Height of the block.
        height: u64,
    },
    /// The block breaks a rule.
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
            Self::Catalog(_) | Self::CatalogDamaged | Self::Damaged(_) | Self::NoSnapshot { .. } => true,
            _ => false,
        }
    }

    /// Whether the block only waits for its sealer.
    pub fn is_of_the_sealer(&self) -> bool {
        matches!(self, Self::Sealing { .. } | Self::WrongSeal { .. })
    }
}
