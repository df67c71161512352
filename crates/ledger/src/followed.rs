//! The ledger of a follower: it executes what another node journalled, and has that node's blocks.
//!
//! The node's journal gives operations with their results, in order, and its headers say where blocks end. Only the
//! headers are sealed, so nothing of a block is written before the operations are found to be the sealed ones.
//!
//! State: the ledger as of the last executed operation; journal and chain; the operations that wait for the header of
//! their block. The first that waits is always a successful one.
//!
//! - To take operations: append them to those that wait. Then execute and journal the failed ones, and failed linked
//!   chains, before the first successful one: they are in no block and change nothing, but their results must hold.
//! - To close a block, given its header: wait until all of its transactions are there, and take the operations up to
//!   the last of them. The root of the successful ones must be the header's. Execute all of them, which must give the
//!   results that the node stated. Commit them to the journal, one batch for each time. Append the block to the chain:
//!   its header must be the node's, whose seal it gets.
//!
//! Invariants: the chain has only headers that the node's key sealed; the journal has the node's operations with their
//! sequences, results and times, so it recognises the same retries as the node's; no batch ends inside a linked chain.
//!
//! A crash between journal and chain leaves operations in the journal that wait for their block again. After a
//! [contradiction](Error::is_contradiction) the ledger in memory is ahead of the chain: drop it.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use chain::{
    merkle::{SignedTail, Tree},
    own::{self, NextBlock, OwnChain, OwnReader, Sealer, SealingError, Tip},
};
use spv::{BlockHeader, Seal, SealedHeader};
use wire::{Command, SignedOperation, Status};

use crate::{
    Error, Ledger, Limits, Memory, Secret, Snapshots,
    builder::{Observer, prune},
    journal::{Batch, Journal, Log, Newest, Record},
    recovery::{Clock, Recovery, replay},
    snapshots::{Slice, SnapshotWriter, write_at_stop},
};

/// Bytes from which on a batch of the journal is committed although more operations have its time: larger writes cost
/// as much for each operation.
const BATCH_BYTES: u64 = 4 << 20;

/// Configuration of a follower's ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// At least those of the node that is followed.
    pub limits: Limits,
    /// When to write snapshots.
    pub snapshots: Snapshots,
    /// Minimum time that operations stay in the journal, as for the [builder](crate::builder::Options).
    pub retention: Duration,
    /// Time that they stay if they take few segments.
    pub replay: Duration,
}

/// Operations that the node journalled at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// In microseconds since the Unix epoch.
    pub time: u64,
    /// The operations with their results.
    pub records: Vec<Record>,
    /// The tails of the signed ones, by ascending position in `records`.
    pub tails: Vec<SignedTail>,
}

impl Part {
    /// The operations, each with the signed one if it is signed.
    fn entries(&self) -> impl Iterator<Item = (&Record, Option<SignedOperation>)> {
        let mut tails = self.tails.iter().peekable();
        self.records.iter().enumerate().map(move |(position, record)| {
            let tail = tails.next_if(|tail| tail.position as usize == position);
            (record, tail.map(|tail| SignedOperation::join(&record.operation, &tail.tail)))
        })
    }

    /// Drops the first operations.
    fn drop_first(&mut self, count: usize) {
        self.records.drain(..count);
        self.tails.retain_mut(|tail| {
            let position = (tail.position as usize).checked_sub(count);
            tail.position = position.unwrap_or_default() as u32;
            position.is_some()
        });
    }
}

/// An operation that waits, with its sequence and its time.
struct Waiting<'a> {
    sequence: u64,
    time: u64,
    record: &'a Record,
    signed: Option<SignedOperation>,
}

/// The node's seal of the next block.
#[derive(Debug)]
struct Published<'a> {
    sealed: &'a SealedHeader,
    is_other: bool,
}

impl Sealer for Published<'_> {
    fn seal(&mut self, header: &BlockHeader) -> Result<Seal, SealingError> {
        self.is_other = *header != self.sealed.header;
        if self.is_other { Err("the followed node sealed another header".into()) } else { Ok(self.sealed.seal) }
    }
}

/// A follower's ledger with its journal and its chain.
#[derive(Debug)]
pub struct FollowedLedger<O = ()> {
    recovery: Recovery,
    journal: Journal,
    chain: OwnChain,
    observer: O,
    options: Options,
    waiting: VecDeque<Part>,
    /// Number of operations that wait, and of the successful ones.
    count: usize,
    successes: usize,
    /// Sequence of the first that waits, or of the next.
    first: u64,
    /// Time of the last operation.
    time: u64,
    batch: Batch,
    /// When the last snapshot was begun, or the ledger opened.
    snapshot_at: u64,
    snapshots: SnapshotWriter,
}

