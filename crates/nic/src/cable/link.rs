//! An end of the link, as `docs/board.md` specifies it: packets in numbered segments, repeated until the other side
//! expects a later one (go-back-n).
//!
//! Without input and output: the caller passes in frames and the time, and sends the frames that are due.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::frame::{LinkFrame, SEGMENT_BYTES, Segment};
pub use super::layout::WINDOW;
use crate::rtl::model::Meta;

/// How long the sender waits for an acknowledgement before it sends again.
pub const RESEND: Duration = Duration::from_millis(1);

/// Limit of that time, which doubles whenever nothing was acknowledged: a board that is slow, such as a simulated one,
/// must not drown in repetitions.
const LONGEST_RESEND: Duration = Duration::from_millis(64);

/// Maximum length of a packet in bytes: above the MAC's 1,522. The rest of a longer one is dropped.
const PACKET_BYTES: usize = 4 * SEGMENT_BYTES;

/// A packet on the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its kind, port and id.
    pub meta: Meta,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its last segment is acknowledged once [`Link::settle`] is called.
    pub is_unsettled: bool,
}

/// A segment until it is acknowledged.
#[derive(Debug)]
struct Kept {
    first: bool,
    last: bool,
    meta: Meta,
    payload: Vec<u8>,
}

/// An end of the link, in a session.
#[derive(Debug)]
pub struct Link {
    session: u32,
    /// Kind of the packets that are acknowledged only after [`settle`](Self::settle).
    unsettled_kind: Option<u8>,
    /// Segments that are not acknowledged, the number of the first, and how many of them were sent.
    queue: VecDeque<Kept>,
    kept: u16,
    sent: usize,
    /// When to send again, and how long to wait the next time.
    resend: Option<Instant>,
    pause: Duration,
    /// The number expected next, and of the segments before it those that are not acknowledged: whether each must be
    /// settled first.
    expected: u16,
    received: VecDeque<bool>,
    /// The packet whose first segments have arrived.
    partial: Option<(Meta, Vec<u8>)>,
    acknowledges: bool,
}

impl Link {
    /// The end of a new session. Packets of `unsettled_kind` are acknowledged when they are settled.
    pub fn new(session: u32, unsettled_kind: Option<u8>) -> Self {
        Self {
            session,
            unsettled_kind,
            queue: VecDeque::new(),
            kept: 0,
            sent: 0,
            resend: None,
            pause: RESEND,
            expected: 0,
            received: VecDeque::new(),
            partial: None,
            acknowledges: false,
        }
    }

    /// Queues a packet. Ignores an empty one.
    pub fn send(&mut self, meta: Meta, packet: &[u8]) {
        let chunks = packet.chunks(SEGMENT_BYTES);
        let count = chunks.len();
        self.queue.extend(chunks.enumerate().map(|(at, payload)| Kept {
            first: at == 0,
            last: at + 1 == count,
            meta,
            payload: payload.to_vec(),
        }));
    }

    /// Segments that the other side has not acknowledged.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Handles a frame of the other side. Returns the packet that it completes, if any.
    pub fn receive(&mut self, frame: &LinkFrame<'_>) -> Option<Packet> {
        if frame.session != self.session {
            return None;
        }
        self.release(frame.expected);
        let segment = frame.segment.as_ref()?;
        // A repetition asks for the acknowledgement that was lost.
        self.acknowledges = true;
        if segment.number != self.expected || self.received.len() == WINDOW {
            return None;
        }
        self.expected = self.expected.wrapping_add(1);
        let packet = self.assemble(segment);
        self.received.push_back(packet.as_ref().is_some_and(|packet| packet.is_unsettled));
        self.advance();
        packet
    }

    /// Acknowledges the oldest packet that is not settled.
    pub fn settle(&mut self) {
        if let Some(unsettled) = self.received.iter_mut().find(|unsettled| **unsettled) {
            *unsettled = false;
            self.acknowledges = true;
            self.advance();
        }
    }

    /// Sends the frames that are due.
    pub fn poll(&mut self, now: Instant, mut send: impl FnMut(LinkFrame<'_>)) {
        let (session, expected) = (self.session, self.acknowledged());
        let mut from = self.sent;
        if self.sent > 0 && self.resend.is_some_and(|resend| resend <= now) {
            self.pause = (self.pause * 2).min(LONGEST_RESEND);
            self.resend = Some(now + self.pause);
            from = 0;
        }
        let until = self.queue.len().min(WINDOW);
        if self.resend.is_none() && until > 0 {
            self.resend = Some(now + self.pause);
        }
        for (at, kept) in self.queue.range(..until).enumerate().skip(from) {
            let number = self.kept.wrapping_add(at as u16);
            let Kept { first, last, meta, ref payload } = *kept;
            send(LinkFrame { session, expected, segment: Some(Segment { number, first, last, meta, payload }) });
        }
        if std::mem::take(&mut self.acknowledges) && from >= until {
            send(LinkFrame { session, expected, segment: None });
        }
        self.sent = until;
    }

    /// When [`poll`](Self::poll) has something to send, if nothing happens before.
    pub fn due(&self) -> Option<Instant> {
        self.resend.filter(|_| self.sent > 0)
    }

    /// The number below which everything is acknowledged.
    fn acknowledged(&self) -> u16 {
        self.expected.wrapping_sub(self.received.len() as u16)
    }

    /// Forgets segments that may be acknowledged.
    fn advance(&mut self) {
        while self.received.front() == Some(&false) {
            self.received.pop_front();
        }
    }

    /// Releases the segments below a number that the other side expects, if they were sent.
    fn release(&mut self, expected: u16) {
        let released = usize::from(expected.wrapping_sub(self.kept));
        if released == 0 || released > self.sent {
            return;
        }
        self.queue.drain(..released);
        self.kept = expected;
        self.sent -= released;
        self.pause = RESEND;
        // The wait begins anew with the next poll.
        self.resend = None;
    }

    fn assemble(&mut self, segment: &Segment<'_>) -> Option<Packet> {
        if segment.first {
            self.partial = Some((segment.meta, Vec::new()));
        }
        // The rest of a packet whose beginning is unknown.
        let (meta, mut bytes) = self.partial.take()?;
        bytes.extend_from_slice(segment.payload);
        if bytes.len() > PACKET_BYTES {
            return None;
        }
        if !segment.last {
            self.partial = Some((meta, bytes));
            return None;
        }
        Some(Packet { meta, bytes, is_unsettled: self.unsettled_kind == Some(meta.kind) })
    }
}
