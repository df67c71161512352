//! The block builder: follows the journal and makes blocks of what succeeded.
//!
//! It owns no thread: [`BlockBuilder::step`] does one piece of work, so that a simulator can drive it as well as a thread.
//! A block is closed when it has as many transactions as it may, or when its first one has waited long enough; one without
//! transactions when nothing has succeeded for long, so that the journal can be cut. All that is in it comes from the journal, and its commit tells up to which operation, so that a restart goes on behind it.

use std::{sync::Arc, time::Duration};

use chain::{
    merkle::SignedTail,
    own::{NextBlock, OwnChain, OwnReader, Sealer, Tip},
};
use wire::{Operation, Status};

use crate::{
    Error, Snapshots,
    journal::{JournalBatch, JournalReader, Log},
};

/// When blocks are closed and snapshots are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Most transactions in a block.
    pub transactions: u32,
    /// How long the first transaction of a block waits at most for others.
    pub interval: Duration,
    /// When snapshots are written.
    pub snapshots: Snapshots,
    /// Failed operations after which a block without transactions is closed.
    pub failures: u64,
    /// How long operations stay in the journal in any case: for as long as retries are recognised.
    pub retention: Duration,
    /// How long they stay if they take few segments: for as long as signed operations are let in, so that a restart
    /// recognises them, too.
    pub replay: Duration,
}

/// Segments that the journal keeps for signed operations alone: 1 GiB of the usual size.
const REPLAY_SEGMENTS: usize = 16;

/// Who wants to know about new blocks.
pub trait Observer {
    /// A block was committed behind `parent`.
    fn closed(&mut self, _parent: &Tip, _tip: &Tip, _operations: &[Operation]) {}
}

/// Nobody wants to know.
impl Observer for () {}

/// The transactions of the next block.
#[derive(Debug, Default)]
struct Open {
    operations: Vec<Operation>,
    tails: Vec<SignedTail>,
    /// When the first one was read, in microseconds.
    since: u64,
    /// When the last operation that was looked at was journalled.
    timestamp: u64,
    /// The last operation of the journal that was looked at.
    end_sequence: u64,
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
    /// Where the next block ends, if it may have been sealed before the node was started: it has to be the same again.
    proposed_end: Option<u64>,
    /// When the last snapshot was written, or the builder was made.
    snapshot_at: u64,
    /// The tip of the last snapshot, or the one that the builder began with.
    snapshot_tip: Tip,
}

impl<O: Observer> BlockBuilder<O> {
    /// A builder that goes on where the chain ends, and has its blocks sealed by `sealer`. `now` is in microseconds of
    /// a clock that is never stepped, as in [`step`](Self::step): by one that is set back a block would stay open for
    /// as much longer.
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
            snapshot_at: now,
            snapshot_tip: tip,
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

    /// The last operation that the builder has looked at; it may be in a block that is still open.
    pub fn sequence(&self) -> u64 {
        self.open.end_sequence
    }

    /// Whether there are transactions in a block that is not closed yet.
    pub fn is_open(&self) -> bool {
        !self.open.operations.is_empty()
    }

    /// Does one piece of work: closes the block or reads a batch of the journal. Whether there was any.
    ///
    /// After an error nothing is lost: the next step tries again.
    pub fn step(&mut self, now: u64) -> Result<bool, Error> {
        if self.is_due(now) {
            self.close()?;
            self.maintain(now)?;
            return Ok(true);
        }
        let Some(batch) = self.reader.next()? else {
            if !self.is_open() {
                // An idle node holds no memory for the next block.
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
            // The block is full before the batch is over; what is left of it goes into the next.
            self.reader = self.log.reader(self.open.end_sequence + 1)?;
        }
        Ok(true)
    }

    /// Closes the block that is open and writes a snapshot, so that the next start has little to do.
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.is_open() {
            self.close()?;
        }
        if self.tip() != self.snapshot_tip {
            self.chain.snapshot()?;
        }
        Ok(())
    }

    /// Whether the open block is to be closed.
    fn is_due(&self, now: u64) -> bool {
        if let Some(end) = self.proposed_end {
            return self.open.end_sequence >= end;
        }
        let waited = Duration::from_micros(now.saturating_sub(self.open.since));
        self.is_full() || self.is_open() && waited >= self.options.interval || self.is_empty_due()
    }

    fn is_full(&self) -> bool {
        self.open.operations.len() >= self.options.transactions as usize
    }

    /// Whether so many operations failed since the last block that one without transactions is due. Only a block moves the
    /// place from which the journal is kept, so nothing but failures would fill the disk.
    fn is_empty_due(&self) -> bool {
        !self.is_open() && self.open.end_sequence - self.tip().end_sequence >= self.options.failures
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
        Ok(())
    }

    /// Writes a snapshot if it is time, and gives free what the journal need not keep.
    fn maintain(&mut self, now: u64) -> Result<(), Error> {
        let tip = self.tip();
        let waited = Duration::from_micros(now.saturating_sub(self.snapshot_at));
        if self.options.snapshots.is_due(waited, &self.snapshot_tip, &tip) {
            self.chain.snapshot()?;
            (self.snapshot_at, self.snapshot_tip) = (now, tip);
        }
        let is_large = self.log.segments() > REPLAY_SEGMENTS;
        let keep = if is_large { self.options.retention } else { self.options.retention.max(self.options.replay) };
        let since = self.log.timestamp().saturating_sub(keep.as_micros() as u64);
        self.log.prune(self.log.since(since, tip.end_sequence + 1))?;
        Ok(())
    }
}

impl Open {
    /// Takes the operations that succeeded, until there are so many, or up to the last that the block is to cover.
    fn take(&mut self, batch: &JournalBatch<'_>, (most, last): (usize, u64), now: u64) {
        if self.operations.is_empty() {
            self.since = now;
        }
        for (sequence, (record, signed)) in (batch.first_sequence..).zip(batch.entries()) {
            if self.operations.len() == most || self.end_sequence == last {
                return;
            }
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
}
