//! The requests of a load.

use std::{collections::VecDeque, time::Duration};

use wire::{
    AccountId, BatchEntries, BatchFormat, Chain, Command, CompactFrame, Frame, Operation, Promise, ProofRequest, Query,
    Reply, SignedOperation, Status, TransactionId,
};
use zerocopy::IntoBytes;

use super::{accounts::Balances, choice::Choice, report::Report};
use crate::window::refusal;
use crate::{Completion, Draft, Error, random};

/// Requests of one kind.
pub trait Workload {
    /// Fills a draft with at most `most` operations, submits it with their number as the tag, and returns that number.
    fn fill(&mut self, draft: Draft<'_>, most: u64, due: Duration, now: Duration) -> u64;

    /// Counts the operations of a reply.
    fn take(&mut self, completion: &Completion<'_>, report: &mut Report);
}

/// Kind of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// TRANSFER of 1.
    Transfer,
    /// TRANSFER of 1, linked in pairs. An odd last one is not linked.
    Linked,
    /// HOLD of 1, and its CAPTURE once the reply to the HOLD has arrived. The last holds may stay open.
    TwoPhase,
    /// REFER.
    Refer,
}

impl Mix {
    /// Whether compact formats have these operations.
    pub fn is_compact(self) -> bool {
        match self {
            Self::Transfer | Self::Refer => true,
            Self::Linked | Self::TwoPhase => false,
        }
    }
}

/// Format of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Batches of operations, or of compact entries.
    Batch(BatchFormat),
    /// Compact transfer frames, one operation each.
    CompactFrame,
}

/// Operations between random accounts.
#[derive(Debug)]
pub struct Operations {
    mix: Mix,
    format: Format,
    batch: u16,
    promise: Promise,
    choice: Choice,
    /// Upper half of the transaction ids; their lower half is the counter.
    series: u64,
    counter: u64,
    /// CAPTUREs of holds that were made: at most those of the requests in flight, and of one more.
    captures: VecDeque<Operation>,
    balances: Option<Balances>,
    /// Operations signed in advance, in reverse order.
    signed: Vec<SignedOperation>,
    /// The share of datagrams with signed operations, and its accumulated fraction.
    signed_share: f64,
    signed_due: f64,
    samples: Vec<Operation>,
    sample_every: u64,
    until_sample: u64,
}

impl Operations {
    /// Batches of up to `batch` operations between accounts that `choice` returns. The transaction ids are a random
    /// series. Operations that compact formats do not have are sent in full.
    pub fn new(mix: Mix, format: Format, batch: u16, promise: Promise, choice: Choice) -> Result<Self, Error> {
        let series = (random()? >> 64) as u64;
        let batch = batch.max(1);
        let format = if mix.is_compact() { format } else { Format::Batch(BatchFormat::Operation) };
        let (samples, sample_every) = (Vec::new(), u64::MAX);
        Ok(Self {
            mix,
            format,
            batch,
            promise,
            choice,
            series,
            counter: series & 0xffff_ffff,
            captures: VecDeque::new(),
            balances: None,
            signed: Vec::new(),
            signed_share: 0.0,
            signed_due: 0.0,
            samples,
            sample_every,
            until_sample: sample_every,
        })
    }

    /// Tracks the balances: each executed transfer changes `balances`.
    pub fn following(mut self, balances: Balances) -> Self {
        self.balances = Some(balances);
        self
    }

    /// Puts operations signed in advance into a share of the batches, from 0 to 1, while there are any.
    pub fn with_signed(mut self, mut signed: Vec<SignedOperation>, share: f64) -> Self {
        signed.reverse();
        self.signed = signed;
        self.signed_share = share;
        self
    }

    /// Whether the next batch has signed operations.
    fn is_signed_due(&mut self) -> bool {
        self.signed_due += self.signed_share;
        let is_due = self.signed_due >= 1.0 && !self.signed.is_empty();
        self.signed_due -= f64::from(u8::from(is_due));
        is_due
    }

