//! The thread that executes what is final: the ledger's one writer.

use std::{
    sync::{
        Arc,
        atomic::Ordering::{Relaxed, Release},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use ledger::{
    Now,
    builder::Observer,
    ordered::{Ordered, OrderedLedger},
};
use nic::{
    Held, Reply, Transmit,
    extractor::{Extraction, signed_operations},
    generator,
};
use order::Final;
use wire::{Operation, Promise, Status};

use super::{
    body::{Body, Entries},
    desk::{Desk, Executed},
};
use crate::shared::Shared;

/// How often those are woken who wait for time to pass.
const TICK: Duration = Duration::from_millis(10);

/// What there is to do.
pub enum Job {
    /// A block that is final.
    Block(Box<Final>),
    /// A frame whose operations change nothing.
    Read(Held),
    /// The end.
    Stop,
}

/// A frame's operations that were executed, and what is needed to reply.
struct Executions {
    held: Held,
    results: Vec<(Status, u64)>,
}

/// Executes, and replies.
pub struct Executor<O> {
    pub ledger: OrderedLedger<O>,
    pub desk: Arc<Desk>,
    pub shared: Arc<Shared>,
    pub transmit: Box<dyn Transmit>,
    pub jobs: Receiver<Job>,
}

impl<O: Observer> Executor<O> {
    /// Works until it is told to stop. Where the disk fails it executes no further block, and answers reads only.
    pub fn run(mut self) {
        self.tell(0);
        let mut ticked = Instant::now();
        loop {
            let result = match self.jobs.recv_timeout(TICK) {
                // The engine keeps what is not executed, and gives it again after a restart.
                Ok(Job::Block(_)) if self.has_failed() => Ok(()),
                Ok(Job::Block(block)) => self.execute(&block),
                Ok(Job::Read(held)) => {
                    self.read(held);
                    Ok(())
                }
                Ok(Job::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => Ok(()),
            };
            if let Err(error) = result {
                self.shared.storage_failed.store(true, Relaxed);
                tracing::error!(%error, "what is final cannot be stored: mend the disk and restart the node");
            }
            if ticked.elapsed() >= TICK {
                self.desk.tick();
                ticked = Instant::now();
            }
        }
        if self.has_failed() {
            return;
        }
        if let Err(error) = self.ledger.finish() {
            tracing::warn!(%error, "the ledger was not put away: the next start takes longer");
        }
    }

    fn has_failed(&self) -> bool {
        self.shared.storage_failed.load(Relaxed)
    }

    /// Executes a block, unless it was executed before a restart.
    fn execute(&mut self, found: &Final) -> Result<(), ledger::Error> {
        let (block, tip) = (&found.block, self.ledger.tip());
        if block.height() <= tip.height() {
            return Ok(());
        }
        assert_eq!(
            block.height(),
            tip.height() + 1,
            "a block that is final is missing: restore the data directory whole"
        );
        let body = Body::decode(block.body()).expect("a quorum judged the block");
        // Not before the block before, as a quorum judged.
        let time = body.time;
        let mut executed = 0;
        let mut replies = Vec::new();
        for group in &body.groups {
            let results = match group.entries() {
                Entries::Plain(entries) => execute(&mut self.ledger, time, entries.to_vec()),
                Entries::Signed(entries) => execute(&mut self.ledger, time, entries.to_vec()),
            };
            executed += results.len() as u64;
            if let Some(held) = self.desk.take(group) {
                replies.push(Executions { held, results });
            }
        }
        let tip = self.ledger.close(time)?;
        self.desk.executed(Executed { height: tip.height(), hash: tip.hash }, &body.groups);
        self.tell(executed);
        replies.into_iter().for_each(|executions| self.reply(executions));
        Ok(())
    }

    fn reply(&mut self, Executions { mut held, results }: Executions) {
        let mut results = results.into_iter();
        let balance = |operation: &Operation| self.ledger.ledger().balance(&operation.source).unwrap_or(0);
        let mut result = |operation: &mut Operation| result(operation, &mut results, balance);
        let length = if let Some(signed) = signed_operations(&mut held) {
            let values = Vec::from_iter(signed.iter_mut().map(|signed| result(&mut signed.operation)));
            let deposit = self.shared.deposit;
            let values = Vec::from_iter(values.iter().zip(signed).map(|(value, signed)| {
                if signed.operation.status() == Ok(Status::DepositRequired) { deposit } else { *value }
            }));
            generator::reply_signed(&mut held, &values, Promise::Final)
        } else {
            let mut operations = extract(&held);
            let values = Vec::from_iter(operations.iter_mut().map(&mut result));
            generator::reply(&mut held, &operations, &values, Promise::Final)
        };
        self.send(&held, length);
    }

    /// Answers a frame out of what is final: nothing of it is ordered. It has operations that would be only where storage failed.
    fn read(&mut self, mut held: Held) {
        let time = self.ledger.tip().header.timestamp.get();
        let refuse = |operation: &mut Operation| {
            if is_ordered(operation) {
                operation.status.set(Status::StorageFailed.code());
            }
        };
        let length = if let Some(signed) = signed_operations(&mut held) {
            signed.iter_mut().for_each(|signed| refuse(&mut signed.operation));
            let mut values = vec![0; signed.len()];
            self.ledger.execute(time, signed, &mut values);
            for (signed, value) in signed.iter().zip(&mut values) {
                if signed.operation.status() == Ok(Status::DepositRequired) {
                    *value = self.shared.deposit;
                }
            }
            generator::reply_signed(&mut held, &values, Promise::Final)
        } else {
            let mut operations = extract(&held);
            operations.iter_mut().for_each(refuse);
            let mut values = vec![0; operations.len()];
            self.ledger.execute(time, &mut operations, &mut values);
            generator::reply(&mut held, &operations, &values, Promise::Final)
        };
        self.send(&held, length);
    }

    fn send(&mut self, held: &Held, length: usize) {
        if length > 0 {
            self.transmit.transmit(&mut std::iter::once(Reply { peer: held.peer, bytes: &held[..length] }));
        }
    }

    /// Tells the figures.
    fn tell(&self, executed: u64) {
        let (tip, ledger, shared) = (self.ledger.tip(), self.ledger.ledger(), &self.shared);
        let time = tip.header.timestamp.get();
        shared.counters.operations.add(executed);
        shared.executed.fetch_add(executed, Relaxed);
        shared.accounts.store(ledger.accounts() as u64, Relaxed);
        shared.retries.tell(ledger.retries(Now { elapsed: time, unix: time }));
        shared.height.store(tip.height(), Relaxed);
        shared.settled.store(tip.transactions, Relaxed);
        // Last: who sees it sees the others as well.
        shared.built.store(tip.end_sequence, Release);
    }
}

fn execute<E: Ordered, O: Observer>(
    ledger: &mut OrderedLedger<O>,
    time: u64,
    mut entries: Vec<E>,
) -> Vec<(Status, u64)> {
    let mut values = vec![0; entries.len()];
    ledger.execute(time, &mut entries, &mut values);
    let status = |entry: &E| entry.operation().status().unwrap_or(Status::StorageFailed);
    entries.iter().map(status).zip(values).collect()
}

/// Writes the next result into an operation, unless it was refused before it was ordered. Gives the value of its reply.
fn result(
    operation: &mut Operation,
    results: &mut impl Iterator<Item = (Status, u64)>,
    balance: impl Fn(&Operation) -> u64,
) -> u64 {
    if operation.status.get() != 0 {
        return balance(operation);
    }
    let (status, value) = results.next().unwrap_or((Status::StorageFailed, 0));
    operation.status.set(status.code());
    value
}

/// Whether an operation is one to be ordered: it was not refused, and changes something.
pub fn is_ordered(operation: &Operation) -> bool {
    operation.status.get() == 0 && operation.is_executed()
}

/// The operations of a frame without signatures.
pub fn extract(held: &Held) -> Vec<Operation> {
    let mut extraction = Extraction::default();
    extraction.extract(held, 0..held.len(), held.peer, Promise::Final);
    extraction.operations
}
