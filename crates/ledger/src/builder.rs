//! The block builder: follows the journal and builds blocks of the successful operations.
//!
//! It owns no thread: [`BlockBuilder::step`] does one piece of work, so that a thread or a simulator can drive it.
//!
//! State: the chain; the position in the journal; the open block, with its operations, the last processed sequence and
//! the time at which its first operation was read; `proposed_end`, the end of a block that may have been sealed before
//! a restart.
//!
//! Each step does the first that applies:
//!
//! 1. If a block may have been sealed before the restart: once its last operation is processed, close the block there,
//!    and nowhere else. The result is the same block.
//! 2. If the open block is full, or its first transaction has waited for the configured interval: close it.
//! 3. If it is empty, and the configured number of operations failed since the last block: close an empty block, so
//!    that the journal can be pruned.
//! 4. If there is no durable batch to read, and the last block states no index root: close an empty block, which states
//!    it, an interval after that block.
//! 5. Read the next durable batch of the journal. Take its successful operations, with the tails of signed ones, until
//!    the block is full; the rest of the batch goes into the next block. A linked chain is taken whole: if it does not
//!    fit, the block is full, unless it is empty.
//!
//! Before that, if a slice of a snapshot being written is due: write it.
//!
//! To close a block: [append](OwnChain::append) it to the chain, which seals and commits it; notify the observer; then
//! begin a snapshot if one is due, and prune the journal. Operations stay in the journal for the retention of retries,
//! and longer, up to 16 segments, for the replay of signed operations. No operation is pruned before its block is
//! committed.
//!
//! A block depends only on the journal, and its commit records the last operation that it covers. So a crash before the
//! commit loses nothing: the restart continues after the last committed block. An error has the same effect: the next
//! step tries again, with the same block.

use std::{sync::Arc, time::Duration};

use chain::{
    merkle::SignedTail,
    own::{NextBlock, OwnChain, OwnReader, Sealer, Tip},
};
use wire::{Operation, Status};

use crate::{
    Error, Snapshots,
    journal::{JournalBatch, JournalReader, Log, Record},
    snapshots::{SnapshotWriter, write_at_stop},
};

/// When to close blocks and to write snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Maximum number of transactions in a block.
    pub transactions: u32,
    /// Maximum time that the first transaction of a block waits for others.
    pub interval: Duration,
    /// When to write snapshots.
    pub snapshots: Snapshots,
    /// Number of failed operations after which an empty block is closed.
    pub failures: u64,
    /// Minimum time that operations stay in the journal: as long as retries are recognised.
    pub retention: Duration,
    /// Time that they stay if they take few segments: as long as signed operations are accepted, so that a restart
    /// recognises them, too.
    pub replay: Duration,
}

/// Maximum number of segments kept for signed operations alone: 1 GiB of the usual size.
const REPLAY_SEGMENTS: usize = 16;

/// Observer of new blocks.
pub trait Observer {
    /// A block was committed after `parent`.
    fn closed(&mut self, _parent: &Tip, _tip: &Tip, _operations: &[Operation]) {}
}

/// Ignores new blocks.
impl Observer for () {}

/// The transactions of the next block.
#[derive(Debug, Default)]
struct Open {
    operations: Vec<Operation>,
    tails: Vec<SignedTail>,
    /// When its first one was read, in microseconds.
    since: u64,
    /// When the last processed operation was journalled.
    timestamp: u64,
    /// The last processed operation of the journal.
    end_sequence: u64,
    /// A linked chain follows that does not fit.
    is_cut: bool,
}

/// The block builder.
#[derive(Debug)]
pub struct BlockBuilder<O = ()> {
    chain: OwnChain,
    sealer: Box<dyn Sealer>,
    log: Arc<Log>,
    reader: JournalReader,
    options: Options,
    observer: O,
    open: Open,
    /// The last operation of the next block, if that may have been sealed before the restart: it must be the same
    /// again.
    proposed_end: Option<u64>,
    /// When the last block was closed, or the builder was created.
    closed_at: u64,
    /// When the last snapshot was begun, or the builder was created.
    snapshot_at: u64,
    snapshots: SnapshotWriter,
}

