//! Replies to batches that the NIC holds: each is sent when the node has answered all of its entries, with the node's
//! replies.
//!
//! The node gets the entries one by one, as compact frames in the order of the NIC's records; so operations that the
//! NIC executed between two of them come between them there as well.

use std::collections::{HashMap, VecDeque};

use wire::{BatchHeader, CompactEntry, CompactFrame};

/// An entry of a held batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    batch: u64,
    index: usize,
}

/// The reply to a batch, as the NIC makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The port that sends it.
    pub port: u8,
    /// The whole packet.
    pub packet: Vec<u8>,
    /// Offset of the frame in it.
    pub payload: usize,
    /// Whether the node answered some entry differently: then the packet's checksum is wrong.
    pub differs: bool,
}

impl Held {
    fn count(&self) -> usize {
        (self.packet.len() - self.payload).saturating_sub(BatchHeader::LENGTH) / size_of::<CompactEntry>()
    }
}

/// Held replies, by number.
#[derive(Debug, Default)]
pub struct Batches {
    held: HashMap<u64, (Held, usize)>,
    /// Entries without a record yet, those of the oldest batch first.
    unmatched: VecDeque<Entry>,
    next: u64,
}

impl Batches {
    /// Stores a reply. Its entries belong to the next records with the batch flag.
    pub fn hold(&mut self, held: Held) {
        let (batch, count) = (self.next, held.count());
        self.next += 1;
        self.unmatched.extend((0..count).map(|index| Entry { batch, index }));
        if count > 0 {
            self.held.insert(batch, (held, count));
        }
    }

    /// Whether records are missing.
    pub fn is_waiting(&self) -> bool {
        !self.unmatched.is_empty()
    }

    /// The entry of the next record, with its batch; `None` if the reply has not arrived.
    pub fn next_entry(&mut self) -> Option<(Entry, &Held)> {
        let entry = self.unmatched.pop_front()?;
        Some((entry, &self.held.get(&entry.batch)?.0))
    }

    /// Records the answer to an entry: the NIC's, or another reply. Returns the batch after its last entry.
    pub fn answer(&mut self, entry: Entry, other: Option<&[u8]>) -> Option<Held> {
        let (held, left) = self.held.get_mut(&entry.batch)?;
        if let Some(reply) = other {
            let begin = held.payload + BatchHeader::LENGTH + entry.index * size_of::<CompactEntry>();
            held.packet[begin..begin + CompactFrame::LENGTH].copy_from_slice(&reply[..CompactFrame::LENGTH]);
            held.differs = true;
        }
        *left -= 1;
        if *left > 0 {
            return None;
        }
        self.held.remove(&entry.batch).map(|(held, _)| held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(count: usize) -> Held {
        let payload = 42;
        let packet = vec![0; payload + BatchHeader::LENGTH + count * size_of::<CompactEntry>()];
        Held { port: 2, packet, payload, differs: false }
    }

    #[test]
    fn a_batch_leaves_with_the_last_of_its_answers() {
        let mut batches = Batches::default();
        assert!(batches.next_entry().is_none());
        batches.hold(reply(2));
        batches.hold(reply(1));
        let entries: Vec<Entry> = std::iter::from_fn(|| batches.next_entry().map(|(entry, _)| entry)).collect();
        assert_eq!(entries.len(), 3);
        assert!(!batches.is_waiting());
        // In any order.
        assert_eq!(batches.answer(entries[1], None), None);
        assert_eq!(batches.answer(entries[2], None), Some(reply(1)));
        assert_eq!(batches.answer(entries[0], None), Some(reply(2)));
        assert!(batches.held.is_empty());
        assert_eq!(batches.answer(entries[0], None), None);
    }

    #[test]
    fn the_node_has_the_last_word() {
        let mut batches = Batches::default();
        batches.hold(reply(2));
        let (first, _) = batches.next_entry().unwrap();
        let (second, _) = batches.next_entry().unwrap();
        assert_eq!(batches.answer(second, Some(&[7; CompactFrame::LENGTH])), None);
        let held = batches.answer(first, None).unwrap();
        assert!(held.differs);
        let entries = &held.packet[held.payload + BatchHeader::LENGTH..];
        assert_eq!(entries[..24], [0; 24]);
        assert_eq!(entries[24..46], [7; 22]);
        assert_eq!(entries[46..], [0; 2]);
    }
}
