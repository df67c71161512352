//! Replicas converge: ledgers that execute the same ordered blocks give the same replies and build the same chain,
//! whatever their hash secrets, crashes and restarts.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{collections::BTreeSet, time::Duration};

use chain::own::{FileCatalog, OwnChain, WholeBlock};
use common::{account, transaction};
use proptest::prelude::*;
use spv::{BlockHeader, Hash, Seal, SealedHeader};
use storage::{Random, SimulatedDisk};
use turnpike_ledger::{
    Error, Limits, Secret, Snapshots,
    journal::{self, Journal, JournalBatch, Newest, PAGE, Record, Tail},
    ordered::{Options, OrderedLedger},
    retries,
    state_sync::{Restoring, read_batches, recent_heights},
};
use wire::{Operation, Promise, SignedOperation, Status, TransactionId};
use zerocopy::IntoBytes;

const MILLISECOND: u64 = 1_000;
const SECOND: u64 = 1_000 * MILLISECOND;

/// Small, so that accounts and retries sometimes find no room, and everything is forgotten many times.
const OPTIONS: Options = Options {
    limits: Limits {
        accounts: 30,
        retries: retries::Limits {
            operations: 1 << 10,
            // Stretches of a second.
            retention: Duration::from_secs(64),
            signed: 1 << 10,
            replay: Duration::from_secs(32),
        },
    },
    snapshots: Snapshots::every(Duration::from_secs(20)),
};

/// Operations executed in one call.
#[derive(Clone, Debug)]
enum Frame {
    Plain(Vec<Operation>),
    Signed(Vec<SignedOperation>),
}

/// An ordered block.
#[derive(Clone, Debug)]
struct Block {
    time: u64,
    frames: Vec<Frame>,
}

type Answers = Vec<(Status, u64)>;

struct Replica {
    disk: SimulatedDisk,
    ledger: OrderedLedger,
}

const LAYOUT: journal::Options =
    journal::Options { segment_bytes: 128 * PAGE, batch_bytes: 64 * PAGE as usize, key: [7; 32] };

fn open(disk: &SimulatedDisk, secret: u64) -> Result<OrderedLedger, Error> {
    let (journal, _) = Journal::open(disk.root().directory("journal").unwrap(), &LAYOUT)?;
    let secret = Secret::from_seed(u128::from(secret).to_be_bytes());
    OrderedLedger::open(open_chain(disk)?, journal, OPTIONS, secret, None, ())
}

fn open_chain(disk: &SimulatedDisk) -> Result<OwnChain, chain::own::Error> {
    let directory = disk.root().directory("chain").unwrap();
    let catalog = Box::new(FileCatalog::new(directory.clone()));
    let header = BlockHeader::genesis_of_replicas("test", &[1; 16], SECOND, &[4; 32]);
    let options = chain::own::Options { segment_size: 1 << 20, ..Default::default() };
    OwnChain::open(directory, catalog, options, || Ok(SealedHeader { header, seal: Seal::NONE }))
}

/// A batch on its way to another replica.
type Sent = (BlockHeader, Vec<Record>, Vec<Tail>);

/// The data that a replica sends another one: blocks, the newest times before the first batch, and batches.
fn given(ledger: &OrderedLedger) -> (Vec<WholeBlock>, Newest, Vec<Sent>) {
    let (chain, height) = (ledger.chain(), ledger.tip().height());
    let heights = recent_heights(&chain, &OPTIONS.limits.retries, height).unwrap();
    let blocks = (1..*heights.start()).map(|height| chain.block(height).unwrap()).collect();
    let (mut before, mut batches) = (None, Vec::new());
    read_batches(&chain, ledger.log(), heights, |header, batch| {
        let (records, tails) = batch.map(JournalBatch::parts).unwrap_or_default();
        before = before.or(batch.map(|batch| batch.newest));
        batches.push((*header, records.to_vec(), tails.to_vec()));
        true
    })
    .unwrap();
    (blocks, before.unwrap_or_default(), batches)
}

