//! The catalog: the committed state of the chain. A block is in the chain if and only if its commit is in the catalog.
use super::error::Error;
use super::record::{Checksum, checksum};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use spv::Hash;
use std::fmt::Debug;
use std::sync::Arc;
use storage::Directory;
use zerocopy::byteorder::big_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The state committed with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Commit {
    /// Height of the tip.
    pub height: U64,
    /// Its hash.
    pub hash: Hash,
    /// The last operation of the journal covered by a block.
    pub end_sequence: U64,
    /// Length of the records file.
    pub records: U64,
    /// Length of the blocks file.
    pub blocks: U64,
}

/// Storage of commits.
pub trait Catalog: Send + Sync + Debug {
    /// The last commit, if any.
    fn last(&self) -> Result<Option<Commit>, Error>;

    /// Commits, atomically and durably.
    fn commit(&self, commit: &Commit) -> Result<(), Error>;

    /// The last proposal, if any: a block that may have been sealed, whether or not it was committed.
    fn proposal(&self) -> Result<Option<Commit>, Error>;

    /// Records the next commit durably, before its block is sealed.
    fn propose(&self, commit: &Commit) -> Result<(), Error>;

    /// Makes durable what [`last`](Self::last) and [`proposal`](Self::proposal) return: a process that was killed may
    /// have written it without a sync.
    fn sync(&self) -> Result<(), Error>;
}

/// A catalog in a keyspace of a key-value store: the commits of all blocks by height, and a copy of the last one.
pub struct KeyValueCatalog {
    database: Database,
    commits: Keyspace,
}

/// Key of the last commit: longer than the keys of heights, so it differs from all of them.
const LAST: &[u8] = b"last commit";

/// Key of the last proposal.
const PROPOSAL: &[u8] = b"proposal";

impl KeyValueCatalog {
    /// The catalog in `database`.
    pub fn new(database: &Database) -> Result<Self, Error> {
        let commits = database.keyspace("own-chain", KeyspaceCreateOptions::default)?;
        Ok(Self { database: database.clone(), commits })
    }

    fn get(&self, key: &[u8]) -> Result<Option<Commit>, Error> {
        let Some(value) = self.commits.get(key)? else { return Ok(None) };
        Commit::read_from_bytes(&value).map(Some).map_err(|_| Error::CatalogDamaged)
    }
}

impl Debug for KeyValueCatalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyValueCatalog")
    }
}

impl Catalog for KeyValueCatalog {
    fn last(&self) -> Result<Option<Commit>, Error> {
        self.get(LAST)
    }

    fn commit(&self, commit: &Commit) -> Result<(), Error> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        batch.insert(&self.commits, commit.height.as_bytes(), commit.as_bytes());
        batch.insert(&self.commits, LAST, commit.as_bytes());
        Ok(batch.commit()?)
    }

    fn proposal(&self) -> Result<Option<Commit>, Error> {
        self.get(PROPOSAL)
    }

    fn propose(&self, commit: &Commit) -> Result<(), Error> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        batch.insert(&self.commits, PROPOSAL, commit.as_bytes());
        Ok(batch.commit()?)
    }

    fn sync(&self) -> Result<(), Error> {
        // The database continues the file of its last writes, so a sync of that file covers them.
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }
}

/// A catalog of two small files that each proposal and each commit replaces: for simulated disks, on which no key-value
/// store runs.
#[derive(Debug)]
pub struct FileCatalog(Arc<dyn Directory>);

/// The files' names.
const CATALOG: &str = "catalog";
const PROPOSED: &str = "proposal";

impl FileCatalog {
    /// The catalog in `directory`.
    pub fn new(directory: Arc<dyn Directory>) -> Self {
        Self(directory)
    }

    fn read(&self, name: &str) -> Result<Option<Commit>, Error> {
        if !self.0.exists(name)? {
            return Ok(None);
        }
        let content = self.0.read(name)?;
        let (commit, sum) = Commit::ref_from_prefix(&content).map_err(|_| Error::CatalogDamaged)?;
        if *sum == checksum(commit.as_bytes()) { Ok(Some(*commit)) } else { Err(Error::CatalogDamaged) }
    }

    fn replace(&self, name: &str, commit: &Commit) -> Result<(), Error> {
        let sum: Checksum = checksum(commit.as_bytes());
        Ok(self.0.replace(name, &[commit.as_bytes(), &sum].concat())?)
    }
}

impl Catalog for FileCatalog {
    fn last(&self) -> Result<Option<Commit>, Error> {
        self.read(CATALOG)
    }

    fn commit(&self, commit: &Commit) -> Result<(), Error> {
        self.replace(CATALOG, commit)
    }

    fn proposal(&self) -> Result<Option<Commit>, Error> {
        self.read(PROPOSED)
    }

    fn propose(&self, commit: &Commit) -> Result<(), Error> {
        self.replace(PROPOSED, commit)
    }

    fn sync(&self) -> Result<(), Error> {
        // The files were synced before they got their names.
        Ok(self.0.sync()?)
    }
}
