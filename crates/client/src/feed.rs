//! Feeds: journalled operations as a node streams them.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::thread::sleep;
use std::time::{Duration, Instant};

use wire::{AccountId, FeedEntry, FeedFrame, FeedTail, MAX_DATAGRAM, Promise, Reply, Status};
use zerocopy::IntoBytes;

use crate::{Error, Options, stream::connect};

/// Length of the prefix of a frame in bytes.
const PREFIX: usize = 4;

/// Bytes per read: a node writes this much at once.
const READ_BYTES: usize = 256 << 10;

/// Silence after which a connection counts as lost: five heartbeats.
const SILENCE: Duration = Duration::from_secs(5);

/// The id of the request, which is the only one on its connection.
const ID: u32 = 1;

/// Operations that a node has journalled, in order, each exactly once.
///
/// It reconnects by itself, and continues at its cursor. To continue in another process, store [`Self::cursor`]
/// together with the effects of the operations before it.
///
/// ```no_run
/// use turnpike_client::{Feed, Options};
///
/// let mut feed = Feed::new("127.0.0.1:7400".parse()?, 1, None, &Options::default());
/// loop {
///     let part = feed.receive()?;
///     for entry in part.entries {
///         println!("{} {}", entry.sequence, entry.operation.transaction);
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Feed {
    node: SocketAddr,
    account: Option<AccountId>,
    has_tails: bool,
    promise: Promise,
    cursor: u64,
    retry_after: Duration,
    retry_at_most: Duration,
    give_up_after: Duration,
    fail_if_unreachable: bool,
    connection: Option<TcpStream>,
    reconnections: u64,
    /// Received bytes: `taken` of them belong to frames that were returned.
    received: Vec<u8>,
    taken: usize,
}

/// One frame of a feed: operations of one batch of the journal, or a heartbeat without any.
#[derive(Clone, Copy, Debug)]
pub struct FeedPart<'a> {
    /// The operations, with ascending sequences.
    pub entries: &'a [FeedEntry],
    /// What the signed ones have in addition, in the same order; none unless [requested](Feed::with_tails).
    pub tails: &'a [FeedTail],
    /// Ledger time of the operations, in microseconds since the Unix epoch.
    pub timestamp: u64,
    /// The promise of the operations.
    pub promise: Promise,
    /// Sequence of the first operation after this part.
    pub cursor: u64,
    /// Sequence of the last durable operation.
    pub durable: u64,
    /// Sequence of the last final operation; 0 if the node is not a replica.
    pub finalized: u64,
}

impl Feed {
    /// A feed of all operations of a node, or of those that name an account, from the sequence `cursor` on. Nothing is
    /// sent yet.
    pub fn new(node: SocketAddr, cursor: u64, account: Option<AccountId>, options: &Options) -> Self {
        Self {
            node,
            account,
            has_tails: false,
            promise: options.promise,
            cursor,
            retry_after: options.retry_after,
            retry_at_most: options.retry_at_most,
            give_up_after: options.give_up_after,
            fail_if_unreachable: options.fail_if_unreachable,
            connection: None,
            reconnections: 0,
            received: Vec::new(),
            taken: 0,
        }
    }

    /// The same feed with the tails of signed operations: with them, an operation is the transaction of its block.
    pub fn with_tails(self) -> Self {
        Self { has_tails: true, ..self }
    }

    /// Sequence of the first operation that [`receive`](Self::receive) has not returned yet.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Number of connections after the first.
    pub fn reconnections(&self) -> u64 {
        self.reconnections
    }

