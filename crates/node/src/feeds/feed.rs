//! One feed: reads the journal, and writes its frames to a socket.

use std::{
    io::{self, Write},
    net::TcpStream,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use ledger::journal::{Error, JournalReader};
use nic::{FeedCarrier, Subscription};
use wire::{AccountId, FeedEntry, FeedFrame, FeedTail, MAX_DATAGRAM, Promise, Status, U16, U64};
use zerocopy::IntoBytes;

use super::{Ended, Source};

/// Maximum length of the prefix of a frame in bytes.
const PREFIX: usize = 4;

/// First byte of a binary message of a WebSocket, in one frame (RFC 6455, section 5.2).
const BINARY: u8 = 0x82;

/// In place of a length up to 125: the length follows in two bytes. No frame needs eight.
const TWO_BYTES: u8 = 126;
const _: () = assert!(MAX_DATAGRAM <= u16::MAX as usize);

/// A Close frame with status 1000: the purpose of the connection is fulfilled.
const CLOSE: [u8; 4] = [0x88, 2, 0x03, 0xe8];

/// Bytes from which on nothing is added to the buffer: a write of this size costs little more per operation than larger
/// ones.
const BUFFER: usize = 256 << 10;

/// Bytes that a feed may send in a round while others wait: a millisecond's worth at 10 Gbit/s.
const ROUND_BYTES: usize = 1 << 20;

/// Operations that a feed may read in a round while others wait, for one that skips most of them.
const ROUND_OPERATIONS: usize = 1 << 16;

/// Interval of heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// State of a feed after it was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has used its share of the round.
    More,
    /// It waits for a commit, its socket or the next heartbeat.
    Waits,
    /// It ended: its connection is to be closed.
    Over(Ended),
}

/// A feed.
#[derive(Debug)]
pub(super) struct Feed {
    stream: TcpStream,
    carrier: FeedCarrier,
    /// The reply without the fields that change.
    reply: FeedFrame,
    account: Option<AccountId>,
    /// `None` once the last frame is in the buffer.
    reader: Option<JournalReader>,
    /// Frames with their lengths, of which `sent` bytes are sent.
    sending: Vec<u8>,
    sent: usize,
    /// Since when the client has not taken the data after `sent`, and its amount then.
    unread: Option<(Instant, usize)>,
    /// When the last frame was written to the buffer.
    wrote: Instant,
    /// Why it ends once the buffer is sent, and when it ends in any case.
    end: Option<(Ended, Instant)>,
}

impl Feed {
    /// A feed whose first frame is in its buffer: a heartbeat, or a refusal.
    pub fn new(Subscription { stream, carrier, request }: Subscription, source: &Source, now: Instant) -> Self {
        let account = request.account();
        let mut reply = request;
        reply.header.set_reply();
        reply.promise = source.promise.code();
        let mut feed = Self {
            stream,
            carrier,
            reply,
            account,
            reader: None,
            sending: Vec::new(),
            sent: 0,
            unread: None,
            wrote: now,
            end: None,
        };
        let cursor = request.cursor.get();
        match source.log.reader(cursor) {
            Ok(reader) => {
                feed.reader = Some(reader);
                feed.push(source, cursor, 0, (&[], &[]), now);
            }
            Err(error) => feed.fail(source, cursor, &error, now),
        }
        feed
    }