/// Restores a ledger from that data. Also returns the hash of the operations that retries are answered from.
fn restore(
    disk: &SimulatedDisk,
    (blocks, before, batches): &(Vec<WholeBlock>, Newest, Vec<Sent>),
) -> Result<Hash, Error> {
    let mut restoring = Restoring::new(open_chain(disk)?, &OPTIONS.limits.retries);
    blocks.iter().try_for_each(|block| restoring.block(block))?;
    restoring.begin_batches(disk.root().directory("journal").unwrap(), &LAYOUT, *before)?;
    batches.iter().try_for_each(|(header, records, tails)| restoring.batch(header, records, tails))?;
    Ok(restoring.finish()?.1)
}

impl Replica {
    fn new(seed: u64) -> Self {
        let disk = SimulatedDisk::new(seed);
        let ledger = open(&disk, seed).unwrap();
        Self { disk, ledger }
    }

    fn execute(&mut self, block: &Block) -> Result<Answers, Error> {
        let mut answers = Answers::new();
        for frame in &block.frames {
            let mut values = vec![0; 64];
            match frame.clone() {
                Frame::Plain(mut entries) => {
                    let values = &mut values[..entries.len()];
                    self.ledger.execute(block.time, &mut entries, values);
                    answers
                        .extend(entries.iter().zip(&*values).map(|(entry, value)| (entry.status().unwrap(), *value)));
                }
                Frame::Signed(mut entries) => {
                    let values = &mut values[..entries.len()];
                    self.ledger.execute(block.time, &mut entries, values);
                    let statuses = entries.iter().map(|entry| entry.operation.status().unwrap());
                    answers.extend(statuses.zip(values.iter().copied()));
                }
            }
        }
        self.ledger.close(block.time)?;
        Ok(answers)
    }

    /// Executes a block. The power fails after `changes` changes of the disk, and the replica restarts with another
    /// secret. As an engine would, it delivers the block again unless the replica has it.
    fn execute_in_a_storm(&mut self, block: &Block, changes: u64, secret: u64) -> Option<Answers> {
        let height = self.ledger.tip().height();
        self.disk.crash_at(self.disk.changes() + changes);
        let first = self.execute(block).ok();
        self.disk.crash();
        self.ledger = open(&self.disk, secret).unwrap();
        match self.ledger.tip().height() {
            found if found == height + 1 => first,
            found => {
                assert_eq!(found, height, "blocks are not lost");
                Some(self.execute(block).unwrap())
            }
        }
    }
}

/// Operations of all kinds, with reused ids: retries, and other operations with the same id.
struct Source {
    random: Random,
    time: u64,
    ids: Vec<(TransactionId, bool)>,
    /// The last frames, for retries of whole frames.
    frames: Vec<Frame>,
}