impl<O: Observer> BlockBuilder<O> {
    /// Creates a builder that continues at the end of the chain; `sealer` seals its blocks.
    ///
    /// `now`, here and in [`step`](Self::step), is in microseconds of a monotonic clock: if it were set back, a block
    /// would stay open for that much longer.
    pub fn new(
        chain: OwnChain,
        sealer: Box<dyn Sealer>,
        log: Arc<Log>,
        options: Options,
        observer: O,
        now: u64,
    ) -> Result<Self, Error> {
        let tip = chain.tip();
        let durable = log.durable();
        let proposed_end = chain.proposed_end().filter(|end| (tip.end_sequence..=durable).contains(end));
        let reader = log.reader(tip.end_sequence + 1)?;
        let open = Open { end_sequence: tip.end_sequence, ..Open::default() };
        Ok(Self {
            chain,
            sealer,
            log,
            reader,
            options,
            observer,
            open,
            proposed_end,
            closed_at: now,
            snapshot_at: now,
            snapshots: SnapshotWriter::new(options.snapshots, tip),
        })
    }

    /// The last block.
    pub fn tip(&self) -> Tip {
        self.chain.tip()
    }

    /// A handle for reading the chain.
    pub fn chain(&self) -> OwnReader {
        self.chain.reader()
    }

    /// The last processed operation; its block may still be open.
    pub fn sequence(&self) -> u64 {
        self.open.end_sequence
    }

    /// Whether the open block has transactions.
    pub fn is_open(&self) -> bool {
        !self.open.operations.is_empty()
    }

    /// Does one piece of work: closes the block, or reads a batch of the journal. Returns whether there was any.
    ///
    /// An error loses nothing: the next step tries again.
    pub fn step(&mut self, now: u64) -> Result<bool, Error> {
        self.snapshots.write_slice(&mut self.chain, now)?;
        if self.is_due(now) {
            self.close_and_maintain(now)?;
            return Ok(true);
        }
        let Some(batch) = self.reader.next()? else {
            if self.is_root_due(now) {
                self.close_and_maintain(now)?;
                return Ok(true);
            }
            if !self.is_open() {
                // An idle node keeps no memory for the next block.
                self.open.operations = Vec::new();
                self.reader.release_memory();
                self.chain.release_memory();
            }
            return Ok(false);
        };
        let last = batch.last_sequence();
        let limits = match self.proposed_end {
            Some(end) => (usize::MAX, end),
            None => (self.options.transactions as usize, u64::MAX),
        };
        self.open.take(&batch, limits, now);
        if self.open.end_sequence < last {
            // The block is full before the end of the batch; the rest goes into the next block.
            self.reader = self.log.reader(self.open.end_sequence + 1)?;
        }
        Ok(true)
    }