impl<O: Observer> FollowedLedger<O> {
    /// Recovers a ledger, in `memory` if given. `now`, here and elsewhere, is in microseconds of a monotonic clock.
    pub fn open(
        chain: OwnChain,
        journal: Journal,
        options: Options,
        secret: Secret,
        memory: Option<Memory>,
        observer: O,
        now: u64,
    ) -> Result<Self, Error> {
        let (log, tip) = (journal.log().clone(), chain.tip());
        let recovery = replay(Clock::Own, memory, options.limits, secret, &chain, &log, |_| {})?;
        let mut followed = Self {
            recovery,
            journal,
            chain,
            observer,
            options,
            waiting: VecDeque::new(),
            count: 0,
            successes: 0,
            first: tip.end_sequence + 1,
            time: 0,
            batch: Batch::new(),
            snapshot_at: now,
            snapshots: SnapshotWriter::new(options.snapshots, tip),
        };
        let mut reader = log.reader(tip.end_sequence + 1)?;
        while let Some(batch) = reader.next()? {
            let records = batch.records.to_vec();
            let tails = batch.entries().zip(0..).filter_map(|((_, signed), position)| {
                signed.map(|signed| SignedTail { position, tail: *signed.tail() })
            });
            let tails = tails.collect();
            followed.take(Part { time: batch.timestamp, records, tails })?;
        }
        Ok(followed)
    }

    /// The last block.
    pub fn tip(&self) -> Tip {
        self.chain.tip()
    }

    /// A handle for reading the chain.
    pub fn chain(&self) -> OwnReader {
        self.chain.reader()
    }

    /// The journal, for reading.
    pub fn log(&self) -> &Arc<Log> {
        self.journal.log()
    }

    /// The accounts and the memory of retries.
    pub fn ledger(&self) -> &Ledger {
        self.recovery.ledger()
    }

    /// Number of operations that wait for the header of their block.
    pub fn waiting(&self) -> usize {
        self.count
    }

    /// Sequence of the first operation that was not taken yet.
    pub fn next_sequence(&self) -> u64 {
        self.first + self.count as u64
    }

    /// Sequence of the last operation that is in a block, or failed.
    pub fn executed(&self) -> u64 {
        self.first - 1
    }

    /// Takes the next operations of the node.
    pub fn take(&mut self, part: Part) -> Result<(), Error> {
        let sequence = self.next_sequence();
        let is_journalled = |record: &Record| {
            let (command, status) = (record.operation.command(), record.operation.status());
            let (Ok(command), Ok(status)) = (command, status) else { return false };
            let may_be_full = matches!(
                command,
                Command::Create | Command::Open | Command::Hold | Command::Freeze | Command::Unfreeze
            );
            command != Command::Refer && status.is_journalled() && (status != Status::TableFull || may_be_full)
        };
        if part.time < self.time || !part.records.iter().all(is_journalled) {
            return Err(Error::NotOfJournal { sequence });
        }
        self.time = part.time;
        self.count += part.records.len();
        self.successes += part.records.iter().filter(|record| is_successful(record)).count();
        if !part.records.is_empty() {
            self.waiting.push_back(part);
        }
        self.settle_failed()
    }

    /// Closes the block with this header, if all of its operations are there. The header must be sealed.
    pub fn close(&mut self, sealed: &SealedHeader, now: u64) -> Result<Option<Tip>, Error> {
        let header = &sealed.header;
        let (height, transactions) = (header.height.get(), header.transactions.get() as usize);
        if self.successes < transactions {
            return Ok(None);
        }
        let not_of_block = || Error::NotOfBlock { height };
        let length = self.length(transactions).ok_or_else(not_of_block)?;
        let (mut operations, mut tails) = (Vec::with_capacity(transactions), Vec::new());
        for Waiting { record, signed, time, .. } in first_waiting(&self.waiting, self.first, length) {
            if time > header.timestamp.get() {
                return Err(not_of_block());
            }
            if is_successful(record) {
                let position = operations.len() as u32;
                tails.extend(signed.map(|signed| SignedTail { position, tail: *signed.tail() }));
                operations.push(record.operation);
            }
        }
        // Before anything is written: only this shows that these are the node's operations.
        if operations.len() != transactions || Tree::new(&operations, &tails).root != header.transaction_root {
            return Err(not_of_block());
        }
        self.execute(length)?;
        let block = NextBlock {
            operations: &operations,
            tails: &tails,
            end_sequence: self.first + length as u64 - 1,
            timestamp: header.timestamp.get(),
        };
        let parent = self.chain.tip();
        let mut sealer = Published { sealed, is_other: false };
        let tip = match self.chain.append(block, &mut sealer) {
            Ok(tip) => tip,
            Err(_) if sealer.is_other => return Err(Error::OtherHeader { height }),
            Err(own::Error::InvalidBlock(_) | own::Error::Effect(_)) => return Err(not_of_block()),
            Err(error) => return Err(error.into()),
        };
        self.observer.closed(&parent, &tip, &operations);
        self.drop_first(length);
        self.settle_failed()?;
        self.maintain(now)?;
        Ok(Some(tip))
    }

