//! The memory of retries: what was executed, by source and transaction id, so that a retry gets the first answer.
//!
//! An operation that was executed is never executed again by a retry. Two windows remember, one for operations
//! without a signature and one for signed ones, so that nobody who sends the one kind can make the node forget the other.
//! Neither forgets for want of room: what finds none is `BUSY`.
//!
//! - Without a signature, for [`Limits::retention`] after it was executed. Behind that an id without a time is one that
//!   was never seen. An id with a time ([`Operation::TIMED`]) is `EXPIRED` for ever, where it is not newer than all such
//!   ids that were forgotten.
//! - Signed, until its timestamp is older than [`Limits::replay`]: from then on nobody is let in with it. Where the clock
//!   was set back, the newest timestamp that was forgotten holds instead, as it does after a restart.

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

/// Fewest operations that a window holds.
pub const MIN_CAPACITY: usize = 1 << 10;

/// Most operations that a window holds: they are told apart by the lower half of their sequences.
pub const MAX_CAPACITY: usize = 1 << 31;

/// Records of operations without a signature that are kept in memory, too. What is not in the journal yet has to be among
/// them: two batches of 16 MiB, of 233,016 operations each, one that gathers and one that is written.
const RECENT: usize = 1 << 19;

/// How far ahead of the node's clock a timestamp may be: clocks that follow NTP are closer than this.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(2);

/// The time, as a ledger is told it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Microseconds since the ledger was made or recovered: they go on at one pace, whatever becomes of the clock.
    pub elapsed: u64,
    /// Microseconds since the Unix epoch.
    pub unix: u64,
}

/// What is remembered, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most operations without a signature.
    pub operations: usize,
    /// For how long after one was executed its retry is recognised.
    pub retention: Duration,
    /// Most signed operations.
    pub signed: usize,
    /// How old a signed operation may be.
    pub replay: Duration,
}

impl Limits {
    /// How far back a window may reach that is divided by ordered times, in microseconds: what began before it is over,
    /// whole stretches of it. A timestamp may be as much ahead of its block as of a clock.
    pub(crate) fn reach(&self) -> u64 {
        let unsigned = micros(self.retention) + grain(self.retention);
        let signed = micros(self.replay) + micros(CLOCK_TOLERANCE) + grain(self.replay);
        unsigned.max(signed)
    }

    /// So many operations of each kind, for the times that are the node's defaults.
    pub const fn of(operations: usize) -> Self {
        let (retention, replay) = (Duration::from_secs(10), Duration::from_secs(120));
        Self { operations, retention, signed: operations, replay }
    }
}

/// The memory of the window of operations without a signature, all of it zero, each part aligned to a cache line.
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

    /// Memory of the process alone. The index is used everywhere from the beginning on; the ring from its start, in small
    /// pages, so that a window that is never full never takes all of it.
    fn anonymous([header, index, ring]: [usize; 3]) -> Result<Self, table::Error> {
        let region = |bytes, pages| Region::anonymous(bytes, pages, false);
        let [small, huge] = [Pages::Small, Pages::Huge];
        Ok(Self { header: region(header, small)?, index: region(index, huge)?, ring: region(ring, small)? })
    }
}

/// The capacity nearest to one asked for.
fn allowed(capacity: usize) -> usize {
    capacity.clamp(MIN_CAPACITY, MAX_CAPACITY)
}

/// Records that the ring of a window without signatures keeps.
fn recent(capacity: usize) -> usize {
    capacity.next_power_of_two().min(RECENT)
}

/// Where records are read that are older than what is kept in memory.
pub trait Recall: Send + std::fmt::Debug {
    /// The record of a sequence; none where it cannot be read now.
    fn recall(&mut self, sequence: u64) -> Option<Record>;
}

/// What is known of an operation before it is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing: it may be executed.
    New,
    /// It was executed: status and value of the first reply.
    Executed(Status, u64),
    /// It must not be executed.
    Refused(Status),
}