    /// Refuses a subscription above the limit: the socket is new, so it has room for the frame, unless its client has
    /// gone.
    pub fn refuse(Subscription { mut stream, carrier, mut request }: Subscription) {
        request.set_refusal(Status::Busy);
        let mut bytes = Vec::new();
        push_prefix(&mut bytes, carrier, FeedFrame::LENGTH);
        bytes.extend_from_slice(request.as_bytes());
        push_end(&mut bytes, carrier);
        let _ = stream.write(&bytes);
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Whether data waits for the socket.
    pub fn is_full(&self) -> bool {
        self.sent < self.sending.len()
    }

    /// Number of durable operations that were not read for it yet.
    pub fn behind(&self) -> u64 {
        self.reader.as_ref().map_or(0, JournalReader::behind)
    }

    /// Whether it can be served without waiting for its socket.
    pub fn has_work(&self) -> bool {
        !self.is_full() && (self.behind() > 0 || self.end.is_some())
    }

    /// Sends what the socket takes, up to its share of a round.
    pub fn serve(&mut self, source: &Source, is_readable: bool, now: Instant) -> Progress {
        if is_readable && self.is_left() {
            return Progress::Over(Ended::Client);
        }
        if self.end.is_none() && now.saturating_duration_since(self.wrote) >= HEARTBEAT && !self.is_full() {
            self.beat(source, now);
        }
        let (mut bytes, mut operations) = (0, 0);
        loop {
            if !self.is_full() {
                (self.sent, self.unread) = (0, None);
                self.sending.clear();
                if let Some((why, _)) = self.end {
                    return Progress::Over(why);
                }
                if bytes >= ROUND_BYTES || operations >= ROUND_OPERATIONS {
                    return Progress::More;
                }
                operations += self.fill(source, now);
                bytes += self.sending.len();
                if self.sending.is_empty() {
                    return if self.behind() > 0 { Progress::More } else { Progress::Waits };
                }
            }
            match self.stream.write(&self.sending[self.sent..]) {
                Ok(0) => return Progress::Over(Ended::Client),
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.wait_for_client(source, now),
                Err(_) => return Progress::Over(Ended::Client),
            }
        }
    }

    /// Whether the client has closed the connection, or broken the rule to send nothing.
    fn is_left(&self) -> bool {
        match self.stream.peek(&mut [0; 1]) {
            Ok(_) => true,
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        }
    }

    /// The socket is full: ends the feed if that has lasted too long.
    fn wait_for_client(&mut self, source: &Source, now: Instant) -> Progress {
        if let Some((why, until)) = self.end {
            return if now >= until { Progress::Over(why) } else { Progress::Waits };
        }
        match self.unread {
            // It has taken less than a largest frame since then.
            Some((since, from)) if self.sent < from + MAX_DATAGRAM => {
                if now.saturating_duration_since(since) > source.patience
                    && let Some(reader) = self.reader.take()
                {
                    self.close(source, reader.next_sequence(), Status::TooSlow, Ended::TooSlow, now);
                }
            }
            _ => self.unread = Some((now, self.sent)),
        }
        Progress::Waits
    }

    /// Reads the journal into the buffer. Returns the number of operations that were read.
    fn fill(&mut self, source: &Source, now: Instant) -> usize {
        let Some(mut reader) = self.reader.take() else { return 0 };
        let mut operations = 0;
        let (mut entries, mut tails) = (Vec::new(), Vec::new());
        while self.sending.len() < BUFFER && operations < ROUND_OPERATIONS {
            let cursor = reader.next_sequence();
            match reader.next_part(self.reply.max_entries()) {
                Ok(Some(batch)) => {
                    assert_eq!(batch.first_sequence, cursor, "a feed has no gap");
                    operations += batch.records.len();
                    let next = batch.last_sequence() + 1;
                    entries.clear();
                    tails.clear();
                    for (sequence, (record, signed)) in (cursor..).zip(batch.entries()) {
                        let (operation, value) = (record.operation, record.value);
                        let entry = FeedEntry { sequence: U64::new(sequence), operation, value };
                        if self.account.is_none_or(|account| entry.concerns(account)) {
                            entries.push(entry);
                            let signed = signed.filter(|_| self.reply.has_tails());
                            tails.extend(signed.map(|signed| FeedTail::new(sequence, &signed)));
                        }
                    }
                    if !entries.is_empty() {
                        self.push(source, next, batch.timestamp, (&entries, &tails), now);
                        source.counters.operations.fetch_add(entries.len() as u64, Relaxed);
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    self.fail(source, cursor, &error, now);
                    return operations;
                }
            }
        }
        self.reader = Some(reader);
        operations
    }

    /// Sends a frame without entries.
    fn beat(&mut self, source: &Source, now: Instant) {
        let Some(reader) = &mut self.reader else { return };
        // It was idle for a second, or reads nothing that concerns it.
        reader.release_memory();
        let cursor = reader.next_sequence();
        self.push(source, cursor, 0, (&[], &[]), now);
    }

    /// Appends a frame to the buffer.
    fn push(
        &mut self,
        source: &Source,
        cursor: u64,
        timestamp: u64,
        (entries, tails): (&[FeedEntry], &[FeedTail]),
        now: Instant,
    ) {
        assert!(entries.len() <= self.reply.max_entries(), "a frame fits in a stream");
        let durable = source.log.durable();
        assert!(cursor <= durable + 1, "only durable operations are sent");
        let frame = FeedFrame {
            count: U16::new(entries.len() as u16),
            signed: U16::new(tails.len() as u16),
            cursor: U64::new(cursor),
            timestamp: U64::new(timestamp),
            durable: U64::new(durable),
            finalized: U64::new(if source.promise == Promise::Final { durable } else { 0 }),
            first: U64::new(source.log.first_sequence()),
            ..self.reply
        };
        self.append(&frame, entries, tails);
        self.wrote = now;
    }

    fn append(&mut self, frame: &FeedFrame, entries: &[FeedEntry], tails: &[FeedTail]) {
        push_prefix(&mut self.sending, self.carrier, frame.frame_length());
        self.sending.extend_from_slice(frame.as_bytes());
        self.sending.extend_from_slice(entries.as_bytes());
        self.sending.extend_from_slice(tails.as_bytes());
        let limit = BUFFER + 2 * (PREFIX + MAX_DATAGRAM) + CLOSE.len();
        assert!(self.sending.len() <= limit, "the buffer has its size, a frame, and a last one");
    }

    /// Ends the feed because its reader failed at `cursor`.
    fn fail(&mut self, source: &Source, cursor: u64, error: &Error, now: Instant) {
        let first = source.log.first_sequence();
        let (status, why) = match error {
            // A pruned file is written again, so whatever was read of it is another error.
            _ if cursor < first => (Status::Pruned, Ended::Pruned),
            Error::NotThere { .. } => (Status::NotFound, Ended::NotFound),
            error => {
                tracing::error!(%error, "cannot read the journal for a feed: run `turnpike check`");
                (Status::StorageFailed, Ended::StorageFailed)
            }
        };
        self.close(source, cursor, status, why, now);
    }

    /// Appends the last frame. The client has as long for the rest of the buffer as for anything else.
    fn close(&mut self, source: &Source, cursor: u64, status: Status, why: Ended, now: Instant) {
        let mut last = FeedFrame { cursor: U64::new(cursor), ..self.reply };
        last.set_refusal(status);
        last.first = U64::new(source.log.first_sequence());
        last.durable = U64::new(source.log.durable());
        self.append(&last, &[], &[]);
        push_end(&mut self.sending, self.carrier);
        self.reader = None;
        self.end = Some((why, now + source.patience));
    }
}

/// Appends what precedes a frame of this length.
fn push_prefix(bytes: &mut Vec<u8>, carrier: FeedCarrier, length: usize) {
    match carrier {
        FeedCarrier::Stream => bytes.extend_from_slice(&(length as u32).to_be_bytes()),
        FeedCarrier::WebSocket if length < usize::from(TWO_BYTES) => bytes.extend_from_slice(&[BINARY, length as u8]),
        FeedCarrier::WebSocket => {
            bytes.extend_from_slice(&[BINARY, TWO_BYTES]);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
    }
}

/// Appends what follows the last frame.
fn push_end(bytes: &mut Vec<u8>, carrier: FeedCarrier) {
    if carrier == FeedCarrier::WebSocket {
        bytes.extend_from_slice(&CLOSE);
    }
}
