//! Group commit: one thread appends operations while another one writes those appended before.
//!
//! State, under one lock: the batch that is being gathered, `appended` (the sequence of its last operation), `space`
//! (the maximum size of the batch), and flags.
//!
//! - Submitter: ask for the room, execute at most that number of operations, append their results, and wake the
//!   committer. While it holds the lock no batch is taken, so what the ledger counts and what the journal counts agree.
//! - Committer: wait until the batch is not empty or somebody wakes it. Swap the gathered batch for the empty one, set
//!   `space` for the batch after it, release the lock, commit, and return the durable sequence. So a sync makes all
//!   operations durable that were appended during the one before.
//! - If there was no work for 20 ms after a commit, or at once when stopping: seal the journal.
//! - Preparer: whenever no segment is prepared, prepare one. It becomes available together with the larger `space`.
//!   After an error try again every second. Meanwhile operations are accepted as long as they fit the last segment, and
//!   refused with `STORAGE_FAILED` after that.
//! - On a failed commit or seal: drop the batch, and refuse all operations from then on.
//! - On stop: the committer ends once everything is committed and sealed, the preparer at once.
//!
//! A crash loses operations that were appended and not committed. Replies that promise durability wait for the returned
//! sequence.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wire::{Operation, SignedOperation, Status};

use super::{Batch, Error, Journal, Log, PAGE};

/// How long the journal is idle before it is sealed: longer than a client that waits for each reply takes for its next
/// request.
const SEAL_AFTER: Duration = Duration::from_millis(20);

/// Delay before a failed preparation of a segment is retried.
const PREPARE_AGAIN: Duration = Duration::from_secs(1);

/// Memory that a batch keeps while the journal is idle.
const IDLE_BYTES: usize = 256 << 10;

/// Splits a journal for three threads: one submits operations, one commits them, one prepares segments.
pub fn group_commit(journal: Journal) -> (Submitter, Committer, Preparer) {
    let log = journal.log().clone();
    let appended = journal.next_sequence() - 1;
    let (space, is_sealed) = (journal.space(), journal.is_sealed());
    let state = CommitQueue { appended, space, is_sealed, ..CommitQueue::default() };
    let queue =
        Arc::new(SharedQueue { log, state: Mutex::new(state), work: Condvar::new(), preparation: Condvar::new() });
    let committer = Committer { queue: queue.clone(), journal, batch: Batch::new(), clock: Box::new(now) };
    (Submitter { queue: queue.clone() }, committer, Preparer { queue })
}

/// The queue, which the threads share.
#[derive(Debug)]
struct SharedQueue {
    log: Arc<Log>,
    state: Mutex<CommitQueue>,
    work: Condvar,
    preparation: Condvar,
}

#[derive(Debug, Default)]
struct CommitQueue {
    batch: Batch,
    /// Sequence of the last operation in `batch`, or before it.
    appended: u64,
    /// Maximum size of `batch` in bytes.
    space: u64,
    /// The committer must return even if there is nothing to write.
    is_woken: bool,
    /// There is nothing to [seal](Journal::is_sealed).
    is_sealed: bool,
    /// Number of commits so far.
    commits: u64,
    is_stopping: bool,
    failure: Option<Arc<Error>>,
    /// Why the next segment cannot be prepared.
    unprepared: Option<Arc<Error>>,
}

impl CommitQueue {
    fn has_work(&self) -> bool {
        !self.batch.is_empty() || self.is_woken
    }
}

impl SharedQueue {
    fn state(&self) -> MutexGuard<'_, CommitQueue> {
        // No holder of the lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The side that appends operations.
#[derive(Clone, Debug)]
pub struct Submitter {
    queue: Arc<SharedQueue>,
}

/// A lock on the batch being gathered.
#[derive(Debug)]
pub struct Submission<'a> {
    state: MutexGuard<'a, CommitQueue>,
}

