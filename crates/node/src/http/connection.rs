//! A connection: one request after the other, each with its time.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{IpAddr, Shutdown, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use net::Sharer;
use rustix::event::PollFlags;
use wire::FeedFrame;

use super::{
    body::Body,
    reply::{Encoded, Then},
    request::{self, Head, REQUEST_BYTES, Request},
    socket::{Closed, Socket},
};

/// Timeout of an idle connection.
const IDLE: Duration = Duration::from_secs(60);
/// Timeout of a request from its first byte to its last, and of a reply beyond the time that its length allows.
const PATIENCE: Duration = Duration::from_secs(10);
/// Minimum rate at which a client must read a reply, in bytes a second.
const SLOWEST: u64 = 64 << 10;
/// Pause of reading from a connection after a 429.
const PAUSE: Duration = Duration::from_millis(250);
/// The interim response to `Expect: 100-continue`.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// How long to read from a client after the last reply: without that, it could lose the reply.
const LINGER: Duration = Duration::from_secs(1);

/// A connection that does not block.
pub struct Connection {
    stream: TcpStream,
    /// A unique, ascending number.
    pub number: u64,
    /// The client's address.
    pub from: IpAddr,
    /// The prefix whose share of the connections it uses.
    pub sharer: Sharer,
    /// Since when nothing was done for it: since it began, or its last request was answered.
    pub since: Instant,
    /// Whether it has something to do though its socket has not.
    pub is_due: bool,
    /// Bytes that arrived and are not answered yet.
    received: Vec<u8>,
    /// The last request, if it asked for a WebSocket.
    opening: Option<Box<Head>>,
    /// Once it is open, everything arrives by it.
    socket: Option<Box<Socket>>,
    phase: Phase,
    /// Deadline of the phase.
    until: Option<Instant>,
}

enum Phase {
    Reading,
    /// The body of a request whose head has arrived.
    ReadingBody {
        head: Box<Head>,
        body: Body,
    },
    /// Somebody answers this.
    Asked,
    Writing {
        reply: Vec<u8>,
        sent: usize,
        then: Then,
    },
    /// Until `until`.
    Paused,
    /// Events follow each other: the one that is being sent, if any.
    Streaming {
        event: Arc<[u8]>,
        sent: usize,
    },
    /// The next message of the WebSocket.
    Messages,
    Closing,
}

/// Where a connection stands.
pub enum Step {
    /// Its request is complete; it waits for [`Connection::send`].
    Asked(Request),
    /// Its WebSocket becomes this feed, and nothing is under way on it: pass the stream on.
    Feed(FeedFrame),
    /// There is nothing to do yet.
    Waits,
    /// It is over.
    Done,
}

