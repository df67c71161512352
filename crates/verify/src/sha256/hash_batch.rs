//! The messages of a call and their digests, as they lie in the caller's memory.

use super::Digest;

/// A source of messages of one length, and a destination for their digests.
pub(super) trait HashBatch {
    fn message(&self, index: usize) -> &[u8];
    fn put(&mut self, index: usize, digest: &Digest);
}

/// Consecutive messages.
pub(super) struct Many<'a, M> {
    pub(super) messages: &'a [M],
    pub(super) digests: &'a mut [Digest],
}

impl<const N: usize> HashBatch for Many<'_, [u8; N]> {
    #[inline(always)]
    fn message(&self, index: usize) -> &[u8] {
        &self.messages[index]
    }

    #[inline(always)]
    fn put(&mut self, index: usize, digest: &Digest) {
        self.digests[index] = *digest;
    }
}

/// Consecutive messages of a length that is only known at run time.
pub(super) struct Rows<'a> {
    pub(super) messages: &'a [u8],
    pub(super) length: usize,
    pub(super) digests: &'a mut [Digest],
}

impl HashBatch for Rows<'_> {
    #[inline(always)]
    fn message(&self, index: usize) -> &[u8] {
        &self.messages[index * self.length..][..self.length]
    }

    #[inline(always)]
    fn put(&mut self, index: usize, digest: &Digest) {
        self.digests[index] = *digest;
    }
}

/// Pairs of children.
impl HashBatch for Many<'_, [Digest; 2]> {
    #[inline(always)]
    fn message(&self, index: usize) -> &[u8] {
        self.messages[index].as_flattened()
    }

    #[inline(always)]
    fn put(&mut self, index: usize, digest: &Digest) {
        self.digests[index] = *digest;
    }
}

/// Those of many messages that have one length.
pub(super) struct Each<'a> {
    pub(super) messages: &'a [&'a [u8]],
    pub(super) digests: &'a mut [Digest],
    pub(super) order: &'a [usize],
}

impl HashBatch for Each<'_> {
    #[inline(always)]
    fn message(&self, index: usize) -> &[u8] {
        self.messages[self.order[index]]
    }

    #[inline(always)]
    fn put(&mut self, index: usize, digest: &Digest) {
        self.digests[self.order[index]] = *digest;
    }
}

/// A single message.
pub(super) struct One<'a> {
    pub(super) message: &'a [u8],
    pub(super) digest: Digest,
}

impl HashBatch for One<'_> {
    #[inline(always)]
    fn message(&self, _: usize) -> &[u8] {
        self.message
    }

    #[inline(always)]
    fn put(&mut self, _: usize, digest: &Digest) {
        self.digest = *digest;
    }
}
