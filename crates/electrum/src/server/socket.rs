//! The socket of a connection: bytes as they are, or in TLS.
use std::{
    io::{self, Read, Write},
    net::TcpStream,
    os::fd::{AsFd, BorrowedFd},
};

use rustls::{ServerConnection, Stream};

/// A socket that does not block.
pub struct Socket {
    stream: TcpStream,
    tls: Option<Box<ServerConnection>>,
}

impl Socket {
    pub fn new(stream: TcpStream, tls: Option<ServerConnection>) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // Replies are sent as they are ready.
        stream.set_nodelay(true)?;
        Ok(Self { stream, tls: tls.map(Box::new) })
    }

    /// Whether bytes that were taken are not sent yet.
    pub fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Read for Socket {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.stream.read(room),
            Some(tls) => Stream::new(&mut **tls, &mut self.stream).read(room),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.stream.write(bytes),
            Some(tls) => Stream::new(&mut **tls, &mut self.stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => Stream::new(&mut **tls, &mut self.stream).flush(),
        }
    }
}
