//! Opening a journal: the scan at start-up.
//!
//! 1. Open all segments, whose numbers must have no gap, and check their headers, keys and lengths. Remove spare files
//!    of another size.
//! 2. Follow the batches: each must be intact, and continue number, sequence and digest of the one before. The first
//!    batch of the first segment begins the chain if earlier segments were pruned. The chain ends at the first batch
//!    that does not.
//! 3. Search the rest of the last used segment, and all later ones, page by page, for an intact batch of a number at or
//!    after the end: then durable data before it is broken. A header of the next number where the next batch belongs is
//!    a torn batch.
//! 4. Compare the mark. If it covers operations after the end, they were durable and are lost. If it covers an empty
//!    batch only, a seal was damaged: that is reported, and harmless.
//! 5. Write and sync the last batch again, make later segments prepared or spare, and write the mark.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use storage::{Directory, File, Mode};

use super::batch_index::BatchIndex;
use super::format::{BatchHeader, Newest, PAGE, Position, padded};
use super::log::{Files, Log, Segment};
use super::mark::{Mark, MarkRecord, Synced};
use super::reader::Window;
use super::segment::{self, Prepared};
use super::writer::Journal;
use super::{Error, Options};

/// Findings of opening a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Sequence of the first operation, or of the next if there is none.
    pub first_sequence: u64,
    /// Sequence of the last operation; one less than the first if there is none.
    pub last_sequence: u64,
    /// A truncated batch: one that was being written when the node died, or a damaged seal.
    pub torn: Option<Torn>,
}

/// A batch that was truncated without losing a durable operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The segment.
    pub path: PathBuf,
    /// Offset of the batch.
    pub offset: u64,
    /// Number of operations in it, according to its header.
    pub operations: u32,
    /// Whether it was durable: then it is an empty batch that the disk has damaged since.
    pub was_durable: bool,
}

/// A segment at start-up.
struct Found {
    number: u64,
    file: Arc<dyn File>,
    key: [u8; 32],
    length: u64,
}

/// End of the journal's batches.
struct End {
    /// The segments with batches, or the first segment.
    segments: VecDeque<Segment>,
    batch_index: BatchIndex,
    position: Position,
    /// Offset and header of the last batch.
    last: Option<(u64, BatchHeader)>,
}

impl Journal {
    /// Opens the journal in its own directory, or creates one there. Verifies all of it.
    pub fn open(directory: Arc<dyn Directory>, options: &Options) -> Result<(Self, Opened), Error> {
        let &Options { segment_bytes, batch_bytes, .. } = options;
        if segment_bytes % PAGE != 0 || batch_bytes as u64 + PAGE > segment_bytes {
            return Err(Error::Options { batch_bytes, segment_bytes });
        }
        let names = directory.list()?;
        let found = find(&*directory, &names)?;
        let spares = keep_spares(&*directory, names, segment_bytes)?;
        let mark = MarkRecord::read(&*directory)?;
        let Some(first) = found.first() else {
            if mark.is_some_and(|mark| mark.synced().number > 0) {
                return Err(Error::Missing { path: directory.path().join(segment::name(1)) });
            }
            return create(directory, options, spares, Position::START);
        };
        let key = first.key;
        if let Some(other) = found.iter().find(|other| other.key != key) {
            let reason = "the segment belongs to another journal".into();
            return Err(Error::Damaged { path: other.file.path().into(), offset: 0, reason });
        }

        let mut scan = Scan { key, window: Window::default() };
        let end = scan.follow(&found)?;
        let mut torn = scan.check_end(&found, &end)?;
        match mark {
            Some(mark) if mark.is_of(&key) => check_mark(&mark.synced(), &found, &end, &mut torn)?,
            _ => tracing::info!(path = %directory.path().display(), "this journal has no high-water mark yet"),
        }
        let Some(last) = end.segments.back() else {
            return create(directory, options, spares, Position::START);
        };
        if let Some((offset, header)) = &end.last {
            // If the sync of the last batch failed before the restart, the batch may be only in the page cache. Write
            // it again, so that it is durable.
            let mut pages = vec![0; padded(header.length()) as usize];
            last.file.read_exact_at(&mut pages, *offset)?;
            last.file.write_at(&pages, *offset)?;
            last.file.sync_data()?;
        }

        let position = end.position;
        let length = found[end.segments.len() - 1].length;
        let (file, segment, offset) = (last.file.clone(), last.number, last.end);
        let mut state = Files { spares, batch_index: end.batch_index, ..Files::default() };
        for unused in found.into_iter().skip(end.segments.len()) {
            let name = segment::name(unused.number);
            if unused.length != segment_bytes {
                directory.remove(&name)?;
            } else if state.prepared.is_none() {
                state.prepared = Some(Prepared { number: unused.number, file: unused.file });
            } else {
                let spare = segment::spare_name(unused.number);
                directory.rename(&name, &spare)?;
                state.spares.push(spare);
            }
        }
        directory.sync()?;
        state.segments = end.segments;

        let durable = position.sequence - 1;
        let last = end.last.as_ref().map_or(0, |(offset, _)| *offset);
        let synced = Synced { number: position.number - 1, sequence: durable, segment, offset: last };
        let mark = Mark::open(&*directory, &key, &synced)?;
        let log = Arc::new(Log::new(directory, key, options, durable, state));
        let opened = Opened { first_sequence: log.first_sequence(), last_sequence: durable, torn };
        let journal = Self { log, file, segment, length, offset, position, mark, failed: None };
        Ok((journal, opened))
    }
}

