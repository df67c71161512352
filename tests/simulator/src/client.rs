//! A client: the real window with its retries, and a workload.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use client::{Failure, Limits, Window};
use storage::Random;
use wire::{
    AccountId, Batch, BatchEntries, BatchFormat, Chain, Command, CompactFrame, ETHERNET_DATAGRAM, FullFrame, Operation,
    Promise, ProofRequest, Query, Reply, SignedOperation, Status, TransactionId, linked,
};
use zerocopy::{FromBytes, IntoBytes};

use crate::model::Name;
use crate::schedule::{EPOCH, SECOND};

/// How long a client retries a request before it gives up.
pub const GIVE_UP: u64 = 20 * SECOND;

/// How long the node recognises retries of ids without a timestamp: longer than a client retries, plus the reuse of an
/// id for something else, plus a datagram's travel time.
pub const RETENTION: u64 = 30 * SECOND;

/// Maximum age of an id that is reused for something else.
const REUSE: Duration = Duration::from_secs(5);

/// HOLDs that a client remembers, to end them.
const HOLDS: usize = 20;

/// The longest time until a hold expires, in seconds: retries are shorter, and longer.
const LONGEST_HOLD: u64 = 20;

/// Accounts per client.
const ACCOUNTS: u64 = 50;

/// An operation that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// The requested operation.
    pub operation: Operation,
    pub status: Status,
    pub value: u64,
    /// Compact frames truncate the value to 32 bits.
    pub is_compact: bool,
    pub promise: Promise,
}

/// Contents of a reply.
#[derive(Clone, Debug)]
pub enum Told {
    /// Results of operations; none if the request was refused as a whole.
    Operations(Vec<Answered>),
    /// The frame of a proof about an account.
    Proof(AccountId, Vec<u8>),
}

/// A client with its own accounts.
pub struct Client {
    pub address: SocketAddr,
    index: u64,
    clients: u64,
    window: Window,
    random: Random,
    transactions: u64,
    /// HOLDs that it sent, the newest last.
    holds: VecDeque<Operation>,
    /// An operation from some time ago.
    earlier: Option<(Duration, Operation)>,
    /// Operations whose outcome the client never learned; it may retry them at any later time. Their ids carry a
    /// timestamp.
    unknown: Vec<Operation>,
    unknown_signed: Vec<SignedOperation>,
    pub completed: u64,
    pub given_up: u64,
}

impl Client {
    pub fn new(index: u64, clients: u64, mut random: Random) -> Self {
        Self {
            address: format!("10.0.1.{}:9000", index + 1).parse().unwrap(),
            index,
            clients,
            window: window(&mut random),
            random,
            transactions: 0,
            holds: VecDeque::new(),
            earlier: None,
            unknown: Vec::new(),
            unknown_signed: Vec::new(),
            completed: 0,
            given_up: 0,
        }
    }

    /// Restarts the client, which loses everything in flight.
    pub fn restart(&mut self) {
        self.window = window(&mut self.random);
    }

    pub fn in_flight(&self) -> usize {
        self.window.in_flight()
    }

    /// Sends a request, if the window allows it.
    pub fn ask(&mut self, now: Duration) {
        match self.random.below(10) {
            0 | 1 => return self.ask_for_proof(now),
            2 => return self.ask_signed(now),
            _ => {}
        }
        let again = !self.unknown.is_empty() && self.random.chance(0.3);
        let count = if self.random.chance(0.7) { 1 } else { 1 + self.random.below(20) };
        let mut operations: Vec<_> = if again {
            // Whole chains, as they were.
            let part = linked::parts(&self.unknown, 20).next().map_or(0, <[_]>::len);
            self.unknown.drain(..part).collect()
        } else {
            (0..count).map(|_| self.operation(now)).collect()
        };
        if !again && self.random.chance(0.5) {
            self.link(&mut operations);
        }
        let promise = [Promise::Default, Promise::Accepted, Promise::Durable][self.random.below(3) as usize];
        let as_compact = !again && self.random.chance(0.2);
        let Some(draft) = self.window.begin() else {
            if again {
                self.unknown.extend(operations);
            }
            return;
        };
        let compact = CompactFrame::from_operation(&operations[0]).filter(|_| as_compact);
        if let Some(frame) = compact {
            return draft.submit_compact(frame, 0, now, now);
        }
        let mut batch = draft.batch(BatchFormat::Operation, promise);
        for operation in &operations {
            assert!(batch.push(operation));
        }
        batch.submit(0, now, now);
    }

