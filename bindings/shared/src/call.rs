use crate::backend::Backends;
use crate::{Error, NOT_VERIFIED, Verifier};

/// Maximum bytes of items per work unit, unless a single item has more: hashing them takes ten to twenty milliseconds.
const MOST_BYTES: usize = 4 << 20;

/// A call of a verifier: the functions are its methods.
pub struct Call<'a> {
    pub(crate) verifier: &'a Verifier,
    pub(crate) go_on: Option<&'a mut dyn FnMut() -> bool>,
}

impl<'a> Call<'a> {
    pub(crate) fn backends(&self) -> &'a Backends {
        &self.verifier.backends
    }

    /// Items per work unit: enough for every thread to get a unit, but not so few that distributing them costs more
    /// than the work, nor so many that they exceed the caches, or delay stopping the call.
    pub(crate) fn piece(&self, items: usize, least: usize, most: usize) -> usize {
        items.div_ceil(self.verifier.threads()).clamp(least, most)
    }

    /// Processes every work unit, unless the caller stops.
    pub(crate) fn each<P: Send>(
        &mut self,
        pieces: impl Iterator<Item = P> + Send,
        work: impl Fn(P) + Sync,
    ) -> Result<(), Error> {
        let go_on = || self.go_on.as_mut().is_none_or(|go_on| go_on());
        if self.verifier.pool.each_while(pieces, work, go_on) { Ok(()) } else { Err(Error::BrokenOff) }
    }

    /// Sets the code of every item: `verify` gets the number of the first item of a work unit and all its codes. A unit
    /// has at most this many items, and, measured by `bytes`, a limited number of bytes.
    pub(crate) fn verify(
        &mut self,
        codes: &mut [u8],
        piece: usize,
        bytes: impl Fn(usize) -> usize + Send,
        verify: impl Fn(usize, &mut [u8]) + Sync,
    ) -> Result<(), Error> {
        codes.fill(NOT_VERIFIED);
        self.each(Pieces { codes, first: 0, most: piece, bytes }, |(first, codes)| verify(first, codes))?;
        debug_assert!(!codes.contains(&NOT_VERIFIED), "every item has a verdict");
        Ok(())
    }
}

/// The number of the first item of each work unit, and all its codes.
struct Pieces<'a, B> {
    codes: &'a mut [u8],
    first: usize,
    most: usize,
    bytes: B,
}

impl<'a, B: Fn(usize) -> usize> Iterator for Pieces<'a, B> {
    type Item = (usize, &'a mut [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (first, most) = (self.first, self.most.min(self.codes.len()));
        let fit = (first..first + most).scan(0_usize, |sum, item| {
            *sum = sum.saturating_add((self.bytes)(item));
            (*sum <= MOST_BYTES).then_some(())
        });
        let count = fit.count().max(1).min(most);
        self.first += count;
        let (codes, rest) = std::mem::take(&mut self.codes).split_at_mut(count);
        self.codes = rest;
        (count > 0).then_some((first, codes))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.codes.len().div_ceil(self.most), Some(self.codes.len()))
    }
}

/// Rows of a length per work unit, at most `most`.
pub(crate) fn rows(length: usize, most: usize) -> usize {
    (MOST_BYTES / length.max(1)).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(lengths: &[usize], most: usize) -> Vec<(usize, usize)> {
        let mut codes = vec![0; lengths.len()];
        let pieces = Pieces { codes: &mut codes, first: 0, most, bytes: |item: usize| lengths[item] };
        let hint = pieces.size_hint();
        let pieces = Vec::from_iter(pieces.map(|(first, codes)| (first, codes.len())));
        assert!(hint.0 <= pieces.len() && pieces.len() <= hint.1.unwrap_or_default());
        pieces
    }

    #[test]
    fn pieces_are_bounded_in_items_and_in_bytes() {
        assert_eq!(pieces(&[], 3), []);
        assert_eq!(pieces(&[0; 7], 3), [(0, 3), (3, 3), (6, 1)]);
        assert_eq!(pieces(&[MOST_BYTES, 0, 1, 0], 9), [(0, 2), (2, 2)]);
        assert_eq!(pieces(&[usize::MAX, usize::MAX, 1, MOST_BYTES - 1, 1], 9), [(0, 1), (1, 1), (2, 2), (4, 1)]);
        assert_eq!((rows(0, 100), rows(1, 100), rows(MOST_BYTES / 3, 100), rows(usize::MAX, 100)), (100, 100, 3, 1));
    }
}
