//! What the writer of a journal shares with its readers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use storage::{Directory, File};

use super::format::{BatchHeader, PAGE, SegmentHeader};
use super::places::Places;
use super::segment::{self, Prepared};
use super::{Error, Options};

/// Spare files that are kept. Under full load a block gives four segments free at once, and as many are needed until the
/// next one: to use a file again spares the disk writing a segment of zeros.
const SPARES: usize = 6;

/// The segments of a journal, and how far it is durable. For any thread.
#[derive(Debug)]
pub struct Log {
    directory: Arc<dyn Directory>,
    key: [u8; 32],
    segment_bytes: u64,
    batch_bytes: u64,
    durable: AtomicU64,
    state: Mutex<Files>,
    /// Held by who prepares a segment, so that none is prepared twice.
    preparing: Mutex<()>,
    /// The same for who prunes.
    pruning: Mutex<()>,
}

/// The files of a journal.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Ascending without gaps; the last one is written to.
    pub(super) segments: VecDeque<Segment>,
    /// Where batches are in them.
    pub(super) places: Places,
    pub(super) prepared: Option<Prepared>,
    /// Names of files of the right size that hold nothing any more.
    pub(super) spares: Vec<String>,
}

/// One segment with batches.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) file: Arc<dyn File>,
    /// Sequence of the first operation in it, or of the next if it has none.
    pub(super) first_sequence: u64,
    /// Where its durable batches end.
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
            state,
            preparing: Mutex::new(()),
            pruning: Mutex::new(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, Files> {
        // Nothing that holds the lock panics halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sequence of the last durable operation, 0 if there is none.
    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Sequence of the first operation that is still in the journal, or of the next if there is none.
    pub fn first_sequence(&self) -> u64 {
        self.state().segments.front().map_or(self.durable() + 1, |segment| segment.first_sequence)
    }

    /// When the last batch was written, or one shortly before, in microseconds since the Unix epoch; 0 if there is none.
    pub fn timestamp(&self) -> u64 {
        self.state().places.timestamp()
    }

    /// The sequence that a batch begins with, such that all batches since `timestamp` and the operation `sequence` are in it
    /// or behind it, as far as they are in the journal.
    pub fn since(&self, timestamp: u64, sequence: u64) -> u64 {
        let state = self.state();
        let [since, before] = [state.places.since(timestamp), state.places.before(sequence)];
        since.into_iter().chain(before).map(|place| place.sequence).min().unwrap_or(sequence)
    }

    /// Where to look for an operation that is durable: its segment, and where a batch begins in it that is not behind the
    /// operation's.
    pub(super) fn place(&self, sequence: u64) -> Option<(Segment, u64)> {
        let state = self.state();
        let place = state.places.before(sequence)?;
        let index = place.segment.checked_sub(state.segments.front()?.number)? as usize;
        Some((state.segments.get(index)?.clone(), place.offset))
    }

    /// Number of segments in use.
    pub fn segments(&self) -> usize {
        self.state().segments.len()
    }

    /// Gives free the segments whose operations all have a sequence below `sequence`. After an error it can be tried again.
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
            state.places.prune(oldest.number + 1);
            drop(state);
            // It must not turn up again under its old name once it has another header.
            self.directory.sync()?;
            if keep {
                self.return_spare(spare);
            }
        }
        Ok(())
    }

    /// The oldest segment if it can be given free, and whether it is kept as a spare.
    fn prunable(&self, sequence: u64) -> Option<(Segment, bool)> {
        let state = self.state();
        // One with a durable batch always stays, as the chain of digests goes on from there.
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

    /// Is there no segment yet to turn to when this one is full?
    pub fn needs_preparation(&self) -> bool {
        self.state().prepared.is_none()
    }

    /// Prepares the segment that comes next, unless it is. That takes a while: it is for a thread of its own. After an
    /// error, a full disk in particular, it can be tried again.
    pub fn prepare(&self) -> Result<(), Error> {
        self.prepare_under(|| ())
    }

    /// The same; the segment is there for the writer to turn to as soon as `lock` has given a lock.
    pub(super) fn prepare_under<L>(&self, lock: impl FnOnce() -> L) -> Result<(), Error> {
        let _preparing = self.preparing.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, spare) = {
            let mut state = self.state();
            if state.prepared.is_some() {
                return Ok(());
            }
            // Before the second segment something may be missing.
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

    /// Turns to the prepared segment, which begins with the operation `sequence`. None if there is none.
    pub(super) fn turn(&self, first_sequence: u64) -> Option<Segment> {
        let mut state = self.state();
        let Prepared { number, file } = state.prepared.take()?;
        let segment = Segment { number, file, first_sequence, end: PAGE };
        state.segments.push_back(segment.clone());
        Some(segment)
    }

    /// Tells that the batch from `offset` to `end` in the last segment is durable.
    pub(super) fn publish(&self, offset: u64, end: u64, header: &BatchHeader) {
        let mut state = self.state();
        if let Some(last) = state.segments.back_mut() {
            last.end = end;
            let number = last.number;
            state.places.push(number, offset, header);
        }
        drop(state);
        self.durable.store(header.last_sequence(), Ordering::Release);
    }

    /// The segment of this number as it is now, and whether another one follows. None if it was pruned.
    pub(super) fn segment(&self, number: u64) -> Option<(Segment, bool)> {
        let state = self.state();
        let index = number.checked_sub(state.segments.front()?.number)? as usize;
        Some((state.segments.get(index)?.clone(), index + 1 < state.segments.len()))
    }

    /// The last segment that begins at or before `sequence`.
    pub(super) fn find(&self, sequence: u64) -> Option<Segment> {
        let state = self.state();
        let after = state.segments.partition_point(|segment| segment.first_sequence <= sequence);
        state.segments.get(after.checked_sub(1)?).cloned()
    }
}