    /// Links some operations to chains. A chain whose ids do not all carry a time is not retried after it was given up,
    /// so it has only ids that do, or none.
    fn link(&mut self, operations: &mut [Operation]) {
        for at in 1..operations.len() {
            let [before, after] = &mut operations[at - 1..=at] else { continue };
            if is_timed(before) == is_timed(after) && self.random.chance(0.5) {
                *before = before.linked();
            }
        }
    }

    fn ask_signed(&mut self, now: Duration) {
        let mut operations = std::mem::take(&mut self.unknown_signed);
        operations.truncate(5);
        if operations.is_empty() {
            let count = 1 + self.random.below(3);
            operations = (0..count).map(|_| self.signed(now)).collect();
        }
        let Some(draft) = self.window.begin() else {
            self.unknown_signed = operations;
            return;
        };
        if operations.len() == 1 {
            let frame = FullFrame::new(draft.id(), operations[0]);
            return draft.submit_frame(frame.as_bytes(), 0, now, now);
        }
        let mut batch = draft.batch(BatchFormat::Signed, Promise::Durable);
        for operation in &operations {
            assert!(batch.push_signed(operation));
        }
        batch.submit(0, now, now);
    }

    /// A signed operation on an account bound to a key; nobody checks the signature.
    fn signed(&mut self, now: Duration) -> SignedOperation {
        let keyed = |account: AccountId| AccountId((account.to_u128() | 1 << 127).to_be_bytes());
        let mut operation = self.operation(now);
        if !operation.ends_hold() {
            operation.source = keyed(operation.source);
        }
        if operation.creates() && self.random.chance(0.5) {
            // Only a key holder can pay.
            operation.destination = keyed(self.anyones());
            operation.amount = (1 + self.random.below(100)).into();
        }
        if operation.command() == Ok(Command::Transfer) && self.random.chance(0.5) {
            operation.destination = keyed(operation.destination);
        }
        if operation.command() == Ok(Command::Hold) && self.random.chance(0.5) {
            operation.destination = keyed(operation.destination);
        }
        self.remember_hold(&operation);
        let timestamp = EPOCH + now.as_micros() as u64;
        let nonce = self.random.number() as u32;
        let mut signed = SignedOperation::unsigned(operation, timestamp, nonce, Promise::Durable, [2; 33]);
        signed.signature[..8].copy_from_slice(&self.random.number().to_be_bytes());
        signed
    }

    fn ask_for_proof(&mut self, now: Duration) {
        let query = if self.random.chance(0.5) { Query::Latest } else { Query::Index };
        let mut key = [0; 32];
        key[..16].copy_from_slice(&self.anyones().0);
        let Some(draft) = self.window.begin() else { return };
        // Padded, as the reply overwrites it.
        let mut frame = [0; ETHERNET_DATAGRAM];
        frame[..ProofRequest::LENGTH].copy_from_slice(ProofRequest::new(draft.id(), Chain::Own, query, key).as_bytes());
        draft.submit_frame(&frame, 0, now, now);
    }

    /// Datagrams to send now.
    pub fn outgoing(&mut self) -> Vec<Vec<u8>> {
        let mut datagrams = Vec::new();
        while let Some(outgoing) = self.window.next_outgoing() {
            datagrams.push(self.window.memory()[outgoing.offset..outgoing.offset + outgoing.length].to_vec());
        }
        datagrams
    }

    /// Processes a reply, and returns its contents.
    pub fn receive(&mut self, datagram: &[u8], now: Duration) -> Option<Told> {
        let mut told = None;
        let (completed, unknown) = (&mut self.completed, &mut self.unknown);
        let unknown_signed = &mut self.unknown_signed;
        self.window.receive(datagram, now, |completion| {
            *completed += 1;
            told = match completion.reply.unwrap() {
                Reply::Proof(_) | Reply::Index(_) => {
                    let request = ProofRequest::read_from_prefix(completion.request).unwrap().0;
                    Some(Told::Proof(request.account().unwrap(), completion.bytes.to_vec()))
                }
                Reply::ProofRefused(..) => None,
                reply => {
                    let answers = answers(completion.request, reply);
                    if answers.is_empty() {
                        unknown.extend(requested(completion.request).into_iter().filter(is_timed));
                        unknown_signed.extend(requested_signed(completion.request));
                    }
                    Some(Told::Operations(answers))
                }
            };
        });
        told
    }

