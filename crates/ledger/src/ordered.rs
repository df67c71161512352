//! A replica's ledger: it executes ordered blocks and reaches the same state as every other replica.
//!
//! - Each ordered block becomes one batch of the journal, unless none of its operations is journalled, and one block of
//!   the chain at the same height.
//! - The time of the block is the only time that the ledger uses. Stretches of the memory of retries begin at multiples
//!   of their length, and a restart reads back to the end of everything forgotten. So results and headers do not depend
//!   on when a replica was started.
//! - The ledger gives no reply that another replica might give differently. If it cannot read a record, or the table
//!   has no place below the limit of accounts, it panics. The replica is then offline, which the others tolerate, and
//!   has not diverged.
//!
//! To close a block: add its batch to the hash of recent operations, commit the batch to the journal, append the block
//! to the chain, and notify the observer. Then, if a snapshot is due, write it and prune the journal.
//!
//! On open: recover the ledger from the chain's index and the journal. If the journal has operations after the tip,
//! they are one batch: append its block to the chain. A crash before the batch is synced loses the block, which is
//! ordered and is executed again; a crash after that loses nothing.

use std::{sync::Arc, time::Duration};

use chain::merkle::SignedTail;
use chain::own::{NextBlock, NoSealer, OwnChain, OwnReader, Tip};
use spv::Hash;
use wire::{Operation, SignedOperation, Status};

use crate::{
    Error, Executable, Issuers, Ledger, Limits, Memory, Now, Outlook, Secret, Snapshots,
    builder::Observer,
    journal::{Batch, Journal, JournalBatch, JournalRecall, Log, Record},
    past::{Past, Reading},
    recent,
    recovery::{Clock, recover_by},
    retries::Recall,
    snapshots::{Slice, SnapshotWriter, write_at_stop},
};

/// Configuration of a replica's ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The same on all replicas: results depend on it.
    pub limits: Limits,
    /// When to write snapshots, in ordered time.
    pub snapshots: Snapshots,
}

/// An entry of a block: an operation, signed or not.
pub trait Ordered: Executable {
    /// Appends it to a batch of the journal.
    fn journal(&self, batch: &mut Batch, value: u64);
    /// The tail that a block stores for it at a position, if it is signed.
    fn tail(&self, position: u32) -> Option<SignedTail>;
}

impl Ordered for Operation {
    fn journal(&self, batch: &mut Batch, value: u64) {
        batch.push(self, value);
    }

    fn tail(&self, _: u32) -> Option<SignedTail> {
        None
    }
}

impl Ordered for SignedOperation {
    fn journal(&self, batch: &mut Batch, value: u64) {
        batch.push_signed(self, value);
    }

    fn tail(&self, position: u32) -> Option<SignedTail> {
        Some(SignedTail { position, tail: *self.tail() })
    }
}

/// A recall that returns the record or panics.
#[derive(Debug)]
struct Certain(JournalRecall);

impl Recall for Certain {
    fn recall(&mut self, sequence: u64) -> Option<Record> {
        let record = self.0.recall(sequence);
        assert!(
            record.is_some(),
            "cannot read operation {sequence} of the journal: fix the disk, then restart the node"
        );
        record
    }
}

/// The successful operations of a block.
#[derive(Debug, Default)]
pub(crate) struct Succeeded {
    operations: Vec<Operation>,
    tails: Vec<SignedTail>,
}

impl Succeeded {
    pub(crate) fn push(&mut self, entry: &impl Ordered) {
        if entry.operation().status.get() == Status::Ok.code() {
            self.tails.extend(entry.tail(self.operations.len() as u32));
            self.operations.push(*entry.operation());
        }
    }

    pub(crate) fn clear(&mut self) {
        self.operations.clear();
        self.tails.clear();
    }

    pub(crate) fn append_to(&mut self, chain: &mut OwnChain, end_sequence: u64, timestamp: u64) -> Result<Tip, Error> {
        let block = NextBlock { operations: &self.operations, tails: &self.tails, end_sequence, timestamp };
        Ok(chain.append(block, &mut NoSealer)?)
    }
}

/// A replica's ledger with its journal and its chain.
#[derive(Debug)]
pub struct OrderedLedger<O = ()> {
    ledger: Ledger,
    journal: Journal,
    chain: OwnChain,
    observer: O,
    options: Options,
    batch: Batch,
    succeeded: Succeeded,
    past: Past,
    /// The time of the block that is being executed, or was last.
    time: u64,
    snapshots: SnapshotWriter,
}

impl<O: Observer> OrderedLedger<O> {
    /// Recovers a ledger, in `memory` if given. Adds a block to the chain that was executed but is missing there.
    pub fn open(
        mut chain: OwnChain,
        journal: Journal,
        options: Options,
        secret: Secret,
        memory: Option<Memory>,
        observer: O,
    ) -> Result<Self, Error> {
        let log = journal.log().clone();
        let mut reading = Reading::new(&options.limits.retries);
        let watch = |batch: &JournalBatch<'_>| reading.take(batch);
        let mut ledger = recover_by(Clock::Ordered, memory, options.limits, secret, &chain, &log, watch)?;
        ledger.set_recall(Certain(JournalRecall::new(log.clone())));
        ledger.be_replica();
        let covered = chain.tip().end_sequence;
        if ledger.last_sequence() > covered {
            settle(&mut chain, log.reader(covered + 1)?.next()?, ledger.last_sequence())?;
        }
        let (snapshots, time) =
            (SnapshotWriter::new(options.snapshots, chain.tip()), chain.tip().header.timestamp.get());
        let (batch, succeeded) = (Batch::new(), Succeeded::default());
        let past = reading.finish(&chain.reader())?;
        Ok(Self { ledger, journal, chain, observer, options, batch, succeeded, past, time, snapshots })
    }

