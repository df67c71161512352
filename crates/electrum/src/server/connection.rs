//! A connection: a session, its socket, and its state between turns.
use std::{
    io::{self, ErrorKind, Read, Write},
    sync::Arc,
    time::{Duration, Instant},
};

use super::socket::Socket;
use crate::{
    buffers::{Buffered, Evict},
    service::{Announcement, Counts, Service},
    session::{NextStep, Session},
};

/// Bytes per read.
const READ: usize = 64 << 10;
/// Length of a turn while others wait. A request that was begun is finished; the requests of a batch count separately.
const TURN: Duration = Duration::from_micros(500);
/// Bytes that a client may send after its last reply, for example the rest of a message that is too long.
const DISCARDED: usize = 16 << 20;
/// Maximum bytes of notifications waiting for a client that does not accept them.
const BEHIND: usize = 32 << 20;

/// Maximum number of announcements held back during an answer: more than arrive while a node takes its time.
const UNTOLD: usize = 4096;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Requests.
    Read,
    /// The client must accept replies.
    Write,
    /// Its prefix must have budget again.
    Credit(Instant),
    /// Its next turn: this one is over, and there may be more work.
    Turn,
    /// The answer to its question.
    Answer,
    /// It must be closed.
    Closed,
}

/// A connection.
pub struct Connection {
    pub socket: Socket,
    /// `None` while a question is in progress.
    session: Option<Session>,
    /// The question for the node, with the session, until it is taken.
    question: Option<(Session, Vec<u8>)>,
    /// Length of the question in progress.
    asked: usize,
    /// Announcements to report after the answer.
    untold: Vec<Arc<Announcement>>,
    service: Arc<Service>,
    /// The start of a request, and the bytes after it.
    pending: Vec<u8>,
    /// Whether `pending` may contain a complete request.
    has_more: bool,
    /// Replies that the client has not accepted yet, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    /// The last reply was produced.
    closing: bool,
    /// Bytes received since the last reply was sent.
    discarded: Option<usize>,
    /// When a request was last complete, or the client last accepted all replies.
    active: Instant,
    /// Since when there is a partial request or handshake, or there are replies that the client does not accept.
    stuck: Option<Instant>,
    /// Its account of the memory that all connections share.
    buffered: Buffered,
}

impl Connection {
    /// An accepted connection. `evict` closes it if it holds the most of the shared memory.
    pub fn new(socket: Socket, session: Session, evict: Evict, now: Instant) -> Self {
        Self {
            buffered: session.client.share.buffered(evict),
            // A handshake is timed from the start.
            stuck: socket.is_midway().then_some(now),
            asked: 0,
            socket,
            service: Arc::clone(&session.client.service),
            session: Some(session),
            question: None,
            untold: Vec::new(),
            pending: Vec::new(),
            has_more: false,
            unsent: Vec::new(),
            sent: 0,
            closing: false,
            discarded: None,
            active: now,
        }
    }

    /// Sends, reads, answers, and sends again, as far as possible without waiting. `room` is the read buffer.
    pub fn turn(&mut self, room: &mut [u8; READ], now: Instant) -> Waits {
        let waits = self.try_turn(room, now).unwrap_or(Waits::Closed);
        let is_half = !self.has_more && !self.pending.is_empty() || self.socket.is_midway();
        let is_stuck = waits == Waits::Write || waits != Waits::Answer && (self.closing || is_half);
        self.stuck = if is_stuck { self.stuck.or(Some(now)) } else { None };
        self.account();
        waits
    }

