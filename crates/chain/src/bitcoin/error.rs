//! Errors of an import and its store.
use super::block::BlockError;
use super::files::FileError;
use super::tree::Repeated;
use spv::Hash;
use spv::bitcoin::{HeaderError, display};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Origin of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file of blocks.
    File {
        /// The file.
        path: PathBuf,
        /// Offset of the block in the file.
        offset: u64,
    },
    /// A node that was asked for it.
    Node {
        /// Its height according to the node.
        height: u32,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, offset } => write!(f, "{}, byte {offset}", path.display()),
            Self::Node { height } => write!(f, "the node's block {height}"),
        }
    }
}

/// Why a block is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidBlock {
    /// Its bytes do not encode a block.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// Its header breaks a rule.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// Its header commits to other transactions.
    #[error("block {} does not have the transactions that its header commits to", display(.hash))]
    Root {
        /// The block's hash.
        hash: Hash,
    },
    /// Its transactions are repeated in a way that does not change the root.
    #[error("block {}: {error}", display(.hash))]
    Repeated {
        /// The block's hash.
        hash: Hash,
        /// The place in the tree.
        error: Repeated,
    },
}

/// An error of the import or of the store.
#[derive(Debug, Error)]
pub enum Error {
    /// A block file cannot be read, or is not one.
    #[error(transparent)]
    File(#[from] FileError),
    /// A block is refused. Those before it are imported.
    #[error("{origin}: {error}")]
    Block {
        /// The origin of the block.
        origin: Origin,
        /// What is wrong with it.
        error: InvalidBlock,
    },
    /// Some blocks follow none in the files. All others are imported.
    #[error(
        "{count} blocks do not follow an imported block; the first is {} ({origin}), which follows {}: add the files \
         with the blocks before it, or name the first block to trust",
        display(.hash), display(.previous)
    )]
    Unlinked {
        /// Number of these blocks.
        count: usize,
        /// Hash of the first of them.
        hash: Hash,
        /// The hash that it names as the previous one.
        previous: Hash,
        /// The origin of the first of them.
        origin: Origin,
    },
    /// More blocks wait for their predecessors than fit in memory.
    #[error("{origin}: more than {limit} bytes of blocks wait for earlier blocks: are files missing?")]
    TooManyUnlinked {
        /// The origin of the first block beyond the limit.
        origin: Origin,
        /// The limit.
        limit: usize,
    },
    /// A branch with more work forks off below the available undo data.
    #[error("a branch with more work would undo {depth} blocks, the limit is {limit}: import into a new directory")]
    ReorganisationTooDeep {
        /// Number of blocks that it would undo.
        depth: usize,
        /// Maximum number of blocks that can be undone.
        limit: u32,
    },
    /// The store is of another network, or begins with another block.
    #[error("the directory holds blocks of {found}, not of {expected}: name another directory")]
    OtherChain {
        /// What it holds.
        found: String,
        /// What was asked for.
        expected: String,
    },
    /// The store was written by another version of the program.
    #[error(
        "the Bitcoin store has format {found}, but this program reads {expected}: remove the folder `bitcoin` in the \
         data directory, and import the blocks again"
    )]
    Version {
        /// The format of the store.
        found: u32,
        /// The supported format.
        expected: u32,
    },
    /// The first block of an import does not contain its height.
    #[error("{origin}: the block is too old to contain its height: import from genesis, or name its height")]
    HeightUnknown {
        /// The origin of the block.
        origin: Origin,
    },
    /// The files contain no block.
    #[error("the files contain no blocks")]
    NoBlocks,
    /// The block has a transaction of 64 bytes, so proofs in it are ambiguous.
    #[error("block {} has a transaction of 64 bytes, for which proofs are ambiguous (CVE-2017-12842)", display(.hash))]
    NotProvable {
        /// The block's hash.
        hash: Hash,
    },
    /// The store contradicts itself.
    #[error("the Bitcoin store is damaged: {0}: remove it and import again")]
    Damaged(String),
    /// Another importer is using the store.
    #[error("another import into the same store is running: wait until it ends")]
    AlreadyImporting,
    /// An earlier error left the importer in an unknown state.
    #[error("the import was abandoned after an error: open it again")]
    GivenUp,
    /// A file of the store failed.
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// The key-value store failed.
    #[error("the index of the Bitcoin store: {0}")]
    Index(#[from] fjall::Error),
}

/// The error for a store whose contents are wrong.
pub(super) fn damaged(reason: impl Into<String>) -> Error {
    Error::Damaged(reason.into())
}
