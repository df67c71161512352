//! Operations that the NIC has executed and its host has not yet: the host's ledger executes them too, in the NIC's
//! order, and both replies must be equal.
//!
//! The node's ledger is the one in the journal, so it has the last word. If the NIC holds its replies, each is sent
//! only after the node has given the same reply, under the node's promise.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use wire::{CompactFrame, Status, U16};
use zerocopy::IntoBytes;

use super::batches::Entry;
use crate::csr::Record;

/// Maximum number of operations in that state: the NIC gets no packets while there are more.
const LIMIT: usize = 4096;

impl Record {
    /// The request, if the ledger must execute it: the NIC by itself refuses what does not depend on a ledger, and has
    /// done nothing if it was busy.
    pub fn request(&self) -> Option<CompactFrame> {
        let is_refused = matches!(
            self.frame.status().ok()?,
            Status::UnknownCommand
                | Status::Malformed
                | Status::NotTrusted
                | Status::ZeroAmount
                | Status::SelfTransfer
                | Status::Busy
        );
        (!is_refused).then_some(CompactFrame { status: U16::ZERO, ..self.frame })
    }

    /// Returns the reply to the frame.
    pub fn reply(&self) -> CompactFrame {
        let mut reply = self.frame;
        if let Ok(status) = self.frame.status() {
            reply.set_reply(status, self.value.get());
        }
        reply
    }
}

/// A reply that the NIC holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The frame.
    pub reply: CompactFrame,
    /// Its carrier.
    pub carrier: Carrier,
}

/// The carrier of a NIC's reply to its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// It was already sent.
    Sent,
    /// A separate packet, and the port that sends it.
    Packet(u8, Vec<u8>),
    /// A batch.
    Batch(Entry),
}

/// Outcome of a comparison with the node's reply.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The NIC has not executed the request.
    Unknown,
    /// Both replies are the same.
    Same(Held),
    /// The replies differ.
    Different(Held),
}

/// Length of the fields that a compact frame and its reply share: the first 16 bytes.
const NAMED: usize = 16;

/// The NIC's replies in order, by sender and these fields.
#[derive(Debug, Default)]
pub struct Lockstep {
    held: HashMap<(SocketAddr, [u8; NAMED]), VecDeque<Held>>,
    count: usize,
}

impl Lockstep {
    /// Whether the NIC must get no more packets before the host has answered some.
    pub fn is_full(&self) -> bool {
        self.count >= LIMIT
    }

    /// Stores the NIC's reply until the node answers.
    pub fn expect(&mut self, peer: SocketAddr, held: Held) {
        self.count += 1;
        self.held.entry((peer, name(held.reply.as_bytes()))).or_default().push_back(held);
    }

    /// Compares a reply of the node. Replies to the same request may come in any order, because two threads send them.
    pub fn compare(&mut self, peer: SocketAddr, reply: &[u8]) -> Verdict {
        if reply.len() != CompactFrame::LENGTH {
            return Verdict::Unknown;
        }
        let key = (peer, name(reply));
        let Some(waiting) = self.held.get_mut(&key) else { return Verdict::Unknown };
        let same = waiting.iter().position(|held| held.reply.as_bytes() == reply);
        let held = waiting.remove(same.unwrap_or(0));
        if waiting.is_empty() {
            self.held.remove(&key);
        }
        self.count -= usize::from(held.is_some());
        match held {
            Some(held) if same.is_some() => Verdict::Same(held),
            Some(held) => Verdict::Different(held),
            None => Verdict::Unknown,
        }
    }
}

fn name(frame: &[u8]) -> [u8; NAMED] {
    let mut name = [0; NAMED];
    name.copy_from_slice(&frame[..NAMED]);
    name
}

#[cfg(test)]
mod tests {
    use zerocopy::FromBytes;

    use super::*;
    use wire::Command;

    fn peer(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn held(value: u64) -> Held {
        let mut reply = CompactFrame::new(Command::Transfer, 7, 1, 2, 5);
        reply.set_reply(Status::Ok, value);
        Held { reply, carrier: Carrier::Packet(3, vec![1, 2]) }
    }

    #[test]
    fn answers_are_matched_by_peer_and_request() {
        let mut lockstep = Lockstep::default();
        lockstep.expect(peer(1), held(90));
        lockstep.expect(peer(1), held(80));
        lockstep.expect(peer(2), held(90));
        assert_eq!(lockstep.compare(peer(3), held(90).reply.as_bytes()), Verdict::Unknown);
        // Out of order.
        assert_eq!(lockstep.compare(peer(1), held(80).reply.as_bytes()), Verdict::Same(held(80)));
        assert_eq!(lockstep.compare(peer(1), held(70).reply.as_bytes()), Verdict::Different(held(90)));
        assert_eq!(lockstep.compare(peer(1), held(90).reply.as_bytes()), Verdict::Unknown);
        assert_eq!(lockstep.count, 1);
        assert_eq!(lockstep.compare(peer(2), held(90).reply.as_bytes()), Verdict::Same(held(90)));
        assert_eq!((lockstep.count, lockstep.held.len()), (0, 0));
        assert_eq!(lockstep.compare(peer(2), &[0; 64]), Verdict::Unknown);
    }

    #[test]
    fn a_record_is_what_the_rtl_writes() {
        // record_t: command, transaction, source, destination, amount, status, batch, port, value.
        let bytes = [
            [0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 2].as_slice(),
            &[0, 0, 0, 5, 0, 4, 1, 2, 0, 0, 0, 1, 0, 0, 0, 9],
        ]
        .concat();
        let record = Record::read_from_bytes(&bytes).unwrap();
        assert_eq!((record.in_batch, record.port, record.value.get()), (1, 2, 1 << 32 | 9));
        assert_eq!(record.frame.status(), Ok(Status::InsufficientBalance));
        assert_eq!(record.request(), Some(CompactFrame::new(Command::Transfer, 7, 1, 2, 5)));
        assert_eq!(record.reply().value(), u32::MAX, "a value beyond 32 bits");
        for refusal in [Status::Malformed, Status::NotTrusted, Status::ZeroAmount, Status::Busy] {
            let frame = CompactFrame { status: U16::new(refusal.code()), ..record.frame };
            assert_eq!(Record { frame, ..record }.request(), None, "{refusal:?}");
        }
    }
}
