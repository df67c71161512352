//! The thread that executes final blocks: the ledger's only writer.
//!
//! It handles one message at a time:
//!
//! - A final block of height h: skip it if the chain has it. Otherwise it must be the next one. Apply its approvals,
//!   execute its groups, close the block, publish it and reply, in the order that the [replica's module](super) lists.
//!   If a frame waits here for exactly this group, execute the frame itself, so that operations refused before ordering
//!   get their reply in place; they leave no trace in the ledger.
//! - A frame to read: answer it from the executed state. Operations that would need ordering get `STORAGE_FAILED`,
//!   since such frames arrive here only after a disk failure.
//! - A frame to screen: order, answer, refuse or park it, as [screening](super::screening) decides.
//! - A member change to refuse: answer it with the status.
//! - A stop: after the engine has ended, mark the height, record all vote files, seal the journal and write a snapshot.
//!
//! At most every 10 ms it also answers frames that waited too long, and decides on parked frames whose grace has
//! passed. After each block it decides on all parked frames again.
//!
//! On an error of the disk it answers the block's frames `STORAGE_FAILED`, sets `storage_failed`, and takes no further
//! block: the engine delivers it again after a restart. The NIC tier stays deferred, so it answers nothing of a block
//! that is executed in part. Reads continue.

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
    Held, Peer, Reply, Transmit,
    extractor::{Extraction, signed_operations},
    generator,
};
use order::Final;
use wire::{ChangeFrame, Operation, Promise, SignedOperation, Status};
use zerocopy::FromBytes;

use super::{
    block_body::{Body, Entries, Group},
    clocks::Clocks,
    incarnation::Mark,
    neighbours::Neighbours,
    order_pool::{Executed, OrderPool, Submitted, Waiting},
    roster::Roster,
    screening::{Decision, Screening},
    state_sync::Checkpoints,
};
use crate::{Error, node_state::NodeState};

/// Interval of waking waiters for a time.
const TICK: Duration = Duration::from_millis(10);
/// The same while nothing is to be ordered: only an empty block now and then is waited for.
const IDLE_TICK: Duration = Duration::from_millis(250);

/// A message to the executor.
pub enum ExecutorMessage {
    /// A block that is final.
    Block(Box<Final>),
    /// A frame whose operations change nothing.
    Read(Held),
    /// A frame of signed operations whose sender is in no trusted prefix.
    Screen(Held),
    /// A member change frame that is not ordered.
    Refuse(Held, Status),
    /// A frame of operations that are not ordered.
    Unordered(Held, Status),
    /// The end.
    Stop,
}

/// A frame whose operations were executed, with their statuses and values.
enum Answered {
    Plain(Held, Vec<Operation>, Vec<u64>),
    /// The statuses are in the frame.
    Signed(Held, Vec<u64>),
    Change(Held, Status),
}

impl Answered {
    /// Replaces all statuses: the block was executed and could not be stored.
    fn storage_failed(self) -> Self {
        let fail = |operation: &mut Operation| operation.status.set(Status::StorageFailed.code());
        match self {
            Self::Plain(held, mut operations, mut values) => {
                operations.iter_mut().for_each(fail);
                values.fill(0);
                Self::Plain(held, operations, values)
            }
            Self::Signed(mut held, mut values) => {
                let signed = signed_operations(&mut held).into_iter().flatten();
                signed.for_each(|signed| fail(&mut signed.operation));
                values.fill(0);
                Self::Signed(held, values)
            }
            Self::Change(held, _) => Self::Change(held, Status::StorageFailed),
        }
    }
}

/// The ledger's only writer: executes final blocks and sends replies.
pub struct Executor<O> {
    pub ledger: OrderedLedger<O>,
    pub order_pool: Arc<OrderPool>,
    pub roster: Arc<Roster>,
    pub checkpoints: Checkpoints,
    pub neighbours: Neighbours,
    pub screening: Screening,
    pub mark: Mark,
    pub node_state: Arc<NodeState>,
    pub transmit: Box<dyn Transmit>,
    pub messages: Receiver<ExecutorMessage>,
    pub clocks: Arc<Clocks>,
}

