//! Requests of a connection that are not executed yet; memory grows as they arrive.

use std::io::{self, ErrorKind};

/// Memory that a connection keeps for its next half request.
pub(super) const KEPT: usize = 4096;

/// Bytes that are read and not executed.
#[derive(Debug, Default)]
pub(super) struct Pending {
    bytes: Vec<u8>,
    /// Bytes that were executed.
    start: usize,
}

impl Pending {
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Keeps other bytes instead.
    #[inline]
    pub(super) fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.clear();
        if !bytes.is_empty() {
            self.bytes.try_reserve(bytes.len()).map_err(|_| ErrorKind::OutOfMemory)?;
            self.bytes.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Drops the first bytes, which were executed.
    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        if self.is_empty() {
            self.clear();
        }
    }

    /// Reads up to `room` more bytes, of a request of `wanted` bytes.
    pub(super) fn extend<T>(
        &mut self,
        room: usize,
        wanted: usize,
        read: impl FnOnce(&mut [u8]) -> io::Result<(T, usize)>,
    ) -> io::Result<T> {
        self.bytes.drain(..std::mem::take(&mut self.start));
        let have = self.bytes.len();
        if self.bytes.capacity() < have + room {
            // Twice as much each time, but no more than the request needs.
            let more = (have + room).max(wanted.min(2 * have)) - have;
            self.bytes.try_reserve_exact(more).map_err(|_| ErrorKind::OutOfMemory)?;
        }
        self.bytes.resize(have + room, 0);
        let result = read(&mut self.bytes[have..]);
        self.bytes.truncate(have + result.as_ref().map_or(0, |(_, count)| *count));
        Ok(result?.0)
    }

    #[inline]
    fn clear(&mut self) {
        self.start = 0;
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_with_the_bytes_and_goes_with_the_last() {
        let mut pending = Pending::default();
        pending.replace(&[1; 100]).unwrap();
        let wanted = 1 << 20;
        while pending.len() < wanted {
            let read = |room: &mut [u8]| {
                room.fill(2);
                Ok(((), room.len()))
            };
            pending.extend(65536.min(wanted - pending.len()), wanted, read).unwrap();
            assert!(pending.capacity() <= wanted.min(2 * pending.len() + 65536));
        }
        pending.consume(99);
        assert_eq!(pending.bytes()[..2], [1, 2]);
        pending.consume(wanted - 99);
        assert!(pending.is_empty() && pending.capacity() <= KEPT);
        pending.replace(b"get a").unwrap();
        pending.consume(4);
        pending.replace(b"abc").unwrap();
        assert_eq!(pending.bytes(), b"abc");
    }
}
