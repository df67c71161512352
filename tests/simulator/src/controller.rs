//! The store controller: the ledger and the journal, together with the model.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use chain::own::OwnReader;
use ledger::journal::{Submission, Submitter};
use ledger::{Executable, Ledger, Now, refuse_beyond};
use nic::{Answer, Held, Peer, QueryKind, Release, StoreController};
use proof::Service;
use wire::{Operation, Promise, ProofRequest, Query, Reply, SignedOperation, Status, linked::chain_length};
use zerocopy::FromBytes;

use crate::model::Model;
use model::Outcome;

/// Executes operations on the ledger and on the model, and compares the results.
pub struct Controller {
    ledger: Ledger,
    journal: Submitter,
    proofs: Service,
    chain: OwnReader,
    /// Signed operations. Verification is not simulated: all signatures are valid.
    verified: VecDeque<Held>,
    model: Arc<Mutex<Model>>,
    /// Whether parked replies may have to be sent by now.
    is_awaited: bool,
    /// Whether the pending commit is a single operation whose client waits.
    is_lone: Arc<AtomicBool>,
    time: Arc<AtomicU64>,
    /// Time of the ledger's recovery.
    started: u64,
}

impl Controller {
    pub fn new(
        ledger: Ledger,
        journal: Submitter,
        proofs: Service,
        chain: OwnReader,
        model: Arc<Mutex<Model>>,
        is_lone: Arc<AtomicBool>,
        time: Arc<AtomicU64>,
    ) -> Self {
        let (verified, started) = (VecDeque::new(), time.load(Relaxed));
        Self { ledger, journal, proofs, chain, verified, model, is_awaited: false, is_lone, time, started }
    }

    fn execute_entries<E: Executable + Clone>(
        &mut self,
        entries: &mut [E],
        values: &mut [u64],
        signed: impl Fn(&E) -> Option<SignedOperation>,
        push: impl Fn(&mut Submission<'_>, &E, u64),
    ) {
        let mut submission = self.journal.begin();
        refuse_beyond(entries, submission.room().unwrap_or(0), submission.refusal());
        let requested = entries.to_vec();
        let mut recorded = Vec::new();
        let unix = self.time.load(Relaxed);
        let now = Now { elapsed: unix - self.started, unix };
        self.ledger.execute(entries, values, now, |entry, value| {
            recorded.push(entry.operation().transaction);
            push(&mut submission, entry, value);
        });

        let mut model = self.model.lock().unwrap();
        model.set_time(unix);
        let mut recorded = recorded.into_iter();
        let mut done = 0;
        while done < requested.len() {
            // A refused operation was refused with its chain.
            let is_refused = requested[done].operation().status.get() != 0;
            let length = if is_refused { 1 } else { chain_length(&requested[done..]) };
            let range = done..done + length;
            done += length;
            let (requested, executed, values) = (&requested[range.clone()], &entries[range.clone()], &values[range]);
            // An operation with a timestamp older than everything remembered may have been executed: only the ledger
            // knows.
            let is_old = |entry: &E| matches!(entry.operation().status(), Ok(Status::StaleTimestamp | Status::Expired));
            if is_refused || executed.iter().any(is_old) {
                continue;
            }
            let outcomes = match requested.iter().map(&signed).collect::<Option<Vec<_>>>() {
                Some(signed) => model.execute_signed_batch(&signed),
                None => model.execute_batch(&Vec::from_iter(requested.iter().map(|entry| *entry.operation()))),
            };
            for ((entry, value), outcome) in executed.iter().zip(values).zip(outcomes) {
                let Outcome { status: expected, value: expected_value, is_fresh } = outcome;
                let operation = entry.operation();
                assert_eq!((operation.status(), *value), (Ok(expected), expected_value), "{operation:?}");
                if is_fresh {
                    assert_eq!(recorded.next(), Some(operation.transaction), "not recorded: {operation:?}");
                }
            }
        }
        assert_eq!(recorded.next(), None, "recorded twice");
        assert_eq!(model.last_sequence(), self.ledger.last_sequence());
    }

    /// An answer, from the cache or not, must be as of the tip, or the last stated index root.
    fn check_proof(&self, request: &ProofRequest, reply: &[u8]) {
        let account = request.account().unwrap();
        match Reply::parse(reply).unwrap() {
            Reply::Proof(proof) => {
                // The cache may prove it although its block is pruned.
                let latest = self.chain.account(&account).unwrap().unwrap().latest();
                let block = self.chain.headers(latest.height.into(), 1).unwrap()[0].hash();
                assert_eq!((proof.fixed.block_hash, proof.fixed.position.get()), (block, latest.position));
            }
            Reply::Index(proof) => {
                let entry = self.chain.index_entry(&account).unwrap();
                assert_eq!(proof.fixed.block_hash, entry.block_hash);
            }
            Reply::ProofRefused(_, status) => {
                assert_eq!(request.query(), Ok(Query::Latest));
                match self.chain.account(&account).unwrap().map(|entry| entry.latest()) {
                    Some(latest) => {
                        assert_eq!(status, Status::Pruned);
                        assert!(u64::from(latest.height) < self.chain.first_retained());
                    }
                    None => assert_eq!(status, Status::NotFound),
                }
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
        let push = |submission: &mut Submission<'_>, operation: &Operation, value| submission.push(operation, value);
        self.execute_entries(operations, values, |_| None, push);
    }

    fn execute_signed(&mut self, operations: &mut [SignedOperation], values: &mut [u64]) {
        let push =
            |submission: &mut Submission<'_>, signed: &SignedOperation, value| submission.push_signed(signed, value);
        self.execute_entries(operations, values, |signed| Some(*signed), push);
    }

    fn release(&mut self, promise: Promise) -> Release {
        let last = self.ledger.last_sequence();
        if promise < Promise::Durable {
            return Release::Now(Promise::Accepted);
        }
        if self.journal.durable() >= last {
            return Release::Now(Promise::Durable);
        }
        // If the journal failed, the committer refuses the waiting replies.
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
        self.verified.push_back(held);
        Ok(())
    }

    fn verified(&mut self) -> Option<Held> {
        self.verified.pop_front()
    }

    fn commit(&mut self, lone: bool) {
        let last = self.ledger.last_sequence();
        if std::mem::take(&mut self.is_awaited) || last > self.journal.durable() {
            self.journal.wake();
            self.is_lone.store(lone, Relaxed);
        }
    }
}