impl<O: Observer> Executor<O> {
    /// Runs until stopped. After a disk failure it executes no further block, and answers reads only.
    pub fn run(mut self) {
        self.settle();
        self.tell(0);
        let mut ticked = Instant::now();
        let mut tick = TICK;
        loop {
            let result = match self.messages.recv_timeout(tick) {
                // The engine keeps blocks that were not executed, and delivers them again after a restart.
                Ok(ExecutorMessage::Block(_)) if self.has_failed() => Ok(()),
                Ok(ExecutorMessage::Block(block)) => self.execute(&block),
                Ok(ExecutorMessage::Read(held)) => {
                    self.read(held);
                    Ok(())
                }
                Ok(ExecutorMessage::Screen(held)) => {
                    self.screen(held, Instant::now());
                    Ok(())
                }
                Ok(ExecutorMessage::Refuse(held, status)) => {
                    self.reply(Answered::Change(held, status), &[]);
                    Ok(())
                }
                Ok(ExecutorMessage::Unordered(held, status)) => {
                    self.answer_without_order(held, status, &[]);
                    Ok(())
                }
                Ok(ExecutorMessage::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => Ok(()),
            };
            if let Err(error) = result {
                self.node_state.storage_failed.store(true, Relaxed);
                tracing::error!(%error, "cannot store final blocks: fix the disk, then restart the node");
            }
            if ticked.elapsed() >= TICK {
                for (waiting, status) in self.order_pool.tick() {
                    self.give_up(waiting, status);
                }
                self.screen_again(false);
                ticked = Instant::now();
                tick = if self.order_pool.is_idle() { IDLE_TICK } else { TICK };
            }
        }
        if self.has_failed() {
            return;
        }
        self.mark.finish(self.ledger.tip().height());
        if let Err(error) = self.ledger.finish() {
            tracing::warn!(%error, "cannot write a snapshot of the ledger: the next start takes longer");
        }
    }

    fn has_failed(&self) -> bool {
        self.node_state.storage_failed.load(Relaxed)
    }

    /// Executes a block, unless it was executed before a restart.
    fn execute(&mut self, found: &Final) -> Result<(), Error> {
        let (block, tip) = (&found.block, self.ledger.tip());
        if block.height() <= tip.height() {
            return Ok(());
        }
        assert_eq!(block.height(), tip.height() + 1, "a final block is missing: restore the whole data directory");
        let body = Body::decode(block.body()).expect("a quorum judged the block");
        // Not before the block before, as a quorum judged.
        let time = body.time;
        let mut executed = 0;
        let mut replies = Vec::new();
        self.checkpoints.take(found, &body, &self.roster);
        let approvals: Vec<_> = body.groups.iter().flat_map(Group::approvals).copied().collect();
        let mut statuses = self.roster.execute(block.height(), &approvals)?.into_iter();
        self.unsettle(&body);
        for group in &body.groups {
            // For a frame that waits here, an operation refused before ordering gets its status in its place; it leaves
            // no trace.
            match (self.order_pool.take(group), group.entries()) {
                (waiting, Entries::Approvals(entries)) => {
                    // A frame has one.
                    let status = statuses.by_ref().take(entries.len()).last();
                    let answer =
                        |(waiting, status): (Waiting, _)| (Answered::Change(waiting.held, status), waiting.others);
                    replies.extend(waiting.zip(status).map(answer));
                }
                (Some(Waiting { held, others, .. }), _) => {
                    replies.push((self.execute_frame(time, held, |_| {}), others));
                }
                (None, Entries::Plain(entries)) => self.execute_entries(time, entries.to_vec()),
                (None, Entries::Signed(entries)) => self.execute_entries(time, entries.to_vec()),
            }
            match group.entries() {
                Entries::Plain(entries) => self.count(entries.iter().map(|entry| entry.command)),
                Entries::Signed(entries) => self.count(entries.iter().map(|entry| entry.operation.command)),
                Entries::Approvals(_) => {}
            }
            executed += group.operations() as u64;
        }
        let closing = Instant::now();
        let tip = match self.ledger.close(time) {
            Ok(tip) => tip,
            Err(error) => {
                replies.into_iter().for_each(|(answered, others)| self.reply(answered.storage_failed(), &others));
                return Err(error.into());
            }
        };
        self.node_state.sync.record(closing.elapsed(), 1);
        self.settle();
        let (height, hash) = (tip.height(), tip.hash);
        let recent = self.ledger.recent(height).expect("it is known of the tip");
        let state = self.roster.state(height, &recent).expect("nothing was executed since");
        self.neighbours.executed(&self.roster, &self.order_pool, height, !approvals.is_empty());
        // Until a block of the new set is there, which it vouches for.
        let is_changing = self.roster.membership().is_changing(height);
        self.mark.forget_ended_epochs(height);
        self.order_pool.executed(Executed { height, hash, state }, &body, is_changing);
        self.clocks.executed(time);
        self.tell(executed);
        replies.into_iter().for_each(|(answered, others)| self.reply(answered, &others));
        self.screen_again(true);
        self.mark.executed(height);
        Ok(())
    }

    /// Makes the NIC tier defer ledger reads to this thread, because a block is about to change the ledger: replies are
    /// as of a whole block. If the block cannot be closed, the tier stays deferred.
    fn unsettle(&self, body: &Body) {
        if let Some(tier) = self.node_state.tier_state() {
            let operations: usize = body.groups.iter().map(Group::operations).sum();
            tier.announce(self.ledger.ledger().last_sequence() + operations as u64);
        }
    }

    /// Lets the NIC tier answer again: all executed operations are final and durable. Replies to their clients are sent
    /// afterwards, so a client with a reply never reads an older state.
    fn settle(&self) {
        if let Some(tier) = self.node_state.tier_state() {
            let last = self.ledger.ledger().last_sequence();
            tier.durable(last);
            tier.executed(last);
        }
    }

    fn count(&self, codes: impl Iterator<Item = u8>) {
        self.node_state.counters.count_operations(codes);
    }

    fn execute_entries<E: Ordered>(&mut self, time: u64, mut entries: Vec<E>) {
        let mut values = vec![0; entries.len()];
        self.ledger.execute(time, &mut entries, &mut values);
    }

    /// Executes the operations of a frame that `refuse` leaves.
    fn execute_frame(&mut self, time: u64, mut held: Held, mut refuse: impl FnMut(&mut Operation)) -> Answered {
        if let Some(signed) = signed_operations(&mut held) {
            signed.iter_mut().for_each(|signed| refuse(&mut signed.operation));
            let mut values = vec![0; signed.len()];
            self.ledger.execute(time, signed, &mut values);
            for (signed, value) in signed.iter().zip(&mut values) {
                if signed.operation.status() == Ok(Status::DepositRequired) {
                    *value = self.node_state.deposit;
                }
            }
            return Answered::Signed(held, values);
        }
        let mut operations = extract(&held);
        operations.iter_mut().for_each(refuse);
        let mut values = vec![0; operations.len()];
        self.ledger.execute(time, &mut operations, &mut values);
        Answered::Plain(held, operations, values)
    }

    /// Orders, answers or parks a frame that arrived at a given time.
    fn screen(&mut self, held: Held, since: Instant) {
        if self.has_failed() {
            return self.read(held);
        }
        let is_current = || self.node_state.order().is_none_or(|status| status.unready().is_none());
        match self.screening.decide(held, since, &mut self.ledger, &self.order_pool, is_current) {
            Some(Decision::Order(held, signed)) => self.order(held, &signed),
            Some(Decision::Answer(held)) => {
                let answered = self.execute_frame(self.ledger.time(), held, |_| {});
                self.reply(answered, &[]);
            }
            Some(Decision::Refuse(held, status)) => self.refuse(held, status),
            Some(Decision::GiveUp(held)) => self.answer_without_order(held, Status::NotFinal, &[]),
            None => {}
        }
    }

    /// Looks at parked frames again: at all of them after a block, else at those that waited long enough.
    fn screen_again(&mut self, all: bool) {
        for (held, since) in self.screening.take(all) {
            self.screen(held, since);
        }
    }

    /// Submits the operations of a frame for ordering.
    fn order(&mut self, held: Held, signed: &[SignedOperation]) {
        match self.order_pool.submit(held, |key, held| Group::of_signed(key, held.trusted, signed)) {
            // A group that others do not receive waits for this replica's turn.
            Submitted::Announce(group) => drop(self.neighbours.outbox.send(group.bytes().clone())),
            Submitted::Waits => {}
            Submitted::Refused(held, Status::Busy) => self.refuse(held, Status::Busy),
            Submitted::Refused(held, status) => self.answer_without_order(held, status, &[]),
        }
    }

    /// Refuses all operations of a frame that were not refused before.
    fn refuse(&mut self, held: Held, status: Status) {
        let answered = self.execute_frame(self.ledger.time(), held, |operation| {
            if operation.status.get() == 0 {
                operation.status.set(status.code());
            }
        });
        self.reply(answered, &[]);
    }

    /// Answers a frame from the final state without ordering it. It has operations that need ordering only if storage
    /// failed.
    fn read(&mut self, held: Held) {
        self.answer_without_order(held, Status::StorageFailed, &[]);
    }

    /// Answers a frame whose operations were not executed.
    fn give_up(&mut self, Waiting { held, others, group, .. }: Waiting, status: Status) {
        match group.approvals().is_empty() {
            true => self.answer_without_order(held, status, &others),
            false => self.reply(Answered::Change(held, status), &others),
        }
    }

    /// Answers reads from the executed state, and sets the status of all operations that would be ordered.
    fn answer_without_order(&mut self, held: Held, status: Status, others: &[Peer]) {
        let answered = self.execute_frame(self.ledger.time(), held, |operation| {
            if is_ordered(operation) {
                operation.status.set(status.code());
            }
        });
        self.reply(answered, others);
    }

    /// Sends the reply to the frame's sender, and to others that sent the same frame.
    fn reply(&mut self, answered: Answered, others: &[Peer]) {
        let (held, length) = match answered {
            Answered::Plain(mut held, operations, values) => {
                let length = generator::reply(&mut held, &operations, &values, Promise::Final);
                (held, length)
            }
            Answered::Signed(mut held, values) => {
                let length = generator::reply_signed(&mut held, &values, Promise::Final);
                (held, length)
            }
            Answered::Change(mut held, status) => {
                let frame = ChangeFrame::mut_from_bytes(&mut held).ok();
                let length = frame.map_or(0, |frame| {
                    frame.set_reply(status);
                    ChangeFrame::LENGTH
                });
                (held, length)
            }
        };
        if length > 0 {
            let bytes = &held[..length];
            let peers = std::iter::once(&held.peer).chain(others);
            self.transmit.transmit(&mut peers.map(|&peer| Reply { peer, bytes }));
            self.node_state.counters.latency(Promise::Final).record(held.since.elapsed(), 1);
        }
    }

    /// Publishes metrics.
    fn tell(&self, executed: u64) {
        let (tip, ledger, node_state) = (self.ledger.tip(), self.ledger.ledger(), &self.node_state);
        let time = tip.header.timestamp.get();
        node_state.executed.fetch_add(executed, Relaxed);
        node_state.count_entries(ledger);
        node_state.retries.tell(ledger.retries(Now { elapsed: time, unix: time }));
        node_state.height.store(tip.height(), Relaxed);
        node_state.index_height.store(tip.index_height, Relaxed);
        node_state.settled.store(tip.transactions, Relaxed);
        // Last: a reader that sees it sees the others as well.
        node_state.built.store(tip.end_sequence, Release);
    }
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
