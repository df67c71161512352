//! Binary search where reading can fail.
use super::error::Error;
use std::ops::Range;

/// The first number of a range that is not `before`, or its end. All numbers that are must come first.
pub(super) fn partition_point(
    mut range: Range<u64>,
    before: impl Fn(u64) -> Result<bool, Error>,
) -> Result<u64, Error> {
    while !range.is_empty() {
        let middle = range.start.midpoint(range.end);
        if before(middle)? {
            range.start = middle + 1;
        } else {
            range.end = middle;
        }
    }
    Ok(range.start)
}
