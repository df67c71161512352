//! A replica's ledger: it executes what was ordered, and comes to the same as all others that execute it.
//!
//! Each ordered block becomes one batch of the journal, unless nothing of it belongs there, and one block of the chain, of the
//! same height. Its time is the only time that the ledger knows: stretches of the memory of retries begin at multiples of their
//! length in it, and a restart reads back to where all that was forgotten ended. So results do not depend on when a replica was
//! started, and neither do the headers of its chain.
//!
//! What another replica might answer otherwise is not answered at all: where a record cannot be read, or the table has no place
//! below the limit of accounts, the replica panics. It is away then, which the others bear, and has not diverged.

use std::{sync::Arc, time::Duration};

use chain::merkle::SignedTail;
use chain::own::{NextBlock, NoSealer, OwnChain, OwnReader, Tip};
use spv::Hash;
use wire::{Operation, SignedOperation, Status};

use crate::{
    Error, Executable, Ledger, Limits, Memory, Now, Outlook, Secret, Snapshots,
    builder::Observer,
    journal::{Batch, Journal, JournalBatch, JournalRecall, Log, Record},
    past::{Past, Reading},
    recent,
    recovery::{Clock, recover_by},
    retries::Recall,
};

/// How a replica's ledger is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The same on all replicas: results depend on it.
    pub limits: Limits,
    /// When snapshots are written, in ordered time.
    pub snapshots: Snapshots,
}

/// What is executed in a block: an operation, signed or not.
pub trait Ordered: Executable {
    /// Puts it into a batch of the journal.
    fn journal(&self, batch: &mut Batch, value: u64);
    /// What a block has of it behind the operation, at a position.
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

/// A recall that gives every record, or nothing more at all.
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

/// What succeeded of a block.
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

/// The ledger of a replica, with its journal and its chain.
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
    /// The time of the block that is executed, or was last.
    time: u64,
    /// The tip of the last snapshot, or the one at the start.
    snapshot: Tip,
}

impl<O: Observer> OrderedLedger<O> {
    /// Recovers a ledger, in `memory` if there is any. A block that was executed but is not in the chain yet is put there.
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
        let (snapshot, time) = (chain.tip(), chain.tip().header.timestamp.get());
        let (batch, succeeded) = (Batch::new(), Succeeded::default());
        let past = reading.finish(&chain.reader())?;
        Ok(Self { ledger, journal, chain, observer, options, batch, succeeded, past, time, snapshot })
    }

    /// The last block.
    pub fn tip(&self) -> Tip {
        self.chain.tip()
    }

    /// The time of the block that is executed, or was last, in microseconds since the Unix epoch. After an error of
    /// [`OrderedLedger::close`] it is past that of the tip.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The hash of the operations that retries were answered from behind the block of a height: the same on all replicas. It is known
    /// of the newest blocks, and of the tip for sure.
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

    /// The accounts, and what is remembered.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Executes operations of the next block, whose time in microseconds since the Unix epoch is not before that of the block
    /// before. Statuses and values are as of [`Ledger::execute`].
    ///
    /// # Panics
    /// Where time goes back, or this replica cannot tell what others answer.
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

    /// Closes the block of this time: what was executed is durable, and a block of the chain.
    ///
    /// After an error the replica has to be started again: the block may be in the journal, and is not in the chain.
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

    /// Seals the journal and writes a snapshot, so that the next start has little to do.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.journal.seal(self.time)?;
        if self.tip() != self.snapshot {
            self.chain.snapshot()?;
        }
        Ok(())
    }

    /// Writes a snapshot if it is time, and gives free what the journal need not keep.
    fn maintain(&mut self, tip: &Tip) -> Result<(), Error> {
        let waited = tip.header.timestamp.get().saturating_sub(self.snapshot.header.timestamp.get());
        if !self.options.snapshots.is_due(Duration::from_micros(waited), &self.snapshot, tip) {
            return Ok(());
        }
        self.chain.snapshot()?;
        self.snapshot = *tip;
        let log = self.journal.log();
        let since = log.timestamp().saturating_sub(recent::reach(&self.options.limits.retries));
        // The last operation stays, so that the newest times before what is left are known.
        Ok(log.prune(log.since(since, tip.end_sequence))?)
    }
}

/// Puts the block into the chain that was executed and is only in the journal: one batch, up to the operation `last`.
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
