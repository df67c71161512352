//! The interface of a backend. Everything above it is the same for all backends.

use std::{net::SocketAddr, os::fd::BorrowedFd, sync::Arc};

use crate::{Address, Buffer, Counters, Error, Message, Operations, PublicKey, notify::Notify};

/// One end of a connection. No method waits.
///
/// `secure::Secure` must forward every method that has a default body here.
pub(crate) trait Transport: Send {
    /// The descriptor that a selector sleeps on. It is watched edge-triggered: after each edge the selector calls
    /// [`signalled`](Self::signalled) and [`progress`](Self::progress).
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Notes that the descriptor signalled, or that nobody watches it. `may_be_over`: the peer may be gone, so there
    /// may be no further edge.
    fn signalled(&mut self, may_be_over: bool);

    /// Makes progress without waiting: finishes the connection, sends queued frames, receives, grants credits.
    fn progress(&mut self) -> Result<(), Error>;

    /// Whether both sides have greeted each other.
    fn is_connected(&self) -> bool;

    /// Readiness for [`Operations::RECEIVE`] and [`Operations::SEND`] after the last progress.
    fn ready(&self) -> Operations;

    /// Returns a buffer, if one is free and the peer has room for its message.
    fn buffer(&mut self) -> Option<Buffer>;

    /// Sends a buffer from [`buffer`](Self::buffer). With `may_wait` it may be delayed for batching until the next
    /// [`flush`](Self::flush) or [`progress`](Self::progress), which is near.
    fn send(&mut self, buffer: Buffer, may_wait: bool) -> Result<(), Error>;

    /// Sends delayed messages, as far as possible now.
    fn flush(&mut self) {}

    /// Returns the next message, if any.
    fn receive(&mut self) -> Option<Message>;

    /// Sets whom to notify when users have returned enough buffers.
    fn set_notify(&mut self, notify: Option<Arc<Notify>>);

    /// Counters, for backends that count.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// The key that the peer proved, if peers are authenticated.
    fn peer_key(&self) -> Option<PublicKey> {
        None
    }

    /// Whether a look finds new messages without a system call, so that looking again is better than sleeping at once.
    fn is_polled(&self) -> bool {
        false
    }

    /// Makes the descriptor signal the operations in `interest` from now on. Returns false if one of them may be ready
    /// already: then call [`progress`](Self::progress) again.
    fn rest(&mut self, _interest: Operations) -> bool {
        true
    }

    /// Continues to send what was queued, without waiting. Returns true once dropping this value would lose nothing of
    /// it.
    fn close(&mut self) -> bool {
        true
    }

    /// The peer's internet address, if it has one.
    fn peer(&self) -> Option<SocketAddr> {
        None
    }
}

/// A source of transports: a listening socket.
pub(crate) trait Listener: Send {
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Returns the next connection, which may not have greeted yet.
    fn accept(&mut self) -> Result<Option<Box<dyn Transport>>, Error>;

    /// The address that it listens on, with the port that the kernel chose.
    fn address(&self) -> Address;
}