impl Submitter {
    /// Starts to append. [`wake`](Self::wake) the committer afterwards, or call it.
    pub fn begin(&self) -> Submission<'_> {
        Submission { state: self.queue.state() }
    }

    /// Makes the committer commit even if nothing was appended: replies may be parked for operations that became
    /// durable just before.
    pub fn wake(&self) {
        self.queue.state().is_woken = true;
        self.queue.work.notify_one();
    }

    /// Sequence of the last durable operation.
    pub fn durable(&self) -> u64 {
        self.queue.log.durable()
    }

    /// Why the journal cannot be written, or only until its last segment is full.
    pub fn failure(&self) -> Option<Arc<Error>> {
        let state = self.queue.state();
        state.failure.as_ref().or(state.unprepared.as_ref()).cloned()
    }

    /// Why operations are refused with `STORAGE_FAILED`, if they are: the journal failed for good, or its last segment
    /// is full and the next one cannot be prepared.
    pub fn refusal(&self) -> Option<Arc<Error>> {
        let state = self.queue.state();
        let is_full = state.batch.room(state.space) == 0;
        state.failure.as_ref().or(state.unprepared.as_ref().filter(|_| is_full)).cloned()
    }

    /// Makes the committer and the preparer end once everything is committed.
    pub fn stop(&self) {
        self.queue.state().is_stopping = true;
        self.queue.work.notify_one();
        self.queue.preparation.notify_one();
    }
}

impl Submission<'_> {
    /// Number of operations that can be appended; ask before executing them. `STORAGE_FAILED` if the journal failed or
    /// the disk is full.
    pub fn room(&self) -> Result<usize, Status> {
        let room = self.state.batch.room(self.state.space);
        let is_full = room == 0 && self.state.unprepared.is_some();
        if self.state.failure.is_some() || is_full { Err(Status::StorageFailed) } else { Ok(room) }
    }

    /// Status for operations that do not fit: `BUSY`; or `STORAGE_FAILED` if the journal failed, or if the disk is
    /// full, so that no segment follows the last one. It does not wait until that one is full to the last operation: a
    /// client whose operations never fit there would otherwise never get this status.
    pub fn refusal(&self) -> Status {
        let is_stuck = self.state.failure.is_some() || self.state.unprepared.is_some();
        if is_stuck { Status::StorageFailed } else { Status::Busy }
    }

    /// Appends an operation with its status set and its amount as requested; `value` is that of its reply.
    #[inline]
    pub fn push(&mut self, operation: &Operation, value: u64) {
        self.state.batch.push(operation, value);
        self.state.appended += 1;
    }

    /// Appends a signed operation.
    pub fn push_signed(&mut self, signed: &SignedOperation, value: u64) {
        self.state.batch.push_signed(signed, value);
        self.state.appended += 1;
    }

    /// Sequence of the last appended operation in the journal. The ledger must count the same.
    pub fn last_sequence(&self) -> u64 {
        self.state.appended
    }
}

/// Work due on the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// [`Committer::commit`].
    Commit,
    /// [`Committer::seal`].
    Seal,
}

/// Waits for due work. It is separate from the [`Committer`], so that threads that share a committer do not hold its
/// lock while one of them waits.
#[derive(Clone, Debug)]
pub struct Work {
    queue: Arc<SharedQueue>,
}

impl Work {
    /// Waits until work is due; `None` once the journal is closed.
    pub fn wait(&self) -> Option<Due> {
        let mut state = self.queue.state();
        while !state.has_work() {
            if state.is_sealed {
                if state.is_stopping {
                    return None;
                }
                state = self.queue.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (patience, commits) = (if state.is_stopping { Duration::ZERO } else { SEAL_AFTER }, state.commits);
            let waited = self.queue.work.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
            let (after, timeout) = waited;
            state = after;
            if timeout.timed_out() && !state.has_work() && state.commits == commits {
                return Some(Due::Seal);
            }
        }
        Some(Due::Commit)
    }

    /// Whether [`wait`](Self::wait) would return at once. Used by the simulator.
    pub fn is_due(&self) -> bool {
        let state = self.queue.state();
        state.has_work() || state.is_stopping
    }
}

/// The side that makes operations durable.
pub struct Committer {
    queue: Arc<SharedQueue>,
    journal: Journal,
    batch: Batch,
    clock: Clock,
}

/// A clock, in microseconds since the Unix epoch.
type Clock = Box<dyn Fn() -> u64 + Send>;

impl Committer {
    /// Stamps batches with another clock than the system's.
    pub fn with_clock(self, clock: impl Fn() -> u64 + Send + 'static) -> Self {
        Self { clock: Box::new(clock), ..self }
    }

