//! The keeper of evidence: joins findings of the engine, checks them and stores what holds.
//!
//! - On two contradicting votes: store them as a piece.
//! - On a leader's vote for its block: remember it, up to 4 for each view. If the leader voted for another block in
//!   that view, store both votes as a piece.
//! - On a refused block: remember it. It becomes a piece as soon as the leader's vote for it is known, and the other
//!   way around.
//! - To store a piece: its signatures must be the accused replica's, and fewer than 1,024 pieces are stored. Its name
//!   follows from the view and the replica, or from the block, so the same fault is stored once. Write and sync it,
//!   count it, then report it to the application.
//!
//! Votes and refused blocks of the newest 64 views are remembered, in memory. A crash while a piece is written leaves
//! it truncated, and readers skip it.
use crate::application::Application;
use crate::block::Block;
use crate::committee::Committee;
use crate::evidence::{Evidence, RefusedProposal};
use crate::status::Status;
use commonware_runtime::{Blob, Storage, WriteOptions};
use futures::{StreamExt, channel::mpsc};
use spv::Hash;
use spv::finality::{DoubleVote, SignedVote};
use std::collections::BTreeMap;
use std::sync::Arc;
use zerocopy::IntoBytes;

/// Maximum number of stored pieces. One is enough to convict; the limit keeps liars from filling the disk.
const PIECES: usize = 1024;
/// Maximum number of leader votes stored per view: two are enough to convict.
const PROPOSALS: usize = 4;
/// Views for which proposals and refusals wait for each other. They arrive within a view of each other.
const VIEWS: usize = 64;
/// Queue length of findings. Further ones are dropped, so that the engine never waits.
pub(crate) const QUEUE: usize = 1024;

/// A finding for the keeper, with the replicas of its epoch.
pub(crate) enum Finding {
    /// Two votes that seem to contradict each other, with unchecked signatures.
    DoubleVote(DoubleVote, Arc<Committee>),
    /// A leader's vote for its block.
    Proposal(u32, SignedVote, Arc<Committee>),
    /// The application refused a block of this round.
    Refusal(Round, Block, String),
}

/// An epoch and a view of it.
type Round = (u64, u64);

/// Joins proposals with refusals, checks findings and stores those that hold.
pub(crate) struct Keeper<E> {
    pub(crate) context: E,
    pub(crate) application: Arc<dyn Application>,
    pub(crate) partition: String,
    pub(crate) network: Hash,
    pub(crate) longest_body: usize,
    pub(crate) status: Status,
}

impl<E: Storage> Keeper<E> {
    /// Runs until all senders of findings are gone.
    pub(crate) async fn run(mut self, mut findings: mpsc::Receiver<Finding>) {
        let mut proposals: BTreeMap<Round, Vec<(u32, SignedVote, Arc<Committee>)>> = BTreeMap::new();
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
                    let known = proposals.entry(round).or_default();
                    let of_replica = || known.iter().filter(|(of, ..)| *of == replica);
                    if of_replica().any(|(_, other, _)| other.vote == signed.vote) || known.len() >= PROPOSALS {
                        continue;
                    }
                    let other = of_replica().next().map(|(_, other, _)| *other);
                    known.push((replica, signed, committee.clone()));
                    // Two users of one key may have cast the votes, each in its own message or certificate.
                    if let (Some(first), Ok(replica)) = (other, u8::try_from(replica)) {
                        let double = DoubleVote { replica, first, second: signed };
                        self.keep(Evidence::DoubleVote(double), &committee, &mut pieces).await;
                    }
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

    /// Stores a piece of evidence if it holds, is new and fits the limit.
    async fn keep(&mut self, evidence: Evidence, committee: &Committee, pieces: &mut usize) {
        if *pieces >= PIECES || !evidence.holds(&self.network, committee) {
            return;
        }
        let bytes = evidence.encode();
        // The same votes in another order, or with another reason, are the same piece.
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
                tracing::warn!(replica = evidence.replica(), "a replica broke the protocol: kept the evidence");
                self.application.accused(&evidence);
            }
            Err(error) => tracing::error!(%error, "cannot keep evidence that a replica broke the protocol"),
        }
    }
}

/// Reads all intact pieces, in no particular order.
pub(crate) async fn read(context: &impl Storage, partition: &str, longest_body: usize) -> Vec<Evidence> {
    // The partition does not exist before the first piece.
    let names = context.scan(partition).await.unwrap_or_default();
    let mut pieces = Vec::new();
    for name in names {
        let Ok((blob, length)) = context.open(partition, &name).await else { continue };
        let Ok(bytes) = blob.read_at(0, length as usize, Default::default()).await else { continue };
        pieces.extend(Evidence::decode(bytes.coalesce().as_ref(), longest_body));
    }
    pieces
}
