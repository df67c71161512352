//! The audit of a chain: checks everything that can be checked.
use super::chain::{OwnChain, from_snapshot};
use super::error::{Damage, Error};
use super::record::{Record, Section, Tail};
use super::snapshot;
use super::store::{Store, ids_key};
use super::tip::{Tip, issued, tip_at};
use crate::ids;
use crate::index::{Index, Pending};
use crate::links::Links;
use crate::merkle::{SignedTail, Tree};
use spv::{Hash, HeaderChain, Locator};
use wire::Operation;
use zerocopy::byteorder::little_endian::U32;

/// Result of a successful audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The tip, up to which everything was checked.
    pub tip: Tip,
    /// The sum of all balances, which equals the total issued minus paid deposits.
    pub total: u128,
    /// Height of the first retained block; 0 if no block is pruned.
    pub first_retained: u64,
    /// Height of the first block whose effects were checked: if blocks are pruned, the one after the oldest snapshot,
    /// which its index root verifies.
    pub first_replayed: u64,
}

/// A block that passed.
#[derive(Clone, Copy, Debug)]
pub struct Audited<'a> {
    /// Its height.
    pub height: u64,
    /// Its operations.
    pub operations: &'a [Operation],
    /// The tails of the signed operations. The audit does not verify signatures, which takes much longer than the rest.
    pub tails: &'a [SignedTail],
}

