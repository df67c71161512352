//! What the next commit will change. Reads of the importer look here first, then in the index.
use super::error::Error;
use super::index::{BlockRecord, HistoryKey, Index, LocatorBytes, Outpoint, damaged, encode_locator, history_key};
use spv::{Hash, Locator};
use std::collections::{BTreeMap, HashMap};
use zerocopy::{FromBytes, IntoBytes};

/// Changes not committed yet: the last state of each key, nothing where it is removed.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub blocks: HashMap<Hash, BlockRecord>,
    pub active: BTreeMap<u32, Option<Hash>>,
    pub undo: BTreeMap<u32, Option<Vec<u8>>>,
    transactions: HashMap<Hash, Option<LocatorBytes>>,
    latest: HashMap<Hash, Option<LocatorBytes>>,
    history: HashMap<HistoryKey, bool>,
    outputs: HashMap<Outpoint, OutputChange>,
}

#[derive(Clone, Copy, Debug)]
struct OutputChange {
    /// Nothing if it is spent.
    script: Option<Hash>,
    /// Whether the index has the output, so that spending it has to remove it there. Most outputs of old blocks are spent soon, and
    /// never reach the index.
    is_stored: bool,
}

impl Pending {
    /// The number of changes.
    pub fn len(&self) -> usize {
        let maps = [self.transactions.len(), self.latest.len(), self.history.len(), self.outputs.len()];
        maps.iter().sum::<usize>() + self.blocks.len() + self.active.len() + self.undo.len()
    }

    pub fn add_output(&mut self, outpoint: Outpoint, script: Hash) {
        let change = self.outputs.entry(outpoint).or_insert(OutputChange { script: None, is_stored: false });
        change.script = Some(script);
    }

    /// Removes an output that is not there any more, because the block that made it is not.
    pub fn remove_output(&mut self, outpoint: Outpoint) {
        self.outputs.insert(outpoint, OutputChange { script: None, is_stored: true });
    }

    /// The script hash of an output, which is spent by this.
    pub fn spend_output(&mut self, index: &Index, outpoint: &Outpoint) -> Result<Option<Hash>, Error> {
        let Some(change) = self.outputs.get_mut(outpoint) else {
            let Some(script) = index.outputs.get(outpoint)? else { return Ok(None) };
            let script = Hash::read_from_bytes(&script).map_err(|_| damaged("a script hash has another size"))?;
            self.remove_output(*outpoint);
            return Ok(Some(script));
        };
        let script = change.script.take();
        if !change.is_stored {
            self.outputs.remove(outpoint);
        }
        Ok(script)
    }

    /// Notes that a transaction touched a script; transactions come in the order of the chain.
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

    /// Where a transaction is.
    pub fn transaction(&self, index: &Index, hash: &Hash) -> Result<Option<LocatorBytes>, Error> {
        if let Some(locator) = self.transactions.get(hash) {
            return Ok(*locator);
        }
        let Some(locator) = index.transactions.get(hash)? else { return Ok(None) };
        LocatorBytes::read_from_bytes(&locator).map(Some).map_err(|_| damaged("a locator has another size"))
    }

    /// All changes as a batch; nothing is pending afterwards.
    pub fn take_batch(&mut self, index: &Index) -> fjall::OwnedWriteBatch {
        let mut batch = fjall::OwnedWriteBatch::with_capacity(index.database.clone(), self.len() + 1);
        let pending = std::mem::take(self);
        for (hash, record) in pending.blocks {
            batch.insert(&index.blocks, hash, record.as_bytes());
        }
        for (height, hash) in pending.active {
            put(&mut batch, &index.active, height.to_be_bytes(), hash);
        }
        for (height, undo) in pending.undo {
            put(&mut batch, &index.undo, height.to_be_bytes(), undo);
        }
        for (hash, locator) in pending.transactions {
            put(&mut batch, &index.transactions, hash, locator);
        }
        for (script, locator) in pending.latest {
            put(&mut batch, &index.latest, script, locator);
        }
        for (key, is_there) in pending.history {
            put(&mut batch, &index.history, key, is_there.then_some([0; 0]));
        }
        for (outpoint, change) in pending.outputs {
            put(&mut batch, &index.outputs, outpoint, change.script);
        }
        batch
    }
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