/// How full a window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// Operations that it remembers.
    pub operations: usize,
    /// How many it can remember.
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
    /// Signed operations so far.
    signatures: u64,
    recall: Option<Box<dyn Recall>>,
    /// What `Now::elapsed` is counted from: the time that recovered operations cover.
    origin: u64,
}

impl Retries {
    /// Nothing, in memory given or else of its own. The first operation without a signature has at least the sequence
    /// `next`.
    pub fn new(limits: &Limits, next: u64, secret: &Secret, memory: Option<Memory>) -> Result<Self, table::Error> {
        let [operations, signed] = [limits.operations, limits.signed].map(allowed);
        let memory = memory.map_or_else(|| Memory::anonymous(Memory::sizes(limits)), Ok)?;
        let window = Window::within(memory, operations, recent(operations), next, secret)?;
        // Of signed operations all records are in memory: the journal does not reach back as far.
        let records = (signed + signed / window::SLACK).next_power_of_two();
        let memory = Memory::anonymous(Memory::sizes_of(signed, records))?;
        let signed = Window::within(memory, signed, records, 1, secret)?;
        Ok(Self { unsigned: window, signed, limits: *limits, signatures: 0, recall: None, origin: 0 })
    }

    /// Lets old records be read from somewhere.
    pub fn set_recall(&mut self, recall: Box<dyn Recall>) {
        self.recall = Some(recall);
    }

    /// Lets time go on behind operations that were recovered: `Now::elapsed` of 0 is this moment.
    pub fn set_origin(&mut self, elapsed: u64) {
        self.origin = elapsed;
    }

    /// Hash of an operation's identity.
    #[inline(always)]
    pub fn hash(&self, operation: &Operation) -> u64 {
        // Both windows have the same secret.
        self.unsigned.hash(operation)
    }

    /// Loads what [`known`](Self::known) looks at first.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64, is_signed: bool) {
        if is_signed { self.signed.prefetch(hash) } else { self.unsigned.prefetch(hash) }
    }

    /// Forgets what is over.
    pub fn forget(&mut self, now: Now) {
        let elapsed = self.origin + now.elapsed;
        let [retention, replay] = [self.limits.retention, self.limits.replay].map(micros);
        self.unsigned.forget_while(|stretch| elapsed.saturating_sub(stretch.until) > retention);
        self.signed.forget_while(|stretch| now.unix.saturating_sub(stretch.newest) > replay);
    }

    /// What is known of an operation; `hash` is that of its identity, `signed_at` its timestamp, 0 if it is not signed.
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
        // It may be a retry of what was forgotten.
        if time <= window.horizon() {
            return Known::Refused(stale);
        }
        // What is far ahead would let no other be as new once it is forgotten. Signatures are looked at before.
        if signed_at == 0 && time > now.unix.saturating_add(micros(CLOCK_TOLERANCE)) {
            return Known::Refused(Status::StaleTimestamp);
        }
        if window.is_full() { Known::Refused(Status::Busy) } else { Known::New }
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

    /// Whether more operations of a kind were recovered than can be. The journal tells their times by whole batches, so
    /// that some are remembered for longer than they were before.
    pub fn is_overfull(&self, is_signed: bool) -> bool {
        if is_signed { self.signed.is_overfull() } else { self.unsigned.is_overfull() }
    }

    /// Tells the newest times that are missing: of ids, and of signed operations.
    pub fn raise_horizons(&mut self, ids: u64, signed: u64) {
        self.unsigned.raise_horizon(ids);
        self.signed.raise_horizon(signed);
    }

    /// A signed operation that is not known has to be newer than this.
    pub fn signed_horizon(&self) -> u64 {
        self.signed.horizon()
    }

    /// How full the windows are: without signatures, and with.
    pub fn fill(&self, now: Now) -> [Fill; 2] {
        let elapsed = self.origin + now.elapsed;
        [self.unsigned.fill(elapsed), self.signed.fill(elapsed)]
    }
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

/// Length of a stretch of a window that recognises retries for so long.
fn grain(time: Duration) -> u64 {
    (micros(time) / window::STRETCHES).max(1)
}

#[cfg(test)]
mod tests;