    /// Deadline of [`Self::expire`].
    pub fn next_deadline(&self) -> Duration {
        self.window.next_deadline()
    }

    /// Resends what has waited long enough, and gives up what has waited too long.
    pub fn expire(&mut self, now: Duration) {
        let (unknown, given_up) = (&mut self.unknown, &mut self.given_up);
        let unknown_signed = &mut self.unknown_signed;
        self.window.expire(now, |completion| {
            *given_up += 1;
            assert!(matches!(completion.reply, Err(Failure::NoReply | Failure::Refused(_))));
            unknown.extend(requested(completion.request).into_iter().filter(is_timed));
            unknown_signed.extend(requested_signed(completion.request));
        });
    }

    fn account(&mut self, client: u64) -> AccountId {
        account(client, self.random.below(ACCOUNTS))
    }

    fn own(&mut self) -> AccountId {
        self.account(self.index)
    }

    fn anyones(&mut self) -> AccountId {
        let client = self.random.below(self.clients);
        self.account(client)
    }

    /// A sensible operation, or one that must fail.
    fn operation(&mut self, now: Duration) -> Operation {
        self.transactions += 1;
        let number = u128::from(self.index + 1) << 64 | u128::from(self.transactions);
        let is_timed = self.random.chance(0.6);
        let mut transaction = TransactionId::from(number);
        if is_timed {
            let unix = Duration::from_micros(EPOCH) + now;
            transaction = TransactionId::timed(unix.as_millis() as u64, number);
        }
        let operation = self.content(transaction, now);
        if operation.ends_hold() {
            return operation;
        }
        let mut operation = if is_timed { operation.timed() } else { operation };
        // Sometimes reuses an id that the node still remembers, for something else.
        match self.earlier {
            Some((since, earlier)) if self.random.chance(0.01) && now - since < REUSE => {
                (operation.transaction, operation.flags) = (earlier.transaction, earlier.flags);
            }
            Some((since, _)) if now - since < REUSE => {}
            _ => self.earlier = Some((now, operation)),
        }
        self.remember_hold(&operation);
        operation
    }

    fn remember_hold(&mut self, operation: &Operation) {
        if operation.command() == Ok(Command::Hold) {
            if self.holds.len() == HOLDS {
                self.holds.pop_front();
            }
            self.holds.push_back(*operation);
        }
    }

    /// The end of one of its holds, which may have ended before.
    fn end_of_hold(&mut self) -> Option<Operation> {
        let hold = self.holds.get(self.random.below(HOLDS as u64) as usize)?;
        Some(match self.random.below(6) {
            0 => Operation::release(hold),
            1 | 2 => Operation::reclaim(hold),
            3 => Operation::capture(hold, hold.amount()),
            _ => Operation::capture(hold, 1 + self.random.below(250)),
        })
    }

    fn content(&mut self, transaction: TransactionId, now: Duration) -> Operation {
        let source = self.own();
        match self.random.below(100) {
            // Some accounts are of another asset, at most times.
            0..15 if source.0[15].is_multiple_of(4) && self.random.chance(0.8) => {
                Operation::open(transaction, source, 1 + self.random.below(2) as u32)
            }
            0..15 => Operation::create(transaction, source),
            15..30 => Operation::issue(transaction, source, 1 + self.random.below(1000)),
            30..40 => Operation::refer(transaction, source),
            40 => Operation::issue(transaction, source, u64::MAX - self.random.below(1 << 20)),
            41 => Operation::issue(transaction, source, 0),
            42 => Operation::transfer(transaction, source, source, 1),
            43 => Operation::transfer(transaction, source, account(99, 99), 1),
            44 => Operation::transfer(transaction, source, self.anyones(), u64::MAX),
            45..55 => {
                let expiry = ((Duration::from_micros(EPOCH) + now).as_secs() + self.random.below(LONGEST_HOLD)) as u32;
                let expiry = if self.random.chance(0.2) { 0 } else { expiry };
                Operation::hold(transaction, source, self.anyones(), 1 + self.random.below(200), expiry)
            }
            55..65 => match self.end_of_hold() {
                Some(operation) => operation,
                None => Operation::refer(transaction, source),
            },
            65..67 => Operation::freeze(transaction, source),
            67..72 => Operation::unfreeze(transaction, source),
            72..75 => Operation::close(transaction, source),
            _ => Operation::transfer(transaction, source, self.anyones(), 1 + self.random.below(200)),
        }
    }
}

