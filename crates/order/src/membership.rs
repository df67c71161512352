//! Membership: the set of replicas of each epoch, and the changes between them.
//!
//! State, the same on all replicas after the same blocks:
//!
//! - `generations`: generation n is the set after n changes, each with the first epoch in which it votes.
//! - `reconfigurations`: the change that ended each generation except the newest, with the signatures of its quorum.
//! - `approvals`: changes of the newest generation signed by its members, at most one for each.
//! - `height`: the block with the last accepted approval.
//!
//! Rules for an approval ordered in the block of height h:
//!
//! 1. Reject it as stale if it names another generation, if a decided change has not taken effect at h, or after the
//!    maximum number of changes.
//! 2. Reject it if the signer is neither a member of the newest generation nor the replica that the change adds. Reject
//!    that replica's as early until a quorum has approved the change: anybody can make keys, and sign with each.
//! 3. Reject it if the change does not apply: wrong number for its keys, a key in use, an empty or too large set, an
//!    addition without an address.
//! 4. Reject it if the signature does not cover this network, this set and this change.
//! 5. Otherwise set `height` to h, and store it in place of the signer's earlier approval.
//! 6. The change is decided if a quorum of the newest generation has approved it, and, for an addition, the joining
//!    replica as well. Then append the reconfiguration and the new generation, which votes from the epoch after that of
//!    h, and clear `approvals`.
//!
//! A replica that joins approves once it has all ordered blocks, so no set depends on a replica that is not running.
//! From the quorum's approval on, before its own, the others [connect](Membership::connected) to it.
//!
//! Invariants: only members count for a quorum; a generation's epoch never begins at or before the block that decided
//! it; [`encode`](Membership::encode) after a block is a function of the blocks up to it. Nothing here is durable: the
//! caller stores the encoding before it relies on it, and restores it with the founders.
use crate::committee::{Committee, CommitteeError, ReplicaName};
use crate::epoch::epoch_of;
use crate::member::Member;
use spv::Hash;
use spv::finality::{Approval, MAX_RECONFIGURATIONS, MemberAction, MemberChange, Reconfiguration};
use std::num::NonZeroU64;
use thiserror::Error;
use zerocopy::{FromBytes, IntoBytes};

/// Why an approval is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ApprovalError {
    /// It is for another generation, or the change of its generation is already decided.
    #[error(
        "the change is for an older set of replicas, or another change is decided: sign a change of the newest set"
    )]
    Stale,
    /// The change does not apply to the set.
    #[error("the change is not valid for this set: check its action, number, keys and address")]
    Change,
    /// The signer is neither a member nor the replica that joins.
    #[error("the signer is neither a member of the set nor the joining replica")]
    Signer,
    /// The joining replica approves before a quorum of members.
    #[error("a quorum of members has not approved that the replica joins: its own approval comes last")]
    Early,
    /// The signature is invalid.
    #[error("the signature is not valid: check the network and the set that were signed")]
    Signature,
}

/// The replicas of a generation.
#[derive(Clone, Debug)]
struct Generation {
    /// The first epoch in which they vote.
    since: u64,
    /// Ordered by number.
    members: Vec<Member>,
    committee: Committee,
}

impl Generation {
    fn new(since: u64, mut members: Vec<Member>) -> Result<Self, CommitteeError> {
        let committee = Committee::new(members.iter().map(|member| member.name.clone()).collect())?;
        members.sort_by_key(|member| committee.number(&member.name));
        Ok(Self { since, members, committee })
    }
}

/// The generations of the set up to a block.
#[derive(Clone, Debug)]
pub struct Membership {
    network: Hash,
    /// Blocks per epoch.
    epoch: NonZeroU64,
    generations: Vec<Generation>,
    /// The change that ended each generation but the newest.
    reconfigurations: Vec<Reconfiguration>,
    /// Approvals of changes of the newest generation, at most one per signer.
    approvals: Vec<Approval>,
    /// The height of the block with the last accepted approval.
    height: u64,
}