    /// Stores one of `every` executed operations.
    pub fn sampling(mut self, every: u64) -> Self {
        self.sample_every = every.max(1);
        self.until_sample = self.sample_every;
        self
    }

    /// The stored operations, as requested.
    pub fn samples(&self) -> &[Operation] {
        &self.samples
    }

    /// The tracked balances.
    pub fn balances(&self) -> Option<&Balances> {
        self.balances.as_ref()
    }

    /// The operation at a position of a batch of `count`.
    #[inline]
    fn at(&mut self, position: u64, count: u64) -> Operation {
        let operation = self.next();
        let has_next = position.is_multiple_of(2) && position + 1 < count;
        if self.mix == Mix::Linked && has_next { operation.linked() } else { operation }
    }

    #[inline]
    fn next(&mut self) -> Operation {
        self.counter = self.counter.wrapping_add(1);
        let id = match self.format {
            Format::Batch(BatchFormat::Operation | BatchFormat::Signed) => {
                TransactionId::from(u128::from(self.series) << 64 | u128::from(self.counter))
            }
            // Compact ids have 32 bits.
            _ => TransactionId::from(self.counter as u32),
        };
        match self.mix {
            Mix::Transfer | Mix::Linked => {
                let (source, destination) = self.choice.pair();
                Operation::transfer(id, account(source), account(destination), 1)
            }
            Mix::TwoPhase => {
                let (source, destination) = self.choice.pair();
                Operation::hold(id, account(source), account(destination), 1, 0)
            }
            Mix::Refer => Operation::refer(id, account(self.choice.account())),
        }
    }

    /// Whether executed operations are tracked, stored or followed by others.
    fn is_watching(&self) -> bool {
        self.balances.is_some() || self.sample_every != u64::MAX || self.mix == Mix::TwoPhase
    }

    /// Handles an executed operation.
    fn done(&mut self, request: &Operation) {
        if request.command() == Ok(Command::Hold) {
            self.captures.push_back(Operation::capture(request, request.amount()));
        }
        if let Some(balances) = &mut self.balances {
            balances.apply(request);
        }
        self.until_sample -= 1;
        if self.until_sample == 0 {
            self.until_sample = self.sample_every;
            self.samples.push(*request);
        }
    }
}

#[inline]
fn account(number: u64) -> AccountId {
    AccountId::from(u128::from(number))
}

impl Workload for Operations {
    fn fill(&mut self, draft: Draft<'_>, most: u64, due: Duration, now: Duration) -> u64 {
        let format = match self.format {
            Format::CompactFrame => {
                if let Some(frame) = CompactFrame::from_operation(&self.next()) {
                    draft.submit_compact(frame, 1, due, now);
                }
                return 1;
            }
            Format::Batch(format) => format,
        };
        let format = if self.is_signed_due() { BatchFormat::Signed } else { format };
        let room = format.entries_in(draft.datagram()) as u64;
        let mut count = most.min(u64::from(self.batch)).min(room);
        let mut batch = draft.batch(format, self.promise);
        if format == BatchFormat::Signed {
            count = count.min(self.signed.len() as u64);
            let from = self.signed.len() - count as usize;
            for signed in self.signed.drain(from..).rev() {
                batch.push_signed(&signed);
            }
            batch.submit(count, due, now);
            return count;
        }
        if self.captures.len() as u64 >= count {
            for capture in self.captures.drain(..count as usize) {
                batch.push(&capture);
            }
        } else {
            for position in 0..count {
                batch.push(&self.at(position, count));
            }
        }
        batch.submit(count, due, now);
        count
    }