    /// Closes the open block, and writes a snapshot if that takes little time, so that the next start has little to do.
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.is_open() {
            self.close()?;
        }
        if self.tip() == *self.snapshots.last() {
            return Ok(());
        }
        // Only such a block can have a snapshot.
        if !self.tip().header.states_index() {
            self.close()?;
        }
        write_at_stop(&mut self.chain)
    }

    /// Whether the open block must close.
    fn is_due(&self, now: u64) -> bool {
        if let Some(end) = self.proposed_end {
            return self.open.end_sequence >= end;
        }
        let waited = Duration::from_micros(now.saturating_sub(self.open.since));
        self.is_full() || self.is_open() && waited >= self.options.interval || self.is_empty_due()
    }

    fn is_full(&self) -> bool {
        self.open.is_cut || self.open.operations.len() >= self.options.transactions as usize
    }

    /// Whether enough operations failed since the last block to close an empty one. Only a block advances the point
    /// from which the journal is kept, so failures alone would fill the disk.
    fn is_empty_due(&self) -> bool {
        !self.is_open() && self.open.end_sequence - self.tip().end_sequence >= self.options.failures
    }

    /// Whether to close an empty block, which states the root of the index, because none has followed the last block.
    fn is_root_due(&self, now: u64) -> bool {
        let waited = Duration::from_micros(now.saturating_sub(self.closed_at));
        !self.is_open() && !self.tip().header.states_index() && waited >= self.options.interval
    }

    fn close_and_maintain(&mut self, now: u64) -> Result<(), Error> {
        self.close()?;
        self.closed_at = now;
        self.maintain(now)
    }

    fn close(&mut self) -> Result<(), Error> {
        let Open { operations, tails, end_sequence, timestamp, .. } = &self.open;
        let (end_sequence, timestamp) = (*end_sequence, *timestamp);
        let parent = self.chain.tip();
        let block = NextBlock { operations, tails, end_sequence, timestamp };
        let tip = self.chain.append(block, &mut *self.sealer)?;
        self.proposed_end = None;
        self.observer.closed(&parent, &tip, operations);
        self.open.operations.clear();
        self.open.tails.clear();
        self.open.is_cut = false;
        Ok(())
    }

    /// Begins a snapshot if it is due, and prunes the journal.
    fn maintain(&mut self, now: u64) -> Result<(), Error> {
        let waited = Duration::from_micros(now.saturating_sub(self.snapshot_at));
        if self.snapshots.begin(&mut self.chain, waited)? {
            self.snapshot_at = now;
            // A small one is finished at once.
            self.snapshots.write_slice(&mut self.chain, now)?;
        }
        prune(&self.log, self.options.retention, self.options.replay, self.tip().end_sequence)
    }
}

/// Prunes the journal. Operations stay that are not in a block, up to `settled`, or that retries and the replay of
/// signed operations need.
pub(crate) fn prune(log: &Log, retention: Duration, replay: Duration, settled: u64) -> Result<(), Error> {
    let is_large = log.segments() > REPLAY_SEGMENTS;
    let keep = if is_large { retention } else { retention.max(replay) };
    let since = log.timestamp().saturating_sub(keep.as_micros() as u64);
    log.prune(log.since(since, settled + 1))?;
    Ok(())
}

impl Open {
    /// Takes successful operations, up to `most` transactions or to operation `last`, and only whole linked chains.
    fn take(&mut self, batch: &JournalBatch<'_>, (most, last): (usize, u64), now: u64) {
        if self.operations.is_empty() {
            self.since = now;
        }
        let mut is_in_chain = false;
        for (sequence, (record, signed)) in (batch.first_sequence..).zip(batch.entries()) {
            if !is_in_chain {
                if self.operations.len() >= most || self.end_sequence == last {
                    return;
                }
                let position = (sequence - batch.first_sequence) as usize;
                let is_linked = record.operation.is_linked();
                if is_linked && !self.operations.is_empty() && !self.has_room(&batch.records[position..], most) {
                    self.is_cut = true;
                    return;
                }
            }
            is_in_chain = record.operation.is_linked();
            self.end_sequence = sequence;
            self.timestamp = batch.timestamp;
            if record.operation.status.get() != Status::Ok.code() {
                continue;
            }
            if let Some(signed) = signed {
                self.tails.push(SignedTail { position: self.operations.len() as u32, tail: *signed.tail() });
            }
            self.operations.push(record.operation);
        }
    }

    /// Whether the linked chain at the start of `records` fits in a block of `most` transactions.
    fn has_room(&self, records: &[Record], most: usize) -> bool {
        let length = records.iter().take_while(|record| record.operation.is_linked()).count() + 1;
        let is_successful = records.first().is_some_and(|record| record.operation.status.get() == Status::Ok.code());
        !is_successful || self.operations.len() + length <= most
    }
}
