//! Changes for the next commit. The importer reads here first, then in the index.
use super::error::{Error, damaged};
use super::index::{
    BlockRecord, HistoryKey, Index, LocatorBytes, Outpoint, OutputRecord, PointBytes, UnspentKey, encode_locator,
    history_key, unspent_key,
};
use spv::{Hash, Locator};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash as MapKey;
use zerocopy::{FromBytes, IntoBytes};

/// Uncommitted changes: the last state of each key, `None` if it is removed.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub blocks: HashMap<Hash, BlockRecord>,
    pub active: BTreeMap<u32, Option<Hash>>,
    pub undo: Changes<u32, Vec<u8>>,
    transactions: HashMap<Hash, Option<LocatorBytes>>,
    latest: HashMap<Hash, Option<LocatorBytes>>,
    history: HashMap<HistoryKey, bool>,
    outputs: Changes<Outpoint, OutputRecord>,
    unspent: Changes<UnspentKey, u64>,
    spenders: HashMap<PointBytes, Option<PointBytes>>,
}

/// Changes of short-lived keys: most outputs of old blocks are soon spent, and never reach the index.
#[derive(Debug)]
pub(super) struct Changes<K, V>(HashMap<K, Changed<V>>);

#[derive(Debug)]
struct Changed<V> {
    /// `None` if it is removed.
    value: Option<V>,
    /// Whether the index may have the key, so that it must be removed there.
    is_stored: bool,
}

impl<K, V> Default for Changes<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: MapKey + Eq, V> Changes<K, V> {
    /// Sets the value of a key. The index must not have it, unless it was removed here.
    pub fn set(&mut self, key: K, value: V) {
        self.0.entry(key).or_insert(Changed { value: None, is_stored: false }).value = Some(value);
    }

    /// Removes a key, here and in the index.
    pub fn remove(&mut self, key: K) {
        if self.0.get(&key).is_none_or(|changed| changed.is_stored) {
            self.0.insert(key, Changed { value: None, is_stored: true });
        } else {
            self.0.remove(&key);
        }
    }

    fn into_iter(self) -> impl Iterator<Item = (K, Option<V>)> {
        self.0.into_iter().map(|(key, changed)| (key, changed.value))
    }
}

impl Pending {
    /// The number of changes.
    pub fn len(&self) -> usize {
        let maps = [self.transactions.len(), self.latest.len(), self.history.len(), self.spenders.len()];
        let changes = [self.outputs.0.len(), self.unspent.0.len(), self.undo.0.len()];
        maps.iter().chain(&changes).sum::<usize>() + self.blocks.len() + self.active.len()
    }

    pub fn add_output(&mut self, outpoint: Outpoint, output: OutputRecord) {
        self.unspent.set(key_of(&outpoint, &output), output.value.get());
        self.outputs.set(outpoint, output);
    }

    /// Removes an output whose block was disconnected.
    pub fn remove_output(&mut self, outpoint: Outpoint, output: &OutputRecord) {
        self.unspent.remove(key_of(&outpoint, output));
        self.outputs.remove(outpoint);
    }

    /// Spends an output and returns it.
    pub fn spend_output(&mut self, index: &Index, outpoint: &Outpoint) -> Result<Option<OutputRecord>, Error> {
        let output = match self.outputs.0.get(outpoint) {
            Some(changed) => changed.value,
            None => match index.outputs.get(outpoint)? {
                Some(output) => {
                    let read = OutputRecord::read_from_bytes(&output);
                    Some(read.map_err(|_| damaged("an output has the wrong size"))?)
                }
                None => None,
            },
        };
        if let Some(output) = &output {
            self.remove_output(*outpoint, output);
        }
        Ok(output)
    }

    pub fn set_spender(&mut self, output: PointBytes, input: Option<PointBytes>) {
        self.spenders.insert(output, input);
    }

    /// Records that a transaction touched a script; transactions come in chain order.
    pub fn add_history(&mut self, script: &Hash, locator: Locator) {
        self.history.insert(history_key(script, locator), true);
        self.latest.insert(*script, Some(encode_locator(locator)));
    }

    pub fn remove_history(&mut self, script: &Hash, locator: Locator) {
        self.history.insert(history_key(script, locator), false);
    }

    pub fn set_latest(&mut self, script: &Hash, locator: Option<Locator>) {
        self.latest.insert(*script, locator.map(encode_locator));
    }

    pub fn set_transaction(&mut self, hash: &Hash, locator: Option<LocatorBytes>) {
        self.transactions.insert(*hash, locator);
    }

    /// Finds a transaction.
    pub fn transaction(&self, index: &Index, hash: &Hash) -> Result<Option<LocatorBytes>, Error> {
        if let Some(locator) = self.transactions.get(hash) {
            return Ok(*locator);
        }
        let Some(locator) = index.transactions.get(hash)? else { return Ok(None) };
        LocatorBytes::read_from_bytes(&locator).map(Some).map_err(|_| damaged("a locator has the wrong size"))
    }

    /// Takes all changes as a batch; nothing is pending afterwards.
    pub fn take_batch(&mut self, index: &Index) -> fjall::OwnedWriteBatch {
        let mut batch = fjall::OwnedWriteBatch::with_capacity(index.database.clone(), self.len() + 1);
        let pending = std::mem::take(self);
        for (hash, record) in in_order(pending.blocks) {
            batch.insert(&index.blocks, hash, record.as_bytes());
        }
        for (height, hash) in pending.active {
            put(&mut batch, &index.active, height.to_be_bytes(), hash);
        }
        for (height, undo) in in_order(pending.undo.into_iter()) {
            put(&mut batch, &index.undo, height.to_be_bytes(), undo);
        }
        for (hash, locator) in in_order(pending.transactions) {
            put(&mut batch, &index.transactions, hash, locator);
        }
        for (script, locator) in in_order(pending.latest) {
            put(&mut batch, &index.latest, script, locator);
        }
        for (key, is_there) in in_order(pending.history) {
            put(&mut batch, &index.history, key, is_there.then_some([0; 0]));
        }
        for (outpoint, output) in in_order(pending.outputs.into_iter()) {
            put(&mut batch, &index.outputs, outpoint, output.as_ref().map(IntoBytes::as_bytes));
        }
        for (key, value) in in_order(pending.unspent.into_iter()) {
            put(&mut batch, &index.unspent, key, value.map(u64::to_be_bytes));
        }
        for (output, input) in in_order(pending.spenders) {
            put(&mut batch, &index.spenders, output, input);
        }
        batch
    }
}

/// Changes sorted by key, which is the fastest for the index: each place is near the previous one.
fn in_order<K: Ord, V>(changes: impl IntoIterator<Item = (K, V)>) -> Vec<(K, V)> {
    let mut changes: Vec<_> = changes.into_iter().collect();
    changes.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    changes
}

fn key_of(outpoint: &Outpoint, output: &OutputRecord) -> UnspentKey {
    let [.., a, b, c, d] = *outpoint;
    unspent_key(&output.script, output.locator, u32::from_le_bytes([a, b, c, d]))
}

fn put<const N: usize>(
    batch: &mut fjall::OwnedWriteBatch,
    keyspace: &fjall::Keyspace,
    key: [u8; N],
    value: Option<impl AsRef<[u8]>>,
) {
    match value {
        Some(value) => batch.insert(keyspace, key, value.as_ref()),
        None => batch.remove(keyspace, key),
    }
}