fn window(random: &mut Random) -> Window {
    let limits = Limits {
        datagram: 2048,
        window: 8,
        retry_after: Duration::from_millis(50),
        retry_at_most: Duration::from_secs(2),
        give_up_after: Duration::from_micros(GIVE_UP),
    };
    // Below 2^31, so that no compact frame looks like another kind of frame.
    Window::new(limits, random.number() as u32 >> 3)
}

/// An account that compact frames can name.
fn account(client: u64, number: u64) -> AccountId {
    AccountId(u128::from((client + 1) << 16 | number).to_be_bytes())
}

fn is_timed(operation: &Operation) -> bool {
    operation.time().is_some()
}

/// The unsigned operations of a request.
fn requested(request: &[u8]) -> Vec<Operation> {
    match wire::Frame::parse(request) {
        Ok(wire::Frame::Compact(frame)) => vec![frame.to_operation()],
        Ok(wire::Frame::Batch(Batch { entries: BatchEntries::Operation(operations), .. })) => operations.to_vec(),
        _ => Vec::new(),
    }
}

/// The signed operations of a request.
fn requested_signed(request: &[u8]) -> Vec<SignedOperation> {
    match wire::Frame::parse(request) {
        Ok(wire::Frame::Full(frame)) => vec![frame.signed],
        Ok(wire::Frame::Batch(Batch { entries: BatchEntries::Signed(operations), .. })) => operations.to_vec(),
        // A malformed frame of one operation is not decoded.
        Err(_) => FullFrame::read_from_bytes(request).map(|frame| frame.signed).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Extracts the results of a request's operations from a reply.
fn answers(request: &[u8], reply: Reply<'_>) -> Vec<Answered> {
    let mut requested = requested(request);
    requested.extend(requested_signed(request).iter().map(|signed| signed.operation));
    match reply {
        Reply::Compact(frame) => {
            let (status, value) = (frame.status().unwrap(), u64::from(frame.value()));
            vec![Answered { operation: requested[0], status, value, is_compact: true, promise: Promise::Durable }]
        }
        Reply::Full(frame) => {
            let (status, value) = (frame.operation.status().unwrap(), frame.operation.value());
            let promise = Promise::try_from(frame.promise).unwrap();
            vec![Answered { operation: requested[0], status, value, is_compact: false, promise }]
        }
        Reply::Batch(batch) => {
            if batch.status != Status::Ok {
                // An operation that was being committed when the journal failed may or may not exist after the next
                // start.
                return Vec::new();
            }
            let promise = batch.header.promise().unwrap();
            let entries = (0..batch.entries.len()).map(|at| batch.entries.operation(at).unwrap());
            let answered = requested.into_iter().zip(entries).map(|(operation, entry)| Answered {
                operation,
                status: entry.status().unwrap(),
                value: entry.value(),
                is_compact: false,
                promise,
            });
            answered.collect()
        }
        Reply::Error(_, status) => {
            assert!(!status.is_ok());
            Vec::new()
        }
        _ => unreachable!("another reply than was asked for"),
    }
}

/// Whether the outcome of an operation goes into the journal: not if it was signed for an account that does not exist,
/// or failed to end a hold.
pub fn leaves_trace(operation: &Operation, status: Status) -> bool {
    let is_signed = operation.source.is_keyed();
    let is_of_nobody = match status {
        Status::SourceUnknown => is_signed,
        Status::DestinationUnknown => operation.payer().is_some(),
        _ => false,
    };
    status.is_journalled() && !is_of_nobody && (status.is_ok() || !operation.ends_hold())
}

/// The names and statuses of the operations that a reply promises to be durable.
pub fn promised(datagram: &[u8]) -> Vec<(Name, Status)> {
    let durable = |operation: Operation| {
        let status = operation.status().unwrap();
        leaves_trace(&operation, status).then(|| (operation.name(), status))
    };
    match Reply::parse(datagram).unwrap() {
        Reply::Compact(frame) => {
            let mut request = *frame;
            request.status.set(0);
            let mut operation = request.to_operation();
            operation.status = frame.status;
            durable(operation).into_iter().collect()
        }
        Reply::Full(frame) if Promise::try_from(frame.promise) == Ok(Promise::Durable) => {
            durable(frame.operation).into_iter().collect()
        }
        Reply::Batch(batch) if batch.header.promise() == Ok(Promise::Durable) => {
            let operations = (0..batch.entries.len()).map(|at| batch.entries.operation(at).unwrap());
            operations.filter_map(durable).collect()
        }
        _ => Vec::new(),
    }
}
