//! The socket of a connection: lines as they are, or as messages of a WebSocket.
use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
};

use rustls::ServerConnection;

use super::{transport::Transport, web_socket::WebSocket};

/// A socket that does not block.
pub struct Socket {
    stream: Arc<TcpStream>,
    carrier: Carrier,
}

enum Carrier {
    Lines(Transport),
    Messages(Box<WebSocket>),
}

impl Socket {
    /// A socket; for a WebSocket `longest` is what its messages may have.
    pub fn new(stream: TcpStream, tls: Option<ServerConnection>, longest: Option<usize>) -> io::Result<Self> {
        let stream = Arc::new(stream);
        let transport = Transport::new(Arc::clone(&stream), tls)?;
        let carrier = match longest {
            None => Carrier::Lines(transport),
            Some(longest) => Carrier::Messages(Box::new(WebSocket::new(transport, longest)?)),
        };
        Ok(Self { stream, carrier })
    }

    /// Sends nothing more.
    pub fn end(&mut self) -> io::Result<()> {
        if let Carrier::Messages(socket) = &mut self.carrier {
            socket.end();
        }
        self.stream.shutdown(Shutdown::Write)
    }

    /// Reads bytes that nobody looks at any more.
    pub fn discard(&mut self, room: &mut [u8]) -> io::Result<usize> {
        (&*self.stream).read(room)
    }

    /// Whether bytes that were taken are not sent yet.
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
