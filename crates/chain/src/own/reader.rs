//! Queries on our own chain, on any thread.
use super::chain_state::ChainState;
use super::error::{Damage, DamagedBlock, Error};
use super::history::History;
use super::record::{Record, Section, Tail};
use super::scrub::Scrub;
use super::store::Proven;
use super::tip::Tip;
use crate::index::IndexAnswer;
use crate::merkle::{SignedTail, TAIL_SIZE};
use spv::{BlockHeader, Hash, IndexEntry, Locator, SealedHeader};
use std::ops::Range;
use std::sync::Arc;
use wire::{AccountId, Operation, TransactionId};

/// Number of blocks in which an id is searched after the account's history ends: minutes of load, in which a client
/// asks for the CLOSE of its account, and a millisecond for an id of nobody.
pub const EARLIER_BLOCKS: usize = 256;

/// A transaction and its path to its block's transaction root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionAnswer {
    /// Hash of the tip at the time of the answer.
    pub tip_hash: Hash,
    /// Height of that tip.
    pub tip_height: u64,
    /// Hash of the block.
    pub block_hash: Hash,
    /// Height of the block.
    pub height: u64,
    /// Number of transactions in the block.
    pub transactions: u32,
    /// Position of the transaction.
    pub position: u32,
    /// The transaction's hash.
    pub leaf: Hash,
    /// The siblings from the leaf up.
    pub path: Vec<Hash>,
    /// The operation.
    pub operation: Operation,
    /// The tail, if it is signed.
    pub tail: Option<[u8; TAIL_SIZE]>,
}

/// The index entry of an account, with its proof, as of a block whose header
/// [states the index root](BlockHeader::states_index).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntryAnswer {
    /// Hash of the block.
    pub block_hash: Hash,
    /// Its height.
    pub height: u64,
    /// The leaf, and its path to the block's index root.
    pub proof: IndexAnswer,
}

/// A whole block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeBlock {
    /// The header.
    pub header: BlockHeader,
    /// The operations, in the order of the transaction tree.
    pub operations: Vec<Operation>,
    /// The tails of the signed operations, by ascending position.
    pub tails: Vec<SignedTail>,
}

/// A part of the issued amounts by asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedPage {
    /// Height of the block that the amounts are as of.
    pub height: u64,
    /// Assets and issued amounts, ascending.
    pub amounts: Vec<(u32, u128)>,
    /// The first asset after these, if there is one.
    pub next: Option<u32>,
}

/// A handle for reading our own chain. Clones are cheap.
#[derive(Clone, Debug)]
pub struct OwnReader(Arc<ChainState>);

impl OwnReader {
    pub(super) fn new(chain_state: Arc<ChainState>) -> Self {
        Self(chain_state)
    }

    /// The last block.
    pub fn tip(&self) -> Tip {
        self.0.tip()
    }

    /// The network id: the hash of the genesis header.
    pub fn network_id(&self) -> Hash {
        self.0.genesis.hash()
    }

    /// Height of the first retained block: the transactions of those before it are pruned. 0 if none are.
    pub fn first_retained(&self) -> u64 {
        self.0.store.first_retained()
    }

    /// At most `count` sealed headers, from height `first` on.
    pub fn headers(&self, first: u64, count: usize) -> Result<Vec<SealedHeader>, Error> {
        let end = self.tip().height().saturating_add(1).min(first.saturating_add(count as u64));
        (first..end).map(|height| Ok(self.0.store.record(height)?.sealed())).collect()
    }

    /// Returns a block: its header, operations and tails. Verifies its checksums.
    pub fn block(&self, height: u64) -> Result<WholeBlock, Error> {
        let store = &self.0.store;
        let record = store.record(height)?;
        let operations = store.section(&record, Section::Operations)?;
        let tails: Vec<Tail> = store.section(&record, Section::Tails)?;
        let tails = tails.iter().map(|tail| SignedTail { position: tail.position.get(), tail: tail.tail }).collect();
        Ok(WholeBlock { header: record.header, operations, tails })
    }

    /// The transactions at some positions of a block, each verified against the block's root; positions that the block
    /// does not have are left out.
    pub fn operations(&self, height: u64, positions: Range<u32>) -> Result<Vec<Operation>, Error> {
        let record = self.0.store.record(height)?;
        let end = positions.end.min(record.transactions());
        (positions.start..end).map(|position| self.0.store.operation(&record, position)).collect()
    }

    /// The last operation of the journal covered by the blocks up to a height, and the block's time in microseconds
    /// since the Unix epoch.
    pub fn covers(&self, height: u64) -> Result<(u64, u64), Error> {
        let record = self.0.store.record(height)?;
        Ok((record.end_sequence.get(), record.header.timestamp.get()))
    }

    /// When a block was made, in microseconds since the Unix epoch.
    pub fn time(&self, height: u64) -> Result<u64, Error> {
        Ok(self.0.store.record(height)?.header.timestamp.get())
    }

    /// The index entry of an account as of the tip.
    pub fn account(&self, account: &AccountId) -> Result<Option<IndexEntry>, Error> {
        Ok(self.0.account(account).1)
    }

