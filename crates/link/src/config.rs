//! Sizes and times of channels. Every bound is here.

use std::{sync::Arc, time::Duration};

use crate::{Error, Identity};

/// How a channel is to be. Both sides have their own; of sizes, the smaller one holds.
#[derive(Clone, Debug)]
pub struct Config {
    /// Buffers in each direction: messages that can be on the way, or held by the receiver, at once.
    pub buffers: u16,
    /// Bytes of a buffer, which is the longest message.
    pub buffer_bytes: u32,
    /// Connections of a server channel whose greeting is not finished. A further one takes the place of the oldest.
    pub greeting: usize,
    /// How long a peer has for its greeting.
    pub greeting_timeout: Duration,
    /// One of so many sends of `rdma://` is signalled, and tells that those before it are done, too. Their buffers are kept until
    /// then, so each channel has as many more.
    pub signal_every: u16,
    /// Who this side is and whom it talks to: then peers are authenticated, and messages encrypted. Without, nothing is.
    pub identity: Option<Arc<Identity>>,
    /// From whom messages of `shm://` are handed out where they lie.
    pub zero_copy_from: ZeroCopyFrom,
}

/// From whom messages of `shm://` are handed out where they lie: in memory that the sender can still write. From others, each
/// message is copied once, word by word, before it is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroCopyFrom {
    /// Every message is copied.
    Nobody,
    /// From processes of the same user, which could write the memory of this one by other means as well (ptrace).
    SameUser,
    /// From everybody: whoever may connect is trusted not to change what it has sent.
    Anyone,
}

impl Config {
    /// Buffers of a direction at most: what an index of 16 bits tells apart, and a bound for what a peer may ask for.
    pub const MAX_BUFFERS: u16 = 4096;
    /// Bytes of a buffer at most.
    pub const MAX_BUFFER_BYTES: u32 = 16 << 20;

    /// Sends of which one is signalled, at most: more save nothing any more, and each costs a buffer.
    pub const MAX_SIGNAL_EVERY: u16 = 256;

    pub(crate) fn check(&self) -> Result<(), Error> {
        // Half of one buffer is none: there would be frames of no credits.
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
    /// 64 buffers of 128 KiB, which is 8 MiB in each direction, of which only what is used becomes memory.
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
