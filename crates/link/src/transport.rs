//! What a backend has to do. Everything above is the same for all of them.

use std::{net::SocketAddr, os::fd::BorrowedFd, sync::Arc};

use crate::{Address, Buffer, Counters, Error, Message, Operations, PublicKey, notify::Notify};

/// One side of a connection, which never waits.
///
/// What is added here with a body of its own has to be handed on by `secure::Secure`, too.
pub(crate) trait Transport: Send {
    /// What a selector sleeps on. It is watched for edges: after one come [`signalled`](Self::signalled) and
    /// [`progress`](Self::progress).
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// The descriptor told of something, or nobody watches it. `may_be_over`: the peer may have gone, so that nothing will be
    /// told any more.
    fn signalled(&mut self, may_be_over: bool);

    /// Moves what moves without waiting: finishes the connection, sends what is queued, takes what came, grants credits.
    fn progress(&mut self) -> Result<(), Error>;

    /// Whether both sides have greeted each other.
    fn is_connected(&self) -> bool;

    /// [`Operations::RECEIVE`] and [`Operations::SEND`], as they are after the last progress.
    fn ready(&self) -> Operations;

    /// A buffer, if one is free and the peer has room for its message.
    fn buffer(&mut self) -> Option<Buffer>;

    /// Sends a buffer that [`buffer`](Self::buffer) gave. `may_wait`: the next [`flush`](Self::flush) or
    /// [`progress`](Self::progress) is near, so it may wait for others that go with it.
    fn send(&mut self, buffer: Buffer, may_wait: bool) -> Result<(), Error>;

    /// Sends what waits for others, as far as it can go now.
    fn flush(&mut self) {}

    /// The next message, if it is here.
    fn receive(&mut self) -> Option<Message>;

    /// Whom to tell when a user gave back a buffer that matters.
    fn set_notify(&mut self, notify: Option<Arc<Notify>>);

    /// What was counted, where the backend counts.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// The key that the peer has proved to have, where peers are authenticated.
    fn peer_key(&self) -> Option<PublicKey> {
        None
    }

    /// Whether a look finds what came without a system call, so that looking again is better than to sleep at once.
    fn is_polled(&self) -> bool {
        false
    }

    /// From now on the descriptor tells of what is in `interest`, and nobody looks before. False if it may be there already:
    /// then comes another [`progress`](Self::progress).
    fn rest(&mut self, _interest: Operations) -> bool {
        true
    }

    /// Goes on with what was sent, and with nothing else, without waiting. True once nothing of it would be lost with this
    /// value.
    fn close(&mut self) -> bool {
        true
    }

    /// Where the peer is, for those that have an address of the internet.
    fn peer(&self) -> Option<SocketAddr> {
        None
    }
}

/// What gives transports: a socket that is listened on.
pub(crate) trait Listener: Send {
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// The next connection, which may not have greeted yet.
    fn accept(&mut self) -> Result<Option<Box<dyn Transport>>, Error>;

    /// Where it listens, with the port that the system chose.
    fn address(&self) -> Address;
}
