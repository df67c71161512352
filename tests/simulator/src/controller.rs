//! The store controller: the ledger and the journal, with the model beside them.

use std::sync::{Arc, Mutex};

use chain::own::OwnReader;
use ledger::Ledger;
use ledger::journal::Submitter;
use nic::{Answer, Held, Peer, QueryKind, Release, StoreController};
use proof::Service;
use wire::{Command, Operation, Promise, ProofRequest, Query, Reply, SignedOperation, Status};
use zerocopy::FromBytes;

use crate::model::{Model, Outcome};

/// Executes operations on the ledger and on the model, and compares.
pub struct Controller {
    ledger: Ledger,
    journal: Submitter,
    proofs: Service,
    chain: OwnReader,
    model: Arc<Mutex<Model>>,
    /// Replies were parked that may have to be sent by now.
    is_awaited: bool,
}

impl Controller {
    pub fn new(
        ledger: Ledger,
        journal: Submitter,
        proofs: Service,
        chain: OwnReader,
        model: Arc<Mutex<Model>>,
    ) -> Self {
        Self { ledger, journal, proofs, chain, model, is_awaited: false }
    }

    /// Whether it came from the cache or not, an answer is as of the tip.
    fn check_proof(&self, request: &ProofRequest, reply: &[u8]) {
        let account = request.account().unwrap();
        match Reply::parse(reply).unwrap() {
            Reply::Proof(proof) => {
                let latest = self.chain.latest(&account).unwrap().unwrap();
                assert_eq!((proof.fixed.block_hash, proof.fixed.position.get()), (latest.block_hash, latest.position));
            }
            Reply::Index(proof) => assert_eq!(proof.fixed.block_hash, self.chain.tip().hash),
            Reply::ProofRefused(_, status) => {
                assert_eq!((request.query(), status), (Ok(Query::Latest), Status::NotFound));
                assert!(self.chain.account(&account).unwrap().is_none());
            }
            other => panic!("not a proof: {other:?}"),
        }
    }
}

impl StoreController for Controller {
    fn default_promise(&self) -> Promise {
        Promise::Durable
    }

    fn execute(&mut self, operations: &mut [Operation], values: &mut [u64]) {
        let mut submission = self.journal.begin();
        let (room, refusal) = match submission.room() {
            Ok(room) => (room, Status::Busy),
            Err(status) => (0, status),
        };
        for operation in operations.iter_mut().skip(room) {
            if operation.status.get() == 0 && operation.command() != Ok(Command::Refer) {
                operation.status.set(refusal.code());
            }
        }
        let requested = operations.to_vec();
        let mut recorded = Vec::new();
        self.ledger.execute(operations, values, |operation, value| {
            recorded.push(operation.transaction);
            submission.push(operation, value);
        });

        let mut model = self.model.lock().unwrap();
        let mut recorded = recorded.into_iter();
        for ((requested, operation), &value) in requested.iter().zip(operations.iter()).zip(values.iter()) {
            if requested.status.get() != 0 {
                continue;
            }
            let Outcome { status, value: expected, is_fresh } = model.execute(requested);
            assert_eq!((operation.status(), value), (Ok(status), expected), "{requested:?}");
            if is_fresh {
                assert_eq!(recorded.next(), Some(requested.transaction), "not recorded: {requested:?}");
            }
        }
        assert_eq!(recorded.next(), None, "recorded twice");
        assert_eq!(model.last_sequence(), self.ledger.last_sequence());
    }

    fn execute_signed(&mut self, _operations: &mut [SignedOperation], _values: &mut [u64]) {
        unreachable!("no client signs");
    }

    fn release(&mut self, promise: Promise) -> Release {
        let last = self.ledger.last_sequence();
        if promise < Promise::Durable {
            return Release::Now(Promise::Accepted);
        }
        if self.journal.durable() >= last {
            return Release::Now(Promise::Durable);
        }
        // If the journal failed, the committer refuses what waits.
        self.is_awaited = true;
        Release::Durable(last)
    }

    fn answer(&mut self, query: QueryKind, datagram: &mut [u8], _peer: &Peer) -> Answer {
        assert_eq!(query, QueryKind::Proof, "nothing else is asked for");
        let request = ProofRequest::read_from_prefix(datagram).unwrap().0;
        let length = self.proofs.answer(datagram);
        self.check_proof(&request, &datagram[..length]);
        Answer::Reply(length)
    }

    fn defer(&mut self, _query: QueryKind, held: Held) -> Result<(), Held> {
        Err(held)
    }

    fn verify(&mut self, held: Held) -> Result<(), Held> {
        Err(held)
    }

    fn verified(&mut self) -> Option<Held> {
        None
    }

    fn commit(&mut self) {
        if std::mem::take(&mut self.is_awaited) {
            self.journal.begin().wake();
        }
    }
}
