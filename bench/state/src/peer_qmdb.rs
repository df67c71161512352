//! qmdb of commonware-storage, in the variant that proves current values (`current`, unordered, fixed sizes): a log of
//! operations, a Merkle belt over it with a bitmap of the current ones, and an index of all keys in memory. A commit
//! syncs the log; the rest is rebuilt from it.

use crate::store::{Result, Root, Store};
use crate::workload::{Key, Update, Value};
use commonware_cryptography::Sha256;
use commonware_parallel::Rayon;
use commonware_runtime::buffer::paged::{CacheRef, page_size};
use commonware_runtime::tokio::Context;
use commonware_runtime::{BLOB_PAGE_SIZE, Strategizer as _, Supervisor as _};
use commonware_storage::journal::contiguous::fixed::Config as LogConfig;
use commonware_storage::merkle::{full::Config as MerkleConfig, mmb};
use commonware_storage::qmdb::any::batch::Slot;
use commonware_storage::qmdb::current::FixedConfig;
use commonware_storage::qmdb::current::unordered::fixed::Db;
use commonware_storage::qmdb::floor::Proportional;
use commonware_storage::translator::EightCap;
use commonware_utils::sequence::FixedBytes;
use commonware_utils::{NZU64, NZUsize};
use std::num::NonZeroUsize;

type ShortKey = FixedBytes<16>;
type Bytes = FixedBytes<16>;

/// Bytes of a chunk of the bitmap: a digest, as the crate recommends.
const CHUNK: usize = 32;

type Database = Db<mmb::Family, Context, ShortKey, Bytes, Sha256, EightCap, CHUNK, Rayon>;

/// Memory for its page cache: what Turnpike's index has, in addition to qmdb's own index.
const PAGE_CACHE: u64 = 48;
const SMALLEST_CACHE: u64 = 256 << 20;

/// Methods of qmdb consume it, and return it only on success.
const CONSUMED: &str = "qmdb is gone after its earlier error";

pub struct PeerQmdb {
    /// `None` only while a method has it.
    database: Option<Database>,
    staged: Vec<(ShortKey, Slot<Bytes>)>,
}

fn short(key: &Key) -> ShortKey {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&key[..16]);
    FixedBytes::new(bytes)
}

impl PeerQmdb {
    pub async fn open(context: &Context, entries: u64, processors: NonZeroUsize) -> Result<Self> {
        let page = page_size(BLOB_PAGE_SIZE);
        let pages = (entries * PAGE_CACHE).max(SMALLEST_CACHE) / u64::from(page.get());
        let page_cache = CacheRef::new(page, NonZeroUsize::new(pages as usize).ok_or("no pages to cache")?);
        // The sizes of the crate's own benchmark of a validator's state.
        let (items_per_blob, write_buffer, replay_buffer) = (NZU64!(10_000_000), NZUsize!(2 << 20), NZUsize!(2 << 20));
        let config = FixedConfig {
            merkle_config: MerkleConfig {
                journal_partition: "merkle-nodes".into(),
                metadata_partition: "merkle-pins".into(),
                items_per_blob,
                write_buffer,
                replay_buffer,
                strategy: context.strategy(processors),
                page_cache: page_cache.clone(),
            },
            journal_config: LogConfig {
                partition: "log".into(),
                items_per_blob,
                page_cache,
                write_buffer,
                replay_buffer,
            },
            grafted_metadata_partition: "grafted-metadata".into(),
            translator: EightCap,
            init_cache: Some(NZUsize!(1 << 18)),
            init_buffer: replay_buffer,
            init_concurrency: (),
        };
        let database = Database::init(context.child("qmdb"), config, None).await?;
        Ok(Self { database: Some(database), staged: Vec::new() })
    }

    fn database(&self) -> Result<&Database> {
        Ok(self.database.as_ref().ok_or(CONSUMED)?)
    }
}

impl Store for PeerQmdb {
    fn name(&self) -> &'static str {
        "qmdb"
    }

    async fn stage(&mut self, updates: &[Update]) -> Result<()> {
        self.staged =
            updates.iter().map(|update| (short(&update.key), Slot::Put(FixedBytes::new(update.value)))).collect();
        Ok(())
    }

    async fn commit(&mut self) -> Result<Root> {
        let database = self.database.take().ok_or(CONSUMED)?;
        // All keys are looked up together.
        let (keys, slots): (Vec<_>, Vec<_>) = self.staged.iter().map(|(key, slot)| (key, slot.clone())).unzip();
        let (_, staged) = database.new_batch().stage(&keys, &database).await?;
        let merkleized = staged.merkleize(slots, Vec::new(), None, &database, &mut Proportional).await?;
        let database = database.apply_batch(merkleized).await?.commit().await?;
        let root = database.root().0;
        self.database = Some(database);
        Ok(root)
    }

    /// Without it, the nodes of all entries stay in memory.
    async fn settle(&mut self) -> Result<()> {
        let database = self.database.take().ok_or(CONSUMED)?;
        self.database = Some(database.sync().await?);
        Ok(())
    }

    async fn root(&self) -> Result<Root> {
        Ok(self.database()?.root().0)
    }

    async fn check(&mut self, key: &Key, expected: Option<&Value>) -> Result<bool> {
        let (database, key) = (self.database()?, short(key));
        let found = database.get(&key).await?;
        if found != expected.copied().map(FixedBytes::new) {
            return Ok(false);
        }
        let Some(value) = found else { return Err("unordered qmdb proves no absence".into()) };
        let proof = database.key_value_proof(key.clone()).await?;
        Ok(Database::verify_key_value_proof(key, value, &proof, &database.root()))
    }

    fn proves_absence(&self) -> bool {
        false
    }
}
