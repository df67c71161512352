//! The key-value part of the store: committed state, locations of blocks and transactions, payments and spends.
//!
//! | keyspace       | key                              | value |
//! |----------------|----------------------------------|-------|
//! | `catalog`      | `state`                          | [`Catalog`] |
//! | `blocks`       | block hash                       | [`BlockRecord`], of every stored block, active or not |
//! | `active`       | height                           | block hash |
//! | `transactions` | transaction hash                 | locator, on the active branch |
//! | `latest`       | script hash                      | locator of the last transaction that touched the script |
//! | `history`      | script hash, locator             | nothing |
//! | `outputs`      | outpoint                         | [`OutputRecord`], of every unspent output |
//! | `unspent`      | script hash, locator, output     | value of the unspent output |
//! | `spenders`     | locator, output                  | locator and input that spend the output |
//! | `undo`         | height                           | data to disconnect the block |
//!
//! Numbers are big-endian, so keys sort numerically.
use super::error::{Error, damaged};
use super::records::Span;
use super::view::Options;
use crate::database;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Snapshot};
use spv::bitcoin::BlockHeader;
use spv::{Hash, Locator};
use std::path::Path;
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Version of the store. Version 1, whose catalog has no version field, had no values of outputs and no spenders.
const VERSION: u32 = 2;
/// The length of the catalog in version 1.
const FIRST_CATALOG_SIZE: usize = 84;
/// Size at which a memtable is flushed. There are ten, and an idle node should be small.
const MEMTABLE_SIZE: u64 = 16 << 20;
const CATALOG_KEY: &[u8] = b"state";

/// An outpoint as it is serialised.
pub(super) type Outpoint = [u8; 36];
/// A script hash, then a locator.
pub(super) type HistoryKey = [u8; 40];
/// An encoded locator.
pub(super) type LocatorBytes = [u8; 8];
/// A script hash, then a locator and the number of an output.
pub(super) type UnspentKey = [u8; 44];
/// A locator, then the number of an output or an input.
pub(super) type PointBytes = [u8; 12];

/// The state of the store as of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Catalog {
    /// The version of the store.
    pub version: U32,
    /// The network's magic.
    pub magic: [u8; 4],
    /// Height of the block that the store begins with.
    pub first_height: U32,
    /// Its hash.
    pub first_hash: Hash,
    /// Committed length of the block file.
    pub length: U64,
    /// Height of the tip; that of the first block while the store is empty.
    pub tip_height: U32,
    /// Its hash; zero while the store is empty.
    pub tip_hash: Hash,
}

impl Catalog {
    /// The catalog of a store without blocks.
    pub fn new(magic: [u8; 4], first_height: u32, first_hash: Hash) -> Self {
        Self {
            version: VERSION.into(),
            magic,
            first_height: first_height.into(),
            first_hash,
            length: 0.into(),
            tip_height: first_height.into(),
            tip_hash: Hash::default(),
        }
    }
}

/// An unspent output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct OutputRecord {
    /// Hash of its script.
    pub script: Hash,
    /// Satoshis.
    pub value: U64,
    /// Its transaction.
    pub locator: LocatorBytes,
}

/// Where a block is stored, and what queries need of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct BlockRecord {
    pub header: BlockHeader,
    pub height: U32,
    pub transactions: U32,
    /// Offset of the record in the block file: the block, all levels of its Merkle tree, then the offset of each
    /// transaction.
    pub offset: U64,
    /// Length of the block.
    pub block_length: U32,
    /// 1 if a transaction has 64 bytes.
    pub not_provable: u8,
}

impl BlockRecord {
    /// The record in the block file.
    pub fn span(&self) -> Span {
        let levels = super::tree::node_count(self.transactions.get()) * size_of::<Hash>();
        let offsets = self.transactions.get() as usize * size_of::<U32>();
        Span { offset: self.offset.get(), length: self.block_length.get() + (levels + offsets) as u32 }
    }
}

