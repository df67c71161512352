//! The memory of retries: results of executed operations by source and transaction id, so that a retry gets the first
//! reply.
//!
//! No retry executes an operation twice. There are two windows, one for unsigned and one for signed operations, so that
//! senders of one kind cannot evict the other. A window never evicts for lack of room: an operation that does not fit
//! is `BUSY`.
//!
//! State of a window: the index from identities to numbers; the newest records; *stretches* of a 64th of the window's
//! time, each with the newest time that its operations carry; and the `horizon`, the newest such time of all that was
//! forgotten. The identity is the account that names the transaction, and the transaction id.
//!
//! Before each batch, forget the oldest stretches while they are over, and raise the horizon to their newest times:
//!
//! - An unsigned stretch is over [`Limits::retention`] after its end.
//! - A signed stretch is over once its newest timestamp is older than [`Limits::replay`].
//!
//! For an operation, the first rule that applies decides:
//!
//! 1. Its identity is remembered with the same content: return the first status and value.
//! 2. Its identity is remembered with other content: `TRANSACTION_ID_REUSED`.
//! 3. A record that may be the same operation cannot be read from the journal now: `BUSY`.
//! 4. It carries a time that is not after the horizon, so it may be a retry of a forgotten operation: `EXPIRED` if the
//!    time is that of its id ([`Operation::TIMED`]), `STALE_TIMESTAMP` if it is signed.
//! 5. It is unsigned, and the time of its id is more than [`CLOCK_TOLERANCE`] ahead of the clock: `STALE_TIMESTAMP`.
//!    Once forgotten, it would make all others stale.
//! 6. The window is full: `BUSY`.
//! 7. Otherwise it is new. If it is executed, it is remembered under its sequence. A signed operation whose paying
//!    account does not exist is refused without a trace.
//!
//! So an id without a time counts as new once its stretch is over, while an id with a time, or a signature, is never
//! executed twice.
//!
//! A [linked chain](wire::linked) is remembered and forgotten as a unit: its operations are executed at one time, so
//! they are in one stretch, and no batch of the journal has only a part of it.
//!
//! A restart reads the journal back as far as both windows reach, if it is still there. If earlier operations were
//! pruned, the newest times in the first batch that was read raise the horizons. Results of unsigned operations older
//! than the newest 2^19 are read from the journal; all records of signed ones are in memory.

mod index;
mod ring;
mod shared_layout;
mod window;

use std::time::Duration;

use table::{Pages, Region};
use wire::{Operation, Status};

use crate::{journal::Record, secret::Secret};
use index::Index;
use ring::Ring;
use window::Window;

/// Minimum capacity of a window.
pub const MIN_CAPACITY: usize = 1 << 10;

/// Maximum capacity of a window: the index stores the lower half of a sequence.
pub const MAX_CAPACITY: usize = 1 << 31;

/// Records of unsigned operations kept in memory as well. They must include all that are not in the journal yet: two
/// batches of 16 MiB with 233,016 operations each, one gathering and one being written.
const RECENT: usize = 1 << 19;

/// Maximum time by which a timestamp may be ahead of the node's clock: clocks that follow NTP are closer.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(2);

/// The time, as passed to a ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Microseconds since the ledger was created or recovered. Monotonic, whatever happens to the clock.
    pub elapsed: u64,
    /// Microseconds since the Unix epoch.
    pub unix: u64,
}

/// Capacities and durations of both windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of unsigned operations.
    pub operations: usize,
    /// How long after an unsigned operation was executed its retry is recognised.
    pub retention: Duration,
    /// Maximum number of signed operations.
    pub signed: usize,
    /// Maximum age of a signed operation.
    pub replay: Duration,
}

impl Limits {
    /// How far back a window divided by ordered time may reach, in microseconds: everything that began earlier is over,
    /// in whole stretches. A timestamp may be ahead of its block by as much as of a clock.
    pub(crate) fn reach(&self) -> u64 {
        let unsigned = micros(self.retention) + grain(self.retention);
        let signed = micros(self.replay) + micros(CLOCK_TOLERANCE) + grain(self.replay);
        unsigned.max(signed)
    }

