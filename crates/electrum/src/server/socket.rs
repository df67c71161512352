//! The socket of a connection: plain lines, or messages of a WebSocket.
use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
};

use rustls::ServerConnection;

use super::{transport::Transport, web_socket::WebSocket};

/// Bytes of TLS records or WebSocket frames decoded per microsecond: the shortest frame has six, and takes 150 ns.
const DECODED: usize = 40;

/// A non-blocking socket.
pub struct Socket {
    stream: Arc<TcpStream>,
    carrier: Carrier,
}

enum Carrier {
    Lines(Transport),
    Messages(Box<WebSocket>),
}

impl Socket {
    /// Creates a socket; with `longest` it is a WebSocket with that maximum message length.
    pub fn new(stream: TcpStream, tls: Option<ServerConnection>, longest: Option<usize>) -> io::Result<Self> {
        let stream = Arc::new(stream);
        let transport = Transport::new(Arc::clone(&stream), tls)?;
        let carrier = match longest {
            None => Carrier::Lines(transport),
            Some(longest) => Carrier::Messages(Box::new(WebSocket::new(transport, longest))),
        };
        Ok(Self { stream, carrier })
    }

    /// Begins a turn, which limits the bytes to read.
    pub fn begin_turn(&mut self) {
        match &mut self.carrier {
            Carrier::Lines(transport) => transport.begin_turn(),
            Carrier::Messages(socket) => socket.begin_turn(),
        }
    }

    /// Whether reading ended because the turn did: there may be more.
    pub fn is_spent(&self) -> bool {
        match &self.carrier {
            Carrier::Lines(transport) => transport.is_spent(),
            Carrier::Messages(socket) => socket.is_spent(),
        }
    }

    /// Cost of decoding since the last call, in microseconds, approximately. The decoded requests cost extra.
    pub fn take_cost(&mut self) -> u64 {
        let (bytes, is_decoded, control_frames) = match &mut self.carrier {
            Carrier::Lines(transport) => (transport.take_read(), transport.is_tls(), 0),
            Carrier::Messages(socket) => (socket.take_read(), true, socket.take_control_frames()),
        };
        let decoding = if is_decoded { bytes.div_ceil(DECODED) as u64 } else { 0 };
        decoding + control_frames * super::CONTROL_FRAME_COST
    }

    /// Whether a handshake or a message is incomplete.
    pub fn is_midway(&self) -> bool {
        match &self.carrier {
            Carrier::Lines(transport) => transport.is_handshaking(),
            Carrier::Messages(socket) => socket.is_midway(),
        }
    }

    /// Size of the buffers in bytes.
    pub fn buffered(&self) -> usize {
        match &self.carrier {
            Carrier::Lines(transport) => transport.buffered(),
            Carrier::Messages(socket) => socket.buffered(),
        }
    }

    /// Ends sending.
    pub fn end(&mut self) -> io::Result<()> {
        if let Carrier::Messages(socket) = &mut self.carrier {
            socket.end();
        }
        self.stream.shutdown(Shutdown::Write)
    }

    /// Reads and discards bytes.
    pub fn discard(&mut self, room: &mut [u8]) -> io::Result<usize> {
        (&*self.stream).read(room)
    }

    /// Whether accepted bytes are still unsent.
    pub fn has_unsent(&self) -> bool {
        match &self.carrier {
            Carrier::Lines(transport) => transport.has_unsent(),
            Carrier::Messages(socket) => socket.has_unsent(),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Read for Socket {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.carrier {
            Carrier::Lines(transport) => transport.read(room),
            Carrier::Messages(socket) => socket.read(room),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.carrier {
            Carrier::Lines(transport) => transport.write(bytes),
            Carrier::Messages(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.carrier {
            Carrier::Lines(transport) => transport.flush(),
            Carrier::Messages(socket) => socket.flush(),
        }
    }
}
