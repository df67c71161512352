//! Where batches are in the segments of a journal.

use std::collections::VecDeque;

use super::format::BatchHeader;

/// Bytes of a segment that have one place: what is read at once to get at a batch between two.
const STRIDE: u64 = 64 << 10;

/// Where a batch is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Sequence of its first operation, or of the next if it has none.
    pub(super) sequence: u64,
    /// Number of the segment, and where in it the batch begins.
    pub(super) segment: u64,
    pub(super) offset: u64,
    timestamp: u64,
}

/// Where batches are, ascending: the first in each [`STRIDE`] of a segment.
#[derive(Debug, Default)]
pub(super) struct Places(VecDeque<Place>);

impl Places {
    /// Adds a batch behind all others.
    pub(super) fn push(&mut self, segment: u64, offset: u64, header: &BatchHeader) {
        let is_near = |last: &Place| last.segment == segment && last.offset / STRIDE == offset / STRIDE;
        if !self.0.back().is_some_and(is_near) {
            let (sequence, timestamp) = (header.first_sequence.get(), header.timestamp.get());
            self.0.push_back(Place { sequence, segment, offset, timestamp });
        }
    }

    /// The last place that is not behind an operation.
    pub(super) fn before(&self, sequence: u64) -> Option<&Place> {
        self.0.get(self.0.partition_point(|place| place.sequence <= sequence).checked_sub(1)?)
    }

    /// The last place before which nothing is as new as a time; the first where there is none.
    pub(super) fn since(&self, timestamp: u64) -> Option<&Place> {
        self.0.get(self.0.partition_point(|place| place.timestamp < timestamp).saturating_sub(1))
    }

    /// When the batch of the last place was written, in microseconds since the Unix epoch; 0 where there is none.
    pub(super) fn timestamp(&self) -> u64 {
        self.0.back().map_or(0, |place| place.timestamp)
    }

    /// Forgets those of segments before one.
    pub(super) fn prune(&mut self, segment: u64) {
        while self.0.pop_front_if(|place| place.segment < segment).is_some() {}
    }
}
