//! Credits of both directions: rights to send a message, which the receiver grants as its buffers become free.
//!
//! State: `to_send`, this side's credits, at most `peer_buffers`; `granted`, the peer's; `to_grant`, free buffers whose
//! credits are not granted yet.
//!
//! - On a buffer handed out: subtract 1 from `to_send`. On one dropped unsent: add it again.
//! - On credits in a frame: add them to `to_send`. More than `peer_buffers` are [forged](Error::CreditForged).
//! - On a message: subtract 1 from `granted`. Below 0 the peer [exceeds](Error::CreditExceeded) its credits.
//! - On messages dropped by users: add them to `to_grant`.
//! - On any frame to send: move all of `to_grant` to `granted`, and put the number into the frame.
//! - A frame with credits alone is due if `to_grant` reaches the pool's threshold: half of the buffers, or 1 from the
//!   moment that the user took the last available message while `granted` was 0. Then the peer may be waiting for any
//!   credit, and this user for its message. The next grant restores the threshold.
//!
//! Invariant: `granted`, `to_grant` and the buffers with messages that were not returned and collected add up to the
//! buffers of the receiving side.

use crate::{Error, pool::FreeList};

/// The credits of both sides.
#[derive(Debug)]
pub(crate) struct Credits {
    /// The peer's buffers, and how many of them this side may still send to.
    peer_buffers: u16,
    to_send: u16,
    /// Messages that the peer may still send.
    granted: u16,
    /// Credits to grant with the next frame.
    to_grant: u16,
    /// Number of credits that justifies a frame of its own. For a peer without credits, one does.
    worth: u16,
}

impl Credits {
    /// The peer starts with `granted` credits; this side starts with none until it [learns](Self::greet) the peer's
    /// buffers.
    pub(crate) fn new(granted: u16, worth: u16) -> Self {
        Self { peer_buffers: 0, to_send: 0, granted, to_grant: 0, worth }
    }

    /// Sets the number of the peer's buffers.
    pub(crate) fn greet(&mut self, peer_buffers: u16) {
        (self.peer_buffers, self.to_send) = (peer_buffers, peer_buffers);
    }

    /// Whether a message may be sent.
    pub(crate) fn may_send(&self) -> bool {
        self.to_send > 0
    }

    /// Uses a credit for a buffer that was handed out.
    pub(crate) fn spend(&mut self) {
        self.to_send -= 1;
    }

    /// Returns the credits of buffers that users dropped unsent.
    pub(crate) fn unspend(&mut self, count: u16) {
        self.to_send += count;
    }

    /// Adds credits that the peer granted.
    pub(crate) fn earn(&mut self, count: u32) -> Result<(), Error> {
        let count = u16::try_from(count).map_err(|_| Error::CreditForged)?;
        self.to_send = self.to_send.checked_add(count).ok_or(Error::CreditForged)?;
        if self.to_send > self.peer_buffers { Err(Error::CreditForged) } else { Ok(()) }
    }

    /// Notes that message buffers are free again.
    pub(crate) fn returned(&mut self, count: u16) {
        self.to_grant += count;
    }

    /// Whether the pending credits justify a frame of their own.
    pub(crate) fn is_frame_due(&self, pool: &FreeList) -> bool {
        self.to_grant >= pool.worth()
    }

    /// Takes all pending credits for the next frame.
    pub(crate) fn grant(&mut self, pool: &FreeList) -> u16 {
        let credits = std::mem::take(&mut self.to_grant);
        if credits > 0 {
            self.granted += credits;
            pool.set_worth(self.worth);
        }
        credits
    }

    /// Charges the peer for a message.
    pub(crate) fn received(&mut self) -> Result<(), Error> {
        self.granted = self.granted.checked_sub(1).ok_or(Error::CreditExceeded)?;
        Ok(())
    }

    /// The user took the last available message. The peer may have no credit for another one, and a user that holds
    /// most of the buffers may be waiting for it.
    pub(crate) fn took_last(&self, pool: &FreeList) {
        if self.granted == 0 {
            pool.set_worth(1);
        }
    }
}