impl Source {
    fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), time: 1000 * SECOND, ids: Vec::new(), frames: Vec::new() }
    }

    fn number(&mut self, limit: u64) -> u64 {
        self.random.number() % limit
    }

    fn id(&mut self) -> (TransactionId, bool) {
        if self.number(4) == 0 && !self.ids.is_empty() {
            // Far enough back that some are remembered and some are not.
            let back = self.number(self.ids.len().min(4000) as u64) as usize;
            return self.ids[self.ids.len() - 1 - back];
        }
        let number = self.random.number();
        let id = match self.number(3) {
            // Up to three seconds ahead; the limit is two.
            0 => {
                let time = self.time + 3 * SECOND - self.number(90 * SECOND);
                (TransactionId::timed(time / MILLISECOND, number.into()), true)
            }
            _ => (transaction(number), false),
        };
        self.ids.push(id);
        id
    }

    fn operation(&mut self) -> Operation {
        let (id, is_timed) = self.id();
        let (source, destination) = (account(self.number(36)), account(self.number(36)));
        // Amounts follow from the id, so that a reused id with the same other fields is a retry.
        let amount = 1 + id.to_u128() as u64 % 3;
        let operation = match self.number(12) {
            0..2 => Operation::create(id, source),
            2 => Operation::create_for(id, source, destination, amount),
            3 | 4 => Operation::issue(id, source, amount),
            5 => Operation::refer(id, source),
            _ => Operation::transfer(id, account(1), account(2), 3 * amount),
        };
        if is_timed { operation.timed() } else { operation }
    }

    /// Links some operations to chains. Few of longer ones succeed.
    fn link(&mut self, operations: &mut [Operation], bound: u8) {
        let mut start = 0;
        while start < operations.len() {
            let length = 1 + self.number(4) as usize;
            if let Some(chain) = operations.get_mut(start..start + length).filter(|_| length > 1) {
                chain.iter_mut().for_each(|operation| operation.flags |= Operation::LINKED | bound);
                chain[length - 1].flags &= !Operation::LINKED;
            }
            start += length;
        }
    }

    fn frame(&mut self) -> Frame {
        let retried = self.number(300) as usize;
        if let Some(frame) = self.frames.iter().rev().nth(retried) {
            return frame.clone();
        }
        let frame = self.new_frame();
        self.frames.push(frame.clone());
        frame
    }

    fn new_frame(&mut self) -> Frame {
        let count = 1 + self.number(60);
        let mut operations: Vec<_> = (0..count).map(|_| self.operation()).collect();
        let is_signed = self.number(2) == 1;
        if self.number(2) == 0 {
            // The id of a bound operation carries no time.
            operations.iter_mut().filter(|_| is_signed).for_each(|operation| operation.flags = 0);
            self.link(&mut operations, if is_signed { Operation::BOUND } else { 0 });
        }
        if !is_signed {
            operations.retain(|operation| operation.payer().is_none());
            return Frame::Plain(operations);
        }
        let sign = |operation: Operation| {
            // The range that admission accepts: not older than the window, not more than the tolerance ahead.
            let signed_at = self.time + 2 * SECOND - self.number(34 * SECOND);
            SignedOperation::unsigned(operation, signed_at, 0, Promise::Final, [3; 33])
        };
        Frame::Signed(operations.into_iter().map(sign).collect())
    }

    fn block(&mut self) -> Block {
        // Mostly less than a stretch: if stretches could begin anywhere, their start would depend on everything before.
        self.time += match self.number(50) {
            0 => self.number(80 * SECOND),
            1..8 => 0,
            _ => self.number(900 * MILLISECOND),
        };
        let frames = self.number(5);
        Block { time: self.time, frames: (0..frames).map(|_| self.frame()).collect() }
    }
}

proptest! {
    // Shrinking takes long and helps little: the blocks follow from the seed.
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 16, ..ProptestConfig::default() })]

    #[test]
    fn restarts_and_secrets_change_no_answer_and_no_header(
        seed: u64, storms in prop::collection::vec(prop::option::weighted(0.3, 0u64..30), 150..250),
    ) {
        let mut source = Source::new(seed);
        let (mut calm, mut restarted) = (Replica::new(seed), Replica::new(!seed));
        for (storm, number) in storms.into_iter().zip(1u64..) {
            let block = source.block();
            let expected = calm.execute(&block).unwrap();
            let found = match storm {
                Some(changes) => restarted.execute_in_a_storm(&block, changes, seed ^ number),
                None => Some(restarted.execute(&block).unwrap()),
            };
            if let Some(found) = found {
                prop_assert_eq!(&found, &expected, "block {}", number);
            }
            prop_assert_eq!(restarted.ledger.tip(), calm.ledger.tip());
            prop_assert_eq!(calm.ledger.tip().height(), number);
            prop_assert_eq!(restarted.ledger.ledger().issued(), calm.ledger.ledger().issued());
            prop_assert_eq!(restarted.ledger.recent(number), calm.ledger.recent(number));
            // A replica that was not restarted knows the last 64 blocks.
            prop_assert!(calm.ledger.recent(number.saturating_sub(63)).is_some());
            prop_assert!(number < 64 || calm.ledger.recent(number - 64).is_none());
            prop_assert_eq!(calm.ledger.time(), block.time);
            // Everything known of earlier blocks is correct.
            for height in number.saturating_sub(80)..number {
                let known = restarted.ledger.recent(height).zip(calm.ledger.recent(height));
                prop_assert!(known.is_none_or(|(one, other)| one == other), "block {} of {}", height, number);
            }
        }
    }

    /// A replica restored from another's ledger replies like the others and computes the same hash of the received
    /// data.
    #[test]
    fn who_is_given_a_ledger_goes_on_like_the_others(
        seed: u64, steps in prop::collection::vec((1usize..120, prop::bool::ANY), 4..8),
    ) {
        let mut source = Source::new(seed);
        let mut first = Replica::new(seed);
        let mut others: Vec<Replica> = Vec::new();
        for ((blocks, restart), number) in steps.into_iter().zip(1u64..) {
            for _ in 0..blocks {
                let block = source.block();
                let expected = first.execute(&block).unwrap();
                for other in &mut others {
                    prop_assert_eq!(&other.execute(&block).unwrap(), &expected);
                    prop_assert_eq!(other.ledger.tip().hash, first.ledger.tip().hash);
                    let height = first.ledger.tip().height();
                    prop_assert_eq!(other.ledger.recent(height), first.ledger.recent(height));
                }
            }
            // From a chosen replica; the last one was restored itself.
            let from = others.last().unwrap_or(&first);
            let disk = SimulatedDisk::new(number);
            let recent = restore(&disk, &given(&from.ledger)).unwrap();
            prop_assert_eq!(Some(recent), first.ledger.recent(first.ledger.tip().height()));
            let ledger = open(&disk, number).unwrap();
            prop_assert_eq!(ledger.tip().hash, first.ledger.tip().hash);
            others.push(Replica { disk, ledger });
            if restart {
                for other in &mut others {
                    other.disk.crash();
                    other.ledger = open(&other.disk, seed ^ number).unwrap();
                }
            }
        }
    }
}

