//! Reading a journal, also while it is written.

use std::sync::Arc;

use storage::File;
use wire::SignedOperation;
use zerocopy::FromBytes;

use super::Error;
use super::format::{BATCH_HEADER_LENGTH, BatchHeader, Newest, PAGE, Record, Tail, entries_behind, padded};
use super::log::{Log, Segment};

/// Bytes read at once: many small batches, and no more than the second-level cache holds.
const CHUNK: u64 = 256 << 10;

/// A part of a segment in memory.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// What was read, in front; it never shrinks, so that it is not cleared again and again.
    buffer: Vec<u8>,
    filled: usize,
    /// Offset of the first byte in the segment.
    start: u64,
}

impl Window {
    /// Forgets what was read.
    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }

    /// The bytes from `offset` on, `length` of them, of a file that is read up to `limit` only.
    fn bytes(&mut self, file: &dyn File, offset: u64, length: u64, limit: u64) -> Result<&[u8], storage::Error> {
        let end = self.start + self.filled as u64;
        let is_there = offset >= self.start && offset + length <= end;
        if !is_there {
            let wanted = length.max(CHUNK.min(limit.saturating_sub(offset))) as usize;
            self.buffer.resize(wanted.max(self.buffer.len()), 0);
            self.filled = 0;
            file.read_exact_at(&mut self.buffer[..wanted], offset)?;
            (self.filled, self.start) = (wanted, offset);
        }
        let from = (offset - self.start) as usize;
        Ok(&self.buffer[from..from + length as usize])
    }

    /// The header of a batch, if there is one that ends before `limit`.
    pub(super) fn header(
        &mut self,
        file: &dyn File,
        offset: u64,
        limit: u64,
    ) -> Result<Option<BatchHeader>, storage::Error> {
        if offset + BATCH_HEADER_LENGTH as u64 > limit {
            return Ok(None);
        }
        let bytes = self.bytes(file, offset, BATCH_HEADER_LENGTH as u64, limit)?;
        let header = BatchHeader::read_from_bytes(bytes).ok();
        Ok(header.filter(|header| header.is_batch() && header.length() <= limit - offset))
    }

    /// The payload of the batch with this header.
    pub(super) fn payload(
        &mut self,
        file: &dyn File,
        offset: u64,
        limit: u64,
        header: &BatchHeader,
    ) -> Result<&[u8], storage::Error> {
        let batch = self.bytes(file, offset, header.length(), limit)?;
        Ok(&batch[BATCH_HEADER_LENGTH..])
    }
}

/// Reads the durable operations of a journal in order, and goes on as more become durable.
#[derive(Debug)]
pub struct JournalReader {
    log: Arc<Log>,
    segment: Segment,
    offset: u64,
    next_sequence: u64,
    window: Window,
}

/// The operations of one batch.
#[derive(Clone, Copy, Debug)]
pub struct JournalBatch<'a> {
    /// Sequence of the first of the records.
    pub first_sequence: u64,
    /// When the batch was written, microseconds since the Unix epoch.
    pub timestamp: u64,
    /// The newest times of all operations before the batch.
    pub newest: Newest,
    /// The operations with their results.
    pub records: &'a [Record],
    tails: &'a [Tail],
    /// Number of records of the batch before the first of `records`.
    skipped: u32,
}

impl<'a> JournalBatch<'a> {
    /// Sequence of the last record.
    pub fn last_sequence(&self) -> u64 {
        self.first_sequence + self.records.len() as u64 - 1
    }

    /// What is in the batch, whole: the records, and the tails of those that are signed.
    pub fn parts(&self) -> (&'a [Record], &'a [Tail]) {
        assert_eq!(self.skipped, 0, "the batch was read from its first operation on");
        (self.records, self.tails)
    }

    /// The records, each with the signed operation that it is of, if it is one.
    pub fn entries(&self) -> impl Iterator<Item = (&'a Record, Option<SignedOperation>)> + use<'a> {
        entries_behind(self.skipped, self.records, self.tails)
    }

    /// The signed operations: their positions in `records`, and themselves, in order.
    pub fn signed(&self) -> impl Iterator<Item = (usize, SignedOperation)> + use<'a> {
        self.entries().enumerate().filter_map(|(position, (_, signed))| Some((position, signed?)))
    }
}

impl Log {
    /// A reader that begins with the operation `sequence`, which may be the one that comes next.
    pub fn reader(self: &Arc<Self>, sequence: u64) -> Result<JournalReader, Error> {
        JournalReader::new(self.clone(), sequence)
    }
}

