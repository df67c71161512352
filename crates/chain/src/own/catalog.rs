//! The catalog: what of the chain is committed. A block is in the chain once its commit is in the catalog, and not before.
use super::error::Error;
use super::record::{Checksum, checksum};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use spv::Hash;
use std::fmt::Debug;
use std::sync::Arc;
use storage::Directory;
use zerocopy::byteorder::big_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What is committed with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Commit {
    /// Height of the tip.
    pub height: U64,
    /// Its hash.
    pub hash: Hash,
    /// The last operation of the journal that is in a block.
    pub end_sequence: U64,
    /// Length of the records file.
    pub records: U64,
    /// Length of the blocks file.
    pub blocks: U64,
}

/// Where commits are kept.
pub trait Catalog: Send + Sync + Debug {
    /// The last commit, if there is any.
    fn last(&self) -> Result<Option<Commit>, Error>;

    /// Commits, atomically and durably.
    fn commit(&self, commit: &Commit) -> Result<(), Error>;
}

/// A catalog in a keyspace of a key-value store: the commits of all blocks by height, and the last one once more.
pub struct KeyValueCatalog {
    database: Database,
    commits: Keyspace,
}

/// The key of the last commit: longer than the keys of heights, so that it is none of them.
const LAST: &[u8] = b"last commit";

impl KeyValueCatalog {
    /// The catalog in `database`.
    pub fn new(database: &Database) -> Result<Self, Error> {
        let commits = database.keyspace("own-chain", KeyspaceCreateOptions::default)?;
        Ok(Self { database: database.clone(), commits })
    }
}

impl Debug for KeyValueCatalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyValueCatalog")
    }
}

impl Catalog for KeyValueCatalog {
    fn last(&self) -> Result<Option<Commit>, Error> {
        let Some(value) = self.commits.get(LAST)? else { return Ok(None) };
        Commit::read_from_bytes(&value).map(Some).map_err(|_| Error::CatalogDamaged)
    }

    fn commit(&self, commit: &Commit) -> Result<(), Error> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        batch.insert(&self.commits, commit.height.as_bytes(), commit.as_bytes());
        batch.insert(&self.commits, LAST, commit.as_bytes());
        Ok(batch.commit()?)
    }
}

/// A catalog of one small file that is replaced with each commit: for simulated disks, on which no key-value store runs.
#[derive(Debug)]
pub struct FileCatalog(Arc<dyn Directory>);

/// The file's name.
const CATALOG: &str = "catalog";

impl FileCatalog {
    /// The catalog in `directory`.
    pub fn new(directory: Arc<dyn Directory>) -> Self {
        Self(directory)
    }
}

impl Catalog for FileCatalog {
    fn last(&self) -> Result<Option<Commit>, Error> {
        if !self.0.exists(CATALOG)? {
            return Ok(None);
        }
        let content = self.0.read(CATALOG)?;
        let (commit, sum) = Commit::ref_from_prefix(&content).map_err(|_| Error::CatalogDamaged)?;
        if *sum == checksum(commit.as_bytes()) { Ok(Some(*commit)) } else { Err(Error::CatalogDamaged) }
    }

    fn commit(&self, commit: &Commit) -> Result<(), Error> {
        let sum: Checksum = checksum(commit.as_bytes());
        Ok(self.0.replace(CATALOG, &[commit.as_bytes(), &sum].concat())?)
    }
}