/// Blocks that create one account each, `step` apart, after some empty ones.
fn steady(empty: u64, blocks: u64, step: u64) -> Vec<Block> {
    let block = |number| {
        let create = Operation::create(transaction(number), account(number % 28));
        Block {
            time: 1000 * SECOND + number * step,
            frames: if number < empty { vec![] } else { vec![Frame::Plain(vec![create])] },
        }
    };
    (0..blocks).map(block).collect()
}

/// After a long silence the last operations are still transferred, and a retry of one gets the same reply.
#[test]
fn a_ledger_is_given_after_a_long_silence() {
    let mut first = Replica::new(1);
    let mut blocks = steady(0, 20, SECOND);
    let retry = blocks.last().unwrap().frames.clone();
    let end = blocks.last().unwrap().time;
    blocks.extend((1..=10).map(|number| Block { time: end + number * 40 * SECOND, frames: vec![] }));
    for (block, number) in blocks.iter().zip(1..) {
        first.execute(block).unwrap();
        let given = given(&first.ledger);
        assert!(given.2.iter().any(|(_, records, _)| !records.is_empty()), "block {number}");
        let disk = SimulatedDisk::new(number);
        let recent = restore(&disk, &given).unwrap();
        assert_eq!(Some(recent), first.ledger.recent(number), "block {number}");
        assert_eq!(open(&disk, number).unwrap().recent(number), Some(recent), "block {number}");
    }
    // Nothing before the last ones is needed.
    let heights = recent_heights(&first.ledger.chain(), &OPTIONS.limits.retries, 30).unwrap();
    assert_eq!(heights, 20..=30);
    let disk = SimulatedDisk::new(99);
    restore(&disk, &given(&first.ledger)).unwrap();
    let mut other = Replica { ledger: open(&disk, 99).unwrap(), disk };
    let block = Block { time: end + 500 * SECOND, frames: retry };
    assert_eq!(other.execute(&block).unwrap(), first.execute(&block).unwrap());
    assert_eq!(other.ledger.tip().hash, first.ledger.tip().hash);
}

