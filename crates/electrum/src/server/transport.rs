//! The bytes of a connection: as they are, or in TLS.
use std::{
    io::{self, Read, Write},
    net::TcpStream,
    sync::Arc,
};

use rustls::{ServerConnection, Stream};

/// A stream that does not block.
pub struct Transport {
    stream: Arc<TcpStream>,
    tls: Option<Box<ServerConnection>>,
}

impl Transport {
    pub fn new(stream: Arc<TcpStream>, tls: Option<ServerConnection>) -> io::Result<Self> {
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

impl Read for Transport {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut stream = &*self.stream;
        match &mut self.tls {
            None => stream.read(room),
            Some(tls) => Stream::new(&mut **tls, &mut stream).read(room),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stream = &*self.stream;
        match &mut self.tls {
            None => stream.write(bytes),
            Some(tls) => Stream::new(&mut **tls, &mut stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut stream = &*self.stream;
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => Stream::new(&mut **tls, &mut stream).flush(),
        }
    }
}
