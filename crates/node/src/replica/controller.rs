//! The store controller of a replica: it has operations ordered, and executes none itself.

use std::sync::{
    Arc,
    atomic::Ordering::Relaxed,
    mpsc::{SendError, Sender},
};

use chain::own::OwnReader;
use nic::{Answer, Held, Peer, QueryKind, Release, StoreController, extractor::signed_operations};
use order::Outbox;
use spv::finality::Approval;
use wire::{AccountId, ChangeFrame, Operation, Promise, SignedOperation, Status};
use zerocopy::FromBytes;

use super::{
    block_body::{Entries, Group},
    executor::{ExecutorMessage, extract, is_ordered},
    order_pool::{OrderPool, Submitted},
    roster::{self, Roster},
};
use crate::{admission, node_state::NodeState, queries::Queries, workers::Workers};

/// Passes frames with operations to the order pool, and queries to the executor.
pub struct Controller {
    pub order_pool: Arc<OrderPool>,
    pub outbox: Outbox,
    pub messages: Sender<ExecutorMessage>,
    pub chain: OwnReader,
    pub roster: Arc<Roster>,
    pub queries: Queries,
    pub workers: Workers,
    pub node_state: Arc<NodeState>,
}

impl Controller {
    /// Submits a frame for ordering. `refuse` makes the message for one that cannot be ordered here.
    fn submit(
        &self,
        held: Held,
        refuse: fn(Held, Status) -> ExecutorMessage,
        make: impl FnOnce(super::block_body::Key, &Held) -> Group,
    ) -> Result<(), Held> {
        match self.order_pool.submit(held, make) {
            // A group that others do not receive waits for this replica's turn.
            Submitted::Announce(group) => drop(self.outbox.send(group.bytes().clone())),
            Submitted::Waits => {}
            Submitted::Refused(held, Status::Busy) => return Err(held),
            Submitted::Refused(held, status) => return self.give(refuse(held, status)),
        }
        Ok(())
    }

    fn read(&self, held: Held) -> Result<(), Held> {
        self.give(ExecutorMessage::Read(held))
    }

    fn give(&self, message: ExecutorMessage) -> Result<(), Held> {
        self.messages.send(message).map_err(|SendError(message)| match message {
            ExecutorMessage::Read(held)
            | ExecutorMessage::Screen(held)
            | ExecutorMessage::Refuse(held, _)
            | ExecutorMessage::Unordered(held, _) => held,
            ExecutorMessage::Block(_) | ExecutorMessage::Stop => unreachable!("the message is the one that was sent"),
        })
    }
}

impl StoreController for Controller {
    fn default_promise(&self) -> Promise {
        Promise::Final
    }

    fn execute(&mut self, operations: &mut [Operation], _: &mut [u64]) {
        operations.iter_mut().for_each(|operation| operation.status.set(Status::Busy.code()));
    }

    fn execute_signed(&mut self, operations: &mut [SignedOperation], _: &mut [u64]) {
        operations.iter_mut().for_each(|signed| signed.operation.status.set(Status::Busy.code()));
    }

    fn release(&mut self, _: Promise) -> Release {
        Release::Now(Promise::Final)
    }

    fn answer(&mut self, query: QueryKind, datagram: &mut [u8], _peer: &Peer) -> Answer {
        self.queries.answer(query, datagram)
    }

    fn defer(&mut self, query: QueryKind, held: Held) -> Result<(), Held> {
        self.workers.defer(query, held, &self.node_state.costs)
    }

    fn verify(&mut self, held: Held) -> Result<(), Held> {
        self.workers.verifiers.try_push(held)
    }

    fn verified(&mut self) -> Option<Held> {
        let mut held = self.workers.verified.try_recv().ok()?;
        if !held.trusted {
            let room = self.node_state.accounts_unreserved.saturating_sub(self.node_state.accounts.load(Relaxed));
            let exists = |account: &AccountId| self.chain.account(account).is_ok_and(|found| found.is_some());
            admission::keep_reserve(&mut held, room, exists);
        }
        Some(held)
    }

    fn commit(&mut self, _: bool) {}

    fn orders(&self) -> bool {
        true
    }

    fn order(&mut self, mut held: Held) -> Result<(), Held> {
        let has_failed = self.node_state.has_storage_failed();
        if let Some(signed) = signed_operations(&mut held) {
            if has_failed || !signed.iter().any(|signed| is_ordered(&signed.operation)) {
                return self.read(held);
            }
            let signed = signed.to_vec();
            if !held.trusted {
                return self.give(ExecutorMessage::Screen(held));
            }
            return self
                .submit(held, ExecutorMessage::Unordered, |key, held| Group::of_signed(key, held.trusted, &signed));
        }
        let mut operations = extract(&held);
        if has_failed || !operations.iter().any(is_ordered) {
            return self.read(held);
        }
        operations.retain(|operation| operation.status.get() == 0);
        self.submit(held, ExecutorMessage::Unordered, |key, _| Group::new(key, true, Entries::Plain(&operations)))
    }

    fn change(&mut self, held: Held) -> Result<(), Held> {
        if self.node_state.has_storage_failed() {
            return self.give(ExecutorMessage::Refuse(held, Status::StorageFailed));
        }
        let approval =
            ChangeFrame::ref_from_bytes(&held).ok().and_then(|frame| Approval::read_from_bytes(&frame.approval).ok());
        let Some(approval) = approval else { return self.give(ExecutorMessage::Refuse(held, Status::Malformed)) };
        // An approval that is not valid now is not sent to others.
        let result = self.roster.membership().check(&approval, self.chain.tip().height() + 1);
        match roster::status(result) {
            Status::Ok => self.submit(held, ExecutorMessage::Refuse, |key, _| {
                Group::new(key, false, Entries::Approvals(&[approval]))
            }),
            status => self.give(ExecutorMessage::Refuse(held, status)),
        }
    }
}
