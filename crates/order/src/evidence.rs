//! Evidence against replicas that lied.
use crate::block::Block;
use crate::committee::Committee;
use commonware_codec::{Copying, Decode, Encode};
use spv::Hash;
use spv::finality::{DoubleVote, SignedVote};
use zerocopy::{FromBytes, IntoBytes};

/// Maximum length of a stored reason, in bytes.
const REASON: usize = 1024;

/// A proposal that the application refused, with the leader's vote for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedProposal {
    /// The number of the replica that proposed it.
    pub replica: u32,
    /// Its vote for the block.
    pub vote: SignedVote,
    /// The block.
    pub block: Block,
    /// Why it was refused.
    pub reason: String,
}

/// Proof that a replica lied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Two contradicting votes in one view. Anybody can verify it.
    DoubleVote(DoubleVote),
    /// A proposal that the application refuses. Verifying it takes the application's rules.
    Refused(RefusedProposal),
}

impl Evidence {
    /// The number of the accused replica, in the epoch of its votes.
    pub fn replica(&self) -> u32 {
        match self {
            Self::DoubleVote(double) => double.replica.into(),
            Self::Refused(refused) => refused.replica,
        }
    }

    /// Returns whether the signatures are those of the accused replica, over the votes shown. Only the application
    /// knows whether a refused block breaks its rules.
    pub fn holds(&self, network: &Hash, committee: &Committee) -> bool {
        match self {
            Self::DoubleVote(double) => double.holds(network, committee.replicas()),
            Self::Refused(RefusedProposal { replica, vote: SignedVote { vote, signature }, block, .. }) => {
                let key = committee.replicas().keys().get(*replica as usize);
                vote.network == *network
                    && vote.block == block.hash()
                    && key.is_some_and(|key| vote.signed_by(key, signature))
            }
        }
    }

    /// Encodes it for the disk: a kind byte, then its parts.
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Self::DoubleVote(double) => [&[1], double.as_bytes()].concat(),
            Self::Refused(RefusedProposal { replica, vote, block, reason }) => {
                let reason = &reason.as_bytes()[..reason.floor_char_boundary(REASON)];
                let length = (reason.len() as u16).to_be_bytes();
                [&[2], &replica.to_be_bytes()[..], vote.as_bytes(), &length, reason, &block.encode()].concat()
            }
        }
    }

    /// Decodes the bytes of [`Self::encode`]; `None` if a crash truncated them.
    pub(crate) fn decode(bytes: &[u8], longest_body: usize) -> Option<Self> {
        match bytes.split_first()? {
            (1, rest) => DoubleVote::read_from_bytes(rest).ok().map(Self::DoubleVote),
            (2, rest) => {
                let (replica, rest) = rest.split_first_chunk()?;
                let (vote, rest) = SignedVote::read_from_prefix(rest).ok()?;
                let (length, rest) = rest.split_first_chunk()?;
                let (reason, block) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
                let block = Block::decode_cfg(Copying(block), &longest_body).ok()?;
                let (replica, reason) = (u32::from_be_bytes(*replica), String::from_utf8(reason.to_vec()).ok()?);
                Some(Self::Refused(RefusedProposal { replica, vote, block, reason }))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Payload;
    use bytes::Bytes;
    use spv::SealingKey;
    use spv::finality::{Vote, VoteKind};

    fn pieces() -> [Evidence; 2] {
        let key = SealingKey::from_bytes(&[1; 32]).unwrap();
        let signed = |vote: Vote| SignedVote { vote, signature: vote.sign(&key) };
        let vote = |block| Vote::for_block(VoteKind::Notarize, [9; 32], 0, 5, 4, block);
        let double = DoubleVote { replica: 3, first: signed(vote([1; 32])), second: signed(vote([2; 32])) };
        let payload = Payload { statement: [3; 32], body: Bytes::from_static(b"body") };
        let block = Block::genesis([9; 32], [1; 32]).child(payload);
        let vote = signed(vote(block.hash()));
        let refused = RefusedProposal { replica: 3, vote, block, reason: "a wrong state".into() };
        [Evidence::DoubleVote(double), Evidence::Refused(refused)]
    }

    #[test]
    fn evidence_is_on_disk_as_it_was_found() {
        for evidence in pieces() {
            let bytes = evidence.encode();
            assert_eq!(Evidence::decode(&bytes, 4), Some(evidence.clone()));
            // A crash truncates it; the rest must not decode.
            for length in 0..bytes.len() {
                assert_eq!(Evidence::decode(&bytes[..length], 4), None, "{length} bytes");
            }
            assert_eq!(Evidence::decode(&[&bytes[..], &[0]].concat(), 4), None);
        }
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let [_, Evidence::Refused(mut refused)] = pieces() else { panic!() };
        refused.reason = format!("{}\u{20ac}{}", "x".repeat(REASON - 1), "y".repeat(9));
        let bytes = Evidence::Refused(refused).encode();
        let Some(Evidence::Refused(read)) = Evidence::decode(&bytes, 4) else { panic!() };
        assert_eq!(read.reason, "x".repeat(REASON - 1));
    }
}
