//! The block builder's handle to the own chain.
use super::catalog::Catalog;
use super::chain_state::ChainState;
use super::error::{Damage, Error};
use super::reader::OwnReader;
use super::record::Section;
use super::sealer::{Sealer, seal};
use super::snapshot::{self, Loaded};
use super::store::{Completion, Derived, Options, Staged, Store};
use super::tip::{Tip, issued, tip_at};
use crate::index::{EffectError, Index, Pending, Touches};
use crate::links::Links;
use crate::merkle::SignedTail;
use crate::progress::{Progress, Stage};
use spv::{Authority, BlockHeader, ChainKey, Hash, Locator, MAX_BLOCK_TRANSACTIONS, SealedHeader};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};
use storage::Directory;
use wire::Operation;

/// Number of snapshots to keep: the newest, and the one before it in case the newest is damaged.
const SNAPSHOTS: usize = 2;

/// Minimum number of operations in a block to build its tree on a separate thread. Low in tests, whose blocks are
/// small.
const LARGE: usize = if cfg!(test) { 64 } else { 1 << 14 };

/// Number of touches to apply before readers get a turn: less than half a millisecond.
const TURN: usize = 8192;

/// The operations of the next block.
#[derive(Clone, Copy, Debug)]
pub struct NextBlock<'a> {
    /// The operations, all of which succeeded, in order: with status 0, and the amount as requested.
    pub operations: &'a [Operation],
    /// The tails of the signed operations, by ascending position.
    pub tails: &'a [SignedTail],
    /// The last operation of the journal that this block covers, successful or not.
    pub end_sequence: u64,
    /// Microseconds since the Unix epoch. If the clock was set back, the block gets the time of the previous one.
    pub timestamp: u64,
}

/// Our own chain, for appending. A process has one; it creates readers.
#[derive(Debug)]
pub struct OwnChain {
    chain_state: Arc<ChainState>,
    pending: Pending,
    directory: Arc<dyn Directory>,
    authority: Authority,
    /// The last block proposed for sealing: its height, its hash, and its end in the journal.
    proposal: Option<(u64, Hash, u64)>,
    /// Memory for the links and touches of the next block, reused because allocating it again takes much longer.
    links: Vec<Links>,
    touches: Touches,
    progress: Arc<Progress>,
    /// The snapshot being written.
    snapshot: Option<snapshot::Writer>,
}

impl OwnChain {
    /// Opens the chain in `directory`, whose tip is in `catalog`. If there is none, it begins a chain with the header
    /// that `genesis` returns, which may fail with [`Error::NoChain`].
    pub fn open(
        directory: Arc<dyn Directory>,
        catalog: Box<dyn Catalog>,
        options: Options,
        genesis: impl FnOnce() -> Result<SealedHeader, Error>,
    ) -> Result<Self, Error> {
        Self::open_with_progress(directory, catalog, options, Arc::default(), genesis)
    }

    /// Opens the chain as [`open`](Self::open) does, and counts the steps in `progress`.
    pub fn open_with_progress(
        directory: Arc<dyn Directory>,
        catalog: Box<dyn Catalog>,
        options: Options,
        progress: Arc<Progress>,
        genesis: impl FnOnce() -> Result<SealedHeader, Error>,
    ) -> Result<Self, Error> {
        let (store, last) = Store::open(&directory, catalog, options)?;
        if last.is_none() {
            begin(&store, genesis()?)?;
        }
        let height = store.len() - 1;
        let genesis = store.record(0)?.header;
        let authority = genesis.authority().ok_or_else(|| store.damaged_record(0, Damage::Header))?;
        let proposal = store.proposal()?.map(|block| (block.height.get(), block.hash, block.end_sequence.get()));
        let tip = tip_at(&store, height)?;
        let (index, pending) = load_index(&directory, &store, &tip, &progress)?;
        Ok(Self {
            chain_state: Arc::new(ChainState::new(store, genesis, index, tip)),
            pending,
            directory,
            authority,
            proposal,
            links: Vec::new(),
            touches: Touches::default(),
            progress,
            snapshot: None,
        })
    }

    /// The progress of the start that this chain was opened in.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// A handle for reading.
    pub fn reader(&self) -> OwnReader {
        OwnReader::new(Arc::clone(&self.chain_state))
    }

    /// The last block.
    pub fn tip(&self) -> Tip {
        self.chain_state.tip()
    }

    /// The network id: the hash of the genesis header.
    pub fn network_id(&self) -> Hash {
        self.chain_state.genesis.hash()
    }

    /// The authority that vouches for the blocks.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The key that seals the blocks, if one does.
    pub fn key(&self) -> Option<&ChainKey> {
        self.authority.key()
    }