impl Membership {
    /// The founders of a network, before the first block.
    pub fn new(network: Hash, epoch: NonZeroU64, founders: Vec<Member>) -> Result<Self, CommitteeError> {
        let generations = vec![Generation::new(0, founders)?];
        Ok(Self { network, epoch, generations, reconfigurations: Vec::new(), approvals: Vec::new(), height: 0 })
    }

    fn newest(&self) -> &Generation {
        self.generations.last().expect("there are founders")
    }

    fn at(&self, epoch: u64) -> &Generation {
        self.generations.iter().rev().find(|generation| generation.since <= epoch).expect("founders vote in epoch 0")
    }

    /// The number of the newest generation.
    pub fn generation(&self) -> u32 {
        self.reconfigurations.len() as u32
    }

    /// The number of the generation that votes on the block of a height.
    pub fn generation_at(&self, height: u64) -> u32 {
        let epoch = epoch_of(height, self.epoch);
        self.generations.iter().rposition(|generation| generation.since <= epoch).unwrap_or(0) as u32
    }

    /// The committee of a generation.
    pub fn committee_of(&self, generation: u32) -> Option<&Committee> {
        self.generations.get(generation as usize).map(|generation| &generation.committee)
    }

    /// Returns the change that ended a generation; `None` for the newest one.
    pub fn reconfiguration(&self, generation: u32) -> Option<&Reconfiguration> {
        self.reconfigurations.get(generation as usize)
    }

    /// Returns the committee of an epoch.
    pub fn committee(&self, epoch: u64) -> &Committee {
        &self.at(epoch).committee
    }

    /// Returns the replicas that vote on the block at a height, by number.
    pub fn members(&self, height: u64) -> &[Member] {
        &self.at(epoch_of(height, self.epoch)).members
    }

    /// Returns whether a decided change takes effect in a later epoch than that of `height`. The epoch must then be
    /// filled with blocks to its end.
    pub fn is_changing(&self, height: u64) -> bool {
        self.newest().since > epoch_of(height, self.epoch)
    }

    /// Replicas to be connected to after the block at a height: its voters, those that vote after the decided change,
    /// and those whose joining a quorum has approved.
    pub fn connected(&self, height: u64) -> Vec<Member> {
        let mut connected = self.members(height).to_vec();
        connected.extend(self.newest().members.iter().cloned());
        let joining = self.approvals.iter().filter(|approval| approval.change.action() == Ok(MemberAction::Add));
        let joining = joining.filter(|approval| self.has_quorum(approval));
        connected.extend(joining.filter_map(|approval| Member::from_change(&approval.change)));
        let mut seen: Vec<ReplicaName> = Vec::new();
        connected.retain(|member| {
            let is_new = !seen.contains(&member.name);
            seen.push(member.name.clone());
            is_new
        });
        connected
    }

    /// Checks an approval, as of the block at a height.
    pub fn check(&self, approval: &Approval, height: u64) -> Result<(), ApprovalError> {
        let (change, newest) = (&approval.change, self.newest());
        let is_full = self.reconfigurations.len() == MAX_RECONFIGURATIONS;
        if change.generation.get() != self.generation() || self.is_changing(height) || is_full {
            return Err(ApprovalError::Stale);
        }
        let joins = change.action() == Ok(MemberAction::Add) && approval.signer == change.votes;
        if self.number(&approval.signer).is_none() && !joins {
            return Err(ApprovalError::Signer);
        }
        self.after(change).ok_or(ApprovalError::Change)?;
        if !approval.holds(&self.network, newest.committee.replicas()) {
            return Err(ApprovalError::Signature);
        }
        if joins && !self.has_quorum(approval) { Err(ApprovalError::Early) } else { Ok(()) }
    }

    /// The number of a voting key in the newest set.
    fn number(&self, votes: &[u8; 32]) -> Option<u32> {
        let number = self.newest().members.iter().position(|member| member.name.votes.to_bytes() == *votes);
        number.map(|number| number as u32)
    }

