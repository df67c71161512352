//! Reads Bitcoin's serialisation: little-endian numbers, compact sizes, byte strings.
use thiserror::Error;

/// Why bytes do not encode what they should. Each error has the offset where reading failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EncodingError {
    /// The bytes end in the middle of something.
    #[error("a field is cut off at byte {0}")]
    Truncated(usize),
    /// A compact size takes more bytes than it needs.
    #[error("a length at byte {0} is not in its shortest form")]
    NotShortest(usize),
    /// A count is more than the remaining bytes could hold.
    #[error("a length at byte {0} is larger than what follows")]
    TooLong(usize),
    /// There is more after the end.
    #[error("unexpected bytes from byte {0} on")]
    Trailing(usize),
}

/// A cursor over encoded bytes.
#[derive(Clone, Copy, Debug)]
pub struct Encoding<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Encoding<'a> {
    /// A cursor at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The bytes read since `start`.
    pub fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    /// The bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The next `length` bytes.
    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], EncodingError> {
        let (taken, _) = self.rest().split_at_checked(length).ok_or(EncodingError::Truncated(self.at))?;
        self.at += length;
        Ok(taken)
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], EncodingError> {
        let (array, _) = self.rest().split_first_chunk().ok_or(EncodingError::Truncated(self.at))?;
        self.at += N;
        Ok(array)
    }

    /// A 32-bit number.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, EncodingError> {
        self.array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// A compact size, accepted only in its shortest form.
    #[inline]
    pub fn compact_size(&mut self) -> Result<u64, EncodingError> {
        let start = self.at;
        let [first] = *self.array()?;
        let (value, least) = match first {
            0xfd => (u64::from(u16::from_le_bytes(*self.array()?)), 0xfd),
            0xfe => (u64::from(self.u32()?), 0x1_0000),
            0xff => (u64::from_le_bytes(*self.array()?), 0x1_0000_0000),
            small => (u64::from(small), 0),
        };
        if value < least { Err(EncodingError::NotShortest(start)) } else { Ok(value) }
    }

    /// The number of items that follow, each of at least `least` bytes; an error if they cannot fit.
    #[inline]
    pub fn count(&mut self, least: usize) -> Result<usize, EncodingError> {
        let start = self.at;
        let count = self.compact_size()?;
        let room = self.rest().len() / least.max(1);
        usize::try_from(count).ok().filter(|count| *count <= room).ok_or(EncodingError::TooLong(start))
    }

    /// A byte string preceded by its length.
    #[inline]
    pub fn string(&mut self) -> Result<&'a [u8], EncodingError> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// Ends the reading; an error if bytes are left.
    pub fn finish(self) -> Result<(), EncodingError> {
        if self.rest().is_empty() { Ok(()) } else { Err(EncodingError::Trailing(self.at)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_canonical() {
        let size = |bytes: &[u8]| Encoding::new(bytes).compact_size();
        assert_eq!(size(&[0xfc]), Ok(0xfc));
        assert_eq!(size(&[0xfd, 0xfd, 0]), Ok(0xfd));
        assert_eq!(size(&[0xfd, 0xfc, 0]), Err(EncodingError::NotShortest(0)));
        assert_eq!(size(&[0xfe, 0xff, 0xff, 0, 0]), Err(EncodingError::NotShortest(0)));
        assert_eq!(size(&[0xfe, 0, 0, 1, 0]), Ok(0x1_0000));
        assert_eq!(size(&[0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]), Err(EncodingError::NotShortest(0)));
        assert_eq!(size(&[0xff, 0, 0, 0, 0, 1, 0, 0, 0]), Ok(1 << 32));
        assert_eq!(size(&[0xfe, 0]), Err(EncodingError::Truncated(1)));
        assert_eq!(size(&[]), Err(EncodingError::Truncated(0)));
    }

    #[test]
    fn counts_fit_what_follows() {
        assert_eq!(Encoding::new(&[2, 9, 9]).string(), Ok(&[9, 9][..]));
        assert_eq!(Encoding::new(&[3, 9, 9]).string(), Err(EncodingError::TooLong(0)));
        assert_eq!(Encoding::new(&[2, 9, 9, 9]).count(2), Err(EncodingError::TooLong(0)));
        assert_eq!(Encoding::new(&[0xff; 9]).count(32), Err(EncodingError::TooLong(0)));
        let mut encoding = Encoding::new(&[1, 2, 3]);
        encoding.take(2).unwrap();
        assert_eq!(encoding.since(1), [2]);
        assert_eq!(encoding.finish(), Err(EncodingError::Trailing(2)));
    }
}
