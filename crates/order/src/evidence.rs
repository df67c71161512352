//! Evidence of replicas that lied, kept on disk.
use crate::application::Application;
use crate::block::Block;
use crate::committee::Committee;
use crate::status::Status;
use commonware_codec::{Copying, Decode, Encode};
use commonware_runtime::{Blob, Storage, WriteOptions};
use futures::{StreamExt, channel::mpsc};
use spv::Hash;
use spv::finality::{DoubleVote, SignedVote};
use std::collections::BTreeMap;
use std::sync::Arc;
use zerocopy::{FromBytes, IntoBytes};

/// Most pieces that are kept: one convicts, and nobody is to fill a disk with lies.
const PIECES: usize = 1024;
/// Views whose proposals and refusals wait for each other. They come within a view of each other.
const VIEWS: usize = 64;
/// Longest reason that is kept, in bytes.
const REASON: usize = 1024;
/// Findings on their way to the keeper; beyond that they are dropped, and the engine goes on.
pub(crate) const QUEUE: usize = 1024;

/// A proposal that the application refused, with its leader's vote for it.
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

/// What shows that a replica lied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It cast two votes of a view that contradict each other: anybody can check that it lied.
    DoubleVote(DoubleVote),
    /// It proposed what the application refuses: whoever knows the application's rules can check that it lied.
    Refused(RefusedProposal),
}

impl Evidence {
    /// The number of the replica that lied, in the epoch of its votes.
    pub fn replica(&self) -> u32 {
        match self {
            Self::DoubleVote(double) => double.replica.into(),
            Self::Refused(refused) => refused.replica,
        }
    }

    /// Whether the signatures are those of the replica that it accuses, and for what it says. Whether a refused block breaks
    /// the rules, its application knows.
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

    /// Its bytes on disk: what it is, and then its parts.
    fn encode(&self) -> Vec<u8> {
        match self {
            Self::DoubleVote(double) => [&[1], double.as_bytes()].concat(),
            Self::Refused(RefusedProposal { replica, vote, block, reason }) => {
                let reason = &reason.as_bytes()[..reason.floor_char_boundary(REASON)];
                let length = (reason.len() as u16).to_be_bytes();
                [&[2], &replica.to_be_bytes()[..], vote.as_bytes(), &length, reason, &block.encode()].concat()
            }
        }
    }

    /// Reads what [`Self::encode`] made; nothing where a crash left only a part of it.
    fn decode(bytes: &[u8], longest_body: usize) -> Option<Self> {
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

/// What the keeper is told, with the replicas of its epoch.
pub(crate) enum Finding {
    /// Two votes that contradict each other, or seem to: nobody checked the signatures.
    DoubleVote(DoubleVote, Arc<Committee>),
    /// A leader's vote for its block.
    Proposal(u32, SignedVote, Arc<Committee>),
    /// The application refused a block of this round.
    Refusal(Round, Block, String),
}

/// An epoch and a view of it.
type Round = (u64, u64);

/// Joins proposals with refusals, checks what it is told, and keeps what holds.
pub(crate) struct Keeper<E> {
    pub(crate) context: E,
    pub(crate) application: Arc<dyn Application>,
    pub(crate) partition: String,
    pub(crate) network: Hash,
    pub(crate) longest_body: usize,
    pub(crate) status: Status,
}

impl<E: Storage> Keeper<E> {
    /// Works until nobody is left to tell anything.
    pub(crate) async fn run(mut self, mut findings: mpsc::Receiver<Finding>) {
        let mut proposals: BTreeMap<Round, Vec<_>> = BTreeMap::new();
        let mut refusals: BTreeMap<Round, Vec<_>> = BTreeMap::new();
        let mut pieces = read(&self.context, &self.partition, self.longest_body).await.len();
        self.status.keeps_evidence(pieces as u64);
        while let Some(finding) = findings.next().await {
            let round = match finding {
                Finding::DoubleVote(double, committee) => {
                    self.keep(Evidence::DoubleVote(double), &committee, &mut pieces).await;
                    continue;
                }
                Finding::Proposal(replica, signed, committee) => {
                    let round = (signed.vote.epoch.get(), signed.vote.view.get());
                    proposals.entry(round).or_default().push((replica, signed, committee));
                    round
                }
                Finding::Refusal(round, block, reason) => {
                    refusals.entry(round).or_default().push((block, reason));
                    round
                }
            };
            for (block, reason) in refusals.get(&round).into_iter().flatten() {
                let mut votes = proposals.get(&round).into_iter().flatten();
                if let Some((replica, vote, committee)) = votes.find(|(_, signed, _)| signed.vote.block == block.hash())
                {
                    let (replica, vote, block, reason) = (*replica, *vote, block.clone(), reason.clone());
                    let refused = RefusedProposal { replica, vote, block, reason };
                    self.keep(Evidence::Refused(refused), committee, &mut pieces).await;
                }
            }
            while proposals.len() > VIEWS {
                proposals.pop_first();
            }
            while refusals.len() > VIEWS {
                refusals.pop_first();
            }
        }
    }

    /// Keeps a piece, if it holds, is new and there is room.
    async fn keep(&mut self, evidence: Evidence, committee: &Committee, pieces: &mut usize) {
        if *pieces >= PIECES || !evidence.holds(&self.network, committee) {
            return;
        }
        let bytes = evidence.encode();
        // The same votes twice, in another order or with another reason, are the same piece.
        let name = match &evidence {
            Evidence::DoubleVote(double) => {
                let vote = &double.first.vote;
                [vote.epoch.as_bytes(), vote.view.as_bytes(), &[double.replica, 1]].concat()
            }
            Evidence::Refused(refused) => refused.block.hash().to_vec(),
        };
        let written = async {
            let (blob, length) = self.context.open(&self.partition, &name).await?;
            if length > 0 {
                return Ok(false);
            }
            blob.write_at(0, bytes, WriteOptions::default()).await?;
            blob.sync().await?;
            Ok::<_, commonware_runtime::Error>(true)
        };
        match written.await {
            Ok(false) => {}
            Ok(true) => {
                *pieces += 1;
                self.status.keeps_evidence(*pieces as u64);
                tracing::warn!(replica = evidence.replica(), "a replica lied: the evidence is kept");
                self.application.accused(&evidence);
            }
            Err(error) => tracing::error!(%error, "evidence that a replica lied could not be kept"),
        }
    }
}

/// All pieces that are kept whole, in no order.
pub(crate) async fn read(context: &impl Storage, partition: &str, longest_body: usize) -> Vec<Evidence> {
    // There is no partition before the first piece.
    let names = context.scan(partition).await.unwrap_or_default();
    let mut pieces = Vec::new();
    for name in names {
        let Ok((blob, length)) = context.open(partition, &name).await else { continue };
        let Ok(bytes) = blob.read_at(0, length as usize, Default::default()).await else { continue };
        pieces.extend(Evidence::decode(bytes.coalesce().as_ref(), longest_body));
    }
    pieces
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
            // A crash leaves a part of it, which is none.
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
