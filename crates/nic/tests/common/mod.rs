//! A backend in memory and a small store controller, to drive the stages without a network and a ledger.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use net::Waker;
use turnpike_nic::backend::{MESSAGE_BYTES, Message};
use turnpike_nic::extractor::signed_operations;
use turnpike_nic::{Answer, Backend, Batch, Held, Peer, QueryKind, Release, Reply, StoreController, Transmit};
use wire::{AccountId, Command, Operation, Promise, SignedOperation, Status, U16};

/// Address of the node under test.
pub const LOCAL: &str = "127.0.0.1:7400";

/// A datagram and its sender or recipient.
type Addressed = (Peer, Vec<u8>);

/// Datagrams to and from a data path, in place of a network.
#[derive(Clone, Default)]
pub struct Memory {
    pub inbox: Arc<Mutex<VecDeque<Addressed>>>,
    pub outbox: Arc<Mutex<Vec<Addressed>>>,
}

impl Transmit for Memory {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        let mut outbox = self.outbox.lock().unwrap();
        let before = outbox.len();
        outbox.extend(replies.map(|reply| (reply.peer, reply.bytes.to_vec())));
        outbox.len() - before
    }
}

impl Backend for Memory {
    type Transmitter = Self;

    fn receive(&mut self, batch: &mut Batch, _timeout: Duration) -> io::Result<()> {
        batch.messages.clear();
        let mut inbox = self.inbox.lock().unwrap();
        while batch.messages.len() < batch.limit() {
            let Some((peer, bytes)) = inbox.pop_front() else { break };
            let offset = batch.messages.len() * MESSAGE_BYTES;
            batch.memory[offset..offset + bytes.len()].copy_from_slice(&bytes);
            batch.messages.push(Message { peer, offset, length: bytes.len(), segment: bytes.len() });
        }
        Ok(())
    }

    fn transmitter(&self) -> io::Result<Self> {
        Ok(self.clone())
    }

    fn waker(&self) -> Waker {
        Waker::new().unwrap()
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        Ok(LOCAL.parse().unwrap())
    }
}

/// Balances in a map; a durable reply waits for the number of operations so far; every signature is valid.
#[derive(Default)]
pub struct Toy {
    pub balances: HashMap<AccountId, u64>,
    pub sequence: u64,
    pub verified: VecDeque<Held>,
    pub deferred: Vec<Held>,
    pub defers: bool,
    /// Replicas order operations, and at most two approvals wait.
    pub orders: bool,
    pub changes: Arc<Mutex<Vec<Held>>>,
}

impl Toy {
    fn apply(&mut self, operation: &mut Operation) -> u64 {
        if operation.status.get() == 0 {
            self.sequence += 1;
            let known = self.balances.contains_key(&operation.source);
            let status = match operation.command() {
                Ok(Command::Create | Command::Open) if known => Status::AccountExists,
                Ok(Command::Create | Command::Open) => {
                    self.balances.insert(operation.source, 0);
                    Status::Ok
                }
                Ok(Command::Issue | Command::Transfer | Command::Refer) if !known => Status::SourceUnknown,
                Ok(Command::Issue) => {
                    *self.balances.get_mut(&operation.source).unwrap() += operation.amount();
                    Status::Ok
                }
                Ok(Command::Transfer | Command::Refer) => Status::Ok,
                Ok(Command::Hold | Command::Capture | Command::Release | Command::Reclaim) => Status::HoldUnknown,
                Ok(Command::Freeze | Command::Unfreeze) => Status::FreezingDisabled,
                Ok(Command::Close) => Status::AccountNotEmpty,
                Err(status) => status,
            };
            operation.status = U16::new(status.code());
        }
        self.balances.get(&operation.source).copied().unwrap_or(0)
    }
}

impl StoreController for Toy {
    fn default_promise(&self) -> Promise {
        Promise::Durable
    }

    fn execute(&mut self, operations: &mut [Operation], values: &mut [u64]) {
        assert_eq!(operations.len(), values.len());
        for (operation, value) in operations.iter_mut().zip(values) {
            *value = self.apply(operation);
        }
    }

    fn execute_signed(&mut self, operations: &mut [SignedOperation], values: &mut [u64]) {
        assert_eq!(operations.len(), values.len());
        for (signed, value) in operations.iter_mut().zip(values) {
            *value = self.apply(&mut signed.operation);
        }
    }

    fn release(&mut self, promise: Promise) -> Release {
        if promise == Promise::Accepted { Release::Now(promise) } else { Release::Durable(self.sequence) }
    }

    fn answer(&mut self, kind: QueryKind, datagram: &mut [u8], _peer: &Peer) -> Answer {
        match kind {
            QueryKind::Info if self.defers => Answer::Defer,
            QueryKind::Info => {
                datagram[3] |= wire::REPLY_BIT;
                Answer::Reply(datagram.len())
            }
            QueryKind::Proof => Answer::Refuse(Status::ReplyTooLarge, 1234),
            QueryKind::Headers | QueryKind::Finality => Answer::Refuse(Status::NotFound, 0),
            QueryKind::Verify | QueryKind::History | QueryKind::Assets => Answer::Defer,
        }
    }

    fn defer(&mut self, _kind: QueryKind, held: Held) -> Result<(), Held> {
        if self.deferred.len() == 2 {
            return Err(held);
        }
        self.deferred.push(held);
        Ok(())
    }

    fn verify(&mut self, mut held: Held) -> Result<(), Held> {
        assert!(signed_operations(&mut held).is_some());
        self.verified.push_back(held);
        Ok(())
    }

    fn orders(&self) -> bool {
        self.orders
    }

    fn change(&mut self, held: Held) -> Result<(), Held> {
        let mut changes = self.changes.lock().unwrap();
        if changes.len() == 2 {
            return Err(held);
        }
        changes.push(held);
        Ok(())
    }

    fn verified(&mut self) -> Option<Held> {
        self.verified.pop_front()
    }

    fn commit(&mut self, _lone: bool) {}
}