    /// Limits for this number of operations of each kind, with the node's default durations.
    pub const fn with_operations(operations: usize) -> Self {
        let (retention, replay) = (Duration::from_secs(10), Duration::from_secs(120));
        Self { operations, retention, signed: operations, replay }
    }
}

/// Memory of the window of unsigned operations: zeroed, each part aligned to a cache line.
#[derive(Debug)]
pub struct Memory {
    /// The header, for readers.
    pub header: Region,
    /// The index.
    pub index: Region,
    /// The newest records.
    pub ring: Region,
}

impl Memory {
    /// Bytes of header, index and ring.
    pub fn sizes(limits: &Limits) -> [usize; 3] {
        let capacity = allowed(limits.operations);
        Self::sizes_of(capacity, recent(capacity))
    }

    fn sizes_of(capacity: usize, ring: usize) -> [usize; 3] {
        [shared_layout::window_header::BYTES, Index::bytes(capacity), Ring::bytes(ring)]
    }

    /// Private memory of the process. All of the index is in use from the start; the ring fills from its beginning and
    /// uses small pages, so that a window that is never full does not take all of it.
    fn anonymous([header, index, ring]: [usize; 3]) -> Result<Self, table::Error> {
        let region = |bytes, pages| Region::anonymous(bytes, pages, false);
        let [small, huge] = [Pages::Small, Pages::Huge];
        Ok(Self { header: region(header, small)?, index: region(index, huge)?, ring: region(ring, small)? })
    }
}

/// Bytes of the window of signed operations, all of whose records are in memory.
pub fn signed_bytes(limits: &Limits) -> usize {
    let capacity = allowed(limits.signed);
    Memory::sizes_of(capacity, signed_records(capacity)).iter().sum()
}

/// Records in the ring of the signed window: the journal does not reach back as far as it.
fn signed_records(capacity: usize) -> usize {
    (capacity + capacity / window::SLACK).next_power_of_two()
}

/// Clamps a requested capacity to the allowed range.
fn allowed(capacity: usize) -> usize {
    capacity.clamp(MIN_CAPACITY, MAX_CAPACITY)
}

/// Records in the ring of the unsigned window.
fn recent(capacity: usize) -> usize {
    capacity.next_power_of_two().min(RECENT)
}

/// Source of records older than those in memory.
pub trait Recall: Send + std::fmt::Debug {
    /// Reads the record of a sequence; `None` if it cannot be read now.
    fn recall(&mut self, sequence: u64) -> Option<Record>;
}

/// The state of an operation before its execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is new and may be executed.
    New,
    /// It was executed: status and value of the first reply.
    Executed(Status, u64),
    /// It must not be executed.
    Refused(Status),
}

/// Fill of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// Remembered operations.
    pub operations: usize,
    /// Maximum number of operations.
    pub capacity: usize,
    /// Microseconds since the oldest of them was executed.
    pub age: u64,
}

/// The memory of retries.
#[derive(Debug)]
pub(crate) struct Retries {
    unsigned: Window,
    signed: Window,
    limits: Limits,
    /// Number of signed operations so far.
    signatures: u64,
    recall: Option<Box<dyn Recall>>,
    /// Offset of `Now::elapsed`: the time that recovered operations cover.
    origin: u64,
}

impl Retries {
    /// Creates empty windows in `memory`, or in private memory. The first unsigned operation has at least the sequence
    /// `next`.
    pub fn new(limits: &Limits, next: u64, secret: &Secret, memory: Option<Memory>) -> Result<Self, table::Error> {
        let [operations, signed] = [limits.operations, limits.signed].map(allowed);
        let memory = memory.map_or_else(|| Memory::anonymous(Memory::sizes(limits)), Ok)?;
        let window = Window::within(memory, operations, recent(operations), next, secret)?;
        let records = signed_records(signed);
        let memory = Memory::anonymous(Memory::sizes_of(signed, records))?;
        let signed = Window::within(memory, signed, records, 1, secret)?;
        Ok(Self { unsigned: window, signed, limits: *limits, signatures: 0, recall: None, origin: 0 })
    }

    /// Sets the source of old records.
    pub fn set_recall(&mut self, recall: Box<dyn Recall>) {
        self.recall = Some(recall);
    }

    /// Continues the time after recovered operations: `Now::elapsed` of 0 is this moment.
    pub fn set_origin(&mut self, elapsed: u64) {
        self.origin = elapsed;
    }