    /// End in the journal of the block last proposed for sealing as the next one, if any. It may have been sealed, so
    /// it must be rebuilt identically.
    pub fn proposed_end(&self) -> Option<u64> {
        let next = self.tip().height() + 1;
        self.proposal.filter(|(height, ..)| *height == next).map(|(.., end_sequence)| end_sequence)
    }

    pub(super) fn directory(&self) -> &Arc<dyn Directory> {
        &self.directory
    }

    pub(super) fn store(&self) -> &Store {
        &self.chain_state.store
    }

    /// Runs a function on the index as of the tip. Proofs continue meanwhile.
    pub fn with_index<T>(&self, look: impl FnOnce(&Index) -> T) -> T {
        look(&self.chain_state.state().index)
    }

    /// Builds the next block, has it sealed, and commits it durably.
    ///
    /// After an error the chain is unchanged. If the files or the catalog failed, for example on a full disk, or the
    /// block was not sealed, retry with the same block and no other: the commit may have reached the disk, and then a
    /// restart finds it.
    pub fn append(&mut self, block: NextBlock<'_>, sealer: &mut dyn Sealer) -> Result<Tip, Error> {
        let before = self.tip();
        check(&block, &before)?;
        let derive = || Derived::new(&before.hash, block.operations, block.tails);
        let result = thread::scope(|scope| {
            let derived = if block.operations.len() < LARGE {
                None
            } else {
                // Without another thread it only takes longer.
                thread::Builder::new().name("tree".into()).spawn_scoped(scope, derive).ok()
            };
            let staged = self.chain_state.store.stage(block.operations)?;
            self.apply(&before, block.operations)?;
            let derived = match derived.map(ScopedJoinHandle::join) {
                Some(Ok(derived)) => derived,
                Some(Err(panic)) => resume_unwind(panic),
                None => derive(),
            };
            self.commit(&block, &before, &derived, &staged, sealer)
        });
        if result.is_err() {
            self.undo(block.operations);
        }
        result
    }

    /// Applies the operations of the next block to the index, alternating with readers, for whom it keeps the previous
    /// state.
    fn apply(&mut self, before: &Tip, operations: &[Operation]) -> Result<(), EffectError> {
        let height = before.height() as u32 + 1;
        self.links.clear();
        self.links.resize(operations.len(), Links::NONE);
        self.chain_state.state_mut().index.prepare(&mut self.pending, operations);
        for (number, operations) in operations.chunks(Touches::MOST).enumerate() {
            let place = number * Touches::MOST;
            let first = Locator { height, position: place as u32 };
            self.touches.renew(&self.chain_state.state().index, first, operations)?;
            self.chain_state.state_mut().index.issue(&self.touches);
            for touches in self.touches.as_slice().chunks(TURN) {
                self.chain_state.let_readers_in();
                let links = &mut self.links[place..place + operations.len()];
                self.chain_state.state_mut().index.apply_touches(&mut self.pending, first, touches, links)?;
            }
        }
        Ok(())
    }

    /// Commits the block whose operations are applied, and makes it visible to readers.
    fn commit(
        &mut self,
        block: &NextBlock<'_>,
        before: &Tip,
        derived: &Derived,
        staged: &Staged,
        sealer: &mut dyn Sealer,
    ) -> Result<Tip, Error> {
        // Only this thread changes the state, so readers continue while the sealer takes its time.
        let chain_state = Arc::clone(&self.chain_state);
        let state = chain_state.state();
        let (count, accounts) = (block.operations.len() as u32, state.index.accounts());
        let states_index = chain_state.store.roots().is_due(before, count, accounts);
        let header = BlockHeader {
            version: self.authority.version(states_index).into(),
            transactions: count.into(),
            height: (before.height() + 1).into(),
            timestamp: block.timestamp.max(before.header.timestamp.get()).into(),
            accounts: accounts.into(),
            previous: before.hash,
            transaction_root: derived.tree.root,
            index_root: if states_index { self.pending.root(&state.index) } else { before.header.index_root },
        };
        let (height, transactions) = (before.height() + 1, before.transactions + u64::from(count));
        let tip = Tip {
            header,
            hash: header.hash(),
            end_sequence: block.end_sequence,
            transactions,
            index_height: if states_index { height } else { before.index_height },
            index_transactions: if states_index { transactions } else { before.index_transactions },
            issued: issued(before.issued, block.operations),
        };
        let proposal = (tip.height(), tip.hash, tip.end_sequence);
        // Replicas have agreed on it already: there is no other block of this height.
        if self.authority.key().is_some() && self.proposal != Some(proposal) {
            chain_state.store.propose(tip.height(), &tip.hash, tip.end_sequence)?;
            self.proposal = Some(proposal);
        }
        let completion = Completion {
            sealed: seal(sealer, &self.authority, &header)?,
            hash: tip.hash,
            end_sequence: block.end_sequence,
            transactions_before: before.transactions,
            issued: tip.issued,
            derived,
            tails: block.tails,
            links: &self.links,
        };
        chain_state.store.complete(staged, &completion)?;
        drop(state);
        let state = &mut *chain_state.state_mut();
        if states_index {
            state.index.publish(&mut self.pending);
        } else {
            state.index.commit();
        }
        state.tip = tip;
        chain_state.set_tip(tip);
        Ok(tip)
    }

