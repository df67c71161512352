//! Evidence that a replica lied.
use super::replicas::ReplicaSet;
use super::vote::{Vote, VoteKind};
use crate::authority::Seal;
use crate::hash::Hash;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Size of a stored [`DoubleVote`].
pub const EVIDENCE_SIZE: usize = size_of::<DoubleVote>();

/// A vote and its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SignedVote {
    /// The vote.
    pub vote: Vote,
    /// The replica's signature.
    pub signature: Seal,
}

/// Two votes in one view of which an honest replica signs at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct DoubleVote {
    /// The replica's number.
    pub replica: u8,
    /// One of the votes.
    pub first: SignedVote,
    /// The second vote.
    pub second: SignedVote,
}

const _: () = assert!(EVIDENCE_SIZE == 307);

impl DoubleVote {
    /// Whether this proves that the replica lied.
    ///
    /// That is so if one view has two votes for different blocks, or one vote to give up the view and one that its
    /// block is final, all of this network and signed by that replica.
    pub fn holds(&self, network: &Hash, replicas: &ReplicaSet) -> bool {
        let votes = [&self.first, &self.second];
        let [first, second] = votes.map(|signed| &signed.vote);
        let contradict = match (first.kind(), second.kind()) {
            (Some(VoteKind::Nullify), Some(VoteKind::Finalize))
            | (Some(VoteKind::Finalize), Some(VoteKind::Nullify)) => true,
            (Some(VoteKind::Notarize), Some(VoteKind::Notarize))
            | (Some(VoteKind::Finalize), Some(VoteKind::Finalize)) => {
                (first.block, first.parent_view) != (second.block, second.parent_view)
            }
            _ => false,
        };
        let one_view = (first.epoch, first.view) == (second.epoch, second.view);
        contradict
            && one_view
            && votes.iter().all(|signed| signed.vote.network == *network)
            && replicas
                .keys()
                .get(usize::from(self.replica))
                .is_some_and(|key| votes.iter().all(|signed| signed.vote.signed_by(key, &signed.signature)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::SealingKey;

    #[test]
    fn only_votes_that_contradict_each_other_are_evidence() {
        let keys: Vec<_> = (1..=4).map(|byte| SealingKey::from_bytes(&[byte; 32]).unwrap()).collect();
        let set = ReplicaSet::new(keys.iter().map(SealingKey::public).collect()).unwrap();
        let network = [9; 32];
        let sign = |vote: Vote| SignedVote { vote, signature: vote.sign(&keys[2]) };
        let vote = |kind, view, block| sign(Vote::for_block(kind, network, 0, view, view - 1, [block; 32]));
        let nullify = sign(Vote::nullify(network, 0, 5));
        let holds = |replica, first, second| DoubleVote { replica, first, second }.holds(&network, &set);
        use VoteKind::{Finalize, Notarize};

        assert!(holds(2, vote(Notarize, 5, 1), vote(Notarize, 5, 2)));
        assert!(holds(2, vote(Finalize, 5, 1), vote(Finalize, 5, 2)));
        assert!(holds(2, nullify, vote(Finalize, 5, 1)) && holds(2, vote(Finalize, 5, 1), nullify));

        assert!(!holds(2, vote(Notarize, 5, 1), vote(Notarize, 5, 1)), "the same vote twice");
        assert!(!holds(2, vote(Notarize, 5, 1), vote(Notarize, 6, 2)), "of two views");
        assert!(!holds(2, nullify, vote(Notarize, 5, 1)), "who notarized may give up");
        assert!(!holds(2, vote(Notarize, 5, 1), vote(Finalize, 5, 2)), "a quorum may have notarized another block");
        assert!(!holds(1, vote(Notarize, 5, 1), vote(Notarize, 5, 2)), "of another replica");
        assert!(!holds(4, vote(Notarize, 5, 1), vote(Notarize, 5, 2)), "of no replica");
        let elsewhere = sign(Vote::for_block(Notarize, [8; 32], 0, 5, 4, [2; 32]));
        assert!(!holds(2, vote(Notarize, 5, 1), elsewhere), "of another network");
        assert!(!DoubleVote { replica: 2, first: nullify, second: vote(Finalize, 5, 1) }.holds(&[8; 32], &set));
    }
}
