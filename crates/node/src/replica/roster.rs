//! The sets of replicas up to the last executed block, stored in a file.
//!
//! On the approvals of the block of height h: return at once if there are none, or if the file already covers h.
//! Otherwise apply each to a copy. If one was accepted, store the present sets in a second file and replace the first
//! one, both durably, then publish the copy. So the file is never older than the published sets, and a block that is
//! delivered again changes nothing.
//!
//! The file is written before the block is closed. If the node ends between the two, the file is ahead of the chain:
//! then the second one is as of the chain's tip, and the block is executed again.
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
/// The sets before the last block with an accepted approval.
const EARLIER: &str = "members.earlier";

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
        // A replica that has executed more blocks may know of the quorum.
        Err(ApprovalError::Early) => Status::NotFinal,
        Err(ApprovalError::Signature) => Status::BadSignature,
    }
}

/// Reads the sets in a file, or returns the founders if it does not exist.
fn read(directory: &dyn Directory, name: &str, founders: &Membership) -> Result<Membership, Error> {
    match directory.read(name) {
        Ok(bytes) => {
            let restored = founders.clone().restore(&bytes);
            Ok(restored.ok_or_else(|| sealing::Error::Members { path: directory.path().join(name) })?)
        }
        Err(storage::Error::NotFound { .. }) => Ok(founders.clone()),
        Err(error) => Err(error.into()),
    }
}

impl Roster {
    /// Opens the sets as of a chain's tip: the founders of a network, with the changes in the file.
    pub fn open(
        data: &DataDirectory,
        network: Hash,
        epoch: NonZeroU64,
        founders: Vec<Member>,
        tip: u64,
    ) -> Result<Self, Error> {
        let directory = data.directory().directory(FOLDER)?;
        let founders = Membership::new(network, epoch, founders).map_err(sealing::Error::Founders)?;
        let mut membership = read(&*directory, FILE, &founders)?;
        if membership.height() > tip {
            membership = read(&*directory, EARLIER, &founders)?;
        }
        if membership.height() > tip {
            let path = directory.path().join(EARLIER);
            return Err(sealing::Error::MembersAhead { path, height: membership.height(), tip }.into());
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
            self.directory.replace(EARLIER, &membership.encode())?;
            self.directory.replace(FILE, &after.encode())?;
            *membership = after;
        }
        Ok(statuses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use order::ReplicaKey;

    const NETWORK: Hash = [3; 32];
    const EPOCH: NonZeroU64 = NonZeroU64::new(10).unwrap();

    fn key(byte: u8) -> ReplicaKey {
        ReplicaKey::from_bytes(&[byte; 32]).unwrap()
    }

    fn founders() -> Vec<Member> {
        let member =
            |byte: u8| Member { name: key(byte).name(), address: ([127, 0, 0, 1], 7000 + u16::from(byte)).into() };
        (1..=4).map(member).collect()
    }

    /// An approval that the fourth founder leaves.
    fn approval(roster: &Roster, byte: u8) -> Approval {
        let membership = roster.membership();
        let change = membership.removal(&key(4).name()).unwrap();
        key(byte).approve(change, &NETWORK, membership.committee_of(0).unwrap().replicas())
    }

    #[test]
    fn a_block_that_was_not_closed_is_executed_again() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDirectory::open(folder.path(), 1).unwrap();
        let open = |tip| Roster::open(&data, NETWORK, EPOCH, founders(), tip);
        let mut closed = Vec::new();
        for (height, byte) in [(5, 1), (9, 2), (14, 3)] {
            let roster = open(height - 1).unwrap();
            let before = roster.as_of(height - 1).unwrap();
            let approval = approval(&roster, byte);
            assert_eq!(roster.execute(height, &[approval]).unwrap(), [Status::Ok]);
            let after = roster.as_of(height).unwrap();
            drop(roster);
            // The node ends before it closes the block, more than once.
            for _ in 0..2 {
                let roster = open(height - 1).unwrap();
                assert_eq!(roster.as_of(height - 1), Some(before.clone()));
                assert_eq!(roster.execute(height, &[approval]).unwrap(), [Status::Ok]);
                assert_eq!(roster.as_of(height), Some(after.clone()));
            }
            assert_eq!(open(height).unwrap().as_of(height), Some(after.clone()));
            closed.push(after);
        }
        assert_eq!(open(14).unwrap().membership().generation(), 1);
        // A chain that is older than both files is not this replica's.
        assert_eq!(open(9).unwrap().as_of(9).as_ref(), Some(&closed[1]));
        assert!(matches!(open(8), Err(Error::Sealing(sealing::Error::MembersAhead { height: 9, tip: 8, .. }))));
    }
}