    /// Reverts what was applied of the open block. Readers never saw it.
    fn undo(&mut self, operations: &[Operation]) {
        self.chain_state.state_mut().index.undo(&mut self.pending, operations);
    }

    /// Releases the memory kept for the next block.
    pub fn release_memory(&mut self) {
        self.links = Vec::new();
        self.touches = Touches::default();
        self.chain_state.state_mut().index.release_memory();
    }

    /// Writes a snapshot of the index as of the tip at once, so that the next start applies only later blocks.
    ///
    /// Returns false, and writes nothing, if the tip's header [states no index root](BlockHeader::states_index): it
    /// could not authenticate the snapshot.
    pub fn snapshot(&mut self) -> Result<bool, Error> {
        if !self.tip().header.states_index() {
            return Ok(false);
        }
        self.begin_snapshot()?;
        while !self.continue_snapshot()? {}
        Ok(true)
    }

    /// Begins a snapshot of the index, instead of the one being written, if any.
    pub fn begin_snapshot(&mut self) -> Result<(), Error> {
        let tip = self.tip();
        self.snapshot = Some(snapshot::Writer::begin(&self.directory, &tip)?);
        self.chain_state.state_mut().index.keep_removed(tip.height() as u32);
        Ok(())
    }

    /// Prunes the blocks that were made before a time, in microseconds since the Unix epoch, except those that a start
    /// from the oldest snapshot applies. Without [two snapshots](SNAPSHOTS) it prunes none.
    pub fn prune(&mut self, before: u64) -> Result<(), Error> {
        let snapshots = snapshot::heights(&self.directory)?;
        let [oldest, ..] = snapshots[..] else { return Ok(()) };
        if snapshots.len() < SNAPSHOTS {
            return Ok(());
        }
        let store = self.store();
        let first = store.first_retained();
        let made_since = self.reader().first_since(before)?;
        let needed = snapshot::begun(&self.directory, oldest)?.saturating_add(1);
        let height = made_since.min(needed).min(self.tip().height());
        if height > first { store.prune(height) } else { Ok(()) }
    }

    /// Number of entries of the snapshot being written, if there is one, that are not written yet.
    pub fn snapshot_left(&self) -> Option<u64> {
        let snapshot = self.snapshot.as_ref()?;
        Some(self.tip().header.accounts.get().saturating_sub(snapshot.entries()))
    }

    /// Writes the next slice of the snapshot, [`SNAPSHOT_SLICE`](super::SNAPSHOT_SLICE) bytes. Returns whether it is
    /// finished and durable: it ends as of the tip, if that states the index root. An error abandons the snapshot.
    pub fn continue_snapshot(&mut self) -> Result<bool, Error> {
        let Some(mut snapshot) = self.snapshot.take() else { return Ok(false) };
        let state = self.chain_state.state();
        if !snapshot.is_whole() {
            snapshot.advance(&state.index)?;
        }
        let tip = state.tip;
        drop(state);
        if !snapshot.is_whole() || !tip.header.states_index() {
            self.snapshot = Some(snapshot);
            return Ok(false);
        }
        let removed = self.chain_state.state_mut().index.take_removed();
        snapshot.finish(&tip, &removed)?;
        snapshot::remove_old(&self.directory, SNAPSHOTS)?;
        Ok(true)
    }
}

/// Writes the genesis block.
fn begin(store: &Store, genesis: SealedHeader) -> Result<(), Error> {
    let hash = genesis.hash();
    if spv::HeaderChain::new(&hash, genesis).is_err() {
        return Err(Error::InvalidBlock("the genesis header is not that of an empty chain sealed by its key"));
    }
    let completion = Completion {
        sealed: genesis,
        hash,
        end_sequence: 0,
        transactions_before: 0,
        issued: 0,
        derived: &Derived::new(&genesis.header.previous, &[], &[]),
        tails: &[],
        links: &[],
    };
    store.complete(&store.stage(&[])?, &completion)
}