/// The point from which a journal continues that lacks all earlier operations.
#[derive(Clone, Copy, Debug)]
pub struct Behind {
    /// Sequence of the last missing operation.
    pub sequence: u64,
    /// Newest times of the missing operations.
    pub newest: Newest,
    /// When they ended, in microseconds since the Unix epoch.
    pub time: u64,
}

impl Journal {
    /// Creates a journal in its own empty directory that continues after operations it does not hold.
    ///
    /// # Errors
    /// [`Error::Exists`] if there is a journal.
    pub fn begin(directory: Arc<dyn Directory>, options: &Options, behind: &Behind) -> Result<Self, Error> {
        if directory.list()?.iter().any(|name| segment::number(name).is_some()) {
            return Err(Error::Exists { path: directory.path().into() });
        }
        let &Behind { sequence, newest, time } = behind;
        let position = Position { sequence: sequence + 1, newest, is_sealed: false, ..Position::START };
        let (mut journal, _) = create(directory, options, Vec::new(), position)?;
        // The empty batch records the newest times of the missing operations.
        journal.seal(time)?;
        Ok(journal)
    }
}

fn create(
    directory: Arc<dyn Directory>,
    options: &Options,
    spares: Vec<String>,
    position: Position,
) -> Result<(Journal, Opened), Error> {
    let state = Files { spares, ..Files::default() };
    let synced = Synced { number: position.number - 1, sequence: position.sequence - 1, segment: 0, offset: 0 };
    let mark = Mark::open(&*directory, &options.key, &synced)?;
    let log = Arc::new(Log::new(directory, options.key, options, position.sequence - 1, state));
    let segment = loop {
        match log.turn(position.sequence) {
            Some(segment) => break segment,
            None => log.prepare()?,
        }
    };
    let length = options.segment_bytes;
    let journal = Journal {
        log,
        file: segment.file,
        segment: segment.number,
        length,
        offset: PAGE,
        position,
        mark,
        failed: None,
    };
    Ok((journal, Opened { first_sequence: position.sequence, last_sequence: position.sequence - 1, torn: None }))
}

/// Opens the segments, in ascending order, and checks their headers.
fn find(directory: &dyn Directory, names: &[String]) -> Result<Vec<Found>, Error> {
    let mut numbers: Vec<_> = names.iter().filter_map(|name| segment::number(name)).collect();
    numbers.sort_unstable();
    for pair in numbers.windows(2) {
        if pair[0] + 1 != pair[1] {
            return Err(Error::Missing { path: directory.path().join(segment::name(pair[0] + 1)) });
        }
    }
    let open = |number| {
        let file = directory.open(&segment::name(number), Mode::Write)?;
        let header = segment::read_header(&*file, number)?;
        Ok(Found { number, file, key: header.key, length: header.length.get() })
    };
    numbers.into_iter().map(open).collect()
}

/// Returns the usable spare files and removes the others.
fn keep_spares(directory: &dyn Directory, names: Vec<String>, segment_bytes: u64) -> Result<Vec<String>, Error> {
    let mut spares = Vec::new();
    for name in names.into_iter().filter(|name| segment::is_spare(name)) {
        if directory.open(&name, Mode::Read)?.len()? == segment_bytes {
            spares.push(name);
        } else {
            directory.remove(&name)?;
        }
    }
    Ok(spares)
}

struct Scan {
    key: [u8; 32],
    window: Window,
}

impl Scan {
    /// Follows the chain of batches from the first one on.
    fn follow(&mut self, found: &[Found]) -> Result<End, Error> {
        let mut end = End {
            segments: VecDeque::new(),
            batch_index: BatchIndex::default(),
            position: Position::START,
            last: None,
        };
        for (index, segment) in found.iter().enumerate() {
            self.window.clear();
            let mut offset = PAGE;
            let first_sequence = end.position.sequence;
            while let Some(header) = self.intact(segment, offset)? {
                // Earlier segments are pruned, so the chain begins with the first batch of the first segment.
                let is_first = index == 0 && end.last.is_none() && segment.number > 1;
                if !is_first && !continues(&header, &end.position) {
                    break;
                }
                end.position = Position::after(&header, self.newest(segment, offset, &header)?);
                end.batch_index.push(segment.number, offset, &header);
                end.last = Some((offset, header));
                if is_first {
                    end.segments.push_back(segment.as_used(header.first_sequence.get()));
                } else if offset == PAGE {
                    end.segments.push_back(segment.as_used(first_sequence));
                }
                offset += padded(header.length());
                if let Some(last) = end.segments.back_mut() {
                    last.end = offset;
                }
            }
            if index == 0 && end.segments.is_empty() {
                if segment.number > 1 {
                    let reason = "its first batch is broken".into();
                    return Err(Error::Damaged { path: segment.file.path().into(), offset: PAGE, reason });
                }
                end.segments.push_back(segment.as_used(first_sequence));
            }
            if index >= end.segments.len() {
                break;
            }
        }
        Ok(end)
    }