    fn try_turn(&mut self, room: &mut [u8; READ], now: Instant) -> io::Result<Waits> {
        let end = Instant::now() + TURN;
        self.socket.begin_turn();
        loop {
            if !self.send()? {
                return Ok(Waits::Write);
            }
            if self.closing {
                return self.discard(room);
            }
            let Some(session) = &mut self.session else { return Ok(Waits::Answer) };
            if !self.has_more {
                // A prefix in debt is not read from: unread bytes cost nothing.
                if let Some(debt) = session.debt(now) {
                    return Ok(Waits::Credit(now + debt));
                }
                let read = self.socket.read(room);
                session.client.share.charge(self.socket.take_cost(), now);
                match read {
                    Ok(0) => return Ok(Waits::Closed),
                    Ok(count) => {
                        Counts::add(&self.service.counts.bytes_read, count as u64);
                        // Without memory only this connection ends.
                        self.pending.try_reserve(count).map_err(|_| ErrorKind::OutOfMemory)?;
                        self.pending.extend_from_slice(&room[..count]);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        return Ok(match (self.socket.is_spent(), self.socket.has_unsent()) {
                            (_, true) => Waits::Write,
                            (true, false) => Waits::Turn,
                            (false, false) => Waits::Read,
                        });
                    }
                    Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                        session.refuse_long(&mut self.unsent);
                        self.closing = true;
                        continue;
                    }
                    // The client gets the reason, in an HTTP error or in a Close frame.
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                        self.closing = true;
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            session.set_turn_end(end);
            let progress = session.feed(&self.pending, &mut self.unsent, now);
            if progress.consumed > 0 {
                self.active = now;
                self.stuck = None;
                self.pending.drain(..progress.consumed);
                if self.pending.is_empty() {
                    // A waiting client has no buffers.
                    self.pending = Vec::new();
                }
            }
            self.has_more = matches!(progress.next, NextStep::Send | NextStep::Wait(_) | NextStep::Ask(_));
            match progress.next {
                NextStep::More | NextStep::Send => {}
                NextStep::Wait(debt) => {
                    self.send()?;
                    return Ok(Waits::Credit(now + debt));
                }
                NextStep::Ask(length) => {
                    // Removes the end of the line as well.
                    let message: Vec<u8> = self.pending.drain(..=length).take(length).collect();
                    self.asked = message.len();
                    self.question = self.session.take().map(|session| (session, message));
                    self.send()?;
                    return Ok(Waits::Answer);
                }
                NextStep::Close => self.closing = true,
            }
            if Instant::now() >= end {
                return Ok(if self.send()? { Waits::Turn } else { Waits::Write });
            }
        }
    }

    /// Reports how many bytes it holds.
    fn account(&mut self) {
        let session = self.session.as_ref().map_or(0, Session::buffered);
        let unsent = self.unsent.len() - self.sent;
        let bytes = self.pending.len() + unsent + self.asked + session + self.socket.buffered();
        let evicted = self.buffered.set(bytes);
        Counts::add(&self.service.counts.evictions, evicted);
    }

    /// Waits for the client to close, and reads what it still sends: closing a socket with unread bytes would discard
    /// the last reply.
    fn discard(&mut self, room: &mut [u8; READ]) -> io::Result<Waits> {
        if self.discarded.is_none() {
            self.socket.end()?;
        }
        let discarded = self.discarded.get_or_insert_default();
        loop {
            match self.socket.discard(room) {
                Ok(count) if count > 0 && *discarded < DISCARDED => *discarded += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Waits::Read),
                Ok(_) | Err(_) => return Ok(Waits::Closed),
            }
        }
    }

    /// Sends unaccepted replies. Returns whether all are sent.
    fn send(&mut self) -> io::Result<bool> {
        while self.sent < self.unsent.len() {
            match self.socket.write(&self.unsent[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    Counts::add(&self.service.counts.bytes_written, count as u64);
                    self.sent += count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.sent = 0;
        self.unsent = Vec::new();
        match self.socket.flush() {
            Ok(()) => Ok(!self.socket.has_unsent()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes the question for the node: the session, and a message for it. The connection has no session until the
    /// answer.
    pub fn take_question(&mut self) -> Option<(Session, Vec<u8>)> {
        self.question.take()
    }

    /// Takes an answer, for the next turn. Returns false if the connection must be closed.
    pub fn answered(&mut self, session: Session, reply: &[u8], now: Instant) -> bool {
        self.session = Some(session);
        self.active = now;
        self.asked = 0;
        self.unsent.extend_from_slice(reply);
        std::mem::take(&mut self.untold).iter().all(|announcement| self.announce(announcement, now))
    }

    /// Reports a change to the client in its next turn. Returns false if the connection must be closed: it is too far
    /// behind, or could not be informed completely.
    pub fn announce(&mut self, announcement: &Arc<Announcement>, now: Instant) -> bool {
        let Some(session) = &mut self.session else {
            self.untold.push(Arc::clone(announcement));
            return self.untold.len() <= UNTOLD;
        };
        if session.notify(announcement, &mut self.unsent, now).is_err() {
            // A client that reconnects asks for everything.
            tracing::error!("cannot notify a client of a change: closing its connection");
            return false;
        }
        let keeps_up = self.unsent.len() - self.sent <= BEHIND;
        Counts::add(&self.service.counts.timeouts, u64::from(!keeps_up));
        keeps_up
    }

    /// Whether the client was silent, or stuck, for longer than allowed.
    pub fn is_over(&self, patience: Duration, idle: Duration, now: Instant) -> bool {
        now.saturating_duration_since(self.active) > idle
            || self.stuck.is_some_and(|since| now.saturating_duration_since(since) > patience)
    }
}
