//! The sets of replicas up to the last executed block, stored in a file.
//!
//! On the approvals of the block of height h: return at once if there are none, or if the file already covers h.
//! Otherwise apply each to a copy. If one was accepted, replace the file durably, then publish the copy. So the file is
//! never older than the published sets, and a block that is delivered again changes nothing.
//!
//! Only the newest encoding is known. The sets as of an earlier height can be had as long as no later block had an
//! accepted approval.

use std::{
    num::NonZeroU64,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use order::{ApprovalError, Member, Membership};
use spv::{Hash, finality::Approval, hash::state_hash};
use storage::{DataDirectory, Directory};
use wire::Status;

use crate::{Error, sealing};

/// The folder in the data directory, and the file in it. Neither exists before the first approval.
pub const FOLDER: &str = "cluster";
pub const FILE: &str = "members";

/// All that is known of the sets. The executor alone changes it.
#[derive(Debug)]
pub struct Roster {
    directory: Arc<dyn Directory>,
    membership: Mutex<Membership>,
}

/// The status of an approval in the reply to its client.
pub fn status(result: Result<(), ApprovalError>) -> Status {
    match result {
        Ok(()) => Status::Ok,
        Err(ApprovalError::Stale) => Status::StaleGeneration,
        Err(ApprovalError::Change) => Status::Malformed,
        Err(ApprovalError::Signer) => Status::NotAuthorised,
        Err(ApprovalError::Signature) => Status::BadSignature,
    }
}

impl Roster {
    /// The founders of a network, and what the file says of changes.
    pub fn open(data: &DataDirectory, network: Hash, epoch: NonZeroU64, founders: Vec<Member>) -> Result<Self, Error> {
        let directory = data.directory().directory(FOLDER)?;
        let path = || directory.path().join(FILE);
        let mut membership = Membership::new(network, epoch, founders).map_err(sealing::Error::Founders)?;
        match directory.read(FILE) {
            Ok(bytes) => {
                let restored = membership.restore(&bytes);
                membership = restored.ok_or_else(|| sealing::Error::Members { path: path() })?;
            }
            Err(storage::Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Self { directory, membership: Mutex::new(membership) })
    }

    /// Locks and returns the present membership.
    pub fn membership(&self) -> MutexGuard<'_, Membership> {
        self.membership.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The encoded sets after the block of a height; `None` if they have changed since.
    pub fn as_of(&self, height: u64) -> Option<Vec<u8>> {
        let membership = self.membership();
        (membership.height() <= height).then(|| membership.encode())
    }

    /// The hash of the state that no header of the chain covers, after the block of a height; `recent` is the hash of
    /// recent operations. `None` if the sets have changed since.
    pub fn state(&self, height: u64, recent: &Hash) -> Option<Hash> {
        Some(state_hash(recent, &self.as_of(height)?))
    }

    /// Applies the approvals of the block of a height, durably. Returns the status of each. A block that was executed
    /// before a restart changes nothing.
    pub fn execute(&self, height: u64, approvals: &[Approval]) -> Result<Vec<Status>, storage::Error> {
        let mut membership = self.membership();
        // Most blocks have none.
        if approvals.is_empty() || height <= membership.height() {
            return Ok(vec![Status::Ok; approvals.len()]);
        }
        let mut after = membership.clone();
        let mut take = |approval| {
            let result = after.approve(approval, height);
            if result == Ok(true) {
                let generation = after.generation();
                tracing::info!(generation, height, "the set of replicas changes with the next epoch");
            }
            status(result.map(drop))
        };
        let statuses: Vec<_> = approvals.iter().map(&mut take).collect();
        if after.height() == height {
            self.directory.replace(FILE, &after.encode())?;
            *membership = after;
        }
        Ok(statuses)
    }
}