    /// Checks that no durable batch lies after the end. Returns the torn batch there, if any.
    fn check_end(&mut self, found: &[Found], end: &End) -> Result<Option<Torn>, Error> {
        let used = end.segments.len();
        let mut torn = None;
        for (index, segment) in found.iter().enumerate().skip(used - 1) {
            self.window.clear();
            let start = if index + 1 == used { end.segments[index].end } else { PAGE };
            let mut offset = start;
            while offset < segment.length {
                if let Some(header) = self.header(segment, offset)?
                    && header.number.get() >= end.position.number
                {
                    if self.intact(segment, offset)?.is_some() {
                        return Err(damaged(found, end, (index, offset), &header));
                    }
                    // Where the next batch belongs: after the last one, or at the start of the next segment.
                    if offset == start && index <= used && header.number.get() == end.position.number {
                        let path = segment.file.path().to_path_buf();
                        torn = Some(Torn { path, offset, operations: header.count.get(), was_durable: false });
                    }
                }
                offset += PAGE;
            }
        }
        Ok(torn)
    }

    fn header(&mut self, segment: &Found, offset: u64) -> Result<Option<BatchHeader>, Error> {
        Ok(self.window.header(&*segment.file, offset, segment.length)?)
    }

    /// Returns the header of the batch at `offset`, if the batch is intact.
    fn intact(&mut self, segment: &Found, offset: u64) -> Result<Option<BatchHeader>, Error> {
        let Some(header) = self.header(segment, offset)? else { return Ok(None) };
        let payload = self.window.payload(&*segment.file, offset, segment.length, &header)?;
        Ok(header.is_intact(&self.key, payload).then_some(header))
    }

    /// The newest times in an intact batch.
    fn newest(&mut self, segment: &Found, offset: u64, header: &BatchHeader) -> Result<Newest, Error> {
        let payload = self.window.payload(&*segment.file, offset, segment.length, header)?;
        Ok(Newest::new(payload, header.count.get()))
    }
}

impl Found {
    fn as_used(&self, first_sequence: u64) -> Segment {
        Segment { number: self.number, file: self.file.clone(), first_sequence, end: PAGE }
    }
}

fn continues(header: &BatchHeader, position: &Position) -> bool {
    header.number.get() == position.number
        && header.first_sequence.get() == position.sequence
        && header.previous == position.digest
}

/// Checks that no operation is missing that the mark records as durable. A missing seal goes to `torn`: it holds no
/// operations.
fn check_mark(mark: &Synced, found: &[Found], end: &End, torn: &mut Option<Torn>) -> Result<(), Error> {
    let next = &end.position;
    if mark.number < next.number {
        return Ok(());
    }
    let marked = found.iter().find(|segment| segment.number == mark.segment && mark.number == next.number);
    let (path, offset) = match (marked, &torn, end.segments.back()) {
        (Some(segment), _, _) => (segment.file.path().to_path_buf(), mark.offset),
        (None, Some(torn), _) => (torn.path.clone(), torn.offset),
        (None, None, Some(last)) => (last.file.path().to_path_buf(), last.end),
        (None, None, None) => return Ok(()),
    };
    if mark.sequence >= next.sequence {
        let (first, last) = (next.sequence, mark.sequence);
        let reason = format!(
            "batch {} was durable and is broken or missing; operations {first} to {last} are lost",
            next.number
        );
        return Err(Error::Damaged { path, offset, reason });
    }
    *torn = Some(Torn { path, offset, operations: 0, was_durable: true });
    Ok(())
}

/// The error for a broken batch that is followed by an intact one, in segment `index` at `offset`.
fn damaged(found: &[Found], end: &End, (index, offset): (usize, u64), later: &BatchHeader) -> Error {
    let last = end.segments.len() - 1;
    // If the broken batch were in the last segment that could be followed, the intact one would be the first of its
    // own.
    let (segment, offset) = if index > last && offset > PAGE { (index, PAGE) } else { (last, end.segments[last].end) };
    let reason = format!("batch {} is broken, though batch {} is intact", end.position.number, later.number.get());
    Error::Damaged { path: found[segment].file.path().into(), offset, reason }
}