/// Checks that a block can follow the tip.
fn check(block: &NextBlock<'_>, before: &Tip) -> Result<(), Error> {
    let count = block.operations.len();
    let ascending = block.tails.is_sorted_by(|a, b| a.position < b.position);
    let reason = if count > MAX_BLOCK_TRANSACTIONS as usize {
        "more transactions than a block may have"
    } else if !ascending || block.tails.last().is_some_and(|tail| tail.position as usize >= count) {
        "signed tails out of order"
    } else if block.operations.iter().any(|operation| operation.status.get() != 0) {
        "an operation that did not succeed"
    } else if block.end_sequence < before.end_sequence {
        "the block ends before the previous block in the journal"
    } else if before.height() + 1 >= u64::from(u32::MAX) {
        "the chain has reached the maximum height of 32 bits"
    } else {
        return Ok(());
    };
    Err(Error::InvalidBlock(reason))
}

/// Loads the index as of the tip: the newest valid snapshot, and the blocks after it. It is published as of the last
/// block that states its root.
///
/// That root, which a header commits to, verifies all entries, whoever wrote the snapshot. A snapshot that is damaged
/// or does not lead to the root is skipped: everything is in the blocks as well, unless they are pruned.
fn load_index(
    directory: &Arc<dyn Directory>,
    store: &Store,
    tip: &Tip,
    progress: &Progress,
) -> Result<(Index, Pending), Error> {
    // Read by the ledger, which follows.
    progress.expect(Stage::Accounts, tip.header.accounts.get());
    for height in snapshot::candidates(directory, tip.index_height)? {
        if let Some(complete) = from_snapshot(directory, store, height, tip, progress)? {
            return Ok(complete);
        }
        let path = directory.path();
        tracing::warn!(height, ?path, "the snapshot of the index is damaged: using an older one, or the blocks alone");
    }
    if store.first_retained() > 1 {
        return Err(Error::NoSnapshot { first: store.first_retained() });
    }
    let empty = Loaded { index: Index::new(), removed: Vec::new(), begun: 0, ended: 0 };
    complete_index(empty, store, tip, progress)?.ok_or_else(|| store.damaged_record(tip.index_height, Damage::Index))
}

/// The index as of `tip`, from the snapshot of a height; `None` if that is damaged, needs pruned blocks, or does not
/// lead to the root.
pub(super) fn from_snapshot(
    directory: &Arc<dyn Directory>,
    store: &Store,
    height: u64,
    tip: &Tip,
    progress: &Progress,
) -> Result<Option<(Index, Pending)>, Error> {
    let Some(loaded) = snapshot::load(directory, store, height, progress)? else { return Ok(None) };
    if loaded.begun + 1 < store.first_retained() {
        return Ok(None);
    }
    match complete_index(loaded, store, tip, progress) {
        Err(Error::Effect(_)) => Ok(None),
        complete => complete,
    }
}

/// Applies the blocks after a snapshot to its index, and verifies its root; `None` if that differs.
pub(super) fn complete_index(
    Loaded { mut index, removed, begun, ended }: Loaded,
    store: &Store,
    tip: &Tip,
    progress: &Progress,
) -> Result<Option<(Index, Pending)>, Error> {
    let mut pending = Pending::new(&index);
    progress.expect(Stage::Blocks, tip.transactions.saturating_sub(store.record(begun)?.transactions_after()));
    progress.expect(Stage::Root, tip.header.accounts.get());
    index.begin_catching_up(&mut pending, &removed);
    for height in begun + 1..=tip.index_height {
        if height > ended {
            index.end_catching_up();
        }
        apply_block(&mut index, &mut pending, store, height, progress)?;
        // Without a root, until the last of these blocks: nobody reads yet.
        index.publish(&mut pending);
    }
    index.end_catching_up();
    let stating = store.record(tip.index_height)?.header;
    progress.begin(Stage::Root);
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    if pending.root_by(&index, threads) != stating.index_root || index.accounts() != stating.accounts.get() {
        return Ok(None);
    }
    progress.advance(Stage::Root, tip.header.accounts.get());
    index.publish(&mut pending);
    for height in tip.index_height + 1..=tip.height() {
        apply_block(&mut index, &mut pending, store, height, progress)?;
        index.commit();
    }
    if index.accounts() != tip.header.accounts.get() {
        return Err(store.damaged_record(tip.height(), Damage::Index));
    }
    Ok(Some((index, pending)))
}

/// Applies a block of the store to the index.
fn apply_block(
    index: &mut Index,
    pending: &mut Pending,
    store: &Store,
    height: u64,
    progress: &Progress,
) -> Result<(), Error> {
    progress.begin(Stage::Blocks);
    let operations: Vec<Operation> = store.section(&store.record(height)?, Section::Operations)?;
    index.prepare(pending, &operations);
    let first = Locator { height: height as u32, position: 0 };
    index.apply(pending, first, &operations, &mut vec![Links::NONE; operations.len()])?;
    progress.advance(Stage::Blocks, operations.len() as u64);
    Ok(())
}
