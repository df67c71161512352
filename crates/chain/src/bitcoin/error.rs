//! What can go wrong with an import and its store.
use super::block::BlockError;
use super::files::FileError;
use super::tree::Repeated;
use spv::Hash;
use spv::bitcoin::{HeaderError, display};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Where a block came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file of blocks.
    File {
        /// The file.
        path: PathBuf,
        /// Where in the file the block begins.
        offset: u64,
    },
    /// A node that was asked for it.
    Node {
        /// The height that the node has it at.
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

/// Why a block is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidBlock {
    /// Its bytes are none.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// Its header breaks a rule.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// Its transactions are not those that the header commits to.
    #[error("block {} does not have the transactions that its header commits to", display(.hash))]
    Root {
        /// The block's hash.
        hash: Hash,
    },
    /// Its transactions are repeated such that the root stays the same.
    #[error("block {}: {error}", display(.hash))]
    Repeated {
        /// The block's hash.
        hash: Hash,
        /// Where in the tree.
        error: Repeated,
    },
}

/// An error of the import or of the store.
#[derive(Debug, Error)]
pub enum Error {
    /// A block file can't be read, or is none.
    #[error(transparent)]
    File(#[from] FileError),
    /// A block is not taken. Those before it are.
    #[error("{origin}: {error}")]
    Block {
        /// Where it came from.
        origin: Origin,
        /// What is wrong with it.
        error: InvalidBlock,
    },
    /// Blocks were left whose previous ones were in none of the files. All others are imported.
    #[error(
        "{count} blocks do not follow an imported block; the first is {} ({origin}), which follows {}: add the files \
         with the blocks before it, or name the first block to trust",
        display(.hash), display(.previous)
    )]
    Unlinked {
        /// How many.
        count: usize,
        /// Hash of the first of them.
        hash: Hash,
        /// The hash that it names as the previous one.
        previous: Hash,
        /// Where it came from.
        origin: Origin,
    },
    /// More blocks than fit in memory wait for the ones before them.
    #[error("{origin}: more than {limit} bytes of blocks wait for earlier blocks: are files missing?")]
    TooManyUnlinked {
        /// Where the first one too many came from.
        origin: Origin,
        /// The limit.
        limit: usize,
    },
    /// A branch with more work forks off where there is no undo data any more.
    #[error("a branch with more work would undo {depth} blocks, the limit is {limit}: import into a new directory")]
    ReorganisationTooDeep {
        /// How many blocks it would undo.
        depth: usize,
        /// How many can be undone.
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
        /// The format that is known.
        expected: u32,
    },
    /// The first block of an import does not tell its height.
    #[error("{origin}: the block is too old to contain its height: import from genesis, or name its height")]
    HeightUnknown {
        /// Where the block came from.
        origin: Origin,
    },
    /// There is not a single block in the files.
    #[error("the files contain no blocks")]
    NoBlocks,
    /// The block has a transaction of 64 bytes, so that no proof in it is unambiguous.
    #[error("block {} has a transaction of 64 bytes, for which proofs are ambiguous (CVE-2017-12842)", display(.hash))]
    NotProvable {
        /// The block's hash.
        hash: Hash,
    },
    /// The store contradicts itself.
    #[error("the Bitcoin store is damaged: {0}: remove it and import again")]
    Damaged(String),
    /// Another importer works on the store.
    #[error("another import into the same store is running: wait until it ends")]
    AlreadyImporting,
    /// An earlier error left the importer in an unknown state.
    #[error("the import was abandoned after an error: open it again")]
    GivenUp,
    /// The files of the store.
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// The key-value store.
    #[error("the index of the Bitcoin store: {0}")]
    Index(#[from] fjall::Error),
}

/// The error for a store that does not hold what was written.
pub(super) fn damaged(reason: impl Into<String>) -> Error {
    Error::Damaged(reason.into())
}
