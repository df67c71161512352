//! The bytes of a connection, plain or in TLS.
use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
    sync::Arc,
};

use rustls::{ServerConnection, Stream};

/// Bytes read from a socket before other connections have their turn: 10,000 of the shortest WebSocket frames, which
/// take a millisecond or two.
const TURN_BYTES: usize = 64 << 10;
/// Roughly the bytes that a TLS connection holds while a handshake or a record is incomplete.
const TLS_BYTES: usize = 32 << 10;

/// A stream that does not block.
pub struct Transport {
    socket: Metered,
    tls: Option<Box<ServerConnection>>,
}

/// A socket that meters its reads. TLS and WebSocket read as long as there is data, so a turn must end here.
struct Metered {
    stream: Arc<TcpStream>,
    /// Bytes that may still be read in this turn.
    left: usize,
    /// Whether more was requested.
    is_spent: bool,
    /// Bytes read and not reported yet.
    read: usize,
}

impl Transport {
    pub fn new(stream: Arc<TcpStream>, tls: Option<ServerConnection>) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // Replies are sent as they are ready.
        stream.set_nodelay(true)?;
        let socket = Metered { stream, left: TURN_BYTES, is_spent: false, read: 0 };
        Ok(Self { socket, tls: tls.map(Box::new) })
    }

    /// Starts a turn, in which [`TURN_BYTES`] may be read.
    pub fn begin_turn(&mut self) {
        (self.socket.left, self.socket.is_spent) = (TURN_BYTES, false);
    }

    /// Whether reading ended because the turn did: there may be more.
    pub fn is_spent(&self) -> bool {
        self.socket.is_spent
    }

    /// Bytes received over the wire since the last call.
    pub fn take_read(&mut self) -> usize {
        std::mem::take(&mut self.socket.read)
    }

    /// Whether bytes that were accepted have not been sent yet.
    pub fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Whether the TLS handshake is incomplete.
    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Whether the wire has the bytes in another form than they are read.
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Bytes of buffers.
    pub fn buffered(&self) -> usize {
        if self.is_handshaking() || self.has_unsent() { TLS_BYTES } else { 0 }
    }
}

impl Read for Transport {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.read(room),
            Some(tls) => Stream::new(&mut **tls, &mut self.socket).read(room),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.write(bytes),
            Some(tls) => Stream::new(&mut **tls, &mut self.socket).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => Stream::new(&mut **tls, &mut self.socket).flush(),
        }
    }
}

impl Read for Metered {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let most = room.len().min(self.left);
        if most == 0 {
            self.is_spent = true;
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = (&*self.stream).read(&mut room[..most])?;
        self.left -= count;
        self.read += count;
        Ok(count)
    }
}

impl Write for Metered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.stream).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
