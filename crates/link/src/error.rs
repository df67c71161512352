//! What can go wrong, and what to do about it.

use rustix::io::Errno;

use crate::PublicKey;

/// Why a channel cannot be had, or was closed. A channel that failed keeps its error, so it can be asked again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text is no address.
    #[error("{text:?} is not a channel address: {reason}")]
    Address {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Sizes that no channel can have.
    #[error("{0}")]
    Config(&'static str),
    /// A system call failed.
    #[error("cannot {what}: {errno}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        errno: Errno,
    },
    /// The channel has no peer yet: wait for [`Operations::CONNECT`](crate::Operations::CONNECT).
    #[error("the channel is not connected yet; wait until it is ready for CONNECT")]
    NotConnected,
    /// The peer closed the channel, between two messages.
    #[error("the peer closed the channel")]
    Closed,
    /// The peer went in the middle of a message.
    #[error("the peer disconnected in the middle of a message; connect again, and ask what it received")]
    Truncated,
    /// The peer went without a close: it was killed, or the way to it is lost.
    #[error("the peer disconnected without closing the channel; connect again, and ask what it received")]
    Lost,
    /// What is no key, or no list of them.
    #[error("{0}")]
    Key(&'static str),
    /// The peer has proved to have a key that is none of the peers'.
    #[error("the peer's key {key} is not among the peers of this side; add it if you trust it")]
    PeerUnknown {
        /// The peer's key.
        key: PublicKey,
    },
    /// The peer did not prove who it is.
    #[error("the handshake failed: {0}")]
    Handshake(&'static str),
    /// A message does not open.
    #[error("a message failed authentication: it was changed, replayed, lost or reordered in transit; connect again")]
    Tampered,
    /// There is no RDMA here.
    #[error("rdma:// is unavailable: {0}")]
    RdmaUnavailable(&'static str),
    /// The queue pair of a channel failed.
    #[error("the queue pair failed ({status}); connect again, and ask the peer what it received")]
    QueuePair {
        /// What rdma-core says.
        status: &'static str,
    },
    /// The peer does not speak this protocol, or not this version of it.
    #[error("the peer does not speak version {ours} of the link: {reason}; check address and version of both sides")]
    Greeting {
        /// The version that is spoken here.
        ours: u16,
        /// What is wrong with its greeting.
        reason: &'static str,
    },
    /// The peer announced a message that is longer than it may be.
    #[error("the peer sent a message of {length} bytes, but the limit is {limit}")]
    TooLong {
        /// Bytes of the message.
        length: u32,
        /// Bytes that were agreed on.
        limit: u32,
    },
    /// A frame came twice, too early or too late.
    #[error("received frame {got} instead of frame {expected}: frames were lost, replayed or reordered")]
    OutOfSequence {
        /// The number that was due.
        expected: u32,
        /// The number that came.
        got: u32,
    },
    /// The peer sent a message without a credit for it.
    #[error("the peer sent a message without credit for it")]
    CreditExceeded,
    /// The peer gave back more credits than it was sent messages.
    #[error("the peer granted more credits than it has buffers")]
    CreditForged,
    /// The peer gave back a buffer that it was not sent.
    #[error("the peer returned a buffer that it does not have")]
    NotItsBuffer,
    /// The peer sent a buffer that it had sent already, or that there is none of.
    #[error("the peer sent a buffer that it does not own")]
    NotItsToSend,
    /// The peer shares memory that is not what it has to be.
    #[error("the peer shares memory of the wrong size, or without the seals that fix its size")]
    BadMemory,
    /// A frame whose fields contradict each other.
    #[error("the peer sent an invalid frame: {0}")]
    BadFrame(&'static str),
    /// The selector does not have this key any more.
    #[error("the selector has no such key: its channel was removed")]
    StaleKey,
}

/// Names what was tried when a system call failed.
pub(crate) trait Tried<T> {
    fn tried(self, what: &'static str) -> Result<T, Error>;
}

impl<T> Tried<T> for Result<T, Errno> {
    fn tried(self, what: &'static str) -> Result<T, Error> {
        self.map_err(|errno| Error::System { what, errno })
    }
}
