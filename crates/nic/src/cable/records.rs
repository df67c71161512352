//! Compares the NIC's counter of operations with its records: it must send exactly one record per operation.
//!
//! The node's ledger follows the records, so an operation without one would be lost, and one with two executed twice.

use std::time::{Duration, Instant};

/// How long an operation's record may take, unless the node holds the NIC up. The board repeats eight segments every
/// millisecond until they are acknowledged, so this is long even if most frames are lost.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Why the node's ledger no longer follows the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Operations have no record.
    #[error("the board executed operations without records ({missing}): its registers were changed, or it is faulty")]
    Missing {
        /// How many.
        missing: u32,
    },
    /// Records have no operation.
    #[error("the board sent records without operations ({excess}): its registers were changed, or it is faulty")]
    Excess {
        /// How many.
        excess: u32,
    },
}

/// Compares operations and records from the NIC's start on.
#[derive(Debug)]
pub struct RecordCheck {
    /// The counter at the start. Its lower half is enough: far fewer than 2^31 records are on their way.
    before: u32,
    /// Operations at some time, whose number the records must reach in time. Records are not numbered, so while
    /// operations follow without a pause, a later record counts for a missing one.
    due: Option<(u32, Instant)>,
}

impl RecordCheck {
    /// A check of a NIC that starts with this value of its counter.
    pub fn new(operations: u32) -> Self {
        Self { before: operations, due: None }
    }

    /// Returns the number of operations whose records have not arrived. `operations` is the counter, read after
    /// `taken` records had arrived. `is_held_up`: the NIC cannot send more before the node acknowledges some.
    pub fn missing(&mut self, operations: u32, taken: u64, is_held_up: bool, now: Instant) -> Result<u32, RecordError> {
        let executed = operations.wrapping_sub(self.before);
        let without_record = |executed: u32| executed.wrapping_sub(taken as u32) as i32;
        let missing = without_record(executed);
        if missing < 0 {
            return Err(RecordError::Excess { excess: missing.unsigned_abs() });
        }
        if is_held_up || self.due.is_none_or(|(executed, _)| without_record(executed) <= 0) {
            self.due = Some((executed, now));
        }
        match self.due {
            Some((_, since)) if missing > 0 && now.duration_since(since) >= PATIENCE => {
                Err(RecordError::Missing { missing: missing.unsigned_abs() })
            }
            _ => Ok(missing.unsigned_abs()),
        }
    }
}
