//! A connection: bytes in and out, and what is kept of them between its turns.

use std::{io, sync::Arc};

use super::socket::{Received, Socket};
use crate::{
    clock::Seconds,
    service::Service,
    session::{Next, Session},
};

/// Bytes read at once.
pub(super) const READ: usize = 64 << 10;

/// Bytes of replies that are gathered before they are sent.
const GATHERED: usize = 64 << 10;

/// Times that a connection is read from before others have their turn.
const TURNS: usize = 8;

/// Memory that a connection keeps for its next half request.
const KEPT: usize = 4096;

/// Buffers that the connections of a worker share: a connection that waits for a request has none.
#[derive(Debug)]
pub(super) struct Buffers {
    input: Vec<u8>,
    output: Vec<u8>,
    /// Bytes that were read and written since they were counted.
    pub(super) moved: (u64, u64),
}

impl Buffers {
    pub(super) fn new() -> Self {
        Self { input: vec![0; READ], output: Vec::with_capacity(READ * 2), moved: (0, 0) }
    }
}

/// What a connection waits for after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// Requests.
    Read,
    /// That the client takes replies.
    Write,
    /// Nothing: its turn is over, and there is more.
    Turn,
    /// It is to be closed.
    Closed,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    session: Session,
    /// The start of a request, and what came behind it.
    pending: Vec<u8>,
    /// Bytes of a request that are needed to go on.
    wanted: usize,
    /// Replies that the client did not take yet, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    closing: bool,
    /// When it was last read from.
    pub(super) active: Seconds,
}

impl Connection {
    pub(super) fn new(socket: Socket, service: &Arc<Service>, now: Seconds) -> Self {
        Self {
            socket,
            session: Session::new(service, GATHERED),
            pending: Vec::new(),
            wanted: 1,
            unsent: Vec::new(),
            sent: 0,
            closing: false,
            active: now,
        }
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Sends, reads, executes, and sends again, as far as that goes without waiting.
    pub(super) fn turn(&mut self, buffers: &mut Buffers, now: Seconds) -> Waits {
        self.try_turn(buffers, now).unwrap_or(Waits::Closed)
    }

    fn try_turn(&mut self, buffers: &mut Buffers, now: Seconds) -> io::Result<Waits> {
        self.active = now;
        if !self.flush(buffers)? {
            return Ok(Waits::Write);
        }
        for _ in 0..TURNS {
            if self.closing {
                return Ok(Waits::Closed);
            }
            // Requests that wait behind replies which had to be sent first.
            if self.pending.len() >= self.wanted {
                let pending = std::mem::take(&mut self.pending);
                let done = self.execute(&pending, buffers, now)?;
                self.keep(pending, done);
                if self.is_blocked() {
                    return Ok(Waits::Write);
                }
                continue;
            }
            let received = if self.wanted > READ { self.read_long(buffers, now)? } else { self.read(buffers, now)? };
            let more = match received {
                Received::End => return Ok(Waits::Closed),
                Received::Nothing => false,
                Received::Bytes { more, .. } => more,
            };
            if self.is_blocked() {
                return Ok(Waits::Write);
            }
            if !more && self.pending.len() < self.wanted {
                return Ok(if self.closing { Waits::Closed } else { Waits::Read });
            }
        }
        Ok(if self.closing { Waits::Closed } else { Waits::Turn })
    }

    /// Reads to the shared buffer, behind what is left of the last requests, and executes what is there.
    fn read(&mut self, buffers: &mut Buffers, now: Seconds) -> io::Result<Received> {
        let mut input = std::mem::take(&mut buffers.input);
        let have = self.pending.len();
        input[..have].copy_from_slice(&self.pending);
        let mut received = self.socket.read(&mut input[have..]);
        if let Ok(Received::Bytes { count, .. }) = received {
            buffers.moved.0 += count as u64;
            match self.execute(&input[..have + count], buffers, now) {
                Ok(done) => {
                    self.pending.clear();
                    self.pending.extend_from_slice(&input[done..have + count]);
                    if self.pending.is_empty() && self.pending.capacity() > KEPT {
                        self.pending = Vec::new();
                    }
                }
                Err(error) => received = Err(error),
            }
        }
        buffers.input = input;
        received
    }

    /// The same for a request that the shared buffer is too short for.
    fn read_long(&mut self, buffers: &mut Buffers, now: Seconds) -> io::Result<Received> {
        let have = self.pending.len();
        // Memory as bytes come, not as a client says that they will.
        let room = (self.wanted - have).clamp(READ, READ * 4);
        let mut pending = std::mem::take(&mut self.pending);
        pending.resize(have + room, 0);
        let received = self.socket.read(&mut pending[have..])?;
        let count = if let Received::Bytes { count, .. } = received { count } else { 0 };
        buffers.moved.0 += count as u64;
        pending.truncate(have + count);
        let done = if pending.len() >= self.wanted { self.execute(&pending, buffers, now)? } else { 0 };
        self.keep(pending, done);
        Ok(received)
    }

    /// Keeps what is left of requests.
    fn keep(&mut self, mut pending: Vec<u8>, done: usize) {
        pending.drain(..done);
        self.pending = if pending.is_empty() { Vec::new() } else { pending };
    }

    /// Executes requests and sends replies, and gives how many bytes were done with.
    fn execute(&mut self, input: &[u8], buffers: &mut Buffers, now: Seconds) -> io::Result<usize> {
        let mut done = 0;
        loop {
            buffers.output.clear();
            let fed = self.session.feed(&input[done..], &mut buffers.output, now);
            done += fed.consumed;
            self.send(buffers)?;
            match fed.next {
                Next::More(wanted) => self.wanted = wanted,
                Next::Close => self.closing = true,
                Next::Send if !self.is_blocked() => continue,
                // What is there is enough to go on with.
                Next::Send => self.wanted = 1,
            }
            return Ok(done);
        }
    }

    /// Sends the shared buffer of replies; what the client does not take is kept.
    fn send(&mut self, buffers: &mut Buffers) -> io::Result<()> {
        let sent = self.socket.write(&buffers.output)?;
        self.unsent.extend_from_slice(&buffers.output[sent..]);
        buffers.moved.1 += sent as u64;
        if buffers.output.capacity() > READ * 16 {
            buffers.output = Vec::with_capacity(READ * 2);
        }
        Ok(())
    }

    /// Sends what the client did not take before. Tells whether that is all.
    fn flush(&mut self, buffers: &mut Buffers) -> io::Result<bool> {
        let sent = self.socket.write(&self.unsent[self.sent..])?;
        self.sent += sent;
        buffers.moved.1 += sent as u64;
        if self.sent < self.unsent.len() {
            return Ok(false);
        }
        self.sent = 0;
        self.unsent = Vec::new();
        self.socket.flush()
    }

    /// Whether the client has to take replies before there is anything else to do.
    fn is_blocked(&self) -> bool {
        !self.unsent.is_empty() || self.socket.is_blocked()
    }
}
