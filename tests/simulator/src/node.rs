//! The node: a persistent disk, and processes on it that start and die.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chain::own::{FileCatalog, OwnChain, OwnReader, RootSchedule, Tip};
use ledger::builder::{self, BlockBuilder, Observer};
use ledger::journal::{self, Committer, Journal, Log, Preparer, Record, Submitter, group_commit};
use ledger::{Ledger, Limits, Secret, Snapshots, retries};
use net::Prefix;
use nic::selector::{Selector, SelectorConfig};
use nic::{Counters, DataPath, Departures, Histogram, Pools, held, parking};
use proof::{Cache, OwnSource, Service};
use spv::{BlockHeader, SealedHeader, SealingKey};
use storage::{Random, SimulatedDisk};
use wire::{Chain, Operation, Status};

use crate::backend::{NODE, Port};
use crate::client::RETENTION;
use crate::controller::Controller;
use crate::model::{Model, hold_id};

/// Maximum number of accounts: fewer than the clients try to create.
pub const ACCOUNTS: usize = 200;

/// Retry window: more operations than are executed within the retention.
const RETRIES: retries::Limits = retries::Limits {
    operations: 1 << 14,
    retention: Duration::from_micros(RETENTION),
    signed: 1 << 14,
    replay: Duration::from_secs(60),
};

/// Small blocks and segments, so that there are many.
const BLOCK_TRANSACTIONS: u32 = 40;
const CHAIN_SEGMENT: u64 = 1 << 20;
/// A root after one transaction for each account: in about one of three full blocks.
const ROOTS: RootSchedule = RootSchedule { small_block: 4, eighths: 8 };
const JOURNAL_SEGMENT: u64 = 128 << 10;
const JOURNAL_BATCH: usize = 32 << 10;

/// Steps of the block builder at a time.
const BUILDER_STEPS: usize = 200;

/// The first block of every simulation.
pub fn genesis() -> SealedHeader {
    chain_key().seal(&BlockHeader::genesis("simulation", &[7; 16], 0, &chain_key().public()))
}

/// The key that seals blocks.
fn chain_key() -> SealingKey {
    SealingKey::from_bytes(&[1; 32]).unwrap()
}

/// Announces new blocks to the proof cache.
struct Announcer(Arc<Cache>);

impl Observer for Announcer {
    fn closed(&mut self, _parent: &Tip, tip: &Tip, operations: &[Operation]) {
        self.0.announce_own(tip, operations);
    }
}

/// The parts of a running node, without threads.
pub struct Process {
    pub port: Port,
    path: DataPath<Port, Controller>,
    committer: Committer,
    preparer: Preparer,
    departures: Departures,
    submitter: Submitter,
    builder: BlockBuilder<Announcer>,
    log: Arc<Log>,
    time: Arc<AtomicU64>,
    is_lone: Arc<AtomicBool>,
    /// The next operation of the journal to check.
    unchecked: u64,
}

impl Process {
    /// Starts from the disk, and compares with the model. `time` is the clock.
    pub fn start(
        disk: &SimulatedDisk,
        model: &Arc<Mutex<Model>>,
        random: &mut Random,
        time: Arc<AtomicU64>,
    ) -> Result<Self, ledger::Error> {
        let root = disk.root();
        let key = [random.number() as u8; 32];
        let options = journal::Options { segment_bytes: JOURNAL_SEGMENT, batch_bytes: JOURNAL_BATCH, key };
        let (journal, opened) = Journal::open(root.directory("journal").map_err(journal::Error::from)?, &options)?;
        let directory = root.directory("chain").map_err(journal::Error::from)?;
        let catalog = Box::new(FileCatalog::new(directory.clone()));
        let options =
            chain::own::Options { segment_size: CHAIN_SEGMENT, roots: ROOTS, ..chain::own::Options::default() };
        let chain = OwnChain::open(directory, catalog, options, || Ok(genesis()))?;
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&random.number().to_le_bytes());
        let limits = Limits { accounts: ACCOUNTS, retries: RETRIES };
        let log = journal.log().clone();
        let mut ledger = ledger::recover(limits, Secret::from_seed(seed), &chain, &log)?;
        ledger.allow_freezing(true);
        compare(&ledger, opened.last_sequence, &mut model.lock().unwrap());