    /// Returns a handle that waits for due work.
    pub fn work(&self) -> Work {
        Work { queue: self.queue.clone() }
    }

    /// Waits for operations and commits them; seals the journal when it is idle. `None` once it is closed.
    pub fn commit_next(&mut self) -> Option<Result<u64, Error>> {
        let work = self.work();
        loop {
            match work.wait()? {
                Due::Commit => return Some(self.commit()),
                Due::Seal => {
                    if let Err(error) = self.seal() {
                        return Some(Err(error));
                    }
                }
            }
        }
    }

    /// Commits the submitted operations. Returns the sequence of the last durable one.
    pub fn commit(&mut self) -> Result<u64, Error> {
        let mut state = self.queue.state();
        std::mem::swap(&mut state.batch, &mut self.batch);
        state.is_woken = false;
        let last = self.journal.next_sequence() - 1 + self.batch.len() as u64;
        assert!(state.appended == last || state.failure.is_some(), "the journal counts {last}, not {}", state.appended);
        state.space = self.journal.space_after(self.batch.bytes());
        drop(state);

        let durable = self.journal.commit(&mut self.batch, (self.clock)());
        let mut state = self.queue.state();
        if let Err(error) = &durable {
            self.batch.clear();
            state.failure.get_or_insert_with(|| Arc::new(error.clone()));
        }
        if self.queue.log.needs_preparation() {
            self.queue.preparation.notify_one();
        }
        state.commits += 1;
        let was_sealed = std::mem::replace(&mut state.is_sealed, self.journal.is_sealed());
        if was_sealed && !state.is_sealed {
            // A waiting thread must now time the seal.
            self.queue.work.notify_one();
        }
        durable
    }

    /// Seals the journal and releases memory. Call it when idle.
    pub fn seal(&mut self) -> Result<(), Error> {
        self.batch.shrink(IDLE_BYTES);
        let mut state = self.queue.state();
        state.batch.shrink(IDLE_BYTES);
        state.space = self.journal.space_after(PAGE);
        drop(state);
        let sealed = self.journal.seal((self.clock)());
        let mut state = self.queue.state();
        state.is_sealed = self.journal.is_sealed();
        if let Err(error) = &sealed {
            state.failure = Some(Arc::new(error.clone()));
        }
        sealed
    }
}

impl std::fmt::Debug for Committer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Committer").field("journal", &self.journal).finish_non_exhaustive()
    }
}

/// The side that prepares the next segment.
#[derive(Debug)]
pub struct Preparer {
    queue: Arc<SharedQueue>,
}

impl Preparer {
    /// Prepares segments as they are needed, until the journal is closed. [`Submission::room`] and
    /// [`Submitter::failure`] report a failure; preparation is retried.
    pub fn run(&self) {
        loop {
            let mut state = self.queue.state();
            while !self.queue.log.needs_preparation() && !state.is_stopping {
                state = self.queue.preparation.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.is_stopping {
                return;
            }
            drop(state);
            if self.prepare().is_err() {
                let state = self.queue.state();
                let waited = self.queue.preparation.wait_timeout(state, PREPARE_AGAIN);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Prepares the next segment once, unless it is prepared already.
    pub fn prepare(&self) -> Result<(), Arc<Error>> {
        // The segment becomes available under the lock, so that no batch is taken between it and the update of `space`.
        let prepared = self.queue.log.prepare_under(|| {
            let mut state = self.queue.state();
            state.space = self.queue.log.batch_bytes();
            state
        });
        let prepared = prepared.map_err(Arc::new);
        let before = std::mem::replace(&mut self.queue.state().unprepared, prepared.as_ref().err().cloned());
        match (&before, &prepared) {
            (None, Err(error)) => tracing::error!(
                %error,
                "cannot prepare the journal's next segment: operations are refused once the present one is full; free \
                 some space, and the node resumes by itself"
            ),
            (Some(_), Ok(())) => tracing::info!("the journal's next segment is prepared: accepting operations again"),
            _ => {}
        }
        prepared
    }
}

/// Microseconds since the Unix epoch.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as u64)
}
