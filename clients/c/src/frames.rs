//! Sends operations in frames over a connection, and turns the replies into results.

use std::time::Duration;

use client::{BatchDraft, Completion, Failure, Pipeline};
use wire::{BatchFormat, Promise, Reply, SignedOperation, Status};

use crate::{ClientStatus, Execution, Operation, OperationResult};

/// Maximum wait for a reply before the call checks whether the client was closed.
const STEP: Duration = Duration::from_millis(100);

/// The operations of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entries<'a> {
    /// Unsigned operations at a promise.
    Operations(&'a [Operation], Promise),
    /// Signed operations, each with its promise.
    Signed(&'a [SignedOperation]),
}

impl Entries<'_> {
    fn len(self) -> usize {
        match self {
            Self::Operations(operations, _) => operations.len(),
            Self::Signed(signed) => signed.len(),
        }
    }

    fn format(self) -> BatchFormat {
        match self {
            Self::Operations(..) => BatchFormat::Operation,
            Self::Signed(_) => BatchFormat::Signed,
        }
    }

    /// The promise of a frame that begins with this entry.
    fn promise(self, index: usize) -> Promise {
        match self {
            Self::Operations(_, promise) => promise,
            Self::Signed(signed) => {
                signed.get(index).and_then(|signed| signed.promise().ok()).unwrap_or(Promise::Default)
            }
        }
    }

    fn push(self, batch: &mut BatchDraft<'_>, index: usize) -> bool {
        match self {
            Self::Operations(operations, _) => batch.push(&operations[index].to_wire()),
            Self::Signed(signed) => batch.push_signed(&signed[index]),
        }
    }

    fn command(self, index: usize) -> u8 {
        match self {
            Self::Operations(operations, _) => operations[index].command,
            Self::Signed(signed) => signed[index].operation.command,
        }
    }

    /// Whether a reply is to an entry.
    fn matches(self, index: usize, reply: &wire::Operation) -> bool {
        let (transaction, source) = match self {
            Self::Operations(operations, _) => (operations[index].transaction.bytes, operations[index].source.bytes),
            Self::Signed(signed) => (signed[index].operation.transaction.0, signed[index].operation.source.0),
        };
        (transaction, source) == (reply.transaction.0, reply.source.0)
    }
}

/// Whether frames may overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// One frame after the other.
    AsGiven,
    /// Frames at once until the window is full.
    Any,
}

/// Executes operations, and sets the result of each. `results` has one element per entry.
///
/// After a frame fails, no further one is sent. An error of the connection ends the call; the results are valid
/// nevertheless.
pub(crate) fn execute(
    pipeline: &mut Pipeline,
    entries: Entries<'_>,
    order: Order,
    results: &mut [OperationResult],
    is_closed: impl Fn() -> bool,
) -> Result<(), client::Error> {
    results.fill(OperationResult::NOT_SENT);
    // The pipeline measures a node's silence from here on.
    pipeline.abandon();
    pipeline.turn(Duration::ZERO, |_| ())?;
    let mut sender = Sender { entries, results, has_failed: false };
    let outcome = sender.run(pipeline, order, is_closed);
    pipeline.abandon();
    outcome
}

struct Sender<'a> {
    entries: Entries<'a>,
    results: &'a mut [OperationResult],
    has_failed: bool,
}

