//! The content of a vote.
use crate::authority::{ChainKey, Seal};
use crate::hash::{Hash, ZERO_HASH, vote_message};
use crate::seal::SealingKey;
use secp256k1::{SECP256K1, schnorr::Signature};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, byteorder::big_endian::U64};

/// What a vote is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum VoteKind {
    /// The block is valid, and it is the first that the replica saw in the view.
    Notarize = 1,
    /// The view takes too long: go on without it.
    Nullify = 2,
    /// A quorum notarized the block before the replica gave up the view: it may be final.
    Finalize = 3,
}

impl VoteKind {
    /// The kind with this code.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Notarize, Self::Nullify, Self::Finalize].into_iter().find(|kind| *kind as u8 == code)
    }
}

/// A vote as it is hashed and signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Vote {
    /// Code of a [`VoteKind`].
    kind: u8,
    /// The network's id, so that no vote counts in another network.
    pub network: Hash,
    /// The number of the set of replicas: each change of members starts another.
    pub epoch: U64,
    /// The view of the vote, from 1 in each epoch.
    pub view: U64,
    /// The view of the block's parent, 0 for the epoch's first; 0 in [`VoteKind::Nullify`].
    pub parent_view: U64,
    /// Hash of the block's header; zero in [`VoteKind::Nullify`].
    pub block: Hash,
}

const _: () = assert!(size_of::<Vote>() == 89);

impl Vote {
    /// A vote for a block.
    ///
    /// # Panics
    /// If `kind` is [`VoteKind::Nullify`], which is for no block.
    pub fn for_block(kind: VoteKind, network: Hash, epoch: u64, view: u64, parent_view: u64, block: Hash) -> Self {
        assert!(kind != VoteKind::Nullify, "to give a view up is a vote for no block");
        let [epoch, view, parent_view] = [epoch, view, parent_view].map(U64::new);
        Self { kind: kind as u8, network, epoch, view, parent_view, block }
    }

    /// A vote to go on without a view.
    pub fn nullify(network: Hash, epoch: u64, view: u64) -> Self {
        let [epoch, view] = [epoch, view].map(U64::new);
        Self { kind: VoteKind::Nullify as u8, network, epoch, view, parent_view: 0.into(), block: ZERO_HASH }
    }

    /// What the vote is for; `None` if its bytes came from elsewhere and have no valid code.
    pub fn kind(&self) -> Option<VoteKind> {
        VoteKind::from_code(self.kind)
    }

    /// Signs the vote. The same vote always gets the same signature.
    pub fn sign(&self, key: &SealingKey) -> Seal {
        Seal(SECP256K1.sign_schnorr_no_aux_rand(&vote_message(self.as_bytes()), key.keypair()).to_byte_array())
    }

    /// Whether `signature` is this key's signature of this vote.
    pub fn signed_by(&self, key: &ChainKey, signature: &Seal) -> bool {
        let message = vote_message(self.as_bytes());
        SECP256K1.verify_schnorr(&Signature::from_byte_array(signature.0), &message, key.x_only()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_vote_by_one_key() {
        let [key, other] = [1, 2].map(|byte| SealingKey::from_bytes(&[byte; 32]).unwrap());
        let vote = Vote::for_block(VoteKind::Finalize, [1; 32], 2, 3, 4, [5; 32]);
        let signature = vote.sign(&key);
        assert!(vote.signed_by(&key.public(), &signature) && !vote.signed_by(&other.public(), &signature));
        let bytes: [u8; 89] = vote.as_bytes().try_into().unwrap();
        for place in 0..bytes.len() {
            let mut changed = bytes;
            changed[place] ^= 1;
            assert!(!Vote::read_from_bytes(&changed).unwrap().signed_by(&key.public(), &signature), "byte {place}");
        }
        // A vote does not pass for a seal, nor a seal for a vote: the tags differ.
        assert!(!key.public().has_sealed(&vote.block, &signature));
    }

    #[test]
    fn votes_are_laid_out_as_the_protocol_says() {
        let vote = Vote::for_block(VoteKind::Notarize, [1; 32], 2, 3, 4, [5; 32]);
        let numbers = [2u64, 3, 4].map(u64::to_be_bytes).concat();
        assert_eq!(vote.as_bytes(), [&[1], &[1; 32][..], &numbers, &[5; 32]].concat());
        assert_eq!(Vote::nullify([1; 32], 2, 3).kind(), Some(VoteKind::Nullify));
        assert_eq!([0, 1, 2, 3, 4].map(|code| VoteKind::from_code(code).is_some()), [false, true, true, true, false]);
    }
}
