//! State that the writer of a journal shares with its readers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use storage::{Directory, File};

use super::batch_index::BatchIndex;
use super::format::{BatchHeader, PAGE, SegmentHeader};
use super::segment::{self, Prepared};
use super::{Error, Options};

/// Maximum number of spare files. Under full load a block releases four segments at once, and as many are needed until
/// the next block. Reusing a file spares the disk writing a segment of zeros.
pub const SPARES: usize = 6;

/// Called after each commit, on the committing thread.
type CommitHook = Box<dyn Fn() + Send + Sync>;

/// The segments of a journal, and how far it is durable. Usable from any thread.
pub struct Log {
    directory: Arc<dyn Directory>,
    key: [u8; 32],
    segment_bytes: u64,
    batch_bytes: u64,
    durable: AtomicU64,
    committed: OnceLock<CommitHook>,
    state: Mutex<Files>,
    /// Held while preparing a segment, so that none is prepared twice.
    preparing: Mutex<()>,
    /// Held while pruning.
    pruning: Mutex<()>,
}

/// The files of a journal.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Ascending without gaps; the last one is being written.
    pub(super) segments: VecDeque<Segment>,
    /// Where batches are in the segments.
    pub(super) batch_index: BatchIndex,
    pub(super) prepared: Option<Prepared>,
    /// Names of unused files of the right size.
    pub(super) spares: Vec<String>,
}

/// One segment with batches.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) file: Arc<dyn File>,
    /// Sequence of its first operation, or of the next if it has none.
    pub(super) first_sequence: u64,
    /// End offset of its durable batches.
    pub(super) end: u64,
}

