//! A connection: one request after the other, each with its time.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{IpAddr, Shutdown, TcpStream},
    time::{Duration, Instant},
};

use nic::Sharer;
use rustix::event::PollFlags;

use super::request::{self, REQUEST_BYTES, Request};

/// How long a connection is kept while nothing is asked.
const IDLE: Duration = Duration::from_secs(60);
/// How long a request may take from its first byte to its last, and a reply on top of what its length allows.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a reply that a client has to take in a second.
const SLOWEST: u64 = 64 << 10;
/// How long what a client still sends is read after the last reply: without that, it could lose the reply.
const LINGER: Duration = Duration::from_secs(1);

/// A connection that does not block.
pub struct Connection {
    stream: TcpStream,
    /// Tells it from all others; ascends.
    pub number: u64,
    /// Who asks.
    pub from: IpAddr,
    /// Whose share of the connections it is in.
    pub sharer: Sharer,
    /// Since when nothing was done for it: since it began, or its last request was answered.
    pub since: Instant,
    /// Whether it has something to do though its socket has not.
    pub is_due: bool,
    /// What came and is not answered yet.
    received: Vec<u8>,
    phase: Phase,
    /// When the phase has to be over.
    until: Option<Instant>,
}

enum Phase {
    Reading,
    /// Somebody answers this.
    Asked {
        is_last: bool,
    },
    Writing {
        reply: Vec<u8>,
        sent: usize,
        is_last: bool,
    },
    Closing,
}

/// Where a connection stands.
pub enum Step {
    /// It has asked, and waits for [`Connection::send`].
    Asked(Request),
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
        Ok(Self { stream, number, from, sharer, since: now, is_due: false, received, phase, until })
    }

    /// The socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// What the socket is waited for.
    pub fn waits_for(&self) -> PollFlags {
        match self.phase {
            Phase::Reading | Phase::Closing => PollFlags::IN,
            Phase::Writing { .. } => PollFlags::OUT,
            Phase::Asked { .. } => PollFlags::empty(),
        }
    }

    /// Whether a request is under way.
    pub fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Asked { .. } | Phase::Writing { .. })
    }

    /// Whether its time is over.
    pub fn is_over(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now > until)
    }

    /// Whether nobody is there any more who could take the reply.
    pub fn has_left(&self, events: PollFlags) -> bool {
        matches!(self.phase, Phase::Asked { .. }) && events.intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// Bytes of the reply that the client takes.
    pub fn held(&self) -> usize {
        if let Phase::Writing { reply, .. } = &self.phase { reply.len() } else { 0 }
    }

    /// Gives it the answer to what it asked.
    pub fn send(&mut self, reply: Vec<u8>, now: Instant) {
        let is_last = !matches!(self.phase, Phase::Asked { is_last: false });
        self.until = Some(now + PATIENCE + Duration::from_secs(reply.len() as u64 / SLOWEST));
        self.phase = Phase::Writing { reply, sent: 0, is_last };
        self.is_due = true;
    }

    /// Goes on until it has asked something, or waits.
    pub fn advance(&mut self, now: Instant) -> io::Result<Step> {
        loop {
            match &mut self.phase {
                Phase::Asked { .. } => return Ok(Step::Waits),
                Phase::Reading => match request::parse(&self.received) {
                    Ok(Some((request, length))) => {
                        self.received.drain(..length);
                        self.phase = Phase::Asked { is_last: request.is_last };
                        self.until = None;
                        return Ok(Step::Asked(request));
                    }
                    Ok(None) => {
                        let was_empty = self.received.is_empty();
                        // What is longer than a request can be is refused before more of it is read.
                        match self.read()? {
                            None => return Ok(Step::Waits),
                            Some(bytes) if bytes.is_empty() => return Ok(Step::Done),
                            Some(bytes) => self.received.extend(bytes),
                        }
                        if was_empty {
                            self.until = Some(now + PATIENCE);
                        }
                    }
                    Err(refusal) => self.send(refusal.reply().encode(true, true), now),
                },
                Phase::Writing { reply, sent, is_last } => {
                    if !write(&mut self.stream, reply, sent)? {
                        return Ok(Step::Waits);
                    }
                    self.since = now;
                    if *is_last {
                        self.stream.shutdown(Shutdown::Write)?;
                        (self.phase, self.until) = (Phase::Closing, Some(now + LINGER));
                    } else {
                        let patience = if self.received.is_empty() { IDLE } else { PATIENCE };
                        (self.phase, self.until) = (Phase::Reading, Some(now + patience));
                    }
                }
                Phase::Closing => {
                    let has_ended = self.read()?.is_some_and(|bytes| bytes.is_empty());
                    return Ok(if has_ended { Step::Done } else { Step::Waits });
                }
            }
        }
    }

    /// Some bytes, none at the end of the stream; nothing where there are none yet.
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

/// Writes what is taken of a reply. Whether that was all.
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