    /// Work of an idle follower: writes the rest of a snapshot, and seals the journal.
    pub fn idle(&mut self, now: u64) -> Result<(), Error> {
        self.continue_snapshot(now)?;
        self.seal()
    }

    /// Seals the journal, and writes a snapshot if that takes little time, so that the next start has little to do.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.seal()?;
        if self.tip() == *self.snapshots.last() { Ok(()) } else { write_at_stop(&mut self.chain) }
    }

    /// Number of the first operations that have this number of successful ones, and end with the last of these. `None`
    /// if that is inside a linked chain.
    fn length(&self, transactions: usize) -> Option<usize> {
        if transactions == 0 {
            return Some(0);
        }
        let records = self.waiting.iter().flat_map(|part| &part.records);
        let mut successful = records.enumerate().filter(|(_, record)| is_successful(record));
        let (position, last) = successful.nth(transactions - 1)?;
        (!last.operation.is_linked()).then_some(position + 1)
    }

    /// Executes and journals the failed operations before the first successful one.
    fn settle_failed(&mut self) -> Result<(), Error> {
        let mut length = 0;
        let records = self.waiting.iter().flat_map(|part| &part.records);
        for (position, record) in records.enumerate().take_while(|(_, record)| !is_successful(record)) {
            if !record.operation.is_linked() {
                length = position + 1;
            }
        }
        if length > 0 {
            self.execute(length)?;
            self.drop_first(length);
        }
        Ok(())
    }

    /// Executes the first operations that wait, and commits them to the journal, as far as a restart has not found them
    /// there.
    fn execute(&mut self, count: usize) -> Result<(), Error> {
        let executed = self.recovery.next_sequence();
        let entries = first_waiting(&self.waiting, self.first, count);
        for Waiting { time, record, signed, .. } in entries.skip_while(|entry| entry.sequence < executed) {
            self.recovery.batch(time, Newest::default());
            match signed {
                Some(signed) => self.recovery.operation(&signed, record.value.get())?,
                None => self.recovery.operation(&record.operation, record.value.get())?,
            }
        }
        let durable = self.journal.log().durable();
        let entries = first_waiting(&self.waiting, self.first, count);
        let (mut batch_time, mut is_in_chain) = (0, false);
        for Waiting { time, record, signed, .. } in entries.skip_while(|entry| entry.sequence <= durable) {
            let is_due = time != batch_time || self.batch.bytes() >= BATCH_BYTES && !is_in_chain;
            if is_due {
                self.journal.commit(&mut self.batch, batch_time)?;
                batch_time = time;
            }
            match signed {
                Some(signed) => self.batch.push_signed(&signed, record.value.get()),
                None => self.batch.push(&record.operation, record.value.get()),
            }
            is_in_chain = record.operation.is_linked();
        }
        self.journal.commit(&mut self.batch, batch_time)?;
        Ok(())
    }

    /// Drops the first operations that wait.
    fn drop_first(&mut self, count: usize) {
        self.first += count as u64;
        self.count -= count;
        let mut left = count;
        while left > 0
            && let Some(part) = self.waiting.front_mut()
        {
            let dropped = left.min(part.records.len());
            left -= dropped;
            self.successes -= part.records[..dropped].iter().filter(|record| is_successful(record)).count();
            if dropped == part.records.len() {
                self.waiting.pop_front();
            } else {
                part.drop_first(dropped);
            }
        }
    }

    /// Seals the journal at the time of its last batch: operations that wait, and have later ones, follow.
    fn seal(&mut self) -> Result<(), Error> {
        Ok(self.journal.seal(0)?)
    }

    fn continue_snapshot(&mut self, now: u64) -> Result<(), Error> {
        while self.snapshots.write_slice(&mut self.chain, now)? != Slice::None {}
        Ok(())
    }

    /// Begins a snapshot if it is due, writes the slices that are due, and prunes the journal.
    fn maintain(&mut self, now: u64) -> Result<(), Error> {
        let waited = Duration::from_micros(now.saturating_sub(self.snapshot_at));
        if self.snapshots.begin(&mut self.chain, waited)? {
            self.snapshot_at = now;
        }
        self.continue_snapshot(now)?;
        prune(self.journal.log(), self.options.retention, self.options.replay, self.tip().end_sequence)
    }
}

/// The first of the operations that wait, of which the first has the sequence `first`.
fn first_waiting(waiting: &VecDeque<Part>, first: u64, count: usize) -> impl Iterator<Item = Waiting<'_>> {
    let entries = waiting.iter().flat_map(|part| part.entries().map(|entry| (part.time, entry)));
    let entries = (first..).zip(entries).take(count);
    entries.map(|(sequence, (time, (record, signed)))| Waiting { sequence, time, record, signed })
}

fn is_successful(record: &Record) -> bool {
    record.operation.status.get() == Status::Ok.code()
}