/// Checks all blocks from genesis on: checksums, links and seals of headers, transaction roots, stored nodes, tables of
/// ids, back-links, index roots; that every balance follows from the operations and never falls below zero, and that
/// balances add up to the total issued. Calls `each` with each block that passed.
///
/// Of pruned blocks it checks the headers. Balances then start from the oldest snapshot; of retained blocks before it,
/// it does not check back-links, nor what they change.
pub fn audit(chain: &OwnChain, mut each: impl FnMut(&Audited<'_>)) -> Result<Audit, Error> {
    let (store, tip) = (chain.store(), chain.tip());
    let genesis = store.record(0)?;
    let mut headers =
        HeaderChain::new(&chain.network_id(), genesis.sealed()).map_err(|_| store.damaged_record(0, Damage::Header))?;
    let first_retained = store.first_retained();
    let mut state = Replay::begin(chain)?;
    let first_replayed = state.height + 1;
    for height in 1..=tip.height() {
        let record = store.record(height)?;
        headers.append(record.sealed()).map_err(|_| store.damaged(&record, Damage::Header))?;
        if height < first_retained {
            continue;
        }
        let operations: Vec<Operation> = store.section(&record, Section::Operations)?;
        let tails = check_commitments(store, &record, &operations)?;
        if height >= first_replayed {
            state.check(store, &record, &operations)?;
        }
        each(&Audited { height, operations: &operations, tails: &tails });
    }
    let total = state.index.total();
    let replayed = (*headers.tip_hash(), state.issued, state.transactions);
    let is_conserved = total == tip.issued && state.index.total_by_asset() == *state.index.issued_by_asset();
    if replayed != (tip.hash, tip.issued, tip.transactions) || !is_conserved {
        return Err(store.damaged_record(tip.height(), Damage::Conservation));
    }
    Ok(Audit { tip, total, first_retained, first_replayed })
}

/// The state after the blocks so far.
struct Replay {
    /// Height of the last one.
    height: u64,
    index: Index,
    pending: Pending,
    issued: u128,
    transactions: u64,
    /// End of the last block in its file.
    end: u64,
    sequence: u64,
}

impl Replay {
    /// The state after genesis, or as of the oldest snapshot if blocks are pruned.
    fn begin(chain: &OwnChain) -> Result<Self, Error> {
        let store = chain.store();
        let (first, directory, progress) = (store.first_retained(), chain.directory(), chain.progress());
        let (tip, mut index, pending) = if first <= 1 {
            let index = Index::new();
            let pending = Pending::new(&index);
            (tip_at(store, 0)?, index, pending)
        } else {
            let mut heights = snapshot::candidates(directory, chain.tip().index_height)?.into_iter().rev();
            loop {
                let height = heights.next().ok_or(Error::NoSnapshot { first })?;
                let tip = tip_at(store, height)?;
                if let Some((index, pending)) = from_snapshot(directory, store, height, &tip, progress)? {
                    break (tip, index, pending);
                }
            }
        };
        if index.total() != tip.issued {
            return Err(store.damaged_record(tip.height(), Damage::Conservation));
        }
        index.check_assets();
        let record = store.record(tip.height())?;
        Ok(Self {
            height: tip.height(),
            index,
            pending,
            issued: tip.issued,
            transactions: tip.transactions,
            end: record.end(),
            sequence: tip.end_sequence,
        })
    }

    /// Applies a block, and checks what it claims about the state after it.
    fn check(&mut self, store: &Store, record: &Record, operations: &[Operation]) -> Result<(), Error> {
        let height = record.header.height.get();
        let mut links = vec![Links::NONE; operations.len()];
        let first = Locator { height: height as u32, position: 0 };
        self.index.prepare(&mut self.pending, operations);
        self.index.apply(&mut self.pending, first, operations, &mut links)?;
        if links != store.section::<Links>(record, Section::Links)? {
            return Err(store.damaged(record, Damage::Links));
        }
        // A header that states no root repeats the previous one, which the chain of headers has checked.
        let states_index = record.header.states_index();
        let is_root = !states_index || self.pending.root(&self.index) == record.header.index_root;
        if !is_root || self.index.accounts() != record.header.accounts.get() {
            return Err(store.damaged(record, Damage::Index));
        }
        if states_index {
            self.index.publish(&mut self.pending);
        } else {
            self.index.commit();
        }
        let follows = record.transactions_before.get() == self.transactions
            && record.offset.get() == self.end
            && record.end_sequence.get() >= self.sequence;
        self.transactions += operations.len() as u64;
        self.issued = issued(self.issued, operations);
        (self.end, self.sequence) = (record.end(), record.end_sequence.get());
        if !follows {
            return Err(store.damaged(record, Damage::Record));
        }
        if record.issued.get() == self.issued { Ok(()) } else { Err(store.damaged(record, Damage::Conservation)) }
    }
}

/// Checks the commitments of a block to its operations. Returns the signed tails.
fn check_commitments(store: &Store, record: &Record, operations: &[Operation]) -> Result<Vec<SignedTail>, Error> {
    let tails: Vec<SignedTail> = store
        .section::<Tail>(record, Section::Tails)?
        .iter()
        .map(|tail| SignedTail { position: tail.position.get(), tail: tail.tail })
        .collect();
    let ascending = tails.is_sorted_by(|a, b| a.position < b.position);
    if !ascending || tails.last().is_some_and(|tail| tail.position as usize >= operations.len()) {
        return Err(store.damaged(record, Damage::Tails));
    }
    let tree = Tree::new(operations, &tails);
    if tree.root != record.header.transaction_root {
        return Err(store.damaged(record, Damage::Operations));
    }
    if tree.stored != store.section::<Hash>(record, Section::Nodes)? {
        return Err(store.damaged(record, Damage::Nodes));
    }
    // Only its key can make an account pay for another.
    let is_signed = |at: &usize| tails.binary_search_by_key(&(*at as u32), |tail| tail.position).is_ok();
    let mut paying = (0..operations.len()).filter(|at| operations[*at].payer().is_some());
    if !paying.all(|at| is_signed(&at)) {
        return Err(store.damaged(record, Damage::Tails));
    }
    if ids::build(&ids_key(&record.header.previous), operations) != store.section::<U32>(record, Section::Ids)? {
        return Err(store.damaged(record, Damage::Ids));
    }
    Ok(tails)
}
