//! Third stage: the store controller, as the data path sees it.
//!
//! The data path knows frames, peers and buffers; the implementation of this trait knows accounts, the journal and the
//! chain. Each data path has one store controller, and only the data path's thread calls it: that thread is the single
//! writer.

use wire::{Operation, Promise, SignedOperation, Status};

use crate::backend::Peer;
use crate::held::Held;

/// When the replies to everything executed so far may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// At once, under this promise.
    Now(Promise),
    /// Parked until this journal sequence is durable; then [`Departures::release`](crate::parking::Departures::release)
    /// sends them.
    Durable(u64),
}

/// Kind of a query: the type of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// A proof frame.
    Proof,
    /// A headers frame.
    Headers,
    /// An info frame.
    Info,
    /// A verify frame.
    Verify,
    /// A finality frame.
    Finality,
    /// A history frame.
    History,
    /// An assets frame.
    Assets,
}

/// Outcome of a query.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The reply replaces the request, in its first bytes; this is its length.
    Reply(usize),
    /// The data path refuses it with this status. The detail is the required length for `REPLY_TOO_LARGE`, otherwise 0.
    Refuse(Status, u32),
    /// A worker must handle it: the data path moves the datagram to its own buffer and calls
    /// [`StoreController::defer`].
    Defer,
}

/// Executes operations and answers queries.
pub trait StoreController {
    /// The promise for frames that request none: compact frames, and frames that request the default.
    fn default_promise(&self) -> Promise;

    /// Executes unsigned operations from a trusted prefix, in order and each on its own.
    ///
    /// Writes the status into each operation, leaves its amount as requested, and puts the source's balance after it
    /// into the entry of `values` at the same position. An operation that already has a status other than 0 was refused
    /// by the command extractor: it is not executed, only its source's balance is looked up.
    fn execute(&mut self, operations: &mut [Operation], values: &mut [u64]);

    /// The same for signed operations with verified signatures; those with an invalid signature already have a status.
    fn execute_signed(&mut self, operations: &mut [SignedOperation], values: &mut [u64]);

    /// Returns when replies to everything executed so far may be sent under `promise` (never [`Promise::Default`]).
    fn release(&mut self, promise: Promise) -> Release;

    /// Answers a query in place. `datagram` is the whole request, whose form was checked.
    fn answer(&mut self, query: QueryKind, datagram: &mut [u8], peer: &Peer) -> Answer;

    /// Queues a query that [`answer`](Self::answer) deferred, for a worker to reply to. Returns the datagram if the
    /// queue is full; the reply is then `BUSY`.
    fn defer(&mut self, query: QueryKind, held: Held) -> Result<(), Held>;

    /// Queues a datagram of signed operations (a full transfer frame, or a batch) for a worker to verify.
    ///
    /// The worker writes the status of each operation with an invalid signature into it and wakes the data path, which
    /// gets it back from [`verified`](Self::verified). Returns the datagram if the queue is full; the reply is then
    /// `BUSY`.
    fn verify(&mut self, held: Held) -> Result<(), Held>;

    /// Whether replicas order operations before executing them.
    ///
    /// Then [`order`](Self::order) and [`change`](Self::change) are called instead of [`execute`](Self::execute),
    /// [`execute_signed`](Self::execute_signed) and [`release`](Self::release). A node that is not a replica refuses
    /// member change frames.
    fn orders(&self) -> bool {
        false
    }

    /// Queues a datagram of operations to be ordered; signed ones are verified. Their execution replies. Returns the
    /// datagram if there is no room; the reply is then `BUSY`.
    fn order(&mut self, held: Held) -> Result<(), Held> {
        Err(held)
    }

    /// Queues a member change frame with an unchecked approval, and replies later. Returns the datagram if there is no
    /// room; the reply is then `BUSY`.
    fn change(&mut self, held: Held) -> Result<(), Held> {
        Err(held)
    }

    /// Returns the next datagram of signed operations that a worker has finished. It is executed before anything else.
    fn verified(&mut self) -> Option<Held>;

    /// Replies are parked: make durable what they wait for, or have it made so. `lone`: it was a single operation and
    /// nothing else had arrived, so its client waits, and there is nothing to gather meanwhile.
    fn commit(&mut self, lone: bool);
}
