//! Layout of the memory that one side writes and the other reads.

use crate::{
    Config,
    pool::{FIRST, LINES, PAGE, stride},
    tcp::frame::Greeting,
};

use super::ring::capacity;

/// The sizes that both sides agreed on. The memory holds, in order: what the writer wants to be woken for, its ring of
/// messages, its ring of returned buffers of the peer, and its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) buffers: u16,
    pub(super) buffer_bytes: u32,
}

impl Layout {
    /// Uses the smaller sizes of both sides.
    pub(super) fn negotiated(ours: &Config, theirs: Greeting) -> Self {
        Self { buffers: ours.buffers.min(theirs.buffers), buffer_bytes: ours.buffer_bytes.min(theirs.buffer_bytes) }
    }

    pub(super) const fn wants(self) -> usize {
        0
    }

    pub(super) const fn messages(self) -> usize {
        LINES
    }

    pub(super) const fn given_back(self) -> usize {
        self.messages() + self.ring_bytes()
    }

    pub(super) const fn first_buffer(self) -> usize {
        (self.given_back() + self.ring_bytes()).next_multiple_of(PAGE) + FIRST
    }

    pub(super) fn bytes(self) -> usize {
        (self.first_buffer() + usize::from(self.buffers) * stride(self.buffer_bytes)).next_multiple_of(PAGE)
    }

    const fn ring_bytes(self) -> usize {
        (capacity(self.buffers) as usize * size_of::<u64>()).next_multiple_of(LINES)
    }
}
