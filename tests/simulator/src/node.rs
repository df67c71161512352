//! The node: a disk that lasts, and processes on it that come and go.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ledger::journal::{Committer, Error, Journal, Log, Options, Preparer, Record, Submitter, group_commit};
use ledger::{Ledger, Limits, Recovery, Secret};
use nic::selector::{Selector, SelectorConfig};
use nic::{Counters, DataPath, Departures, Pool, Prefix, held, parking};
use storage::{Random, SimulatedDisk};
use wire::{Operation, Status};

use crate::backend::{NODE, Port};
use crate::controller::Controller;
use crate::model::Model;

/// Accounts that the node holds: fewer than the clients try to create.
pub const ACCOUNTS: usize = 150;

/// Operations that retries are recognised for: more than are executed while a client tries or a datagram travels.
const WINDOW: usize = 1 << 14;

/// The parts of a running node, without threads.
pub struct Process {
    pub port: Port,
    path: DataPath<Port, Controller>,
    committer: Committer,
    preparer: Preparer,
    departures: Departures,
    submitter: Submitter,
    log: Arc<Log>,
}

impl Process {
    /// Starts on what is on the disk, and checks that it is what the model says. `time` is the clock.
    pub fn start(
        disk: &SimulatedDisk,
        model: &Arc<Mutex<Model>>,
        random: &mut Random,
        time: Arc<AtomicU64>,
    ) -> Result<Self, Error> {
        let options = Options { segment_bytes: 128 << 10, batch_bytes: 32 << 10, key: [random.number() as u8; 32] };
        let (journal, opened) = Journal::open(disk.root().directory("journal")?, &options)?;
        let ledger = recover(&journal, opened.first_sequence, random)?;
        let log = journal.log().clone();
        compare(&ledger, opened.last_sequence, &mut model.lock().unwrap());

        let (submitter, committer, preparer) = group_commit(journal);
        let committer = committer.with_clock(move || time.load(Ordering::Relaxed));
        let port = Port::default();
        let (parking, departures) = parking::parking(parking::Limits { bytes: 1 << 20, replies: 256 });
        let trusted: Prefix = "10.0.0.0/8".parse().unwrap();
        let selector = SelectorConfig { trusted: vec![trusted], ..SelectorConfig::default() };
        let path = DataPath::new(
            port.clone(),
            Selector::new(selector, NODE.parse().unwrap()),
            Controller::new(ledger, submitter.clone(), model.clone()),
            parking,
            Pool::new(held::PoolSize { small: 16, large: 1 }),
            Arc::new(Counters::default()),
            16,
        );
        Ok(Self { port, path, committer, preparer, departures, submitter, log })
    }

    /// Works on what has arrived.
    pub fn receive(&mut self) {
        while !self.port.is_empty() {
            self.path.step(Duration::ZERO).unwrap();
        }
    }

    /// Is there something to commit?
    pub fn has_work(&self) -> bool {
        self.committer.has_work()
    }

    /// Writes and syncs what there is to commit.
    pub fn commit(&mut self) -> Result<u64, Error> {
        self.committer.commit().unwrap()
    }

    /// Sends the replies that waited for a commit.
    pub fn release(&mut self, result: Result<u64, Error>) {
        match result {
            Ok(durable) => self.departures.release(durable, &mut self.port),
            Err(_) => self.departures.refuse(Status::StorageFailed, &mut self.port),
        }
    }

    /// Seals the idle journal.
    pub fn seal(&mut self) -> Result<(), Error> {
        self.committer.seal()
    }

    /// Prepares the next segment, if the disk lets it.
    pub fn prepare(&self) {
        // A failure is told to clients by refusing them.
        let _ = self.preparer.prepare();
    }

    /// Sequence of the last durable operation.
    pub fn durable(&self) -> u64 {
        self.log.durable()
    }

    /// Has the journal failed, so that the node has to be started again?
    pub fn has_failed(&self) -> bool {
        self.submitter.failure().is_some_and(|failure| matches!(*failure, Error::Failed(_)) || !failure.is_full())
    }
}

/// Executes the journal again.
fn recover(journal: &Journal, first: u64, random: &mut Random) -> Result<Ledger, Error> {
    let mut seed = [0; 16];
    seed[..8].copy_from_slice(&random.number().to_le_bytes());
    let limits = Limits { accounts: ACCOUNTS, window: WINDOW };
    let mut recovery = Recovery::new(limits, Secret::from_seed(seed), 0, first).unwrap();
    let mut reader = journal.log().reader(first)?;
    while let Some(batch) = reader.next()? {
        for record in batch.records {
            recovery.operation(&record.operation, record.value.get()).unwrap();
        }
    }
    Ok(recovery.finish().unwrap())
}

/// After a start, the ledger is what the model was as of the last operation in the journal.
fn compare(ledger: &Ledger, last_sequence: u64, model: &mut Model) {
    model.go_back(last_sequence);
    assert_eq!(ledger.last_sequence(), last_sequence);
    assert_eq!(ledger.issued(), model.issued());
    let balances = ledger.iter().collect();
    assert_eq!(*model.balances(), balances);
}

/// The journal holds what the model executed, with its results.
pub fn check_journal(log: &Arc<Log>, model: &Model) {
    let mut reader = log.reader(log.first_sequence()).unwrap();
    while let Some(batch) = reader.next().unwrap() {
        let executed = &model.log()[batch.first_sequence as usize - 1..];
        for (&Record { operation, value }, executed) in batch.records.iter().zip(executed) {
            let requested = Operation { status: 0.into(), ..operation };
            assert_eq!((requested, operation.status()), (executed.operation, Ok(executed.status)));
            assert_eq!(value.get(), executed.value);
        }
    }
    assert_eq!(reader.next_sequence(), log.durable() + 1);
}

impl Process {
    /// Compares the journal with the model.
    pub fn check_journal(&self, model: &Model) {
        check_journal(&self.log, model);
    }
}