    /// The members after a change of the newest set, if the change applies.
    fn after(&self, change: &MemberChange) -> Option<Generation> {
        let newest = self.newest();
        let replicas = change.apply(newest.committee.replicas()).ok()?;
        let member = Member::from_change(change)?;
        let mut members = newest.members.clone();
        match change.action().ok()? {
            MemberAction::Add if member.address.ip().is_unspecified() || member.address.port() == 0 => return None,
            MemberAction::Add => members.push(member),
            MemberAction::Remove => members.retain(|other| other.name != member.name),
        }
        let since = epoch_of(self.height, self.epoch) + 1;
        // `members` counts by connection key, `replicas` by the change's number. They differ if the number does not
        // match the key, or if the two keys belong to different replicas.
        Generation::new(since, members).ok().filter(|after| *after.committee.replicas() == replicas)
    }

    fn has_quorum(&self, approval: &Approval) -> bool {
        let alike = self.approvals.iter().filter(|other| other.change == approval.change);
        let members = alike.filter(|other| self.number(&other.signer).is_some()).count();
        members >= self.newest().committee.replicas().quorum()
    }

    /// Applies an approval ordered in the block at a height. Returns whether it decided a change.
    pub fn approve(&mut self, approval: &Approval, height: u64) -> Result<bool, ApprovalError> {
        self.check(approval, height)?;
        self.height = height;
        // A member has one approval: a later one replaces it. That of a joining replica decides the change.
        self.approvals.retain(|other| other.signer != approval.signer);
        self.approvals.push(*approval);
        let change = approval.change;
        let alike: Vec<_> = self.approvals.iter().filter(|other| other.change == change).copied().collect();
        let joined =
            change.action() == Ok(MemberAction::Remove) || alike.iter().any(|other| other.signer == change.votes);
        if !joined || !self.has_quorum(approval) {
            return Ok(false);
        }
        let after = self.after(&change).expect("it was checked");
        let signatures = alike.iter().filter_map(|other| Some((self.number(&other.signer)?, other.signature)));
        self.reconfigurations.push(Reconfiguration::new(change, signatures.collect()));
        self.generations.push(after);
        self.approvals.clear();
        Ok(true)
    }

    /// The height of the block with the last accepted approval.
    pub fn height(&self) -> u64 {
        self.height
    }