/// Hashes of blocks before the last one are known again after a restart, as far as the journal reaches.
#[test]
fn what_is_known_of_blocks_before_a_restart() {
    for (empty, blocks) in [(3, 8), (2, 100), (70, 90), (5, 5)] {
        let mut replica = Replica::new(1);
        for block in steady(empty, blocks, 10 * MILLISECOND) {
            replica.execute(&block).unwrap();
        }
        let known = |ledger: &OrderedLedger| Vec::from_iter((0..=blocks).map(|height| ledger.recent(height)));
        let before = known(&replica.ledger);
        let first = (blocks + 1).saturating_sub(64) as usize;
        assert!(before[first..].iter().all(Option::is_some) && before[..first].iter().all(Option::is_none));
        replica.disk.crash();
        replica.ledger = open(&replica.disk, 2).unwrap();
        assert_eq!(known(&replica.ledger), before, "{blocks} blocks, {empty} of them empty");
    }
    // If the journal is pruned, the hashes of some earlier blocks are known and those of others are not.
    let mut replica = Replica::new(1);
    let blocks = 1000;
    for block in steady(0, blocks, 500 * MILLISECOND) {
        replica.execute(&block).unwrap();
    }
    assert!(
        replica.ledger.log().first_sequence() > 500,
        "the journal was cut: {}",
        replica.ledger.log().first_sequence()
    );
    // A snapshot with the first block, because time began long before, and then every 20 s.
    let names = replica.disk.root().directory("chain").unwrap().list().unwrap();
    let mut snapshots = Vec::from_iter(names.into_iter().filter(|name| name.starts_with("index-")));
    snapshots.sort_unstable();
    assert_eq!(snapshots, ["index-0000000921", "index-0000000961"]);
    let before = Vec::from_iter((0..=blocks).map(|height| replica.ledger.recent(height)));
    replica.disk.crash();
    replica.ledger = open(&replica.disk, 2).unwrap();
    for height in blocks - 1..=blocks {
        assert_eq!(replica.ledger.recent(height), before[height as usize], "of the newest it is known");
    }
    assert_eq!(replica.ledger.recent(blocks - 63), None, "of one before it cannot be told");
    for height in blocks - 63..=blocks {
        assert!(replica.ledger.recent(height).is_none_or(|known| Some(known) == before[height as usize]));
    }
}

/// After `finish` the next start has a snapshot of the last block, and a journal whose end cannot be torn.
#[test]
fn a_ledger_that_is_put_away_has_a_snapshot() {
    let mut replica = Replica::new(1);
    for block in steady(0, 3, MILLISECOND) {
        replica.execute(&block).unwrap();
    }
    let has_snapshot = |disk: &SimulatedDisk| {
        disk.root().directory("chain").unwrap().list().unwrap().contains(&"index-0000000003".to_owned())
    };
    assert!(!has_snapshot(&replica.disk));
    replica.ledger.finish().unwrap();
    assert!(has_snapshot(&replica.disk));
    replica.disk.root().directory("chain").unwrap().remove("index-0000000003").unwrap();
    replica.ledger = open(&replica.disk, 2).unwrap();
    assert_eq!(replica.ledger.tip().height(), 3);
    // Nothing was executed since, so `finish` does nothing.
    replica.ledger.finish().unwrap();
    assert!(!has_snapshot(&replica.disk));
}

/// A retry whose record is not in memory is answered from the journal.
#[test]
fn a_retry_of_long_ago_is_answered_out_of_the_journal() {
    // More than memory keeps.
    const OPERATIONS: u64 = 600_000;
    let retries = retries::Limits { operations: 1 << 20, ..OPTIONS.limits.retries };
    let options = Options { limits: Limits { retries, ..OPTIONS.limits }, ..OPTIONS };
    let disk = SimulatedDisk::new(1);
    let layout = journal::Options::new([7; 32]);
    let (journal, _) = Journal::open(disk.root().directory("journal").unwrap(), &layout).unwrap();
    let secret = Secret::from_seed([3; 16]);
    let mut ledger = OrderedLedger::open(open_chain(&disk).unwrap(), journal, options, secret, None, ()).unwrap();
    let mut first = [Operation::create(transaction(0), account(1))];
    ledger.execute(SECOND, &mut first, &mut [0]);
    ledger.close(SECOND).unwrap();
    for block in 0..OPERATIONS / 100_000 {
        let numbers = 1 + block * 100_000..1 + (block + 1) * 100_000;
        let mut refused = Vec::from_iter(numbers.map(|number| Operation::issue(transaction(number), account(2), 1)));
        let mut values = vec![0; refused.len()];
        ledger.execute(SECOND, &mut refused, &mut values);
        ledger.close(SECOND).unwrap();
    }
    let mut again = [Operation::create(transaction(0), account(1)), Operation::issue(transaction(0), account(1), 1)];
    ledger.execute(SECOND, &mut again, &mut [0; 2]);
    assert_eq!(again.map(|operation| operation.status().unwrap()), [Status::Ok, Status::TransactionIdReused]);
}