    /// Waits for the next part. A node sends one each second at least. Reconnects if the connection is lost.
    ///
    /// # Errors
    /// [`Error::Pruned`] if the node no longer has the operation at the cursor; [`Error::NoReply`] if it does not
    /// answer for [`Options::give_up_after`]; [`Error::Refused`] with `NOT_FOUND` if its journal ends before the
    /// cursor.
    pub fn receive(&mut self) -> Result<FeedPart<'_>, Error> {
        let since = Instant::now();
        let mut pause = self.retry_after;
        let frame = loop {
            let lost = match self.receive_once() {
                Ok(frame) => match self.check(frame.clone())? {
                    None => break frame,
                    // The cursor is the same, so nothing is lost.
                    Some(Status::TooSlow) => Error::Refused(Status::TooSlow),
                    Some(status) if status.is_transient() => Error::Refused(status),
                    Some(status) => return Err(Error::Refused(status)),
                },
                Err(source) if source.kind() == ErrorKind::InvalidData => return Err(Error::WrongReply),
                Err(source) if self.fail_if_unreachable && source.kind() == ErrorKind::ConnectionRefused => {
                    return Err(Error::Unreachable { node: self.node, transaction: None });
                }
                Err(_) => Error::NoReply { node: self.node, waited: self.give_up_after, transaction: None },
            };
            self.disconnect();
            if since.elapsed() + pause > self.give_up_after {
                return Err(lost);
            }
            sleep(pause);
            pause = (pause * 2).min(self.retry_at_most);
        };
        let Ok(Reply::Feed(reply)) = Reply::parse(&self.received[frame]) else { return Err(Error::WrongReply) };
        let fixed = reply.fixed;
        self.cursor = fixed.cursor.get();
        Ok(FeedPart {
            entries: reply.entries,
            tails: reply.tails,
            timestamp: fixed.timestamp.get(),
            promise: fixed.promise().map_err(|_| Error::WrongReply)?,
            cursor: self.cursor,
            durable: fixed.durable.get(),
            finalized: fixed.finalized.get(),
        })
    }

    /// Receives a frame; returns its place in `received`.
    fn receive_once(&mut self) -> io::Result<Range<usize>> {
        if self.connection.is_none() {
            self.connection = Some(self.subscribe()?);
        }
        let Some(connection) = &mut self.connection else { return Err(ErrorKind::NotConnected.into()) };
        let since = Instant::now();
        loop {
            if let Some((prefix, rest)) = self.received[self.taken..].split_first_chunk::<PREFIX>() {
                let length = u32::from_be_bytes(*prefix) as usize;
                if length > MAX_DATAGRAM {
                    return Err(ErrorKind::InvalidData.into());
                }
                if length <= rest.len() {
                    let start = self.taken + PREFIX;
                    self.taken = start + length;
                    return Ok(start..start + length);
                }
            }
            // Fewer bytes than a frame remain.
            self.received.drain(..self.taken);
            self.taken = 0;
            let before = self.received.len();
            self.received.resize(before + READ_BYTES, 0);
            let read = connection.read(&mut self.received[before..]);
            self.received.truncate(before + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ if since.elapsed() > SILENCE => return Err(ErrorKind::TimedOut.into()),
                _ => {}
            }
        }
    }

    fn subscribe(&mut self) -> io::Result<TcpStream> {
        let mut connection = connect(self.node)?;
        connection.set_read_timeout(Some(SILENCE))?;
        let request = FeedFrame::new(ID, self.cursor, self.account, self.promise);
        let request = if self.has_tails { request.with_tails() } else { request };
        let length = FeedFrame::LENGTH as u32;
        connection.write_all(&[&length.to_be_bytes(), request.as_bytes()].concat())?;
        Ok(connection)
    }

    fn disconnect(&mut self) {
        self.reconnections += u64::from(self.connection.take().is_some());
        self.received.clear();
        self.taken = 0;
    }

    /// Checks that a frame continues at the cursor. Returns its status if it is the last one.
    fn check(&self, frame: Range<usize>) -> Result<Option<Status>, Error> {
        let reply = match Reply::parse(&self.received[frame]) {
            Ok(Reply::Feed(reply)) => reply,
            Ok(Reply::Error(_, status)) => return Ok(Some(status)),
            _ => return Err(Error::WrongReply),
        };
        let (fixed, next) = (reply.fixed, reply.fixed.cursor.get());
        if fixed.header.id.get() != ID || fixed.account() != self.account {
            return Err(Error::WrongReply);
        }
        match reply.status {
            Status::Ok => {}
            Status::Pruned => return Err(Error::Pruned { cursor: self.cursor, first: fixed.first.get() }),
            status => return Ok(Some(status)),
        }
        let mut expected = self.cursor;
        for entry in reply.entries {
            let sequence = entry.sequence.get();
            let is_next = match self.account {
                None => sequence == expected,
                Some(account) => sequence >= expected && entry.concerns(account),
            };
            if !is_next || sequence >= next {
                return Err(Error::WrongReply);
            }
            expected = sequence + 1;
        }
        let mut entries = reply.entries.iter();
        for tail in reply.tails {
            // Each belongs to an entry after that of the previous tail.
            if !self.has_tails || !entries.any(|entry| entry.sequence == tail.sequence) {
                return Err(Error::WrongReply);
            }
        }
        let is_whole = if self.account.is_none() { next == expected } else { next >= expected };
        if is_whole { Ok(None) } else { Err(Error::WrongReply) }
    }
}