    fn take(&mut self, completion: &Completion<'_>, report: &mut Report) {
        let Ok(reply) = &completion.reply else { return };
        let asked = if self.is_watching() { Frame::parse(completion.request).ok() } else { None };
        let mut ok = 0;
        let mut each = |index: usize, status: u16| match Status::try_from(status) {
            Ok(Status::Ok) => {
                ok += 1;
                if let Some(request) = asked.and_then(|asked| operation_of(&asked, index)) {
                    self.done(&request);
                }
            }
            Ok(status) => report.add(status, 1),
            Err(_) => report.wrong += 1,
        };
        match reply {
            Reply::Batch(batch) if batch.status.is_ok() => match batch.entries {
                BatchEntries::Operation(entries) => {
                    entries.iter().enumerate().for_each(|(index, entry)| each(index, entry.status.get()));
                }
                BatchEntries::Compact(entries) => {
                    entries.iter().enumerate().for_each(|(index, entry)| each(index, entry.frame.status.get()));
                }
                BatchEntries::Signed(entries) => {
                    entries.iter().enumerate().for_each(|(index, entry)| each(index, entry.operation.status.get()));
                }
            },
            Reply::Compact(frame) => each(0, frame.status.get()),
            other => report.add(refusal(other).unwrap_or(Status::Ok), completion.tag),
        }
        report.add(Status::Ok, ok);
        if let Reply::Batch(batch) = reply
            && let Ok(promise) = batch.header.promise()
            && ok > 0
        {
            report.promised(promise);
        }
    }
}

/// The operation at an index of a request.
fn operation_of(frame: &Frame<'_>, index: usize) -> Option<Operation> {
    match frame {
        Frame::Batch(batch) => batch.entries.operation(index),
        Frame::Compact(frame) => Some(frame.to_operation()),
        _ => None,
    }
}

/// Verifies the bytes of a proof.
type Verifier<'a> = Box<dyn FnMut(&[u8]) -> bool + 'a>;

/// Proof requests for the keys that a function returns.
pub struct Proofs<'a> {
    chain: Chain,
    query: Query,
    room: usize,
    key: Box<dyn FnMut() -> [u8; 32] + 'a>,
    verify: Option<Verifier<'a>>,
}

impl std::fmt::Debug for Proofs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proofs").field("chain", &self.chain).field("query", &self.query).finish_non_exhaustive()
    }
}

impl<'a> Proofs<'a> {
    /// Requests with room for replies of `room` bytes.
    pub fn new(chain: Chain, query: Query, room: usize, key: impl FnMut() -> [u8; 32] + 'a) -> Self {
        Self { chain, query, room, key: Box::new(key), verify: None }
    }

    /// Requests the latest transactions of accounts that `choice` returns.
    pub fn latest(room: usize, mut choice: Choice) -> Self {
        Self::new(Chain::Own, Query::Latest, room, move || account(choice.account()).into())
    }

    /// Verifies each proof; those that `verify` rejects count as wrong.
    pub fn verified_by(mut self, verify: impl FnMut(&[u8]) -> bool + 'a) -> Self {
        self.verify = Some(Box::new(verify));
        self
    }
}

impl Workload for Proofs<'_> {
    fn fill(&mut self, mut draft: Draft<'_>, _most: u64, due: Duration, now: Duration) -> u64 {
        let request = ProofRequest::new(draft.id(), self.chain, self.query, (self.key)());
        let bytes = draft.bytes();
        let length = self.room.clamp(ProofRequest::LENGTH, bytes.len());
        let (head, padding) = bytes[..length].split_at_mut(ProofRequest::LENGTH);
        head.copy_from_slice(request.as_bytes());
        padding.fill(0);
        draft.submit(length, 1, due, now);
        1
    }

    fn take(&mut self, completion: &Completion<'_>, report: &mut Report) {
        let Ok(reply) = &completion.reply else { return };
        match refusal(reply) {
            Some(status) => report.add(status, 1),
            None => {
                report.add(Status::Ok, 1);
                if self.verify.as_mut().is_some_and(|verify| !verify(completion.bytes)) {
                    report.wrong += 1;
                }
            }
        }
    }
}
