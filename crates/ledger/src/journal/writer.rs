//! The writer of a journal.

use std::sync::Arc;

use storage::File;

use super::format::{Newest, PAGE, Position};
use super::log::Log;
use super::mark::{Mark, Synced};
use super::{Batch, Error};

/// A journal that is open for writing.
#[derive(Debug)]
pub struct Journal {
    pub(super) log: Arc<Log>,
    /// The segment being written.
    pub(super) file: Arc<dyn File>,
    /// Its number.
    pub(super) segment: u64,
    /// Its length in bytes.
    pub(super) length: u64,
    /// Offset of the next batch in it.
    pub(super) offset: u64,
    pub(super) position: Position,
    pub(super) mark: Mark,
    pub(super) failed: Option<Arc<Error>>,
}

impl Journal {
    /// The part that readers need: the segments, and how far the journal is durable.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Sequence of the next operation.
    pub fn next_sequence(&self) -> u64 {
        self.position.sequence
    }

    /// Newest times of all operations so far.
    pub fn newest(&self) -> Newest {
        self.position.newest
    }

    /// Why the journal failed, if it did.
    pub fn failure(&self) -> Option<&Arc<Error>> {
        self.failed.as_ref()
    }

    /// Appends a batch, makes it durable and empties it. Returns the sequence of the last durable operation.
    ///
    /// `now` is in microseconds since the Unix epoch; a batch is never stamped earlier than the one before. After an
    /// error the journal stays failed.
    pub fn commit(&mut self, batch: &mut Batch, now: u64) -> Result<u64, Error> {
        if let Some(cause) = &self.failed {
            return Err(Error::Failed(cause.clone()));
        }
        if !batch.is_empty() {
            self.write(batch, now).inspect_err(|error| self.failed = Some(Arc::new(error.clone())))?;
            batch.clear();
        }
        Ok(self.log.durable())
    }

    /// Whether there is nothing to [seal](Self::seal), or sealing is impossible.
    pub fn is_sealed(&self) -> bool {
        self.position.is_sealed || self.failed.is_some() || self.space() < PAGE
    }

    /// Appends an empty batch, so that damage to the last batch can be distinguished from a torn write. Call it when
    /// the journal is idle, and before closing it.
    pub fn seal(&mut self, now: u64) -> Result<(), Error> {
        if self.is_sealed() {
            return Ok(());
        }
        let mut batch = Batch::new();
        self.write(&mut batch, now).inspect_err(|error| self.failed = Some(Arc::new(error.clone())))
    }

    /// Maximum size of a batch now, in bytes: the rest of the segment, or a whole batch if the next segment is
    /// prepared.
    pub fn space(&self) -> u64 {
        self.space_after(0)
    }

    /// [`space`](Self::space) after a batch of this size.
    pub(super) fn space_after(&self, bytes: u64) -> u64 {
        let left = self.length.saturating_sub(self.offset);
        let space = match (self.log.needs_preparation(), left.checked_sub(bytes)) {
            (false, Some(_)) => self.log.batch_bytes(),
            (false, None) => (self.log.segment_bytes() - PAGE).saturating_sub(bytes),
            (true, left) => left.unwrap_or(0),
        };
        space.min(self.log.batch_bytes())
    }

    fn write(&mut self, batch: &mut Batch, now: u64) -> Result<(), Error> {
        let bytes = batch.bytes();
        if bytes > self.length.saturating_sub(self.offset) {
            self.turn()?;
        }
        let timestamp = now.max(self.position.timestamp);
        let newest = batch.newest();
        let next = self.position.sequence + batch.len() as u64;
        let (header, pages) = batch.finish(self.log.key(), &self.position, timestamp);
        assert_eq!(pages.len() as u64, bytes, "a batch has the length that it announced");
        assert!(self.offset.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE), "batches begin and end with pages");
        assert!(self.offset + bytes <= self.length, "a batch ends within its segment");
        self.file.write_at(pages, self.offset)?;
        self.file.sync_data()?;
        // Before anybody learns of it: a process killed here has promised nothing yet.
        self.mark.advance(&Synced {
            number: header.number.get(),
            sequence: next - 1,
            segment: self.segment,
            offset: self.offset,
        });
        self.log.publish(self.offset, self.offset + pages.len() as u64, &header);
        self.offset += pages.len() as u64;
        self.position = Position::after(&header, newest);
        assert_eq!(self.position.sequence, next, "the journal continues after the last written batch");
        Ok(())
    }

    /// Turns to the next segment, and prepares it if nobody has.
    fn turn(&mut self) -> Result<(), Error> {
        let segment = loop {
            match self.log.turn(self.position.sequence) {
                Some(segment) => break segment,
                None => self.log.prepare()?,
            }
        };
        (self.file, self.segment) = (segment.file, segment.number);
        self.length = self.log.segment_bytes();
        self.offset = PAGE;
        Ok(())
    }
}
