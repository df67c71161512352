//! A connection: bytes in and out, and the state between its turns.

use std::{
    io::{self, ErrorKind},
    sync::atomic::Ordering::Relaxed,
    time::Duration,
};

use super::{
    Deadlines,
    memory::{Account, FREE},
    pending::Pending,
    socket::{Received, Socket},
};
use crate::{
    clock::Seconds,
    replies::{LONG, LongValue, Replies},
    service::Service,
    session::{NextStep, Session},
    turn::Turn,
    watch::{self, Client, CloseReason, Interests, Watcher},
};

/// Bytes per read.
pub(super) const READ: usize = 64 << 10;

/// Bytes of replies that are gathered before they are sent.
const GATHERED: usize = 64 << 10;

/// Bytes of a long value per write.
const CHUNK: usize = 256 << 10;

/// Bytes of a request that are worth another second: slower uploads are not waited for.
const SLOWEST: usize = 64 << 10;

/// Buffers that the connections of a worker share: a connection that waits for a request has none.
#[derive(Debug)]
pub(super) struct Buffers {
    input: Vec<u8>,
    output: Replies,
    /// Bytes that were read and written since they were counted.
    pub(super) moved: (u64, u64),
}

impl Buffers {
    pub(super) fn new() -> Self {
        let mut output = Replies::new(GATHERED);
        // Replies of one value more than are gathered, and a piece of a long one.
        output.reserve(GATHERED + LONG + CHUNK);
        Self { input: vec![0; READ], output, moved: (0, 0) }
    }
}

/// The event that a connection waits for after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// Requests.
    Read,
    /// The client reads replies.
    Write,
    /// Nothing: its turn has ended, and there is more to do.
    Turn,
    /// It must be closed.
    Closed,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    session: Session,
    /// Requests that are not executed: the start of one, or ones that wait for their turn.
    pending: Pending,
    /// Bytes of a request that are needed to go on.
    wanted: usize,
    /// Replies that the client did not take yet, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    /// A long value that follows them.
    value: Option<LongValue>,
    /// Whether the client has unread replies.
    blocked: bool,
    closing: bool,
    account: Account,
    client: Client,
    /// Set if it watches events: it makes no more requests.
    watcher: Option<Watcher>,
    /// Whether the client has ended it.
    ended: bool,
    /// When it was last read from.
    pub(super) active: Seconds,
    /// When the request began that is not complete.
    began: Option<Seconds>,
    /// Since when the client has taken no byte of the replies that wait for it.
    stalled: Option<Seconds>,
    /// Whether a request was completed, or all replies were read, in this turn.
    progressed: bool,
}

