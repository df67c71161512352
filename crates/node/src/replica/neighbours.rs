//! The replicas that this one connects to, and its number among them.
//!
//! After the block of height h is executed:
//!
//! - If h had approvals, or the set after h is another generation, connect to the replicas of the next block, of the
//!   decided change, and of an addition with a quorum. A replica that is in none of these also connects to its
//!   contacts.
//! - If the generation changes after h, this replica takes its number in the new set, or none. The order pool renames
//!   the waiting groups, and they are announced again: the names of the old set mean nothing in the new one.

use order::{Identity, Member, Outbox, Peers};

use super::{order_pool::OrderPool, roster::Roster};

/// Follows the changes of the set for the engine's connections and the order pool.
pub struct Neighbours {
    /// This replica's key of connections.
    pub me: Identity,
    /// The replicas to connect to while it is a member of no set.
    pub contacts: Vec<Member>,
    /// Updates the engine.
    pub peers: Peers,
    /// Sends to the other replicas.
    pub outbox: Outbox,
}

/// The number of a replica among these.
pub fn number(members: &[Member], me: &Identity) -> Option<u8> {
    let number = members.iter().position(|member| member.name.connections() == *me)?;
    // A set has at most 64.
    Some(number as u8)
}

/// The replicas to connect to from the block of a height on.
pub fn connected(roster: &Roster, height: u64, me: &Identity, contacts: &[Member]) -> Vec<Member> {
    let mut replicas = roster.membership().connected(height);
    if number(&replicas, me).is_none() {
        let is_new = |contact: &&Member| replicas.iter().all(|member| member.name != contact.name);
        replicas.extend(contacts.iter().filter(is_new).cloned().collect::<Vec<_>>());
    }
    replicas
}

impl Neighbours {
    /// Records that the block of a height is executed, and whether it had approvals.
    pub fn executed(&self, roster: &Roster, order_pool: &OrderPool, height: u64, approvals: bool) {
        let renumbered = {
            let membership = roster.membership();
            let is_new = membership.generation_at(height) != membership.generation_at(height + 1);
            let members = membership.members(height + 1);
            is_new.then(|| (number(members, &self.me), members.len()))
        };
        if approvals || renumbered.is_some() {
            self.peers.set_members(connected(roster, height + 1, &self.me, &self.contacts));
        }
        if let Some((number, replicas)) = renumbered {
            match number {
                Some(number) => tracing::info!(number, replicas, "the set of replicas has changed"),
                None => tracing::warn!(replicas, "this replica is not a member of the set of replicas"),
            }
            for group in order_pool.renumber(number, replicas) {
                // A group that others do not receive waits for this replica's turn.
                self.outbox.send(group.bytes().clone());
            }
        }
    }
}