    /// Encodes all changes since the founders: the height; the number of changes in four bytes; for each change the
    /// first epoch of the set after it, the length of its certificate and the certificate; then the approvals.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.height.to_be_bytes().to_vec();
        bytes.extend(self.generation().to_be_bytes());
        for (reconfiguration, after) in self.reconfigurations.iter().zip(&self.generations[1..]) {
            let reconfiguration = reconfiguration.encode();
            bytes.extend(after.since.to_be_bytes());
            bytes.extend((reconfiguration.len() as u32).to_be_bytes());
            bytes.extend(reconfiguration);
        }
        bytes.extend(self.approvals.as_bytes());
        bytes
    }

    /// Applies the changes that [`Self::encode`] wrote to the founders. `None` if they are damaged or of other
    /// founders.
    pub fn restore(mut self, bytes: &[u8]) -> Option<Self> {
        let (height, rest) = bytes.split_first_chunk()?;
        let (changes, mut rest) = rest.split_first_chunk()?;
        for _ in 0..u32::from_be_bytes(*changes) {
            let (since, behind) = rest.split_first_chunk()?;
            let (length, behind) = behind.split_first_chunk()?;
            let (certificate, behind) = behind.split_at_checked(u32::from_be_bytes(*length) as usize)?;
            self.follow(Reconfiguration::decode(certificate).ok()?, u64::from_be_bytes(*since))?;
            rest = behind;
        }
        self.approvals = <[Approval]>::ref_from_bytes(rest).ok()?.to_vec();
        self.height = u64::from_be_bytes(*height);
        Some(self)
    }

    /// Applies a change received from others, and the first epoch of the set after it. `None` if it is invalid.
    pub fn follow(&mut self, found: Reconfiguration, since: u64) -> Option<()> {
        let before = self.newest().committee.replicas();
        let replicas = found.verify(&self.network, before, self.generation()).ok()?;
        let mut after = self.after(&found.change).filter(|after| *after.committee.replicas() == replicas)?;
        after.since = since;
        self.generations.push(after);
        self.reconfigurations.push(found);
        Some(())
    }

    /// The change by which a replica joins the newest set; `None` if it is a member.
    pub fn addition(&self, member: &Member) -> Option<MemberChange> {
        let mut names: Vec<_> = self.newest().members.iter().map(|member| member.name.clone()).collect();
        names.push(member.name.clone());
        let number = Committee::new(names).ok()?.number(&member.name)?;
        Some(member.joins(self.generation(), number as u8))
    }

    /// The change by which a replica leaves the newest set; `None` if it is not a member.
    pub fn removal(&self, name: &ReplicaName) -> Option<MemberChange> {
        let newest = self.newest();
        let number = newest.committee.number(name)?;
        Some(newest.members[number as usize].leaves(self.generation(), number as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::committee::ReplicaKey;
    use crate::member::ParseMemberError;
    use proptest::prelude::*;
    use std::net::SocketAddr;

    const NETWORK: Hash = [3; 32];
    const EPOCH: NonZeroU64 = NonZeroU64::new(10).unwrap();

    fn key(byte: u8) -> ReplicaKey {
        ReplicaKey::from_bytes(&[byte; 32]).unwrap()
    }

    fn member(byte: u8) -> Member {
        Member { name: key(byte).name(), address: SocketAddr::from(([127, 0, 0, 1], 7000 + u16::from(byte))) }
    }

    fn founders(number: u8) -> Membership {
        Membership::new(NETWORK, EPOCH, (1..=number).map(member).collect()).unwrap()
    }

    /// The change by which a replica joins the newest set, or leaves it if it is a member.
    fn change(membership: &Membership, byte: u8) -> MemberChange {
        let member = member(byte);
        membership.removal(&member.name).or_else(|| membership.addition(&member)).unwrap()
    }

    fn approval(membership: &Membership, change: MemberChange, byte: u8) -> Approval {
        key(byte).approve(change, &NETWORK, membership.newest().committee.replicas())
    }

    fn approve(
        membership: &mut Membership,
        change: MemberChange,
        byte: u8,
        height: u64,
    ) -> Result<bool, ApprovalError> {
        let approval = approval(membership, change, byte);
        membership.approve(&approval, height)
    }

    #[test]
    fn who_joins_is_the_last_to_approve() {
        let mut membership = founders(4);
        let join = change(&membership, 9);
        for byte in [3, 1] {
            assert_eq!(approve(&mut membership, join, byte, 14), Ok(false));
        }
        assert_eq!(membership.connected(15).len(), 4);
        // Before a quorum, nothing of a replica that wants to join is stored, however many want to.
        let before = membership.encode();
        for byte in 9..20 {
            let wanted = change(&membership, byte);
            assert_eq!(approve(&mut membership, wanted, byte, 15), Err(ApprovalError::Early));
        }
        assert_eq!(membership.encode(), before);
        assert_eq!(approve(&mut membership, join, 2, 15), Ok(false));
        // The others connect to it, and it can follow.
        assert_eq!(membership.connected(15).last(), Some(&member(9)));
        assert_eq!((membership.generation(), membership.is_changing(15)), (0, false));
        assert_eq!(approve(&mut membership, join, 9, 16), Ok(true));
        assert_eq!((membership.generation(), membership.is_changing(16), membership.is_changing(20)), (1, true, false));
        assert_eq!([0, 1, 2, 3].map(|epoch| membership.committee(epoch).identities().len()), [4, 4, 5, 5]);
        assert_eq!(membership.members(20).len(), 5);
        let ended = membership.reconfiguration(0).unwrap();
        let founders = membership.committee_of(0).unwrap().replicas();
        assert_eq!(ended.verify(&NETWORK, founders, 0).as_ref(), Ok(membership.committee_of(1).unwrap().replicas()));
        // A change that is decided but not in force cannot be decided again.
        let leave = change(&membership, 1);
        assert_eq!(approve(&mut membership, leave, 2, 19), Err(ApprovalError::Stale));
        assert_eq!(approve(&mut membership, leave, 2, 20), Ok(false));
        for (byte, decides) in [(3, false), (4, false), (9, true)] {
            assert_eq!(approve(&mut membership, leave, byte, 21), Ok(decides));
        }
        assert_eq!(membership.members(29).len(), 5);
        assert!(!membership.members(30).contains(&member(1)));
        assert!(membership.connected(29).contains(&member(1)) && !membership.connected(30).contains(&member(1)));
    }

    #[test]
    fn what_does_not_hold_changes_nothing() {
        let mut membership = founders(4);
        let join = change(&membership, 9);
        let good = approval(&membership, join, 1);
        let cases = [
            (approval(&membership, MemberChange { generation: 1.into(), ..join }, 1), ApprovalError::Stale),
            (approval(&membership, MemberChange { number: (join.number + 1) % 5, ..join }, 1), ApprovalError::Change),
            (approval(&membership, MemberChange { port: 0.into(), ..join }, 1), ApprovalError::Change),
            (approval(&membership, MemberChange { address: [0; 16], ..join }, 1), ApprovalError::Change),
            (approval(&membership, MemberChange { action: 3, ..join }, 1), ApprovalError::Change),
            (
                approval(&membership, MemberChange { identity: member(2).name.connections(), ..join }, 1),
                ApprovalError::Change,
            ),
            (approval(&membership, join, 8), ApprovalError::Signer),
            (Approval { signer: key(2).name().votes.to_bytes(), ..good }, ApprovalError::Signature),
        ];
        for (approval, error) in cases {
            assert_eq!(membership.approve(&approval, 5), Err(error));
        }
        assert_eq!(membership.encode(), founders(4).encode());
        // A repeated approval counts once, and approving another change withdraws the first approval.
        for _ in 0..3 {
            assert_eq!(membership.approve(&good, 5), Ok(false));
        }
        assert_eq!(approve(&mut membership, join, 9, 5), Err(ApprovalError::Early));
        let leave = change(&membership, 4);
        assert_eq!(approve(&mut membership, leave, 1, 5), Ok(false));
        for (byte, decides) in [(2, false), (3, false), (1, false), (9, true)] {
            assert_eq!(approve(&mut membership, join, byte, 6), Ok(decides));
        }
    }

    #[test]
    fn a_replica_is_text() {
        let text = member(5).to_string();
        assert_eq!(text.parse(), Ok(member(5)));
        assert!(text.ends_with("@127.0.0.1:7005"));
        for wrong in [&text[1..], "", "@", &text.replace('@', ""), &format!("{text}x")] {
            assert_eq!(wrong.parse::<Member>(), Err(ParseMemberError));
        }
        let at_six = Member { address: "[2001:db8::7]:9".parse().unwrap(), ..member(5) };
        assert_eq!(Member::from_change(&at_six.joins(0, 0)), Some(at_six));
        assert_eq!(Member::from_change(&member(5).joins(0, 0)), Some(member(5)));
    }

    proptest! {
        // Each case signs and checks several hundred approvals.
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Replicas that see the same approvals in the same order reach the same state, even if they restart in
        /// between; and a client that follows the changes from the founders has the newest set.
        #[test]
        fn what_is_kept_is_what_it_was(steps in proptest::collection::vec((1u8..8, 1u8..8, 0u64..4), 0..40)) {
            let mut membership = founders(4);
            let mut height = 1;
            for (byte, signer, later) in steps {
                height += later;
                let change = change(&membership, byte);
                let mut restored = founders(4).restore(&membership.encode()).unwrap();
                let [one, other] = [&mut membership, &mut restored].map(|it| approve(it, change, signer, height));
                prop_assert_eq!(one, other);
                prop_assert_eq!(membership.encode(), restored.encode());
            }
            let mut set = founders(4).committee(0).replicas().clone();
            for generation in 0..membership.generation() {
                set = membership.reconfiguration(generation).unwrap().verify(&NETWORK, &set, generation).unwrap();
                prop_assert_eq!(&set, membership.committee_of(generation + 1).unwrap().replicas());
            }
            let bytes = membership.encode();
            for length in 0..bytes.len() {
                prop_assert!(founders(4).restore(&bytes[..length]).is_none_or(|it| it.encode() != bytes));
            }
            prop_assert!(membership.reconfiguration(0).is_none() || founders(5).restore(&bytes).is_none());
        }
    }
}
