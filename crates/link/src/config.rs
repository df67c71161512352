//! Sizes and timeouts of channels. Every limit is here.

use std::{sync::Arc, time::Duration};

use crate::{Error, Identity};

/// Configuration of a channel. Each side has its own; the smaller size applies.
#[derive(Clone, Debug)]
pub struct Config {
    /// Buffers per direction: messages that can be in flight or held by the receiver at once.
    pub buffers: u16,
    /// Bytes per buffer, which is the maximum message length.
    pub buffer_bytes: u32,
    /// Connections of a server channel with an unfinished greeting. A further one replaces the oldest.
    pub greeting: usize,
    /// Time limit for a peer's greeting.
    pub greeting_timeout: Duration,
    /// On `rdma://` every n-th send is signalled, which also completes the sends before it. Their buffers stay occupied
    /// until then, so each channel has this number of extra buffers.
    pub signal_every: u16,
    /// The key of this side and its accepted peers. With it, peers are authenticated and messages encrypted; without it
    /// neither happens.
    pub identity: Option<Arc<Identity>>,
    /// The peers whose `shm://` messages are handed out without a copy.
    pub zero_copy_from: ZeroCopyFrom,
}

/// The peers whose `shm://` messages are handed out in place, in memory that the sender can still write. Messages of
/// other peers are copied once, word by word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroCopyFrom {
    /// Every message is copied.
    Nobody,
    /// Processes of the same user, which could write this process's memory anyway (ptrace).
    SameUser,
    /// Every peer: whoever may connect is trusted not to change a message after sending it.
    Anyone,
}

impl Config {
    /// Maximum number of buffers per direction: an index has 16 bits, and a peer's demand needs a bound.
    pub const MAX_BUFFERS: u16 = 4096;
    /// Maximum number of bytes per buffer.
    pub const MAX_BUFFER_BYTES: u32 = 16 << 20;

    /// Maximum of `signal_every`: higher values save nothing more, and each step costs a buffer.
    pub const MAX_SIGNAL_EVERY: u16 = 256;

    pub(crate) fn check(&self) -> Result<(), Error> {
        // Half of one buffer is none: there would be frames without credits.
        if !(2..=Self::MAX_BUFFERS).contains(&self.buffers) {
            return Err(Error::Config("a channel has 2 to 4,096 buffers in each direction"));
        }
        if !(64..=Self::MAX_BUFFER_BYTES).contains(&self.buffer_bytes) {
            return Err(Error::Config("a buffer has 64 bytes to 16 MiB"));
        }
        if self.greeting == 0 {
            return Err(Error::Config("a server channel needs room for at least one greeting"));
        }
        if !(1..=Self::MAX_SIGNAL_EVERY).contains(&self.signal_every) {
            return Err(Error::Config("signal one send of every 1 to 256"));
        }
        Ok(())
    }
}

impl Default for Config {
    /// 64 buffers of 128 KiB, which is 8 MiB per direction. Only used buffers take up memory.
    fn default() -> Self {
        Self {
            buffers: 64,
            buffer_bytes: 128 << 10,
            greeting: 128,
            greeting_timeout: Duration::from_secs(5),
            signal_every: 16,
            identity: None,
            zero_copy_from: ZeroCopyFrom::SameUser,
        }
    }
}