/// The keyspaces.
#[derive(Clone)]
pub(super) struct Index {
    pub database: Database,
    pub catalog: Keyspace,
    pub blocks: Keyspace,
    pub active: Keyspace,
    pub transactions: Keyspace,
    pub latest: Keyspace,
    pub history: Keyspace,
    pub outputs: Keyspace,
    pub unspent: Keyspace,
    pub spenders: Keyspace,
    pub undo: Keyspace,
}

impl Index {
    pub fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let Options { cache_size, open_files, .. } = *options;
        let database = database::open(path, cache_size, open_files)?;
        let open = |name| database.keyspace(name, || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_SIZE));
        Ok(Self {
            catalog: open("catalog")?,
            blocks: open("blocks")?,
            active: open("active")?,
            transactions: open("transactions")?,
            latest: open("latest")?,
            history: open("history")?,
            outputs: open("outputs")?,
            unspent: open("unspent")?,
            spenders: open("spenders")?,
            undo: open("undo")?,
            database,
        })
    }

    pub fn read_catalog(&self) -> Result<Option<Catalog>, Error> {
        let Some(value) = self.catalog.get(CATALOG_KEY)? else { return Ok(None) };
        if value.len() == FIRST_CATALOG_SIZE {
            return Err(Error::Version { found: 1, expected: VERSION });
        }
        let catalog = Catalog::read_from_bytes(&value).map_err(|_| damaged("the catalog has the wrong size"))?;
        match catalog.version.get() {
            VERSION => Ok(Some(catalog)),
            found => Err(Error::Version { found, expected: VERSION }),
        }
    }

    /// Applies a batch, with the catalog, atomically and durably.
    pub fn commit(&self, mut batch: fjall::OwnedWriteBatch, catalog: &Catalog) -> Result<(), Error> {
        batch.insert(&self.catalog, CATALOG_KEY, catalog.as_bytes());
        Ok(batch.durability(Some(PersistMode::SyncAll)).commit()?)
    }
}

/// Reads a value of a fixed size.
pub(super) fn get<T: FromBytes>(snapshot: &Snapshot, keyspace: &Keyspace, key: &[u8]) -> Result<Option<T>, Error> {
    let Some(value) = snapshot.get(keyspace, key)? else { return Ok(None) };
    T::read_from_bytes(&value)
        .map(Some)
        .map_err(|_| damaged(format!("a value in {} has the wrong size", keyspace.name())))
}

pub(super) fn encode_locator(locator: Locator) -> LocatorBytes {
    (u64::from(locator.height) << 32 | u64::from(locator.position)).to_be_bytes()
}

pub(super) fn decode_locator(bytes: LocatorBytes) -> Locator {
    let value = u64::from_be_bytes(bytes);
    Locator { height: (value >> 32) as u32, position: value as u32 }
}

pub(super) fn history_key(script: &Hash, locator: Locator) -> HistoryKey {
    let mut key = [0; 40];
    key[..32].copy_from_slice(script);
    key[32..].copy_from_slice(&encode_locator(locator));
    key
}

pub(super) fn unspent_key(script: &Hash, locator: LocatorBytes, output: u32) -> UnspentKey {
    let mut key = [0; 44];
    key[..32].copy_from_slice(script);
    key[32..].copy_from_slice(&encode_point(locator, output));
    key
}

/// An output of a transaction, or an input.
pub(super) fn encode_point(locator: LocatorBytes, number: u32) -> PointBytes {
    let mut point = [0; 12];
    point[..8].copy_from_slice(&locator);
    point[8..].copy_from_slice(&number.to_be_bytes());
    point
}

pub(super) fn decode_point(point: PointBytes) -> (Locator, u32) {
    let [a, b, c, d, e, f, g, h, number @ ..] = point;
    (decode_locator([a, b, c, d, e, f, g, h]), u32::from_be_bytes(number))
}

/// The locator at the end of a history key.
pub(super) fn locator_of_key(key: &[u8]) -> Result<Locator, Error> {
    key.last_chunk().map(|bytes| decode_locator(*bytes)).ok_or_else(|| damaged("a history key is too short"))
}
