//! The store controller of a follower: answers reads from the last verified block, and executes nothing.

use std::sync::Arc;

use chain::own::OwnReader;
use nic::{Answer, Held, Peer, QueryKind, Release, StoreController};
use wire::{AccountId, Command, Operation, Promise, SignedOperation, Status};

use super::FollowStatus;
use crate::{node_state::NodeState, queries::Queries, workers::Workers};

/// Answers REFER, and refuses all other operations.
pub struct Controller {
    pub chain: OwnReader,
    pub status: Arc<FollowStatus>,
    pub queries: Queries,
    pub workers: Workers,
    pub node_state: Arc<NodeState>,
}

impl Controller {
    /// Answers an operation: sets its status, and returns its value.
    fn answer_operation(&self, operation: &mut Operation) -> u64 {
        if self.status.has_diverged() {
            operation.status.set(Status::Diverged.code());
            return 0;
        }
        if operation.status.get() != 0 {
            return self.balance(&operation.source).unwrap_or(0);
        }
        let (status, value) = match operation.command() {
            Ok(Command::Refer) => match self.balance(&operation.source) {
                Some(balance) => (Status::Ok, balance),
                None => (Status::SourceUnknown, 0),
            },
            _ => (Status::Follower, self.status.value()),
        };
        operation.status.set(status.code());
        value
    }

    fn balance(&self, account: &AccountId) -> Option<u64> {
        let found = self.chain.account(account).inspect_err(|error| tracing::error!(%error, "cannot read an account"));
        found.ok().flatten().filter(spv::IndexEntry::is_account).map(|entry| entry.balance.get())
    }
}

impl StoreController for Controller {
    fn default_promise(&self) -> Promise {
        Promise::Durable
    }

    fn execute(&mut self, operations: &mut [Operation], values: &mut [u64]) {
        for (operation, value) in operations.iter_mut().zip(values) {
            *value = self.answer_operation(operation);
        }
    }

    fn execute_signed(&mut self, operations: &mut [SignedOperation], values: &mut [u64]) {
        for (signed, value) in operations.iter_mut().zip(values) {
            *value = self.answer_operation(&mut signed.operation);
        }
    }

    fn release(&mut self, _: Promise) -> Release {
        // A verified block is in the journals of both nodes.
        Release::Now(Promise::Durable)
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
        self.workers.verified.try_recv().ok()
    }

    fn commit(&mut self, _: bool) {}
}
