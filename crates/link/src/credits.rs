//! Credits of both directions: the rights to send messages, which the receiver grants as buffers come back to it.

use crate::{Error, pool::FreeList};

/// What both sides owe each other.
#[derive(Debug)]
pub(crate) struct Credits {
    /// Buffers of the peer, and those of them that no message or buffer of ours is meant for.
    peer_buffers: u16,
    to_send: u16,
    /// Messages that the peer may still send.
    granted: u16,
    /// Credits to be sent with the next frame.
    to_grant: u16,
    /// Credits that are worth a frame of their own. For a peer that has none any more, one is.
    worth: u16,
}

impl Credits {
    /// The peer begins with `granted` credits, and this side with none before it knows [of the peer](Self::greet).
    pub(crate) fn new(granted: u16, worth: u16) -> Self {
        Self { peer_buffers: 0, to_send: 0, granted, to_grant: 0, worth }
    }

    /// The peer has so many buffers.
    pub(crate) fn greet(&mut self, peer_buffers: u16) {
        (self.peer_buffers, self.to_send) = (peer_buffers, peer_buffers);
    }

    /// Whether a message can be sent.
    pub(crate) fn may_send(&self) -> bool {
        self.to_send > 0
    }

    /// A buffer was handed out, which takes a credit.
    pub(crate) fn spend(&mut self) {
        self.to_send -= 1;
    }

    /// Users gave back so many buffers that they did not send.
    pub(crate) fn unspend(&mut self, count: u16) {
        self.to_send += count;
    }

    /// The peer granted so many.
    pub(crate) fn earn(&mut self, count: u32) -> Result<(), Error> {
        let count = u16::try_from(count).map_err(|_| Error::CreditForged)?;
        self.to_send = self.to_send.checked_add(count).ok_or(Error::CreditForged)?;
        if self.to_send > self.peer_buffers { Err(Error::CreditForged) } else { Ok(()) }
    }

    /// So many buffers of messages are free again.
    pub(crate) fn returned(&mut self, count: u16) {
        self.to_grant += count;
    }

    /// Whether what is to be granted is worth a frame of its own.
    pub(crate) fn is_frame_due(&self, pool: &FreeList) -> bool {
        self.to_grant >= pool.worth()
    }

    /// Grants all that can be, with the next frame.
    pub(crate) fn grant(&mut self, pool: &FreeList) -> u16 {
        let credits = std::mem::take(&mut self.to_grant);
        if credits > 0 {
            self.granted += credits;
            pool.set_worth(self.worth);
        }
        credits
    }

    /// The peer sent a message.
    pub(crate) fn received(&mut self) -> Result<(), Error> {
        self.granted = self.granted.checked_sub(1).ok_or(Error::CreditExceeded)?;
        Ok(())
    }

    /// The user took the last message that is here. The peer may have no credit for another, and a user that keeps most of the
    /// buffers may wait for one.
    pub(crate) fn took_last(&self, pool: &FreeList) {
        if self.granted == 0 {
            pool.set_worth(1);
        }
    }
}