impl Connection {
    pub(super) fn new(socket: Socket, session: Session, account: Account, client: Client, now: Seconds) -> Self {
        Self {
            socket,
            session,
            pending: Pending::default(),
            wanted: 1,
            unsent: Vec::new(),
            sent: 0,
            value: None,
            blocked: false,
            closing: false,
            account,
            client,
            watcher: None,
            ended: false,
            active: now,
            began: None,
            stalled: None,
            progressed: false,
        }
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Its number.
    pub(super) fn number(&self) -> u64 {
        self.account.connection
    }

    /// Its client.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Whether it gets log lines, and makes no more requests.
    pub(super) fn is_watching(&self) -> bool {
        self.watcher.is_some()
    }

    /// Why it must be closed.
    pub(super) fn close_reason(&self) -> CloseReason {
        if self.ended { CloseReason::Normal } else { self.session.close_reason() }
    }

    /// Whether the client takes none of the replies that wait for it.
    pub(super) fn is_stalled(&self) -> bool {
        self.stalled.is_some()
    }

    /// When it is closed unless it has got further: it is in the handshake, in the middle of a request, or waits for
    /// the client to take replies.
    pub(super) fn deadline(&self, deadlines: &Deadlines, opened: Seconds) -> Option<Seconds> {
        let after =
            |start: Seconds, time: Duration| start.saturating_add(u32::try_from(time.as_secs()).unwrap_or(u32::MAX));
        if self.socket.is_handshaking() {
            return Some(after(opened, deadlines.handshake));
        }
        if let Some(stalled) = self.stalled {
            return Some(after(stalled, deadlines.replies));
        }
        let upload = u32::try_from(self.wanted / SLOWEST).unwrap_or(u32::MAX);
        self.began.map(|began| after(began, deadlines.request).saturating_add(upload))
    }

    /// Sends, reads, executes, and sends again, as far as that goes without waiting.
    pub(super) fn turn(&mut self, buffers: &mut Buffers, now: Seconds) -> Waits {
        self.progressed = false;
        watch::set_connection(self.client.descriptor);
        let before = (buffers.moved.1, self.socket.records_sent());
        let mut waits = self.try_turn(buffers, now).unwrap_or(Waits::Closed);
        if waits != Waits::Closed && !self.account.set(self.bytes(), self.progressed, now) {
            waits = self.release_memory(buffers, now);
        }
        self.stalled = match self.stalled {
            _ if waits != Waits::Write => None,
            Some(since) if before == (buffers.moved.1, self.socket.records_sent()) => Some(since),
            _ => Some(now),
        };
        let is_amid = !self.pending.is_empty() || self.session.is_passing_over();
        self.began = match self.began {
            _ if waits != Waits::Read || !is_amid => None,
            Some(began) if !self.progressed => Some(began),
            _ => Some(now),
        };
        waits
    }

    fn try_turn(&mut self, buffers: &mut Buffers, now: Seconds) -> io::Result<Waits> {
        self.active = now;
        let mut turn = Turn::new();
        if !self.flush(buffers, &mut turn)? {
            return Ok(self.waits_for_send());
        }
        loop {
            if self.closing {
                return Ok(Waits::Closed);
            }
            if self.is_watching() {
                return self.watch(buffers, &mut turn);
            }
            // Requests that wait for their turn, or until earlier replies are sent.
            let more = if self.pending.len() >= self.wanted {
                let pending = std::mem::take(&mut self.pending);
                let done = self.execute(pending.bytes(), buffers, &mut turn, now)?;
                self.pending = pending;
                self.pending.consume(done);
                true
            } else {
                let long = self.wanted > READ;
                match if long { self.read_long(buffers, &mut turn, now)? } else { self.read(buffers, &mut turn, now)? }
                {
                    Received::End => {
                        self.ended = true;
                        return Ok(Waits::Closed);
                    }
                    Received::Nothing => false,
                    Received::Bytes { more, .. } => more,
                }
            };
            if self.is_sending() {
                return Ok(self.waits_for_send());
            }
            if !more && !self.closing && !self.is_watching() && self.pending.len() < self.wanted {
                return Ok(Waits::Read);
            }
            if turn.is_over() && !self.closing {
                return Ok(Waits::Turn);
            }
        }
    }

    /// Sends log lines. Bytes from the client are ignored; the end of its stream closes the connection.
    fn watch(&mut self, buffers: &mut Buffers, turn: &mut Turn) -> io::Result<Waits> {
        loop {
            let received = self.socket.read(&mut buffers.input)?;
            match received {
                Received::End => {
                    self.ended = true;
                    return Ok(Waits::Closed);
                }
                Received::Bytes { count, more } => {
                    buffers.moved.0 += count as u64;
                    turn.spend_bytes(count);
                    if !more {
                        break;
                    }
                }
                Received::Nothing => break,
            }
            if turn.is_over() {
                return Ok(Waits::Turn);
            }
        }
        while self.watcher.as_ref().is_some_and(|watcher| watcher.take(&mut self.unsent)) {
            if !self.flush(buffers, turn)? {
                return Ok(self.waits_for_send());
            }
            if turn.is_over() {
                return Ok(Waits::Turn);
            }
        }
        Ok(Waits::Read)
    }

    /// Begins to watch events. The reply is in `out`.
    fn start_watching(&mut self, interests: Interests, out: &mut Replies) {
        let Account { inbox, slot, connection, .. } = &self.account;
        let (inbox, slot, connection) = (inbox.clone(), *slot, *connection);
        self.watcher =
            self.session.service().store.watchers().add(interests, move || inbox.send_lines(slot, connection));
        let reply: &[u8] = match self.watcher {
            Some(_) => b"OK\r\n",
            None => b"WATCHER_TOO_MANY log watcher limit reached\r\n",
        };
        out.extend_from_slice(reply);
    }

    fn waits_for_send(&self) -> Waits {
        if self.blocked { Waits::Write } else { Waits::Turn }
    }

    /// Reads to the shared buffer, after the rest of the last requests, and executes the requests there.
    fn read(&mut self, buffers: &mut Buffers, turn: &mut Turn, now: Seconds) -> io::Result<Received> {
        let mut input = std::mem::take(&mut buffers.input);
        let have = self.pending.len();
        input[..have].copy_from_slice(self.pending.bytes());
        let mut received = self.socket.read(&mut input[have..]);
        if let Ok(Received::Bytes { count, .. }) = received {
            buffers.moved.0 += count as u64;
            turn.spend_bytes(count);
            let executed = self.execute(&input[..have + count], buffers, turn, now);
            if let Err(error) = executed.and_then(|done| self.pending.replace(&input[done..have + count])) {
                received = Err(error);
            }
        }
        buffers.input = input;
        received
    }

    /// The same for a request that the shared buffer is too short for.
    fn read_long(&mut self, buffers: &mut Buffers, turn: &mut Turn, now: Seconds) -> io::Result<Received> {
        let have = self.pending.len();
        // Memory grows as bytes arrive, not by the length that a client announces.
        let room = (self.wanted - have).clamp(READ, READ * 4);
        let socket = &mut self.socket;
        let received = self.pending.extend(room, self.wanted, |room| {
            let received = socket.read(room)?;
            Ok((received, if let Received::Bytes { count, .. } = received { count } else { 0 }))
        })?;
        let count = self.pending.len() - have;
        buffers.moved.0 += count as u64;
        turn.spend_bytes(count);
        if self.pending.len() >= self.wanted {
            let pending = std::mem::take(&mut self.pending);
            let done = self.execute(pending.bytes(), buffers, turn, now)?;
            self.pending = pending;
            self.pending.consume(done);
        }
        Ok(received)
    }

    /// Executes requests and sends replies. Returns the number of bytes consumed.
    fn execute(&mut self, input: &[u8], buffers: &mut Buffers, turn: &mut Turn, now: Seconds) -> io::Result<usize> {
        let mut done = 0;
        loop {
            buffers.output.clear();
            let progress = self.session.feed(&input[done..], &mut buffers.output, turn, now);
            done += progress.consumed;
            self.progressed |= progress.consumed > 0 && !self.session.is_passing_over();
            self.value = buffers.output.take_value();
            if let NextStep::Watch(interests) = progress.next {
                self.start_watching(interests, &mut buffers.output);
            }
            self.send(buffers, turn)?;
            match progress.next {
                NextStep::More(wanted) => self.wanted = wanted,
                NextStep::Close => self.closing = true,
                NextStep::Watch(_) => self.wanted = 1,
                NextStep::Send if !self.is_sending() && !turn.is_over() => continue,
                // The bytes received are enough to continue.
                NextStep::Send | NextStep::Turn => self.wanted = 0,
            }
            return Ok(done);
        }
    }

    /// Sends the shared buffer of replies, and keeps the bytes that the client does not take. Long values are sent from
    /// the store.
    fn send(&mut self, buffers: &mut Buffers, turn: &mut Turn) -> io::Result<()> {
        let replies = buffers.output.len();
        if let Some(value) = &self.value {
            read(value, self.session.service(), &mut buffers.output)?;
        }
        let sent = self.write(buffers, turn)?;
        if sent < replies {
            return keep(&mut self.unsent, &buffers.output[sent..replies]);
        }
        self.sent_of_value(sent - replies);
        self.send_value(buffers, turn).map(drop)
    }

    /// Writes the shared buffer of replies. Returns the number of bytes that the socket accepted.
    fn write(&mut self, buffers: &mut Buffers, turn: &mut Turn) -> io::Result<usize> {
        let sent = self.socket.write(&buffers.output)?;
        buffers.moved.1 += sent as u64;
        turn.spend_bytes(sent);
        self.blocked = sent < buffers.output.len() || self.socket.is_blocked();
        Ok(sent)
    }

    /// Sends the rest of a long value, as far as the turn and the client allow. Returns whether that is all.
    fn send_value(&mut self, buffers: &mut Buffers, turn: &mut Turn) -> io::Result<bool> {
        while let Some(value) = &self.value {
            if self.blocked || turn.is_over() {
                return Ok(false);
            }
            buffers.output.clear();
            read(value, self.session.service(), &mut buffers.output)?;
            let sent = self.write(buffers, turn)?;
            self.sent_of_value(sent);
        }
        Ok(!self.blocked)
    }

    fn sent_of_value(&mut self, sent: usize) {
        if let Some(value) = self.value.take_if(|value| value.sent(sent)) {
            value.release(&self.session.service().store);
        }
    }

    /// Sends the bytes that the client did not take before. Returns whether those are all.
    fn flush(&mut self, buffers: &mut Buffers, turn: &mut Turn) -> io::Result<bool> {
        if !self.is_sending() {
            return Ok(true);
        }
        let sent = self.socket.write(&self.unsent[self.sent..])?;
        self.sent += sent;
        buffers.moved.1 += sent as u64;
        turn.spend_bytes(sent);
        self.blocked = self.sent < self.unsent.len() || !self.socket.flush()?;
        if self.blocked {
            return Ok(false);
        }
        self.sent = 0;
        self.unsent = Vec::new();
        let is_all = self.send_value(buffers, turn)?;
        self.progressed |= is_all;
        Ok(is_all)
    }

    /// Whether the client must read replies before anything else is done.
    fn is_sending(&self) -> bool {
        self.blocked || self.value.is_some() || !self.unsent.is_empty()
    }

    /// Refuses the incomplete request to release its memory. If the memory is for something else, the connection must
    /// be closed.
    pub(super) fn release_memory(&mut self, buffers: &mut Buffers, now: Seconds) -> Waits {
        let waits = self.try_release_memory(buffers, now).unwrap_or_else(|_| {
            self.session.service().counts.memory_kicks.fetch_add(1, Relaxed);
            Waits::Closed
        });
        self.stalled = (waits == Waits::Write).then_some(now);
        waits
    }

    fn try_release_memory(&mut self, buffers: &mut Buffers, now: Seconds) -> io::Result<Waits> {
        if self.is_sending() || self.pending.len() >= self.wanted {
            return Err(ErrorKind::OutOfMemory.into());
        }
        buffers.output.clear();
        let progress = self.session.refuse(self.pending.bytes(), &mut buffers.output, now);
        let NextStep::More(wanted) = progress.next else { return Err(ErrorKind::OutOfMemory.into()) };
        self.wanted = wanted;
        self.pending.consume(progress.consumed);
        self.send(buffers, &mut Turn::new())?;
        self.progressed = true;
        self.account.set(self.bytes(), true, now);
        Ok(if self.is_sending() { self.waits_for_send() } else { Waits::Read })
    }

    /// Bytes of memory that it holds.
    #[inline]
    fn bytes(&self) -> usize {
        let lines = self.watcher.as_ref().map_or(0, Watcher::bytes);
        self.pending.capacity() + self.unsent.capacity() + lines + self.session.bytes() + self.socket.bytes()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            value.release(&self.session.service().store);
        }
    }
}

/// Appends a piece of a long value.
fn read(value: &LongValue, service: &Service, out: &mut Replies) -> io::Result<()> {
    value.read(&service.store, CHUNK, out).map(drop).map_err(|_| ErrorKind::OutOfMemory.into())
}

/// Keeps bytes that the socket did not accept.
fn keep(unsent: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    unsent.try_reserve_exact(bytes.len()).map_err(|_| ErrorKind::OutOfMemory)?;
    unsent.extend_from_slice(bytes);
    Ok(())
}

const _: () = assert!(FREE >= super::pending::KEPT);
