//! Votes: signing, verifying, and counting them.

use secp256k1::{Keypair, SECP256K1};
use spv::{Hash, hash::FAST_VOTE_TAG};
use verify::{secp256k1::schnorr, sha256::Tag};
use wire::{FastVote, ParsedVote};
use zerocopy::IntoBytes;

use crate::{
    batch::{self, Item},
    genesis::{GENERATION, NETWORK, replica_keys},
};

const VOTE: Tag = Tag::new(FAST_VOTE_TAG);

fn message(signed: &[u8]) -> Hash {
    VOTE.hash_parts(&[&NETWORK, signed])
}

/// Signs a vote for those orders of a batch that `accepted` marks.
pub fn sign(root: &Hash, accepted: &[bool], replica: u8, keypair: &Keypair) -> Vec<u8> {
    let count = u16::try_from(accepted.len()).expect("a batch has at most 1,024 orders");
    let header = FastVote { generation: GENERATION.into(), root: *root, count: count.into(), replica, reserved: 0 };
    let mut vote = header.as_bytes().to_vec();
    vote.resize(FastVote::LENGTH + FastVote::bitmap_length(accepted.len()), 0);
    for (position, _) in accepted.iter().enumerate().filter(|(_, is_accepted)| **is_accepted) {
        vote[FastVote::LENGTH + position / 8] |= 1 << (position % 8);
    }
    let signature = SECP256K1.sign_schnorr_no_aux_rand(&message(&vote), keypair);
    vote.extend_from_slice(&signature.to_byte_array());
    vote
}

/// Parses the votes that follow each other in a message; `None` if it holds anything else.
pub fn parse(mut bytes: &[u8]) -> Option<Vec<ParsedVote<'_>>> {
    let mut votes = Vec::new();
    while !bytes.is_empty() {
        let (vote, rest) = FastVote::parse(bytes)?;
        votes.push(vote);
        bytes = rest;
    }
    Some(votes)
}

/// The messages that votes sign.
pub fn messages(votes: &[ParsedVote<'_>]) -> Vec<Hash> {
    votes.iter().map(|vote| message(vote.signed)).collect()
}

/// The signatures of votes by replicas of the present generation, with the [`messages`] that they sign.
pub fn items<'a>(votes: &'a [ParsedVote<'_>], messages: &'a [Hash]) -> impl Iterator<Item = Item<'a>> {
    let parse = |(vote, message): (&ParsedVote<'_>, &'a Hash)| {
        let key = replica_keys().get(usize::from(vote.header.replica))?;
        let is_present = vote.header.generation.get() == GENERATION;
        is_present.then(|| schnorr::Signed::parse(message, vote.signature, key).ok())?
    };
    votes.iter().zip(messages).map(parse)
}

/// Returns for each vote whether a replica of the present generation signed it.
pub fn verify(votes: &[ParsedVote<'_>]) -> Vec<bool> {
    let messages = messages(votes);
    batch::verify(&Vec::from_iter(items(votes, &messages)))
}

/// The positions of a batch's orders that a quorum accepts. The votes must be valid; those for other batches and a
/// replica's second vote are not counted.
pub fn certified(votes: &[ParsedVote<'_>], root: &Hash, orders: usize, quorum: usize) -> Vec<usize> {
    let is_for_it =
        |vote: &&ParsedVote<'_>| vote.header.root == *root && usize::from(vote.header.count.get()) == orders;
    let votes: Vec<_> = votes.iter().filter(is_for_it).collect();
    let is_first = |at: usize| votes[..at].iter().all(|earlier| earlier.header.replica != votes[at].header.replica);
    let counted: Vec<_> = (0..votes.len()).filter(|&at| is_first(at)).collect();
    let accepts = |position: usize| counted.iter().filter(|&&at| votes[at].accepts(position)).count();
    (0..orders).filter(|&position| accepts(position) >= quorum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genesis::{QUORUM, replica};

    const ROOT: Hash = [5; 32];

    #[test]
    fn a_quorum_certifies_each_order_by_itself() {
        let accepted = [[true, true, false], [true, false, true], [true, true, false], [false, true, true]];
        let bytes: Vec<_> = (0..4_u8)
            .flat_map(|number| sign(&ROOT, &accepted[usize::from(number)], number, &replica(number)))
            .collect();
        let votes = parse(&bytes).unwrap();
        assert_eq!(verify(&votes), [true; 4]);
        assert_eq!(certified(&votes, &ROOT, 3, QUORUM), [0, 1]);
        assert_eq!(certified(&votes[..3], &ROOT, 3, QUORUM), [0]);
        let repeated = [votes[0], votes[2], votes[2], votes[0]];
        assert_eq!(certified(&repeated, &ROOT, 3, QUORUM), [] as [usize; 0], "a replica counts once");
    }

    #[test]
    fn forged_votes_are_found() {
        let good = sign(&ROOT, &[true], 1, &replica(1));
        for at in 0..good.len() {
            let mut forged = good.clone();
            forged[at] ^= 1;
            let is_valid = parse(&forged).is_some_and(|votes| verify(&votes) == [true]);
            assert!(!is_valid, "byte {at}");
        }
        let of_another = sign(&ROOT, &[true], 1, &replica(2));
        assert_eq!(verify(&parse(&of_another).unwrap()), [false]);
        let of_nobody = sign(&ROOT, &[true], 9, &replica(1));
        assert_eq!(verify(&parse(&of_nobody).unwrap()), [false]);
    }
}
