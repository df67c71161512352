//! Damage found in blocks, for health and metrics.
use super::error::{DamagedBlock, Error};
use std::sync::{Mutex, PoisonError};

/// The most entries remembered: enough to see a pattern, and no more than a page of text.
const MOST: usize = 64;

/// The damage found since the chain was opened, each piece once, in the order of discovery.
#[derive(Debug, Default)]
pub(crate) struct DamageLog(Mutex<Vec<DamagedBlock>>);

impl DamageLog {
    /// Logs and remembers a piece of damage that is new. Returns the error for it.
    pub(super) fn add(&self, found: DamagedBlock) -> Error {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !list.iter().any(|known| known.height == found.height && known.damage == found.damage);
        if is_new && list.len() < MOST {
            tracing::error!(path = %found.path.display(), offset = found.offset, "{found}");
            list.push(found.clone());
        }
        drop(list);
        Error::Damaged(found)
    }

    /// All pieces.
    pub(super) fn list(&self) -> Vec<DamagedBlock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
