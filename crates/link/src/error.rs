//! The errors of channels, with what to do about them.

use rustix::io::Errno;

use crate::PublicKey;

/// Why a channel could not be opened, or was closed. A failed channel keeps its error, so it can be asked again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text is not an address.
    #[error("{text:?} is not a channel address: {reason}")]
    Address {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The configuration's sizes are out of range.
    #[error("{0}")]
    Config(&'static str),
    /// A system call failed.
    #[error("cannot {what}: {errno}")]
    System {
        /// The attempted operation.
        what: &'static str,
        /// The operating system's error.
        errno: Errno,
    },
    /// The channel has no peer yet: wait for [`Operations::CONNECT`](crate::Operations::CONNECT).
    #[error("the channel is not connected yet; wait until it is ready for CONNECT")]
    NotConnected,
    /// The peer closed the channel, between two messages.
    #[error("the peer closed the channel")]
    Closed,
    /// The peer disconnected in the middle of a message.
    #[error("the peer disconnected in the middle of a message; connect again, and ask what it received")]
    Truncated,
    /// The peer disconnected without a close: it was killed, or the network path is lost.
    #[error("the peer disconnected without closing the channel; connect again, and ask what it received")]
    Lost,
    /// A text is not a key, or not a list of keys.
    #[error("{0}")]
    Key(&'static str),
    /// The peer proved a key that is not among the accepted peers.
    #[error("the peer's key {key} is not among the peers of this side; add it if you trust it")]
    PeerUnknown {
        /// The peer's key.
        key: PublicKey,
    },
    /// The peer did not authenticate.
    #[error("the handshake failed: {0}")]
    Handshake(&'static str),
    /// A message failed to decrypt.
    #[error("a message failed authentication: it was changed, replayed, lost or reordered in transit; connect again")]
    Tampered,
    /// RDMA is unavailable.
    #[error("rdma:// is unavailable: {0}")]
    RdmaUnavailable(&'static str),
    /// The queue pair of a channel failed.
    #[error("the queue pair failed ({status}); connect again, and ask the peer what it received")]
    QueuePair {
        /// The status according to rdma-core.
        status: &'static str,
    },
    /// The peer does not speak this protocol, or not this version.
    #[error("the peer does not speak version {ours} of the link: {reason}; check address and version of both sides")]
    Greeting {
        /// The version of this side.
        ours: u16,
        /// What is wrong with its greeting.
        reason: &'static str,
    },
    /// The peer announced a message longer than the limit.
    #[error("the peer sent a message of {length} bytes, but the limit is {limit}")]
    TooLong {
        /// Length of the message in bytes.
        length: u32,
        /// The agreed limit in bytes.
        limit: u32,
    },
    /// A frame is repeated, too early or too late.
    #[error("received frame {got} instead of frame {expected}: frames were lost, replayed or reordered")]
    OutOfSequence {
        /// The expected number.
        expected: u32,
        /// The received number.
        got: u32,
    },
    /// The peer sent a message without a credit for it.
    #[error("the peer sent a message without credit for it")]
    CreditExceeded,
    /// The peer returned more credits than it was sent messages.
    #[error("the peer granted more credits than it has buffers")]
    CreditForged,
    /// The peer returned a buffer that it was not sent.
    #[error("the peer returned a buffer that it does not have")]
    NotItsBuffer,
    /// The peer sent a buffer that it had already sent, or that does not exist.
    #[error("the peer sent a buffer that it does not own")]
    NotItsToSend,
    /// The peer shared memory without the required properties.
    #[error("the peer shares memory of the wrong size, or without the seals that fix its size")]
    BadMemory,
    /// A frame whose fields contradict each other.
    #[error("the peer sent an invalid frame: {0}")]
    BadFrame(&'static str),
    /// The selector no longer has this key.
    #[error("the selector has no such key: its channel was removed")]
    StaleKey,
}

/// Adds the attempted operation to the error of a system call.
pub(crate) trait Tried<T> {
    fn tried(self, what: &'static str) -> Result<T, Error>;
}

impl<T> Tried<T> for Result<T, Errno> {
    fn tried(self, what: &'static str) -> Result<T, Error> {
        self.map_err(|errno| Error::System { what, errno })
    }
}