impl Connection {
    /// A connection that has asked nothing yet.
    pub fn new(stream: TcpStream, number: u64, from: IpAddr, sharer: Sharer, now: Instant) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let (received, phase, until) = (Vec::new(), Phase::Reading, Some(now + IDLE));
        let (opening, socket) = (None, None);
        Ok(Self { stream, number, from, sharer, since: now, is_due: false, received, opening, socket, phase, until })
    }

    /// The socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// What the socket is waited for.
    pub fn waits_for(&self) -> PollFlags {
        match self.phase {
            Phase::Reading | Phase::ReadingBody { .. } | Phase::Messages | Phase::Closing => PollFlags::IN,
            Phase::Writing { .. } => PollFlags::OUT,
            Phase::Streaming { ref event, sent } if sent < event.len() => PollFlags::IN | PollFlags::OUT,
            Phase::Streaming { .. } => PollFlags::IN,
            Phase::Asked | Phase::Paused => PollFlags::empty(),
        }
    }

    /// Whether a request is under way.
    pub fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Asked | Phase::Writing { .. })
    }

    /// Whether its time is over.
    pub fn is_over(&self, now: Instant) -> bool {
        !matches!(self.phase, Phase::Paused) && self.has_passed(now)
    }

    /// Whether it was paused for long enough.
    pub fn resumes(&self, now: Instant) -> bool {
        matches!(self.phase, Phase::Paused) && self.has_passed(now)
    }

    fn has_passed(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now > until)
    }

    /// Whether the client has closed the connection.
    pub fn has_left(&self, events: PollFlags) -> bool {
        matches!(self.phase, Phase::Asked | Phase::Paused) && events.intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// Bytes of its request and of the reply, which is in memory until the client has read all of it.
    pub fn held(&self) -> usize {
        let phase = match &self.phase {
            Phase::Writing { reply, .. } => reply.len(),
            Phase::ReadingBody { body, .. } => body.len(),
            // Streams share their events.
            Phase::Reading
            | Phase::Asked
            | Phase::Paused
            | Phase::Streaming { .. }
            | Phase::Messages
            | Phase::Closing => 0,
        };
        self.received.len() + self.socket.as_ref().map_or(0, |socket| socket.held()) + phase
    }

    /// Sends the reply to its request.
    pub fn send(&mut self, Encoded { mut bytes, then }: Encoded, now: Instant) {
        if let Some(socket) = &mut self.socket {
            match then {
                Then::Feed(_) => {}
                Then::End => socket.refuse(&bytes),
                _ => socket.send(std::mem::take(&mut bytes)),
            }
            bytes = socket.take_outgoing();
        }
        self.until = Some(now + PATIENCE + Duration::from_secs(bytes.len() as u64 / SLOWEST));
        self.phase = Phase::Writing { reply: bytes, sent: 0, then };
        self.is_due = true;
    }

    /// Sends an event, if the connection is for events. A client that has not read the one before misses it.
    pub fn send_event(&mut self, next: &Arc<[u8]>, now: Instant) {
        if let Phase::Streaming { event, sent } = &mut self.phase
            && *sent == event.len()
        {
            (*event, *sent) = (Arc::clone(next), 0);
            self.until = Some(now + PATIENCE);
            self.is_due = true;
        }
    }

    /// Advances until a request is complete, or it must wait.
    pub fn advance(&mut self, now: Instant) -> io::Result<Step> {
        let mut has_read = false;
        loop {
            match &mut self.phase {
                Phase::Asked => return Ok(Step::Waits),
                Phase::Reading => match request::parse(&self.received) {
                    Ok(Some((head, length))) => {
                        self.received.drain(..length);
                        if head.expects_continue && self.received.is_empty() {
                            self.ask_for_body()?;
                        }
                        let body = Body::new(head.framing);
                        self.opening = head.fields.web_socket_key.is_some().then(|| Box::new(head.clone()));
                        self.phase = Phase::ReadingBody { head: Box::new(head), body };
                    }
                    Ok(None) => {
                        let was_empty = self.received.is_empty();
                        // A request that is too long is refused before more of it is read.
                        if let Some(step) = self.receive()? {
                            return Ok(step);
                        }
                        if was_empty {
                            self.until = Some(now + PATIENCE);
                        }
                    }
                    Err(refusal) => self.send(refusal.reply().encode(true, true), now),
                },
                Phase::ReadingBody { head, body } => match body.take(&mut self.received) {
                    Ok(Some(body)) => {
                        let request = Request::new(Head::clone(head), body);
                        self.phase = Phase::Asked;
                        self.until = None;
                        return Ok(Step::Asked(request));
                    }
                    Ok(None) => {
                        if let Some(step) = self.receive()? {
                            return Ok(step);
                        }
                    }
                    Err(refusal) => self.send(refusal.reply().encode(true, true), now),
                },
                Phase::Paused if self.until.is_some_and(|until| now <= until) => return Ok(Step::Waits),
                Phase::Paused => (self.phase, self.until) = (Phase::Reading, Some(now + PATIENCE)),
                Phase::Writing { reply, sent, then } => {
                    if !write(&mut self.stream, reply, sent)? {
                        return Ok(Step::Waits);
                    }
                    self.since = now;
                    (self.phase, self.until) = match then {
                        Then::End => {
                            self.stream.shutdown(Shutdown::Write)?;
                            (Phase::Closing, Some(now + LINGER))
                        }
                        Then::Pause => (Phase::Paused, Some(now + PAUSE)),
                        Then::Next if self.received.is_empty() => (Phase::Reading, Some(now + IDLE)),
                        Then::Next => (Phase::Reading, Some(now + PATIENCE)),
                        Then::Events => (Phase::Streaming { event: Arc::default(), sent: 0 }, None),
                        Then::Messages => (Phase::Messages, Some(now + IDLE)),
                        Then::Feed(request) => {
                            let is_quiet = self.socket.as_ref().is_some_and(|socket| !socket.is_midway());
                            return Ok(if is_quiet { Step::Feed(*request) } else { Step::Done });
                        }
                    };
                }
                Phase::Messages => {
                    if let Some(step) = self.next_message(&mut has_read, now)? {
                        return Ok(step);
                    }
                }
                Phase::Streaming { event, sent } => {
                    if *sent < event.len() && write(&mut self.stream, event, sent)? {
                        (self.since, self.until) = (now, None);
                    }
                    // Nothing more is expected from the client than its end.
                    return Ok(match self.read()? {
                        Some(bytes) if bytes.is_empty() => Step::Done,
                        _ => Step::Waits,
                    });
                }
                Phase::Closing => {
                    let has_ended = self.read()?.is_some_and(|bytes| bytes.is_empty());
                    return Ok(if has_ended { Step::Done } else { Step::Waits });
                }
            }
        }
    }

    /// Advances the WebSocket to its next message. Returns the step that it is, or that must be waited for. Reads once
    /// in a turn: control frames without end are no message, and others have their turn, too.
    fn next_message(&mut self, has_read: &mut bool, now: Instant) -> io::Result<Option<Step>> {
        if let Some(head) = self.opening.take() {
            self.socket = Some(Box::new(Socket::new(*head, std::mem::take(&mut self.received))));
        }
        let Some(socket) = &mut self.socket else { return Err(ErrorKind::NotConnected.into()) };
        let message = socket.next();
        let then = match message {
            Ok(Some(request)) => {
                (self.phase, self.until) = (Phase::Asked, None);
                return Ok(Some(Step::Asked(request)));
            }
            Ok(None) => Then::Messages,
            Err(Closed) => Then::End,
        };
        let reply = socket.take_outgoing();
        if !reply.is_empty() || then == Then::End {
            (self.phase, self.until) = (Phase::Writing { reply, sent: 0, then }, Some(now + PATIENCE));
            return Ok(None);
        }
        let was_midway = socket.is_midway();
        if std::mem::replace(has_read, true) {
            return Ok(Some(Step::Waits));
        }
        match self.read()? {
            None => return Ok(Some(Step::Waits)),
            Some(bytes) if bytes.is_empty() => return Ok(Some(Step::Done)),
            Some(bytes) => self.socket.as_mut().map_or(Ok(()), |socket| socket.receive(&bytes))?,
        }
        if !was_midway {
            self.until = Some(now + PATIENCE);
        }
        Ok(None)
    }

    /// Receives more of a request. Returns the next step if nothing arrived.
    fn receive(&mut self) -> io::Result<Option<Step>> {
        match self.read()? {
            None => return Ok(Some(Step::Waits)),
            Some(bytes) if bytes.is_empty() => return Ok(Some(Step::Done)),
            // Without memory this connection ends, and nothing else.
            Some(bytes) => {
                self.received.try_reserve(bytes.len()).map_err(|_| ErrorKind::OutOfMemory)?;
                self.received.extend(bytes);
            }
        }
        Ok(None)
    }

    /// Sends 100 Continue for a body that the client holds back. If that cannot be sent at once, the client continues
    /// after a while.
    fn ask_for_body(&mut self) -> io::Result<()> {
        match self.stream.write(CONTINUE) {
            Ok(count) if count == CONTINUE.len() => Ok(()),
            Ok(_) => Err(ErrorKind::WriteZero.into()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Some bytes, or an empty vector at the end of the stream; `None` if there are none yet.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut room = [0; REQUEST_BYTES];
        loop {
            return match self.stream.read(&mut room) {
                Ok(count) => Ok(Some(room[..count].to_vec())),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
        }
    }
}

/// Writes the part of a reply that the socket accepts. Returns whether that was all.
fn write(stream: &mut TcpStream, reply: &[u8], sent: &mut usize) -> io::Result<bool> {
    while *sent < reply.len() {
        match stream.write(&reply[*sent..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => *sent += written,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::{io::ErrorKind, net::TcpListener};

    use super::*;
    use crate::http::reply::Reply;

    #[test]
    fn control_frames_without_end_leave_others_their_turn() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, from) = listener.accept().unwrap();
        let (sharer, now) = (Sharer::new(from.ip(), false), Instant::now());
        let mut connection = Connection::new(stream, 1, from.ip(), sharer, now).unwrap();
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        let fields = format!("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n");
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n{fields}\r\n");
        client.write_all(request.as_bytes()).unwrap();
        while !matches!(connection.advance(now).unwrap(), Step::Asked(_)) {}
        connection.send(Reply::web_socket(key).encode(true, false), now);
        assert!(matches!(connection.advance(now).unwrap(), Step::Waits));
        let ping = [0x89, 0x80, 0, 0, 0, 0];
        let sent = ping.repeat(5000);
        client.write_all(&sent).unwrap();
        let mut room = vec![0; sent.len()];
        let unread = |room: &mut Vec<u8>, connection: &Connection| connection.stream().peek(room);
        while unread(&mut room, &connection).unwrap() < sent.len() {}
        assert!(matches!(connection.advance(now).unwrap(), Step::Waits));
        assert!(unread(&mut room, &connection).unwrap() >= sent.len() - REQUEST_BYTES);
        // Turn by turn, all are answered.
        while unread(&mut room, &connection).map_err(|error| error.kind()) != Err(ErrorKind::WouldBlock) {
            assert!(matches!(connection.advance(now).unwrap(), Step::Waits));
        }
        drop(connection);
        let mut replies = Vec::new();
        client.read_to_end(&mut replies).unwrap();
        assert!(replies.ends_with(&[0x8a, 0].repeat(5000)));
    }
}
