//! Turnpike's own chain: a batch is a block. Its operations are synced before the index changes for readers, and its
//! header states the index root.

use crate::store::{Result, Root, Store};
use crate::workload::{Key, Update, Value};
use chain::own::{KeyValueCatalog, NextBlock, Options, OwnChain, RootSchedule, SNAPSHOT_SLICE};
use spv::{BlockHeader, IndexEntry, IndexProof, SealingKey};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use storage::{Directory, RealDirectory};
use wire::{AccountId, Operation, TransactionId};

/// A root in each block: no block is small enough to state one anyway, and none waits for others.
pub const EACH_BLOCK: RootSchedule = RootSchedule { small_block: 0, eighths: 0 };

/// Entries in a slice of a snapshot.
const SLICE: u64 = (SNAPSHOT_SLICE / size_of::<IndexEntry>()) as u64;

pub struct Turnpike {
    chain: OwnChain,
    key: SealingKey,
    staged: Vec<Operation>,
    /// Updates since the last slice of a snapshot.
    unsaved: u64,
    states_each_root: bool,
}

/// The first half of the key, as an id that binds no public key: its top bit is 0.
fn account(key: &Key) -> AccountId {
    let mut id = [0; 16];
    id.copy_from_slice(&key[..16]);
    id[0] &= 0x7f;
    AccountId(id)
}

/// A creation is a CREATE, any other update an ISSUE of 1. Either changes one entry of the index.
fn operation((position, update): (usize, &Update)) -> Operation {
    let (id, account) = (TransactionId::from(position as u32), account(&update.key));
    if update.is_new() { Operation::create(id, account) } else { Operation::issue(id, account, 1) }
}

impl Turnpike {
    pub fn open(directory: &Path, roots: RootSchedule) -> Result<Self> {
        let path: PathBuf = directory.join("chain");
        std::fs::create_dir_all(&path)?;
        let files: Arc<dyn Directory> = Arc::new(RealDirectory::open(&path)?);
        let database = fjall::Database::builder(path.join("catalog")).open()?;
        let catalog = Box::new(KeyValueCatalog::new(&database)?);
        let key = SealingKey::from_bytes(&[1; 32]).ok_or("not a secret key")?;
        let genesis = key.seal(&BlockHeader::genesis("bench", &[1; 16], 0, &key.public()));
        let options = Options { roots, ..Options::default() };
        let chain = OwnChain::open(files, catalog, options, || Ok(genesis))?;
        Ok(Self { chain, key, staged: Vec::new(), unsaved: 0, states_each_root: roots.eighths == 0 })
    }

    /// Writes an entry of a snapshot for each update, in slices. A node does so, too: it begins a snapshot once the
    /// transactions since the last one exceed the accounts.
    fn write_snapshot(&mut self) -> Result<()> {
        while self.unsaved >= SLICE {
            self.unsaved -= SLICE;
            if self.chain.snapshot_left().is_none() {
                self.chain.begin_snapshot()?;
            }
            self.chain.continue_snapshot()?;
        }
        Ok(())
    }
}

impl Store for Turnpike {
    fn name(&self) -> &'static str {
        "turnpike"
    }

    async fn stage(&mut self, updates: &[Update]) -> Result<()> {
        self.staged = updates.iter().enumerate().map(operation).collect();
        Ok(())
    }

    async fn commit(&mut self) -> Result<Root> {
        let before = self.chain.tip();
        let count = self.staged.len() as u64;
        let end_sequence = before.end_sequence + count;
        let next = NextBlock { operations: &self.staged, tails: &[], end_sequence, timestamp: 0 };
        let tip = self.chain.append(next, &mut self.key)?;
        self.unsaved += count;
        self.write_snapshot()?;
        Ok(tip.header.index_root)
    }

    async fn root(&self) -> Result<Root> {
        Ok(self.chain.tip().header.index_root)
    }

    async fn check(&mut self, key: &Key, expected: Option<&Value>) -> Result<bool> {
        let (account, reader) = (account(key), self.chain.reader());
        let answer = reader.index_entry(&account)?;
        let header = reader.headers(answer.height, 1)?.pop().ok_or("the proof's block has no header")?.header;
        let (path, entries) = (&answer.proof.path[..], &answer.proof.entries[..]);
        let proof = IndexProof { block_hash: answer.block_hash, height: answer.height, path, entries };
        let found = proof.verify_in(&account.0, &header)?;
        let value = |entry: IndexEntry| {
            let mut value = [0; 16];
            value[..8].copy_from_slice(&entry.balance.get().to_be_bytes());
            value[8..12].copy_from_slice(&entry.height.get().to_be_bytes());
            value[12..].copy_from_slice(&entry.position.get().to_be_bytes());
            value
        };
        Ok(found.map(value).as_ref() == expected)
    }

    fn states_each_root(&self) -> bool {
        self.states_each_root
    }

    fn proves_absence(&self) -> bool {
        true
    }
}