/// A byte changed in transit yields another block or another hash.
#[test]
fn nothing_that_is_given_can_be_changed() {
    let mut source = Source::new(11);
    let mut replica = Replica::new(1);
    for _ in 0..400 {
        replica.execute(&source.block()).unwrap();
    }
    let good = given(&replica.ledger);
    let tip = replica.ledger.tip();
    assert!(good.0.len() > 5 && good.2.len() > 5, "{} blocks, {} batches", good.0.len(), good.2.len());
    let holds = |given: &(Vec<WholeBlock>, Newest, Vec<Sent>), number| {
        let disk = SimulatedDisk::new(number);
        let recent = restore(&disk, given);
        recent.is_ok_and(|recent| Some(recent) == replica.ledger.recent(tip.height()))
            && open(&disk, number).is_ok_and(|ledger| ledger.tip().hash == tip.hash)
    };
    assert!(holds(&good, 0));
    let mut random = Random::new(12);
    for number in 1..60 {
        let mut bad = good.clone();
        let mut at = |length: usize| random.number() as usize % length;
        let (block, batch) = (at(bad.0.len()), at(bad.2.len()));
        let flip = |bytes: &mut [u8], at: usize| bytes[at] ^= 1;
        match number % 7 {
            0 => flip(bad.0[block].header.as_mut_bytes(), at(128)),
            1 if !bad.0[block].operations.is_empty() => {
                let bytes = bad.0[block].operations.as_mut_bytes();
                let length = bytes.len();
                flip(bytes, at(length));
            }
            2 if !bad.2[batch].1.is_empty() => {
                let bytes = bad.2[batch].1.as_mut_bytes();
                let length = bytes.len();
                flip(bytes, at(length));
            }
            3 if !bad.2[batch].2.is_empty() => {
                let bytes = bad.2[batch].2.as_mut_bytes();
                let length = bytes.len();
                flip(bytes, at(length));
            }
            4 => flip(bad.1.as_mut_bytes(), at(16)),
            5 => drop(bad.2.remove(batch)),
            6 => flip(bad.2[batch].0.as_mut_bytes(), at(128)),
            _ => continue,
        }
        assert!(!holds(&bad, number), "change {number} does not matter");
    }
}

/// The ledgers of the property test see everything that could make them diverge: full tables, full windows, stale and
/// forgotten ids.
#[test]
fn the_blocks_are_worth_it() {
    let mut source = Source::new(5);
    let mut replica = Replica::new(1);
    let mut statuses = BTreeSet::new();
    for _ in 0..300 {
        let block = source.block();
        statuses.extend(replica.execute(&block).unwrap().iter().map(|(status, _)| *status));
    }
    let chain = replica.ledger.chain();
    let tails: usize = (1..=300).map(|height| chain.block(height).unwrap().tails.len()).sum();
    assert!(tails > 100, "{tails} of the transactions in blocks are signed");
    for status in [
        Status::Ok,
        Status::AccountExists,
        Status::InsufficientBalance,
        Status::TableFull,
        Status::TransactionIdReused,
        Status::Busy,
        Status::Expired,
        Status::StaleTimestamp,
    ] {
        assert!(statuses.contains(&status), "no operation is {status}: {statuses:?}");
    }
}

#[test]
fn a_journal_that_is_ahead_by_more_than_a_block_is_refused() {
    let disk = SimulatedDisk::new(3);
    let mut ledger = open(&disk, 1).unwrap();
    ledger.execute(SECOND, &mut [Operation::create(transaction(1), account(1))], &mut [0]);
    ledger.close(SECOND).unwrap();
    drop(ledger);
    let (mut journal, _) = Journal::open(disk.root().directory("journal").unwrap(), &LAYOUT).unwrap();
    for number in 2..4 {
        let mut batch = journal::Batch::new();
        batch.push(&Operation::create(transaction(number), account(number)), 0);
        journal.commit(&mut batch, number * SECOND).unwrap();
    }
    drop(journal);
    let error = open(&disk, 1).unwrap_err();
    assert!(matches!(error, Error::Unsettled { covered: 1, last: 3 }), "{error}");
}
