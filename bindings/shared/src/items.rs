use crate::Error;

/// Items that are contiguous in memory.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    bytes: &'a [u8],
    layout: Layout<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Layout<'a> {
    Rows { width: usize, count: usize },
    Offsets(&'a [u64]),
}

impl<'a> Items<'a> {
    /// `count` items of `width` bytes each.
    pub fn rows(bytes: &'a [u8], width: usize, count: usize) -> Result<Self, Error> {
        if width.checked_mul(count) != Some(bytes.len()) {
            return Err(Error::Length { count, width, length: bytes.len() });
        }
        Ok(Self { bytes, layout: Layout::Rows { width, count } })
    }

    /// Items of any lengths: item i extends from offset i to offset i + 1, so there is one more offset than items.
    pub fn offsets(bytes: &'a [u8], offsets: &'a [u64]) -> Result<Self, Error> {
        let within = offsets.last().is_some_and(|last| *last <= bytes.len() as u64);
        if !within || !offsets.is_sorted() {
            return Err(Error::Offsets { length: bytes.len() });
        }
        Ok(Self { bytes, layout: Layout::Offsets(offsets) })
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        match self.layout {
            Layout::Rows { count, .. } => count,
            Layout::Offsets(offsets) => offsets.len() - 1,
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An item.
    ///
    /// # Panics
    ///
    /// If there is no such item.
    pub fn get(&self, item: usize) -> &'a [u8] {
        match self.layout {
            Layout::Rows { width, count } => {
                assert!(item < count, "there is such an item");
                &self.bytes[item * width..][..width]
            }
            // All offsets are within the bytes, so they fit.
            Layout::Offsets(offsets) => &self.bytes[offsets[item] as usize..offsets[item + 1] as usize],
        }
    }

    pub(crate) fn check_count(&self, what: &'static str, needed: usize) -> Result<(), Error> {
        check_count(what, self.len(), needed)
    }
}

pub(crate) fn check_count(what: &'static str, found: usize, needed: usize) -> Result<(), Error> {
    if found == needed { Ok(()) } else { Err(Error::Count { what, found, needed }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() -> Result<(), Error> {
        let items = Items::rows(b"abcdef", 2, 3)?;
        assert_eq!((items.len(), items.is_empty()), (3, false));
        assert_eq!([0, 1, 2].map(|item| items.get(item)), [b"ab", b"cd", b"ef"]);
        assert_eq!(Items::rows(b"", 0, 5)?.get(4), b"");
        assert!(Items::rows(b"", 7, 0)?.is_empty());
        for (width, count) in [(2, 2), (2, 4), (usize::MAX, 2), (0, 1)] {
            assert!(matches!(Items::rows(b"abcdef", width, count), Err(Error::Length { .. })));
        }
        Ok(())
    }

    #[test]
    fn offsets() -> Result<(), Error> {
        let items = Items::offsets(b"abcdef", &[1, 1, 4, 6])?;
        assert_eq!([0, 1, 2].map(|item| items.get(item)), [&b""[..], b"bcd", b"ef"]);
        assert!(Items::offsets(b"", &[0])?.is_empty());
        for bad in [&[][..], &[0, 7], &[3, 2], &[0, u64::MAX], &[0, 5, 4, 6]] {
            assert!(matches!(Items::offsets(b"abcdef", bad), Err(Error::Offsets { .. })), "{bad:?}");
        }
        Ok(())
    }
}