    /// Sets whether operations may [freeze](Ledger::allow_freezing) accounts: the same on all replicas.
    pub fn allow_freezing(&mut self, is_allowed: bool) {
        self.ledger.allow_freezing(is_allowed);
    }

    /// Sets the [issuers](Ledger::set_issuers): the same on all replicas.
    pub fn set_issuers(&mut self, issuers: Issuers) {
        self.ledger.set_issuers(issuers);
    }

    /// The last block.
    pub fn tip(&self) -> Tip {
        self.chain.tip()
    }

    /// The time of the block that is being executed, or was last, in microseconds since the Unix epoch. After an error
    /// of [`OrderedLedger::close`] it is past that of the tip.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The hash of the operations that retries were answered from after the block at a height: the same on all
    /// replicas. Known for the newest blocks, always including the tip.
    pub fn recent(&self, height: u64) -> Option<Hash> {
        self.past.hash(height)
    }

    /// The journal, for reading.
    pub fn log(&self) -> &Arc<Log> {
        self.journal.log()
    }

    /// A handle for reading the chain.
    pub fn chain(&self) -> OwnReader {
        self.chain.reader()
    }

    /// The accounts and the memory of retries.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Executes operations of the next block. `time` is in microseconds since the Unix epoch, and not before that of
    /// the previous block. Statuses and values are as for [`Ledger::execute`].
    ///
    /// # Panics
    /// If time goes back, or if this replica cannot know the reply of the others.
    pub fn execute<E: Ordered>(&mut self, time: u64, entries: &mut [E], values: &mut [u64]) {
        assert!(time >= self.time, "ordered time does not go back: {} is before {}", time, self.time);
        self.time = time;
        let Self { ledger, batch, succeeded, .. } = self;
        ledger.execute(entries, values, Now { elapsed: time, unix: time }, |entry, value| {
            entry.journal(batch, value);
            succeeded.push(entry);
        });
    }

    /// Predicts the execution of an operation after the last block.
    pub fn outlook<E: Ordered>(&mut self, entry: &E) -> Outlook {
        self.ledger.outlook(entry.operation(), entry.signed_at(), Now { elapsed: self.time, unix: self.time })
    }

    /// Closes the block of this time: its operations are then durable and in a block of the chain.
    ///
    /// After an error restart the replica: the block may be in the journal and is not in the chain.
    pub fn close(&mut self, time: u64) -> Result<Tip, Error> {
        self.time = self.time.max(time);
        if !self.batch.is_empty() {
            self.past.take(self.time, self.journal.newest(), self.batch.parts());
        }
        let durable = self.journal.commit(&mut self.batch, self.time)?;
        assert_eq!(durable, self.ledger.last_sequence(), "the journal has what was executed");
        let parent = self.chain.tip();
        let tip = self.succeeded.append_to(&mut self.chain, durable, self.time)?;
        self.observer.closed(&parent, &tip, &self.succeeded.operations);
        self.succeeded.clear();
        self.past.close(&tip);
        self.maintain(&tip)?;
        Ok(tip)
    }

    /// Seals the journal, and writes a snapshot if that takes little time, so that the next start has little to do.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.journal.seal(self.time)?;
        if self.tip() == *self.snapshots.last() {
            return Ok(());
        }
        write_at_stop(&mut self.chain)
    }

    /// Begins a snapshot if it is due, writes the slices that are due, and prunes the journal after the last one.
    fn maintain(&mut self, tip: &Tip) -> Result<(), Error> {
        let now = tip.header.timestamp.get();
        let waited = Duration::from_micros(now.saturating_sub(self.snapshots.last().header.timestamp.get()));
        self.snapshots.begin(&mut self.chain, waited)?;
        loop {
            match self.snapshots.write_slice(&mut self.chain, now)? {
                Slice::None => return Ok(()),
                Slice::Written => {}
                Slice::Last => {
                    let log = self.journal.log();
                    let since = log.timestamp().saturating_sub(recent::reach(&self.options.limits.retries));
                    // The last operation stays, because its batch holds the newest times before the remaining
                    // operations.
                    log.prune(log.since(since, tip.end_sequence))?;
                }
            }
        }
    }
}

/// Adds the block to the chain that was executed and is only in the journal: one batch, ending with operation `last`.
fn settle(chain: &mut OwnChain, batch: Option<crate::journal::JournalBatch<'_>>, last: u64) -> Result<(), Error> {
    let covered = chain.tip().end_sequence;
    let batch = batch.filter(|batch| batch.last_sequence() == last).ok_or(Error::Unsettled { covered, last })?;
    let mut succeeded = Succeeded::default();
    for (record, signed) in batch.entries() {
        match signed {
            Some(signed) => succeeded.push(&signed),
            None => succeeded.push(&record.operation),
        }
    }
    succeeded.append_to(chain, last, batch.timestamp)?;
    Ok(())
}
