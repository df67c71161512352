//! Reading a journal, also while it is written.

use std::sync::Arc;

use storage::File;
use wire::SignedOperation;
use zerocopy::FromBytes;

use super::Error;
use super::format::{BATCH_HEADER_LENGTH, BatchHeader, Newest, PAGE, Record, Tail, entries_behind, padded};
use super::log::{Log, Segment};

/// Bytes per read: many small batches, and no more than the second-level cache holds.
const CHUNK: u64 = 256 << 10;

/// A part of a segment in memory.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// Data read so far is at the front. The buffer never shrinks, so that it is not zeroed again and again.
    buffer: Vec<u8>,
    filled: usize,
    /// Offset of the first byte in the segment.
    start: u64,
    /// Offset of a batch that is in memory, whose digest was found to match.
    intact: Option<u64>,
}

impl Window {
    /// Discards the data.
    pub(super) fn clear(&mut self) {
        (self.filled, self.intact) = (0, None);
    }

    /// Returns `length` bytes at `offset` of a file, which is read up to `limit` only.
    fn bytes(&mut self, file: &dyn File, offset: u64, length: u64, limit: u64) -> Result<&[u8], storage::Error> {
        let end = self.start + self.filled as u64;
        let is_there = offset >= self.start && offset + length <= end;
        if !is_there {
            let wanted = length.max(CHUNK.min(limit.saturating_sub(offset))) as usize;
            self.buffer.resize(wanted.max(self.buffer.len()), 0);
            (self.filled, self.intact) = (0, None);
            file.read_exact_at(&mut self.buffer[..wanted], offset)?;
            (self.filled, self.start) = (wanted, offset);
        }
        let from = (offset - self.start) as usize;
        Ok(&self.buffer[from..from + length as usize])
    }

    /// Returns the header of a batch, if there is one that ends before `limit`.
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

    /// Returns the payload of the batch with this header.
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

/// Reads the durable operations of a journal in order, and continues as more become durable.
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
    /// Sequence of the first record.
    pub first_sequence: u64,
    /// When the batch was written, in microseconds since the Unix epoch.
    pub timestamp: u64,
    /// Newest times of all operations before the batch.
    pub newest: Newest,
    /// The operations with their results.
    pub records: &'a [Record],
    tails: &'a [Tail],
    /// Number of records of the batch before `records`.
    skipped: u32,
}

impl<'a> JournalBatch<'a> {
    /// Sequence of the last record.
    pub fn last_sequence(&self) -> u64 {
        self.first_sequence + self.records.len() as u64 - 1
    }

    /// The contents of a whole batch: the records, and the tails of the signed ones.
    pub fn parts(&self) -> (&'a [Record], &'a [Tail]) {
        assert_eq!(self.skipped, 0, "the batch was read from its first operation on");
        (self.records, self.tails)
    }

    /// Iterates over the records, each with its signed operation if it is signed.
    pub fn entries(&self) -> impl Iterator<Item = (&'a Record, Option<SignedOperation>)> + use<'a> {
        entries_behind(self.skipped, self.records, self.tails)
    }

    /// Iterates over the signed operations, each with its position in `records`, in order.
    pub fn signed(&self) -> impl Iterator<Item = (usize, SignedOperation)> + use<'a> {
        self.entries().enumerate().filter_map(|(position, (_, signed))| Some((position, signed?)))
    }
}

impl Log {
    /// Creates a reader that begins with operation `sequence`, which may be the next one to be written.
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
        let near = log.locate(sequence).filter(|(found, _)| found.number == segment.number);
        let offset = near.map_or(PAGE, |(_, offset)| offset);
        Ok(Self { log, segment, offset, next_sequence: sequence, window: Window::default() })
    }

    /// Sequence of the next operation to read.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Number of durable operations not read yet.
    pub fn behind(&self) -> u64 {
        (self.log.durable() + 1).saturating_sub(self.next_sequence)
    }

    /// Releases the memory used by the largest batch so far.
    pub fn release_memory(&mut self) {
        self.window = Window::default();
    }

    /// Reads the next batch, or its rest from the reader's first sequence on. `None` until more is durable.
    #[expect(clippy::should_implement_trait, reason = "a batch borrows from the reader")]
    pub fn next(&mut self) -> Result<Option<JournalBatch<'_>>, Error> {
        self.next_part(usize::MAX)
    }

    /// The same, at most `limit` operations. The next call continues within the batch, which stays in memory, so its
    /// digest is computed only once.
    pub fn next_part(&mut self, limit: usize) -> Result<Option<JournalBatch<'_>>, Error> {
        assert!(limit > 0, "a part has an operation");
        let Some((offset, header)) = self.advance()? else { return Ok(None) };
        let (first, last) = (header.first_sequence.get(), header.last_sequence());
        let is_intact = self.window.intact == Some(offset);
        let payload = self.window.payload(&*self.segment.file, offset, self.segment.end, &header)?;
        if !(is_intact || header.is_intact(self.log.key(), payload)) || first > self.next_sequence {
            let reason = format!("batch {} is broken", header.number.get());
            return Err(Error::Damaged { path: self.segment.file.path().into(), offset, reason });
        }
        self.window.intact = Some(offset);
        let payload = self.window.payload(&*self.segment.file, offset, self.segment.end, &header)?;
        let records = <[Record]>::ref_from_prefix_with_elems(payload, header.count.get() as usize);
        let Some((records, rest)) = records.ok() else { return Ok(None) };
        let Ok(tails) = <[Tail]>::ref_from_bytes(rest) else { return Ok(None) };
        let skipped = (self.next_sequence - first) as u32;
        let first_sequence = self.next_sequence;
        let records = &records[skipped as usize..];
        let records = &records[..records.len().min(limit)];
        self.next_sequence = first_sequence + records.len() as u64;
        assert!(self.next_sequence <= last + 1, "a part ends with its batch");
        if self.next_sequence <= last {
            self.offset = offset;
        }
        let (timestamp, newest) = (header.timestamp.get(), header.newest);
        Ok(Some(JournalBatch { first_sequence, timestamp, newest, records, tails, skipped }))
    }

    /// Finds the batch with the next sequence and moves past it.
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

    /// Updates the durable end. Returns whether there is something to read.
    fn refresh(&mut self) -> Result<bool, Error> {
        loop {
            let Some((segment, is_complete)) = self.log.segment(self.segment.number) else {
                // The segment was read completely and then pruned: the next existing one follows.
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

    /// A window returns the bytes of the file in any order of reads, and needs nothing beyond the limit.
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
                // Directly after the last read, or the last position that is still in memory.
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
