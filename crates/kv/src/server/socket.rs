//! The socket of a connection: bytes as they are, or in TLS.

use std::{
    io::{self, ErrorKind, Read, Write},
    os::fd::OwnedFd,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use rustix::io::Errno;
use rustls::{HandshakeKind, ServerConnection};

use crate::service::Service;

/// Bytes that rustls buffers for sending at most: its default limit.
const TLS_BUFFER: usize = 64 << 10;

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// The number of bytes read, and whether there may be more.
    Bytes { count: usize, more: bool },
    /// Nothing is there now.
    Nothing,
    /// The client sends no more.
    End,
}

/// A socket that does not block.
#[derive(Debug)]
pub(super) enum Socket {
    Plain(OwnedFd),
    Tls(Box<Secured>),
}

impl Socket {
    pub(super) fn plain(socket: OwnedFd) -> Self {
        Self::Plain(socket)
    }

    /// A socket that speaks TLS.
    pub(super) fn tls(socket: OwnedFd, session: ServerConnection, service: &Arc<Service>) -> Self {
        Self::Tls(Box::new(Secured { socket, session, service: Arc::clone(service), is_safe: false, sent: 0 }))
    }

    pub(super) fn descriptor(&self) -> &OwnedFd {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(secured) => &secured.socket,
        }
    }

    /// Reads the available bytes.
    #[inline]
    pub(super) fn read(&mut self, room: &mut [u8]) -> io::Result<Received> {
        match self {
            Self::Plain(socket) => loop {
                return match rustix::io::read(&*socket, &mut *room) {
                    Ok(0) => Ok(Received::End),
                    Ok(count) => Ok(Received::Bytes { count, more: count == room.len() }),
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => Ok(Received::Nothing),
                    Err(error) => Err(error.into()),
                };
            },
            Self::Tls(secured) => secured.read(room),
        }
    }

    /// Writes, and returns the number of bytes accepted: fewer than all if the client reads too slowly.
    #[inline]
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        match self {
            Self::Plain(socket) => {
                while taken < bytes.len() {
                    match rustix::io::write(&*socket, &bytes[taken..]) {
                        Ok(count) => taken += count,
                        Err(Errno::INTR) => {}
                        Err(Errno::AGAIN) => break,
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            Self::Tls(secured) => {
                while taken < bytes.len() && secured.flush()? {
                    taken += secured.session.writer().write(&bytes[taken..])?;
                }
                secured.flush()?;
            }
        }
        Ok(taken)
    }

    /// Sends buffered bytes. Returns whether all were sent.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        match self {
            Self::Plain(_) => Ok(true),
            Self::Tls(secured) => secured.flush(),
        }
    }

    /// Bytes of TLS records that the system accepted: they are sent later than the bytes that [`Self::write`] accepts.
    #[inline]
    pub(super) fn records_sent(&self) -> u64 {
        match self {
            Self::Plain(_) => 0,
            Self::Tls(secured) => secured.sent,
        }
    }

    /// Bytes of memory that it keeps besides the connection's, at most.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Plain(_) => 0,
            Self::Tls(_) if self.is_blocked() => TLS_BUFFER,
            Self::Tls(_) => 0,
        }
    }

    /// Whether the handshake is not done.
    #[inline]
    pub(super) fn is_handshaking(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(secured) => !secured.is_safe,
        }
    }

    /// Whether accepted bytes are not sent yet.
    #[inline]
    pub(super) fn is_blocked(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(secured) => secured.session.wants_write(),
        }
    }
}

/// A socket, and what makes its bytes safe.
#[derive(Debug)]
pub(super) struct Secured {
    socket: OwnedFd,
    session: ServerConnection,
    service: Arc<Service>,
    /// Whether the handshake is done.
    is_safe: bool,
    /// Bytes of records that the system accepted.
    sent: u64,
}

impl Secured {
    fn read(&mut self, room: &mut [u8]) -> io::Result<Received> {
        loop {
            match self.session.reader().read(room) {
                // The client has closed the stream, with or without a TLS alert.
                Ok(0) => return Ok(Received::End),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(Received::End),
                // There may be more in memory, which the socket does not report.
                Ok(count) => return Ok(Received::Bytes { count, more: true }),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            match self.session.read_tls(&mut Bytes(&self.socket)) {
                Ok(0) => return Ok(Received::End),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Received::Nothing),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            let processed = self.session.process_new_packets();
            // The handshake's replies, or the alert with the error.
            self.flush()?;
            processed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            if !self.is_safe && !self.session.is_handshaking() {
                self.is_safe = true;
                let is_new = self.session.handshake_kind() != Some(HandshakeKind::Resumed);
                self.count(|tls| &tls.new_sessions, is_new);
            }
        }
    }

    fn flush(&mut self) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut Bytes(&self.socket)) {
                Ok(count) => self.sent += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn count(&self, which: impl Fn(&net::tls::Tls) -> &std::sync::atomic::AtomicU64, wanted: bool) {
        if let Some(tls) = self.service.tls().filter(|_| wanted) {
            which(tls).fetch_add(1, Relaxed);
        }
    }
}

impl Drop for Secured {
    fn drop(&mut self) {
        self.count(|tls| &tls.handshake_errors, !self.is_safe);
        // A client that cannot take it now will see the end of the connection.
        self.session.send_close_notify();
        let _ = self.flush();
    }
}

/// A descriptor as the library wants it.
struct Bytes<'a>(&'a OwnedFd);

impl Read for Bytes<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(self.0, room)?)
    }
}

impl Write for Bytes<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(self.0, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