impl JournalReader {
    fn new(log: Arc<Log>, sequence: u64) -> Result<Self, Error> {
        let segment = log.find(sequence).filter(|_| sequence <= log.durable() + 1);
        let Some(segment) = segment else {
            return Err(Error::NotThere { sequence, first: log.first_sequence(), next: log.durable() + 1 });
        };
        Ok(Self { log, segment, offset: PAGE, next_sequence: sequence, window: Window::default() })
    }

    /// Sequence of the operation that is read next.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Number of durable operations that are still to be read.
    pub fn behind(&self) -> u64 {
        (self.log.durable() + 1).saturating_sub(self.next_sequence)
    }

    /// Gives back the memory that the largest batch so far took.
    pub fn release_memory(&mut self) {
        self.window = Window::default();
    }

    /// Reads the next batch, or what is left of it from the sequence on that the reader begins with. None if nothing
    /// more is durable yet.
    #[expect(clippy::should_implement_trait, reason = "a batch borrows from the reader")]
    pub fn next(&mut self) -> Result<Option<JournalBatch<'_>>, Error> {
        let Some((offset, header)) = self.advance()? else { return Ok(None) };
        let payload = self.window.payload(&*self.segment.file, offset, self.segment.end, &header)?;
        let (first, last) = (header.first_sequence.get(), header.last_sequence());
        if !header.is_intact(self.log.key(), payload) || first > self.next_sequence {
            let reason = format!("batch {} is broken", header.number.get());
            return Err(Error::Damaged { path: self.segment.file.path().into(), offset, reason });
        }
        let records = <[Record]>::ref_from_prefix_with_elems(payload, header.count.get() as usize);
        let Some((records, rest)) = records.ok() else { return Ok(None) };
        let Ok(tails) = <[Tail]>::ref_from_bytes(rest) else { return Ok(None) };
        let skipped = (self.next_sequence - first) as u32;
        let first_sequence = self.next_sequence;
        self.next_sequence = last + 1;
        let records = &records[skipped as usize..];
        let (timestamp, newest) = (header.timestamp.get(), header.newest);
        Ok(Some(JournalBatch { first_sequence, timestamp, newest, records, tails, skipped }))
    }

    /// Goes to the batch that has the next sequence, and behind it.
    fn advance(&mut self) -> Result<Option<(u64, BatchHeader)>, Error> {
        loop {
            if self.offset >= self.segment.end && !self.refresh()? {
                return Ok(None);
            }
            let offset = self.offset;
            let Some(header) = self.window.header(&*self.segment.file, offset, self.segment.end)? else {
                let reason = "a batch was expected".into();
                return Err(Error::Damaged { path: self.segment.file.path().into(), offset, reason });
            };
            self.offset += padded(header.length());
            if header.last_sequence() >= self.next_sequence {
                return Ok(Some((offset, header)));
            }
        }
    }

    /// Learns what has become durable since. Is there something to read now?
    fn refresh(&mut self) -> Result<bool, Error> {
        loop {
            let Some((segment, is_complete)) = self.log.segment(self.segment.number) else {
                // All of the segment was read, and it was given free since: the next one that is there has what follows.
                *self = Self::new(self.log.clone(), self.next_sequence)?;
                continue;
            };
            self.segment = segment;
            if self.offset < self.segment.end {
                return Ok(true);
            }
            if !is_complete {
                return Ok(false);
            }
            self.segment.number += 1;
            self.offset = PAGE;
            self.window.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use storage::{Mode, Random, SimulatedDisk};

    use super::*;

    /// Whatever is read after what, the bytes are those of the file, and nothing behind the limit is needed.
    #[test]
    fn a_window_has_the_bytes_of_the_file() {
        let content = Vec::from_iter((0..3 * CHUNK as u32 + 500).map(|at| (at ^ at >> 8 ^ at >> 16) as u8));
        let root = SimulatedDisk::new(1).root();
        root.replace("segment", &content).unwrap();
        let file = root.open("segment", Mode::Read).unwrap();
        let limit = content.len() as u64;
        let (mut random, mut window) = (Random::new(1), Window::default());
        for _ in 0..2_000 {
            let most = if random.chance(0.1) { 2 * CHUNK } else { 3 * PAGE };
            let length = random.below(most.min(limit)) + 1;
            let offset = match random.below(3) {
                // Right behind what was read, or at the last place where it is still there.
                0 => (window.start + window.filled as u64).saturating_sub(random.below(2) * length),
                _ => random.below(limit),
            };
            let offset = offset.min(limit - length);
            let expected = &content[offset as usize..][..length as usize];
            assert!(window.bytes(&*file, offset, length, limit).unwrap() == expected, "{length} at {offset}");
            if random.chance(0.05) {
                window.clear();
            }
        }
    }
}