        let retention = random.chance(0.5).then_some(Duration::from_secs(15));
        let options = builder::Options {
            transactions: BLOCK_TRANSACTIONS,
            interval: Duration::from_secs(1),
            // Often enough for two of them between crashes, after which blocks are pruned.
            snapshots: Snapshots::every(Duration::from_secs(8)).retain(retention),
            failures: 1 << 14,
            retention: RETRIES.retention,
            replay: RETRIES.replay,
        };
        let cache = Arc::new(Cache::new(&proof::Config::for_replies(1000)).unwrap());
        cache.begin_own(&chain.tip());
        let reader = chain.reader();
        let proofs = Service::new(Some(cache.clone())).with(Chain::Own, Arc::new(OwnSource::new(reader.clone())));
        let builder = BlockBuilder::new(
            chain,
            Box::new(chain_key()),
            log.clone(),
            options,
            Announcer(cache),
            time.load(Ordering::Relaxed),
        )?;
        let (submitter, committer, preparer) = group_commit(journal);
        let clock = time.clone();
        let committer = committer.with_clock(move || clock.load(Ordering::Relaxed));
        let (port, is_lone) = (Port::default(), Arc::new(AtomicBool::new(false)));
        let (parking, departures) = parking::parking(parking::Limits { bytes: 1 << 20, replies: 256 });
        let trusted: Prefix = "10.0.0.0/8".parse().unwrap();
        let selector = SelectorConfig { trusted: vec![trusted], ..SelectorConfig::default() };
        let path = DataPath::new(
            port.clone(),
            Selector::new(selector, NODE.parse().unwrap()),
            Controller::new(ledger, submitter.clone(), proofs, reader, model.clone(), is_lone.clone(), time.clone()),
            parking,
            Pools::new(|_| held::PoolSize { small: 16, large: 1 }),
            Arc::new(Counters::default()),
            16,
        );
        let unchecked = log.first_sequence();
        Ok(Self { port, path, committer, preparer, departures, submitter, builder, log, time, is_lone, unchecked })
    }

    /// Processes arrived datagrams.
    pub fn receive(&mut self) {
        while !self.port.is_empty() {
            self.path.step(Duration::ZERO).unwrap();
        }
    }

    /// Whether there is anything to commit.
    pub fn has_work(&self) -> bool {
        self.committer.work().is_due()
    }

    /// Whether only a single operation has arrived since the last call.
    pub fn is_lone(&self) -> bool {
        self.is_lone.swap(false, Ordering::Relaxed)
    }

    /// Writes and syncs pending operations.
    pub fn commit(&mut self) -> Result<u64, journal::Error> {
        self.committer.commit()
    }

    /// Sends the replies that waited for a commit.
    pub fn release(&mut self, result: Result<u64, journal::Error>) {
        match result {
            // Real time says nothing about simulated requests, so nobody reads this histogram.
            Ok(durable) => self.departures.release(durable, &mut self.port, &Histogram::default()),
            Err(_) => self.departures.refuse(Status::StorageFailed, &mut self.port),
        }
    }

    /// Seals the idle journal.
    pub fn seal(&mut self) -> Result<(), journal::Error> {
        self.committer.seal()
    }

    /// Prepares the next segment, if the disk allows it.
    pub fn prepare(&self) {
        // Clients notice a failure by refusals.
        let _ = self.preparer.prepare();
    }

    /// Sequence of the last durable operation.
    pub fn durable(&self) -> u64 {
        self.log.durable()
    }

    /// Runs the block builder; after an error it retries on the next call.
    pub fn build(&mut self) -> Result<(), ledger::Error> {
        for _ in 0..BUILDER_STEPS {
            if !self.builder.step(self.time.load(Ordering::Relaxed))? {
                break;
            }
        }
        Ok(())
    }

    /// A reader of the chain.
    pub fn chain(&self) -> OwnReader {
        self.builder.chain()
    }

    /// Whether the journal has failed, so that the node must be restarted.
    pub fn has_failed(&self) -> bool {
        self.submitter.failure().is_some_and(|failure| {
            let is_final = matches!(*failure, journal::Error::Failed(_));
            is_final || !failure.is_full()
        })
    }

    /// Checks that the journal holds the model's operations with their results. Each process reads every batch once.
    pub fn check_journal(&mut self, model: &Model) {
        let from = self.unchecked.max(self.log.first_sequence());
        let mut reader = self.log.reader(from).unwrap();
        while let Some(batch) = reader.next().unwrap() {
            let executed = &model.log()[batch.first_sequence as usize - 1..];
            let mut tails = batch.signed();
            for (&Record { operation, value }, executed) in batch.records.iter().zip(executed) {
                if let Some(mut signed) = executed.signed {
                    signed.operation.status = operation.status;
                    assert_eq!(tails.next().map(|(_, tail)| tail), Some(signed));
                }
                let requested = Operation { status: 0.into(), ..operation };
                assert_eq!((requested, operation.status()), (executed.operation, Ok(executed.status)));
                assert_eq!(value.get(), executed.value);
            }
            assert!(tails.next().is_none());
        }
        assert_eq!(reader.next_sequence(), self.log.durable() + 1);
        self.unchecked = reader.next_sequence();
    }
}

/// After a start, the ledger must equal the model as of the last operation in the journal.
fn compare(ledger: &Ledger, last_sequence: u64, model: &mut Model) {
    model.go_back(last_sequence);
    assert_eq!(ledger.last_sequence(), last_sequence);
    assert_eq!(ledger.issued(), model.issued());
    let balances = ledger.iter().collect();
    assert_eq!(*model.balances(), balances);
    let holds = model.holds().iter().map(|(name, amount)| (hold_id(name), *amount));
    assert_eq!(holds.collect::<BTreeMap<_, _>>(), ledger.iter_holds().collect());
    assert!(model.frozen().iter().all(|account| ledger.is_frozen(account)));
    assert_eq!(ledger.frozen(), model.frozen().len());
    assert!(model.balances().keys().all(|account| ledger.asset(account) == Some(model.asset(*account))));
    let mut hold_assets = model.holds().keys().map(|name| (ledger.asset_of_hold(&hold_id(name)), name));
    assert!(hold_assets.all(|(asset, name)| asset == Some(model.asset_of_hold(name))));
    let issued = ledger.issued_by_asset().into_iter().filter(|(_, issued)| *issued > 0);
    assert_eq!(issued.collect::<BTreeMap<_, _>>(), model.sums());
}