    /// The latest transaction of an account as of the tip; `None` if the account does not exist.
    pub fn latest(&self, account: &AccountId) -> Result<Option<TransactionAnswer>, Error> {
        let (tip, entry) = self.0.account(account);
        let Some(locator) = entry.and_then(latest_of) else { return Ok(None) };
        let record = self.0.store.record(locator.height.into())?;
        if locator.position >= record.transactions() {
            return Err(self.0.store.damaged(&record, Damage::Index));
        }
        self.answer(&tip, &record, locator.position).map(Some)
    }

    /// The transaction that `source` named `transaction`: as its source, or as the payer for another account.
    ///
    /// The search alternates between the source's history and the blocks' tables of ids, newest first in both. So it
    /// takes as many steps as the account has transactions or the chain has blocks, whichever is fewer. A history goes
    /// back to the last time that the account was opened, so then up to [`EARLIER_BLOCKS`] more tables are read.
    ///
    /// Fails with [`Error::Pruned`] if it ends at a pruned block, which may have the transaction.
    pub fn by_id(&self, transaction: &TransactionId, source: &AccountId) -> Result<Option<TransactionAnswer>, Error> {
        let first = self.first_retained();
        let mut blocks = (first..=self.tip().height()).rev();
        for step in self.history(source)? {
            let (at, operation) = step?;
            let found = if operation.transaction == *transaction && operation.namer() == *source {
                Some(at)
            } else if let Some(height) = blocks.next() {
                self.0.store.find(height, transaction, source)?
            } else if first == 0 {
                return Ok(None);
            } else {
                // The history may continue in pruned blocks.
                None
            };
            if let Some(at) = found {
                return self.by_locator(at.height.into(), at.position);
            }
        }
        for height in blocks.take(EARLIER_BLOCKS) {
            if let Some(at) = self.0.store.find(height, transaction, source)? {
                return self.by_locator(at.height.into(), at.position);
            }
        }
        Ok(None)
    }

    /// The transaction at a position of a block.
    pub fn by_locator(&self, height: u64, position: u32) -> Result<Option<TransactionAnswer>, Error> {
        let tip = self.tip();
        if height > tip.height() {
            return Ok(None);
        }
        let record = self.0.store.record(height)?;
        if position >= record.transactions() {
            return Ok(None);
        }
        self.answer(&tip, &record, position).map(Some)
    }

    /// The index entry of an account, or its absence, with the proof: as of the last block that states the index root.
    /// Empty blocks that state the same root again are passed over, because no certificate may cover them yet.
    pub fn index_entry(&self, account: &AccountId) -> Result<IndexEntryAnswer, Error> {
        let (height, proof) = self.0.prove(account);
        let mut header = self.0.store.record(height)?.header;
        while header.transactions.get() == 0 && header.height.get() > 0 {
            let previous = self.0.store.record(header.height.get() - 1)?.header;
            if !previous.states_index() {
                break;
            }
            header = previous;
        }
        Ok(IndexEntryAnswer { block_hash: header.hash(), height: header.height.get(), proof })
    }

    /// The height of the last block that states the index root, and the first `limit` accounts after `after` as of it,
    /// in the index's order: ascending by path, then id. `after` need not exist.
    pub fn accounts(&self, after: Option<&AccountId>, limit: usize) -> (u64, Vec<IndexEntry>) {
        self.0.accounts(after, limit)
    }

    /// The issued amounts of at most `limit` assets, from the asset `first` on.
    ///
    /// Asset 0 is always among them, less the deposits that were paid; others if anything of them was issued.
    pub fn issued(&self, first: u32, limit: usize) -> IssuedPage {
        self.0.issued(first, limit)
    }

    /// The transactions of an account, newest first.
    pub fn history(&self, account: &AccountId) -> Result<History, Error> {
        let latest = self.account(account)?.and_then(latest_of);
        Ok(History::new(Arc::clone(&self.0), *account, latest))
    }

    /// Returns an account's transactions before the one at a position; `None` if that is not the account's.
    pub fn history_before(&self, account: &AccountId, at: Locator) -> Result<Option<History>, Error> {
        if u64::from(at.height) > self.tip().height() {
            return Ok(None);
        }
        let step = self.0.step_in(&self.0.store.record(at.height.into())?, account, at.position)?;
        let history = |(_, next)| History::new(Arc::clone(&self.0), *account, next);
        Ok(step.map(history))
    }

    /// The damage found in blocks since the chain was opened, by reads and by the [scrub](Self::scrub).
    pub fn damage(&self) -> Vec<DamagedBlock> {
        self.0.store.damage().list()
    }

    /// A scrub of all blocks.
    pub fn scrub(&self) -> Scrub {
        Scrub::new(Arc::clone(&self.0))
    }

    fn answer(&self, tip: &Tip, record: &Record, position: u32) -> Result<TransactionAnswer, Error> {
        let Proven { operation, tail, leaf, path } = self.0.store.prove(record, position)?;
        Ok(TransactionAnswer {
            tip_hash: tip.hash,
            tip_height: tip.height(),
            block_hash: record.header.hash(),
            height: record.header.height.get(),
            transactions: record.transactions(),
            position,
            leaf,
            path,
            operation,
            tail,
        })
    }
}

/// Where the latest transaction of an account or a hold is. The entry of an asset is found by no transaction's account.
fn latest_of(entry: IndexEntry) -> Option<Locator> {
    entry.asset().is_none().then(|| entry.latest())
}