impl Log {
    pub(super) fn new(
        directory: Arc<dyn Directory>,
        key: [u8; 32],
        options: &Options,
        durable: u64,
        state: Files,
    ) -> Self {
        let &Options { segment_bytes, batch_bytes, .. } = options;
        let (durable, state) = (AtomicU64::new(durable), Mutex::new(state));
        Self {
            directory,
            key,
            segment_bytes,
            batch_bytes: batch_bytes as u64,
            durable,
            committed: OnceLock::new(),
            state,
            preparing: Mutex::new(()),
            pruning: Mutex::new(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, Files> {
        // No holder of the lock panics halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sequence of the last durable operation, 0 if there is none.
    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Calls `hook` after each commit, once its operations can be read. The hook runs on the committing thread, so it
    /// must not block.
    ///
    /// # Panics
    /// If there is a hook already.
    pub fn on_commit(&self, hook: impl Fn() + Send + Sync + 'static) {
        assert!(self.committed.set(Box::new(hook)).is_ok(), "a journal has one hook");
    }

    /// Sequence of the first operation still in the journal, or of the next if there is none.
    pub fn first_sequence(&self) -> u64 {
        self.state().segments.front().map_or(self.durable() + 1, |segment| segment.first_sequence)
    }

    /// When the last batch was written, or one shortly before, in microseconds since the Unix epoch; 0 if there is
    /// none.
    pub fn timestamp(&self) -> u64 {
        self.state().batch_index.timestamp()
    }

    /// Returns a sequence at which a batch begins, such that all batches since `timestamp` and the operation `sequence`
    /// are at or after it, as far as the journal still has them.
    pub fn since(&self, timestamp: u64, sequence: u64) -> u64 {
        let state = self.state();
        let [since, before] = [state.batch_index.since(timestamp), state.batch_index.before(sequence)];
        since.into_iter().chain(before).map(|location| location.sequence).min().unwrap_or(sequence)
    }

    /// Where to search for a durable operation: its segment, and the offset of a batch in it that begins at or before
    /// the operation.
    pub(super) fn locate(&self, sequence: u64) -> Option<(Segment, u64)> {
        let state = self.state();
        let location = state.batch_index.before(sequence)?;
        let index = location.segment.checked_sub(state.segments.front()?.number)? as usize;
        Some((state.segments.get(index)?.clone(), location.offset))
    }

    /// Number of segments in use.
    pub fn segments(&self) -> usize {
        self.state().segments.len()
    }

    /// Releases the segments whose operations all have a sequence below `sequence`. It can be retried after an error.
    pub fn prune(&self, sequence: u64) -> Result<(), Error> {
        let _pruning = self.pruning.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((oldest, keep)) = self.prunable(sequence) {
            let name = segment::name(oldest.number);
            let spare = segment::spare_name(oldest.number);
            let keep = keep && oldest.file.len()? == self.segment_bytes;
            if keep {
                self.directory.rename(&name, &spare)?;
            } else {
                self.directory.remove(&name)?;
            }
            let mut state = self.state();
            state.segments.pop_front();
            state.batch_index.prune(oldest.number + 1);
            drop(state);
            // The old name must not reappear after a crash once the file has another header.
            self.directory.sync()?;
            if keep {
                self.return_spare(spare);
            }
        }
        Ok(())
    }

    /// Returns the oldest segment if it can be released, and whether to keep it as a spare.
    fn prunable(&self, sequence: u64) -> Option<(Segment, bool)> {
        let state = self.state();
        // A segment with a durable batch must remain, because the digest chain continues from there.
        let next = state.segments.get(1)?;
        let is_free = next.first_sequence <= sequence && next.end > PAGE;
        is_free.then(|| (state.segments[0].clone(), state.spares.len() < SPARES))
    }

    pub(super) fn directory(&self) -> &dyn Directory {
        &*self.directory
    }

    pub(super) fn key(&self) -> &[u8; 32] {
        &self.key
    }

    pub(super) fn batch_bytes(&self) -> u64 {
        self.batch_bytes
    }

    pub(super) fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    fn return_spare(&self, name: String) {
        self.state().spares.push(name);
    }

    /// Whether no segment is prepared to follow this one.
    pub fn needs_preparation(&self) -> bool {
        self.state().prepared.is_none()
    }

    /// Prepares the next segment, unless it is prepared already. This takes a while, so it belongs on its own thread.
    /// It can be retried after an error, for example a full disk.
    pub fn prepare(&self) -> Result<(), Error> {
        self.prepare_under(|| ())
    }

    /// The same; the segment becomes available to the writer once `lock` has returned a lock.
    pub(super) fn prepare_under<L>(&self, lock: impl FnOnce() -> L) -> Result<(), Error> {
        let _preparing = self.preparing.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, spare) = {
            let mut state = self.state();
            if state.prepared.is_some() {
                return Ok(());
            }
            // Segments before the second may be missing.
            let first = if self.durable() == 0 { 1 } else { 2 };
            (state.segments.back().map_or(first, |last| last.number + 1), state.spares.pop())
        };
        let header = SegmentHeader::new(number, self.key, self.segment_bytes);
        match segment::prepare(self.directory(), spare.as_deref(), &header) {
            Ok(prepared) => {
                let _lock = lock();
                self.state().prepared = Some(prepared);
                Ok(())
            }
            Err(error) => {
                spare.into_iter().for_each(|spare| self.return_spare(spare));
                Err(error)
            }
        }
    }

    /// Turns to the prepared segment, which begins with the operation `first_sequence`. `None` if none is prepared.
    pub(super) fn turn(&self, first_sequence: u64) -> Option<Segment> {
        let mut state = self.state();
        let Prepared { number, file } = state.prepared.take()?;
        let segment = Segment { number, file, first_sequence, end: PAGE };
        state.segments.push_back(segment.clone());
        Some(segment)
    }

    /// Publishes that the batch from `offset` to `end` in the last segment is durable.
    pub(super) fn publish(&self, offset: u64, end: u64, header: &BatchHeader) {
        let mut state = self.state();
        if let Some(last) = state.segments.back_mut() {
            last.end = end;
            let number = last.number;
            state.batch_index.push(number, offset, header);
        }
        drop(state);
        self.durable.store(header.last_sequence(), Ordering::Release);
        if let Some(hook) = self.committed.get() {
            hook();
        }
    }

    /// Returns the present state of a segment, and whether another one follows. `None` if it was pruned.
    pub(super) fn segment(&self, number: u64) -> Option<(Segment, bool)> {
        let state = self.state();
        let index = number.checked_sub(state.segments.front()?.number)? as usize;
        Some((state.segments.get(index)?.clone(), index + 1 < state.segments.len()))
    }

    /// Returns the last segment that begins at or before `sequence`.
    pub(super) fn find(&self, sequence: u64) -> Option<Segment> {
        let state = self.state();
        let after = state.segments.partition_point(|segment| segment.first_sequence <= sequence);
        state.segments.get(after.checked_sub(1)?).cloned()
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (directory, durable) = (self.directory.path(), self.durable());
        formatter.debug_struct("Log").field("directory", &directory).field("durable", &durable).finish_non_exhaustive()
    }
}
