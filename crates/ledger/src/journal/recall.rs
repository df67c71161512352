//! Reading single operations of a journal while it is written: the first results of retries.

use std::sync::Arc;

use super::Error;
use super::format::{PAGE, Record, padded};
use super::log::Log;
use super::reader::Window;
use crate::retries::Recall;
use zerocopy::FromBytes;

/// Reads operations by sequence. Consecutive reads from one batch read it once.
#[derive(Debug)]
pub struct JournalRecall {
    log: Arc<Log>,
    window: Window,
    /// The segment of the window.
    segment: u64,
}

impl JournalRecall {
    /// Reads from a journal.
    pub fn new(log: Arc<Log>) -> Self {
        Self { log, window: Window::default(), segment: 0 }
    }

    /// Returns the record of an operation; `None` if it is not durable yet or was pruned.
    pub fn record(&mut self, sequence: u64) -> Result<Option<Record>, Error> {
        if sequence > self.log.durable() {
            return Ok(None);
        }
        let Some((segment, mut offset)) = self.log.locate(sequence) else { return Ok(None) };
        if std::mem::replace(&mut self.segment, segment.number) != segment.number {
            self.window.clear();
        }
        loop {
            let Some(header) = self.window.header(&*segment.file, offset, segment.end)? else {
                let reason = "a batch was expected".into();
                return Err(Error::Damaged { path: segment.file.path().into(), offset, reason });
            };
            if header.last_sequence() >= sequence {
                let payload = self.window.payload(&*segment.file, offset, segment.end, &header)?;
                let at = sequence.checked_sub(header.first_sequence.get()).map(|at| at as usize * Record::LENGTH);
                let bytes = at.and_then(|at| payload.get(at..at + Record::LENGTH));
                return Ok(bytes.and_then(|bytes| Record::read_from_bytes(bytes).ok()));
            }
            // Batches take whole pages, so this terminates.
            offset += padded(header.length()).max(PAGE);
        }
    }
}

impl Recall for JournalRecall {
    fn recall(&mut self, sequence: u64) -> Option<Record> {
        self.record(sequence).ok().flatten()
    }
}
