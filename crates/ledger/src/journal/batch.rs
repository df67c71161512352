//! The batch in which operations gather.

use wire::{Operation, SignedOperation, U64};
use zerocopy::{FromBytes, IntoBytes};

use super::format::{BATCH_HEADER_LENGTH, BatchHeader, Newest, PAGE, Position, Record, Tail, padded};

/// Executed operations that go into the journal with the next write.
///
/// The records are gathered in the buffer that is written, so that each is copied once.
#[derive(Debug)]
pub struct Batch {
    /// Room for the header, then the records.
    buffer: Vec<u8>,
    tails: Vec<Tail>,
    newest: Newest,
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self { buffer: vec![0; BATCH_HEADER_LENGTH], tails: Vec::new(), newest: Newest::default() }
    }

    /// Appends an operation with its status set and its amount as requested; `value` is that of its reply.
    #[inline]
    pub fn push(&mut self, operation: &Operation, value: u64) {
        self.newest.operation(operation);
        self.append(operation, value);
    }

    #[inline]
    fn append(&mut self, operation: &Operation, value: u64) {
        let record = Record { operation: *operation, value: U64::new(value) };
        self.buffer.extend_from_slice(record.as_bytes());
    }

    /// Appends a signed operation.
    pub fn push_signed(&mut self, signed: &SignedOperation, value: u64) {
        self.tails.push(Tail::new(self.count(), signed));
        self.newest.signed(signed.timestamp.get());
        self.append(&signed.operation, value);
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        (self.buffer.len() - BATCH_HEADER_LENGTH) / Record::LENGTH
    }

    /// Whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.buffer.len() == BATCH_HEADER_LENGTH
    }

    /// Bytes that the batch takes in the journal.
    pub fn bytes(&self) -> u64 {
        padded((self.buffer.len() + self.tails.len() * Tail::LENGTH) as u64)
    }

    /// Number of further operations, even signed ones, that fit in a batch of at most `bytes`.
    pub fn room(&self, bytes: u64) -> usize {
        let left = (bytes / PAGE * PAGE).saturating_sub((self.buffer.len() + self.tails.len() * Tail::LENGTH) as u64);
        left as usize / (Record::LENGTH + Tail::LENGTH)
    }

    /// Empties the batch but keeps its memory.
    pub fn clear(&mut self) {
        self.buffer.truncate(BATCH_HEADER_LENGTH);
        self.tails.clear();
        self.newest = Newest::default();
    }

    /// Releases memory above `bytes`, if the batch is empty.
    pub(super) fn shrink(&mut self, bytes: usize) {
        if self.is_empty() {
            self.buffer.shrink_to(bytes);
            self.tails.shrink_to(bytes / Tail::LENGTH);
        }
    }

    fn count(&self) -> u32 {
        // A batch has less than 4 GiB, because callers check the room first.
        self.len() as u32
    }

    /// Newest times of its operations.
    pub(super) fn newest(&self) -> Newest {
        self.newest
    }

    /// Its contents: the records, and the tails of the signed ones.
    pub(crate) fn parts(&self) -> (&[Record], &[Tail]) {
        let records = <[Record]>::ref_from_bytes(&self.buffer[BATCH_HEADER_LENGTH..]);
        (records.expect("it gathers whole records"), &self.tails)
    }

    /// Finishes the batch with its header at a position. Returns the header and the pages to write.
    pub(super) fn finish(&mut self, key: &[u8; 32], position: &Position, timestamp: u64) -> (BatchHeader, &[u8]) {
        let counts = (self.count(), self.tails.len() as u32);
        self.buffer.extend_from_slice(self.tails.as_bytes());
        let mut header = BatchHeader::new(position, counts, timestamp);
        header.digest = header.compute(key, &self.buffer[BATCH_HEADER_LENGTH..]);
        self.buffer[..BATCH_HEADER_LENGTH].copy_from_slice(header.as_bytes());
        self.buffer.resize(padded(self.buffer.len() as u64) as usize, 0);
        (header, &self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use wire::{AccountId, Promise, TransactionId};

    use super::*;

    #[test]
    fn memory_is_given_back_once_it_is_empty() {
        let operation = Operation::create(TransactionId::from(1u32), AccountId::from(1u32));
        let signed = SignedOperation::unsigned(operation, 0, 0, Promise::Durable, [0; 33]);
        let mut batch = Batch::new();
        for _ in 0..10_000 {
            batch.push_signed(&signed, 0);
        }
        batch.shrink(1 << 16);
        assert!(batch.buffer.capacity() >= 10_000 * Record::LENGTH && batch.tails.capacity() >= 10_000);
        batch.clear();
        batch.shrink(1 << 16);
        assert_eq!((batch.buffer.capacity(), batch.tails.capacity()), (1 << 16, (1 << 16) / Tail::LENGTH));
    }
}