impl Sender<'_> {
    fn run(
        &mut self,
        pipeline: &mut Pipeline,
        order: Order,
        is_closed: impl Fn() -> bool,
    ) -> Result<(), client::Error> {
        let count = self.entries.len().min(self.results.len());
        let mut next = 0;
        loop {
            while next < count
                && !self.has_failed
                && (order == Order::Any || pipeline.window().in_flight() == 0)
                && let Some(after) = self.send(pipeline, next, count)
            {
                next = after;
            }
            if pipeline.window().in_flight() == 0 {
                return Ok(());
            }
            if is_closed() {
                self.close();
                return Ok(());
            }
            pipeline.turn(STEP, |completion| self.complete(&completion))?;
        }
    }

    /// Submits a frame that begins with an entry, and returns the number of the entry after it; `None` if the window
    /// has no room.
    fn send(&mut self, pipeline: &mut Pipeline, first: usize, count: usize) -> Option<usize> {
        let now = pipeline.now();
        let promise = self.entries.promise(first);
        let mut batch = pipeline.begin()?.batch(self.entries.format(), promise);
        let mut next = first;
        while next < count && self.entries.promise(next) == promise && self.entries.push(&mut batch, next) {
            // If nothing completes the frame, this is the result.
            self.results[next] = OperationResult::NO_REPLY.of_command(self.entries.command(next));
            next += 1;
        }
        batch.submit(first as u64, now, now);
        // Every frame has room for an entry.
        (next > first).then_some(next)
    }

    /// Sets the results of a frame.
    fn complete(&mut self, completion: &Completion<'_>) {
        let first = completion.tag as usize;
        let frame = first..first + self.entries.format().entries_in(completion.request.len());
        let is_only_attempt = completion.retries == 0;
        match completion.reply {
            Ok(Reply::Batch(batch)) if batch.status.is_ok() => {
                let promise = batch.header.promise().ok();
                for index in frame {
                    let reply = batch.entries.operation(index - first).zip(promise);
                    self.results[index] = self.of_entry(index, reply, is_only_attempt);
                }
            }
            Ok(Reply::Batch(wire::BatchReply { status, .. }) | Reply::Error(_, status)) => {
                self.refuse(frame, status, is_only_attempt);
            }
            Ok(_) => self.fail(frame, ClientStatus::TurnpikeWrongReply),
            Err(Failure::NoReply) => self.fail(frame, ClientStatus::TurnpikeNoReply),
            Err(Failure::Refused(status)) => {
                // The status may be that of one entry; the others may have been executed.
                let is_conclusive = is_only_attempt && frame.len() == 1;
                self.refuse(frame, status, is_conclusive);
            }
        }
    }

    /// The result of an entry, from its reply and the promise of the frame.
    fn of_entry(
        &self,
        index: usize,
        reply: Option<(wire::Operation, Promise)>,
        is_only_attempt: bool,
    ) -> OperationResult {
        let wrong = OperationResult::failed(ClientStatus::TurnpikeWrongReply, Execution::Unknown);
        let Some((operation, promise)) = reply else { return wrong };
        let is_same = self.entries.matches(index, &operation);
        let result = match operation.status() {
            Ok(status) if is_same => OperationResult::from_reply(status, operation.value(), promise, is_only_attempt),
            _ => wrong,
        };
        result.of_command(self.entries.command(index))
    }

    /// Sets the results of a frame that a node refused as a whole.
    fn refuse(&mut self, frame: std::ops::Range<usize>, status: Status, is_conclusive: bool) {
        self.has_failed = true;
        for index in frame {
            let mut result = OperationResult::from_reply(status, 0, Promise::Default, is_conclusive);
            if !is_conclusive && result.execution == Execution::None {
                result = OperationResult { refusal: status.into(), ..OperationResult::NO_REPLY };
            }
            self.results[index] = result.of_command(self.entries.command(index));
        }
    }

    /// Sets the results of a frame without a reply that counts.
    fn fail(&mut self, frame: std::ops::Range<usize>, status: ClientStatus) {
        self.has_failed = true;
        for index in frame {
            let result = OperationResult::failed(status, Execution::Unknown);
            self.results[index] = result.of_command(self.entries.command(index));
        }
    }

    /// Marks the operations in flight, because the client was closed.
    fn close(&mut self) {
        for result in self.results.iter_mut().filter(|result| result.status == ClientStatus::TurnpikeNoReply) {
            result.status = ClientStatus::TurnpikeClosed;
        }
    }
}
