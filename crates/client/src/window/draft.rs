//! Requests being filled.

use std::time::Duration;

use wire::{BatchFormat, BatchHeader, CompactEntry, CompactFrame, Operation, Promise, SignedOperation, U32};
use zerocopy::IntoBytes;

use super::{Slot, Window};

impl Window {
    /// Returns a request to fill; `None` if no more may be in flight.
    pub fn begin(&mut self) -> Option<Draft<'_>> {
        let (id, buffer) = self.reserve()?;
        Some(Draft { id, buffer, is_limited: false, window: self })
    }

    /// Returns a request with the given id; `None` if no more may be in flight, or the id is too close to one in
    /// flight.
    pub fn begin_as(&mut self, id: u32) -> Option<Draft<'_>> {
        if self.slots[self.index_of(id)].is_some() {
            return None;
        }
        self.next_id = id;
        self.begin()
    }
}

/// A request being filled. Dropping it without submitting it has no effect.
#[derive(Debug)]
pub struct Draft<'a> {
    window: &'a mut Window,
    id: u32,
    buffer: u32,
    /// It has an operation whose retry is not recognised forever.
    is_limited: bool,
}

impl<'a> Draft<'a> {
    /// The id that the frame must carry; in a compact frame the transaction id.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Maximum length of a datagram in bytes.
    pub fn datagram(&self) -> usize {
        self.window.limits.datagram
    }

    /// The memory to write the datagram to; its contents are unspecified.
    pub fn bytes(&mut self) -> &mut [u8] {
        let length = self.window.limits.datagram;
        let offset = self.buffer as usize * length;
        &mut self.window.memory[offset..offset + length]
    }

    /// Sends the first `length` bytes of the memory, which must hold a frame with this draft's id. `due` is when it
    /// should have been sent, from which its latency counts, and `now` is the present time.
    pub fn submit(self, length: usize, tag: u64, due: Duration, now: Duration) {
        let window = &mut *self.window;
        let slot = Slot {
            id: self.id,
            buffer: self.buffer,
            length: length.min(window.limits.datagram),
            tag,
            due,
            submitted: now,
            deadline: now + window.limits.retry_after,
            give_up_after: match self.is_limited {
                true => window.limits.give_up_after.min(window.retry_limit),
                false => window.limits.give_up_after,
            },
            retries: 0,
            refusals: 0,
            refused: None,
            unanswered: false,
        };
        window.outgoing.push_back(self.id);
        window.next_deadline = window.next_deadline.min(slot.deadline);
        let index = window.index_of(self.id);
        window.slots[index] = Some(slot);
        window.in_flight += 1;
        window.next_id = self.id.wrapping_add(1);
        // The slot now owns the buffer.
        std::mem::forget(self);
    }

    /// Sends a frame, truncated to the maximum length of a datagram.
    pub fn submit_frame(mut self, frame: &[u8], tag: u64, due: Duration, now: Duration) {
        let bytes = self.bytes();
        let length = frame.len().min(bytes.len());
        bytes[..length].copy_from_slice(&frame[..length]);
        self.submit(length, tag, due, now);
    }

    /// Sends a compact frame with this draft's id as its transaction id.
    pub fn submit_compact(mut self, mut frame: CompactFrame, tag: u64, due: Duration, now: Duration) {
        frame.transaction = U32::new(self.id);
        self.is_limited = !is_recognised_for_ever(&frame.to_operation());
        self.submit_frame(frame.as_bytes(), tag, due, now);
    }

    /// Turns the request into a batch.
    pub fn batch(self, format: BatchFormat, promise: Promise) -> BatchDraft<'a> {
        BatchDraft { draft: self, format, promise, count: 0, length: BatchHeader::LENGTH }
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        self.window.free.push(self.buffer);
    }
}

/// Whether an unsigned operation can be repeated at any time: it changes nothing, or its id carries a time.
pub(crate) fn is_recognised_for_ever(operation: &Operation) -> bool {
    operation.time().is_some() || operation.command().is_ok_and(|command| !command.is_executed())
}

/// A batch being filled.
#[derive(Debug)]
pub struct BatchDraft<'a> {
    draft: Draft<'a>,
    format: BatchFormat,
    promise: Promise,
    count: u16,
    length: usize,
}

impl BatchDraft<'_> {
    /// Number of entries so far.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends an operation to a batch of format 1, or of format 0 if the operation fits. Returns `false` if there is
    /// no room, or the format cannot hold it.
    #[inline]
    pub fn push(&mut self, operation: &Operation) -> bool {
        match self.format {
            BatchFormat::Operation => {
                self.draft.is_limited |= !is_recognised_for_ever(operation);
                self.append(operation.as_bytes())
            }
            BatchFormat::Compact => {
                CompactFrame::from_operation(operation).is_some_and(|frame| self.push_compact(frame))
            }
            BatchFormat::Signed => false,
        }
    }

    /// Appends to a batch of format 0.
    #[inline]
    pub fn push_compact(&mut self, frame: CompactFrame) -> bool {
        self.draft.is_limited = true;
        self.format == BatchFormat::Compact && self.append(CompactEntry::from(frame).as_bytes())
    }

    /// Appends to a batch of format 2.
    pub fn push_signed(&mut self, signed: &SignedOperation) -> bool {
        self.format == BatchFormat::Signed && self.append(signed.as_bytes())
    }

    /// Sends the batch, unless it is empty.
    pub fn submit(mut self, tag: u64, due: Duration, now: Duration) {
        if self.count == 0 {
            return;
        }
        let header = BatchHeader::new(self.draft.id, self.format, self.count, self.promise);
        if header.write_to_prefix(self.draft.bytes()).is_ok() {
            self.draft.submit(self.length, tag, due, now);
        }
    }

    fn append(&mut self, entry: &[u8]) -> bool {
        let (length, count) = (self.length, self.count);
        let Some(place) = self.draft.bytes().get_mut(length..length + entry.len()) else { return false };
        let Some(count) = count.checked_add(1) else { return false };
        place.copy_from_slice(entry);
        (self.length, self.count) = (length + entry.len(), count);
        true
    }
}
