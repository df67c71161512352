//! nomt: a binary Merkle trie in pages and a B-tree of values. A commit writes both to disk and syncs them.

use crate::store::{Result, Root, Store};
use crate::workload::{Key, Update, Value};
use bitvec::{order::Msb0, view::BitView};
use nomt::hasher::{Blake3Hasher, ValueHasher};
use nomt::{KeyReadWrite, Nomt, Options, SessionParams, trie::LeafData};
use std::path::Path;

/// Memory for its caches: as much for values as Turnpike's index has, and half of it for pages of the trie.
const VALUE_CACHE: u64 = 48;
const PAGE_CACHE: u64 = 24;
/// The defaults, for few entries.
const SMALLEST_CACHE: u64 = 256;

/// Buckets of its hash table: a stored page has at least 20 entries below it, so the table is at most four fifths full.
const ENTRIES_PER_BUCKET: u64 = 16;
/// The default.
const FEWEST_BUCKETS: u64 = 64_000;

pub struct PeerNomt {
    database: Nomt<Blake3Hasher>,
    staged: Vec<(Key, KeyReadWrite)>,
}

impl PeerNomt {
    pub fn open(directory: &Path, entries: u64, processors: usize) -> Result<Self> {
        let mut options = Options::new();
        options.path(directory.join("nomt"));
        options.commit_concurrency(processors);
        options.hashtable_buckets((entries / ENTRIES_PER_BUCKET).max(FEWEST_BUCKETS) as u32);
        let mebibytes = |bytes: u64| ((entries * bytes) >> 20).max(SMALLEST_CACHE) as usize;
        options.leaf_cache_size(mebibytes(VALUE_CACHE));
        options.page_cache_size(mebibytes(PAGE_CACHE));
        Ok(Self { database: Nomt::open(options)?, staged: Vec::new() })
    }
}

impl Store for PeerNomt {
    fn name(&self) -> &'static str {
        "nomt"
    }

    async fn stage(&mut self, updates: &[Update]) -> Result<()> {
        let write = |update: &Update| (update.key, KeyReadWrite::Write(Some(update.value.to_vec())));
        self.staged = updates.iter().map(write).collect();
        // `finish` requires it.
        self.staged.sort_unstable_by_key(|(key, _)| *key);
        Ok(())
    }

    async fn commit(&mut self) -> Result<Root> {
        let session = self.database.begin_session(SessionParams::default());
        let finished = session.finish(std::mem::take(&mut self.staged))?;
        let root = finished.root().into_inner();
        finished.commit(&self.database)?;
        Ok(root)
    }

    async fn root(&self) -> Result<Root> {
        Ok(self.database.root().into_inner())
    }

    async fn check(&mut self, key: &Key, expected: Option<&Value>) -> Result<bool> {
        let root = self.database.root().into_inner();
        let session = self.database.begin_session(SessionParams::default());
        let proof = session.prove(*key)?.verify::<Blake3Hasher>(key.view_bits::<Msb0>(), root);
        let proof = proof.map_err(|error| format!("nomt's proof: {error:?}"))?;
        let is_proved = match expected {
            Some(value) => {
                proof.confirm_value(&LeafData { key_path: *key, value_hash: Blake3Hasher::hash_value(value) })
            }
            None => proof.confirm_nonexistence(key),
        };
        let is_proved = is_proved.map_err(|error| format!("nomt's proof is of another key: {error:?}"))?;
        Ok(is_proved && session.read(*key)?.as_deref() == expected.map(|value| &value[..]))
    }

    fn proves_absence(&self) -> bool {
        true
    }
}
