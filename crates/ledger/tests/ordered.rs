//! Replicas come to the same: ledgers that are given the same ordered blocks answer alike and have the same chain, whatever the
//! secrets of their hashes, wherever they were killed and however often they were started again.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{collections::BTreeSet, time::Duration};

use chain::own::{FileCatalog, OwnChain};
use common::{account, transaction};
use proptest::prelude::*;
use spv::{BlockHeader, Seal, SealedHeader};
use storage::{Random, SimulatedDisk};
use turnpike_ledger::{
    Error, Limits, Secret,
    journal::{self, Journal, PAGE},
    ordered::{Options, OrderedLedger},
    retries,
};
use wire::{Operation, Promise, SignedOperation, Status, TransactionId};

const MILLISECOND: u64 = 1_000;
const SECOND: u64 = 1_000 * MILLISECOND;

/// Small enough that accounts and retries find no room now and then, and that all of it is forgotten many times.
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
    snapshot: Duration::from_secs(20),
};

/// What is executed in one go.
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

fn open(disk: &SimulatedDisk, secret: u64) -> Result<OrderedLedger, Error> {
    let root = disk.root();
    let layout = journal::Options { segment_bytes: 128 * PAGE, batch_bytes: 64 * PAGE as usize, key: [7; 32] };
    let (journal, _) = Journal::open(root.directory("journal").unwrap(), &layout)?;
    let directory = root.directory("chain").unwrap();
    let catalog = Box::new(FileCatalog::new(directory.clone()));
    let header = BlockHeader::genesis_of_replicas("test", &[1; 16], SECOND, &[4; 32]);
    let options = chain::own::Options { segment_size: 1 << 20, ..Default::default() };
    let chain = OwnChain::open(directory, catalog, options, || Ok(SealedHeader { header, seal: Seal::NONE }))?;
    let secret = Secret::from_seed(u128::from(secret).to_be_bytes());
    OrderedLedger::open(chain, journal, OPTIONS, secret, None, ())
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

    /// Executes a block; the power fails after so many changes of the disk, and the replica starts again with another secret. As
    /// an engine does, it is given the block again unless it has it.
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

/// Operations of all kinds, with ids that are used again: retries, and reuses for something else.
struct Source {
    random: Random,
    time: u64,
    ids: Vec<(TransactionId, bool)>,
}

impl Source {
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
            // Up to three seconds ahead: the last is too far.
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
        // Retries are the same operation where this is: amounts follow from the id.
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

    fn frame(&mut self) -> Frame {
        let count = 1 + self.number(60);
        let operations: Vec<_> = (0..count).map(|_| self.operation()).collect();
        if self.number(2) == 0 {
            return Frame::Plain(operations.into_iter().filter(|operation| operation.payer().is_none()).collect());
        }
        let sign = |operation: Operation| {
            // What admission lets through: not older than the window, not more than the tolerance ahead.
            let signed_at = self.time + 2 * SECOND - self.number(34 * SECOND);
            SignedOperation::unsigned(operation, signed_at, 0, Promise::Final, [3; 33])
        };
        Frame::Signed(operations.into_iter().map(sign).collect())
    }

    fn block(&mut self) -> Block {
        // Mostly less than a stretch, so that where one begins depends on all before it, if it may begin anywhere.
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
        let mut source = Source { random: Random::new(seed), time: 1000 * SECOND, ids: Vec::new() };
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
        }
    }
}

/// The ledgers of the property meet what could set them apart: full tables, full windows, stale and forgotten ids.
#[test]
fn the_blocks_are_worth_it() {
    let mut source = Source { random: Random::new(5), time: 1000 * SECOND, ids: Vec::new() };
    let mut replica = Replica::new(1);
    let mut statuses = BTreeSet::new();
    for _ in 0..300 {
        let block = source.block();
        statuses.extend(replica.execute(&block).unwrap().iter().map(|(status, _)| *status));
    }
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
    let layout = journal::Options { segment_bytes: 128 * PAGE, batch_bytes: 64 * PAGE as usize, key: [7; 32] };
    let (mut journal, _) = Journal::open(disk.root().directory("journal").unwrap(), &layout).unwrap();
    for number in 2..4 {
        let mut batch = journal::Batch::new();
        batch.push(&Operation::create(transaction(number), account(number)), 0);
        journal.commit(&mut batch, number * SECOND).unwrap();
    }
    drop(journal);
    let error = open(&disk, 1).unwrap_err();
    assert!(matches!(error, Error::Unsettled { covered: 1, last: 3 }), "{error}");
}
