//! The operations that the ledger executes, applied to the index: live, after an undo, and to a snapshot that is
//! written meanwhile.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use chain::{
    index::{EffectError, Index, Pending, asset_id},
    links::Links,
};
use common::{account, transaction};
use spv::{IndexEntry, Locator};
use storage::Random;
use turnpike_ledger::{Ledger, Limits, Now, Secret, retries};
use wire::{AccountId, Operation, Status, TransactionId};

const LIMITS: Limits = Limits { accounts: 24, retries: retries::Limits::with_operations(1 << 13) };

/// Seconds between blocks: longer than retries are remembered, so that a hold can have the id of an earlier one.
const INTERVAL: u64 = 100;

/// An index and its next hashes.
struct Chain {
    index: Index,
    pending: Pending,
}

impl Chain {
    fn new(index: Index) -> Self {
        Self { pending: Pending::new(&index), index }
    }

    fn apply(&mut self, height: u32, block: &[Operation]) -> Result<(), EffectError> {
        self.index.prepare(&mut self.pending, block);
        let mut links = vec![Links::NONE; block.len()];
        self.index.apply(&mut self.pending, Locator { height, position: 0 }, block, &mut links)
    }

    fn publish(&mut self) {
        self.pending.root(&self.index);
        self.index.publish(&mut self.pending);
    }

    fn entries(&self) -> Vec<IndexEntry> {
        let entries = Vec::from_iter(self.index.entries().copied());
        assert_eq!(self.index.assets(), entries.iter().filter(|entry| entry.asset().is_some()).count() as u64);
        assert_eq!(*self.index.issued_by_asset(), self.index.total_by_asset());
        entries
    }
}

/// Few accounts. Some of them have the ids of the assets of others.
fn pick(random: &mut Random) -> AccountId {
    match 1 + random.below(5) {
        number @ 1..3 => account(number),
        number => asset_id(&account(number - 2)),
    }
}

fn operation(random: &mut Random, id: TransactionId, holds: &[Operation], ledger: &Ledger) -> Operation {
    let (a, b) = (pick(random), pick(random));
    let ended = (!holds.is_empty()).then(|| holds[random.below(holds.len() as u64) as usize]);
    match (random.below(14), ended) {
        (0..3, _) => Operation::create(id, a).in_asset(random.below(3) as u32),
        (3 | 4, _) => Operation::issue(id, a, 10),
        (5, _) => Operation::transfer(id, a, b, 1 + random.below(10)),
        (6 | 7, _) => Operation::close(id, a),
        (8, _) => Operation::transfer(id, a, b, ledger.balance(&a).unwrap_or(1)),
        // Holds are made again under the same name.
        (9 | 10, _) => Operation::hold(transaction(random.below(2)), a, b, 1 + random.below(10), 0),
        (11, Some(hold)) => Operation::capture(&hold, 1 + random.below(hold.amount())),
        (12, Some(hold)) => Operation::release(&hold),
        (_, Some(hold)) => Operation::capture(&hold, hold.amount()),
        (_, None) => Operation::refer(id, a),
    }
}

/// The entries of a snapshot whose writer advances through the paths while blocks are added.
fn written(states: &[Vec<IndexEntry>], random: &mut Random) -> Vec<IndexEntry> {
    let mut cuts = Vec::from_iter((1..states.len()).map(|_| random.number()));
    cuts.sort_unstable();
    let mut start = 0;
    let mut entries = Vec::new();
    for (state, end) in states.iter().zip(cuts.into_iter().map(Some).chain([None])) {
        let path = |entry: &IndexEntry| spv::account_path(&entry.account);
        let is_next = |entry: &&IndexEntry| path(entry) >= start && end.is_none_or(|end| path(entry) < end);
        entries.extend(state.iter().filter(is_next));
        start = end.unwrap_or(start);
    }
    entries
}

fn check(seed: u64) {
    let mut random = Random::new(seed);
    let mut ledger = Ledger::new(LIMITS, Secret::default()).unwrap();
    let mut live = Chain::new(Index::new());
    live.index.check_assets();
    let begun = random.below(12) as u32;
    let last = begun + 1 + random.below(12) as u32;
    let (mut blocks, mut states, mut holds) = (Vec::new(), vec![Vec::new()], Vec::new());
    let mut id = 1000;
    for height in 1..=last {
        if height == begun + 1 {
            live.index.keep_removed(begun);
        }
        let mut block = Vec::new();
        for second in 0..2 + random.below(10) {
            id += 1;
            let requested = operation(&mut random, transaction(id), &holds, &ledger);
            let (mut executed, mut is_fresh) = ([requested], false);
            let elapsed = (u64::from(height) * INTERVAL + second) * 1_000_000;
            ledger.execute(&mut executed, &mut [0], Now { elapsed, unix: elapsed }, |_, _| is_fresh = true);
            if is_fresh && executed[0].status() == Ok(Status::Ok) {
                holds.extend(Some(requested).filter(|operation| operation.is_of_hold() && !operation.ends_hold()));
                block.push(requested);
            }
        }
        live.apply(height, &block).unwrap_or_else(|error| panic!("seed {seed}: {error}: {block:?}"));
        live.index.undo(&mut live.pending, &block);
        assert_eq!(live.entries(), states[height as usize - 1], "seed {seed}: undone: {block:?}");
        live.apply(height, &block).unwrap();
        live.publish();
        let mut issued = ledger.issued_by_asset();
        issued.retain(|asset, _| *asset != 0);
        assert_eq!(*live.index.issued_by_asset(), issued, "seed {seed}: issued: {block:?}");
        blocks.push(block);
        states.push(live.entries());
    }
    let entries = written(&states[begun as usize..], &mut random);
    let loaded = Index::from_snapshot(last, begun, entries.len() as u64, entries).unwrap();
    let mut loaded = Chain::new(loaded);
    loaded.index.begin_catching_up(&mut loaded.pending, &live.index.take_removed());
    for (height, block) in (1..).zip(&blocks).skip(begun as usize) {
        loaded.apply(height, block).unwrap_or_else(|error| panic!("seed {seed}: catching up: {error}"));
        loaded.publish();
    }
    loaded.index.end_catching_up();
    assert_eq!(loaded.entries(), states[last as usize], "seed {seed}: from a snapshot after {begun}");
}

/// Ids of assets, closed accounts and holds of the same name ended the block builder, or spoiled a snapshot.
#[test]
fn what_the_ledger_executes_is_in_the_index() {
    (0..3000).for_each(check);
}
