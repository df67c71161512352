//! Sparse index of the batches in a journal's segments.

use std::collections::VecDeque;

use super::format::BatchHeader;

/// Bytes of a segment per location: what is read at once to find a batch between two locations.
const STRIDE: u64 = 64 << 10;

/// Location of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchLocation {
    /// Sequence of its first operation, or of the next if it has none.
    pub(super) sequence: u64,
    /// Number of its segment, and its offset there.
    pub(super) segment: u64,
    pub(super) offset: u64,
    timestamp: u64,
}

/// Locations in ascending order: of the first batch in each [`STRIDE`] of a segment.
#[derive(Debug, Default)]
pub(super) struct BatchIndex(VecDeque<BatchLocation>);

impl BatchIndex {
    /// Adds a batch after all others.
    pub(super) fn push(&mut self, segment: u64, offset: u64, header: &BatchHeader) {
        let is_near = |last: &BatchLocation| last.segment == segment && last.offset / STRIDE == offset / STRIDE;
        if !self.0.back().is_some_and(is_near) {
            let (sequence, timestamp) = (header.first_sequence.get(), header.timestamp.get());
            self.0.push_back(BatchLocation { sequence, segment, offset, timestamp });
        }
    }

    /// The last location at or before an operation.
    pub(super) fn before(&self, sequence: u64) -> Option<&BatchLocation> {
        self.0.get(self.0.partition_point(|location| location.sequence <= sequence).checked_sub(1)?)
    }

    /// The last location before which every batch is older than `timestamp`; the first location if there is none.
    pub(super) fn since(&self, timestamp: u64) -> Option<&BatchLocation> {
        self.0.get(self.0.partition_point(|location| location.timestamp < timestamp).saturating_sub(1))
    }

    /// When the batch of the last location was written, in microseconds since the Unix epoch; 0 if there is none.
    pub(super) fn timestamp(&self) -> u64 {
        self.0.back().map_or(0, |location| location.timestamp)
    }

    /// Removes the locations of segments before `segment`.
    pub(super) fn prune(&mut self, segment: u64) {
        while self.0.pop_front_if(|location| location.segment < segment).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::Position;
    use super::*;

    /// There is a location every 64 KiB of a segment, and at the start of each segment.
    #[test]
    fn places_are_a_stride_apart() {
        let mut index = BatchIndex::default();
        assert!(index.before(1).is_none() && index.since(0).is_none() && index.timestamp() == 0);
        let stride = 64 << 10;
        for (sequence, segment, offset) in [
            (1, 1, 4096),
            (5, 1, 8192),
            (9, 1, stride - 4096),
            (20, 1, stride),
            (25, 1, stride + 4096),
            (40, 1, 3 * stride + 4096),
            (50, 2, 3 * stride + 8192),
            (60, 2, 4 * stride),
        ] {
            let position = Position { sequence, ..Position::START };
            index.push(segment, offset, &BatchHeader::new(&position, (1, 0), 100 * sequence));
        }
        let kept =
            Vec::from_iter(index.0.iter().map(|location| (location.sequence, location.segment, location.offset)));
        let last = (60, 2, 4 * stride);
        assert_eq!(kept, [(1, 1, 4096), (20, 1, stride), (40, 1, 3 * stride + 4096), (50, 2, 3 * stride + 8192), last]);
        assert_eq!(index.timestamp(), 6_000);
        let before = |sequence| index.before(sequence).map(|location| location.sequence);
        assert_eq!(
            [0, 1, 19, 20, 21, 59, 60, 99].map(before),
            [None, Some(1), Some(1), Some(20), Some(20), Some(50), Some(60), Some(60)]
        );
        let since = |timestamp| index.since(timestamp).unwrap().sequence;
        assert_eq!([0, 100, 101, 2_000, 2_001, 6_000, 6_001, 9_999].map(since), [1, 1, 1, 1, 20, 50, 60, 60]);
        index.prune(1);
        assert_eq!(index.0.len(), 5);
        index.prune(2);
        assert_eq!(index.0.iter().map(|location| location.sequence).collect::<Vec<_>>(), [50, 60]);
        index.prune(3);
        assert!(index.0.is_empty());
    }
}