    /// Hash of an operation's identity.
    #[inline(always)]
    pub fn hash(&self, operation: &Operation) -> u64 {
        // Both windows have the same secret.
        self.unsigned.hash(operation)
    }

    /// Prefetches the memory that [`known`](Self::known) reads first.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64, is_signed: bool) {
        if is_signed { self.signed.prefetch(hash) } else { self.unsigned.prefetch(hash) }
    }

    /// Forgets operations whose time is over.
    pub fn forget(&mut self, now: Now) {
        let elapsed = self.origin + now.elapsed;
        let [retention, replay] = [self.limits.retention, self.limits.replay].map(micros);
        self.unsigned.forget_while(|stretch| elapsed.saturating_sub(stretch.until) > retention);
        self.signed.forget_while(|stretch| now.unix.saturating_sub(stretch.newest) > replay);
    }

    /// Looks an operation up. `hash` is that of its identity, `signed_at` its timestamp, 0 if it is not signed.
    #[inline]
    pub fn known(&mut self, hash: u64, operation: &Operation, signed_at: u64, now: Now) -> Known {
        let (window, recall) = match signed_at {
            0 => (&self.unsigned, self.recall.as_deref_mut()),
            _ => (&self.signed, None),
        };
        match window.find(hash, operation, recall) {
            Known::New => {}
            known => return known,
        }
        let (time, stale) = match (signed_at, operation.time()) {
            (0, None) => return if window.is_full() { Known::Refused(Status::Busy) } else { Known::New },
            (0, Some(time)) => (time, Status::Expired),
            (signed_at, _) => (signed_at, Status::StaleTimestamp),
        };
        // It may be a retry of a forgotten operation.
        if time <= window.horizon() {
            return Known::Refused(stale);
        }
        // Once forgotten, an id far ahead would make all others stale. Signed timestamps are checked earlier.
        if signed_at == 0 && time > now.unix.saturating_add(micros(CLOCK_TOLERANCE)) {
            return Known::Refused(Status::StaleTimestamp);
        }
        if window.is_full() { Known::Refused(Status::Busy) } else { Known::New }
    }

    /// Whether a number of new operations can be remembered.
    pub fn has_room(&self, is_signed: bool, operations: usize) -> bool {
        if is_signed { self.signed.has_room(operations) } else { self.unsigned.has_room(operations) }
    }

    /// Remembers an operation that is [`Known::New`] under its sequence.
    #[inline]
    pub fn push(&mut self, hash: u64, sequence: u64, record: &Record, signed_at: u64, elapsed: u64) {
        let elapsed = self.origin + elapsed;
        if signed_at == 0 {
            let grain = grain(self.limits.retention);
            self.unsigned.push(hash, sequence, record, record.operation.time().unwrap_or(0), elapsed, grain);
        } else {
            self.signatures += 1;
            let grain = grain(self.limits.replay);
            self.signed.push(hash, self.signatures, record, signed_at, elapsed, grain);
        }
    }

    /// Whether more operations of a kind were recovered than fit. The journal has times only per batch, so some
    /// operations are remembered longer than they were before.
    pub fn is_overfull(&self, is_signed: bool) -> bool {
        if is_signed { self.signed.is_overfull() } else { self.unsigned.is_overfull() }
    }

    /// Raises the horizons for operations missing from the journal: to the newest time of their ids and of their
    /// signatures.
    pub fn raise_horizons(&mut self, ids: u64, signed: u64) {
        self.unsigned.raise_horizon(ids);
        self.signed.raise_horizon(signed);
    }

    /// An unknown signed operation must be newer than this.
    pub fn signed_horizon(&self) -> u64 {
        self.signed.horizon()
    }

    /// How full the windows of unsigned and signed operations are.
    pub fn fill(&self, now: Now) -> [Fill; 2] {
        let elapsed = self.origin + now.elapsed;
        [self.unsigned.fill(elapsed), self.signed.fill(elapsed)]
    }
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

/// Length of a stretch in a window that recognises retries for `time`.
fn grain(time: Duration) -> u64 {
    (micros(time) / window::STRETCHES).max(1)
}

#[cfg(test)]
mod tests;
