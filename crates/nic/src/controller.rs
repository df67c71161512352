//! Third stage: the store controller, seen from the data path.
//!
//! The data path knows frames, peers and buffers; what stands behind this trait knows accounts, the journal and the
//! chain. There is one store controller for each data path and it is only ever called from the data path's thread: that
//! thread is the single writer.

use wire::{Operation, Promise, SignedOperation, Status};

use crate::backend::Peer;
use crate::held::Held;

/// When the replies to everything executed so far may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// At once, under this promise.
    Now(Promise),
    /// Parked until this journal sequence is durable; [`Departures::release`](crate::parking::Departures::release) then
    /// sends them.
    Durable(u64),
}

/// What a query asks for: the type of its frame.
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
}

/// What has become of a query.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The reply stands where the request stood, in its first so many bytes.
    Reply(usize),
    /// The data path refuses it with this status. The detail is the length needed if that is `REPLY_TOO_LARGE`, else 0.
    Refuse(Status, u32),
    /// A worker needs to look at it: the data path moves the datagram to a buffer of its own and calls
    /// [`StoreController::defer`].
    Defer,
}

/// Executes operations and answers queries.
pub trait StoreController {
    /// The promise of a frame that asks for none: compact frames, and frames that ask for the default.
    fn default_promise(&self) -> Promise;

    /// Executes unsigned operations from a trusted prefix, in order and each on its own.
    ///
    /// Writes the status into each operation, leaves its amount as requested, and puts the source's balance after it
    /// into the entry of `values` at the same position. An operation that comes with a status other than 0 was already
    /// refused by the command extractor: it is not executed, only its source's balance is looked up.
    fn execute(&mut self, operations: &mut [Operation], values: &mut [u64]);

    /// The same for signed operations whose signatures have been checked; those with a bad one come with their status
    /// set.
    fn execute_signed(&mut self, operations: &mut [SignedOperation], values: &mut [u64]);

    /// When the replies to what was executed so far may leave if they are asked to be given under `promise` (never
    /// [`Promise::Default`]).
    fn release(&mut self, promise: Promise) -> Release;

    /// Answers a query in place. `datagram` is the whole request, whose shape has been checked.
    fn answer(&mut self, query: QueryKind, datagram: &mut [u8], peer: &Peer) -> Answer;

    /// Takes a query that [`answer`](Self::answer) wanted to defer. A worker replies to it by itself. Gives the datagram
    /// back if the queue is full; it is then answered `BUSY`.
    fn defer(&mut self, query: QueryKind, held: Held) -> Result<(), Held>;

    /// Takes a datagram of signed operations (a full transfer frame, or a batch of them) for a worker to verify. The
    /// worker writes the status of each operation with a bad signature into it, and wakes the data path, which gets it
    /// back from [`verified`](Self::verified). Gives the datagram back if the queue is full; it is then answered `BUSY`.
    fn verify(&mut self, held: Held) -> Result<(), Held>;

    /// Whether replicas order operations before they are executed. [`order`](Self::order) is called then, and none of
    /// [`execute`](Self::execute), [`execute_signed`](Self::execute_signed) and [`release`](Self::release). So is
    /// [`change`](Self::change): a node that is no replica refuses member change frames.
    fn orders(&self) -> bool {
        false
    }

    /// Takes a datagram of operations to be ordered; those that are signed have been verified. Whoever executes them replies.
    /// Gives the datagram back if there is no room; it is then answered `BUSY`.
    fn order(&mut self, held: Held) -> Result<(), Held> {
        Err(held)
    }

    /// Takes a member change frame, whose approval nobody has looked at, and replies to it later. Gives the datagram back if there
    /// is no room; it is then answered `BUSY`.
    fn change(&mut self, held: Held) -> Result<(), Held> {
        Err(held)
    }

    /// The next datagram of signed operations that a worker is done with. It is executed before anything else is.
    fn verified(&mut self) -> Option<Held>;

    /// Replies to what was executed are parked: make what they wait for durable, or have it made so. `lone` tells that it
    /// was all that had arrived, a single operation: its client waits, and there is nothing to gather meanwhile.
    fn commit(&mut self, lone: bool);
}
