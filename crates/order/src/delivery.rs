//! The bridge between engine and application: proposals, verdicts and final blocks.
//!
//! `known` is the height of the last block that the application has. Each request reads it once, so that the pending
//! blocks are consistent with one moment.
//!
//! - To propose on a parent: fetch its ancestors down to height `known + 1`, and pass parent and pending blocks to the
//!   application. Its payload makes the child. The proposal counts as seen at once, before the leader's own vote.
//! - To verify a block: fetch its ancestors likewise and ask the application. A refusal is logged and sent to the
//!   [keeper](crate::keeper) of evidence. If an ancestor cannot be fetched, never answer: the engine has moved on.
//! - On a final block of height h > 0: look up its certificate, wait for the application, publish h and the
//!   certificate, pass the block on if it ends an epoch, then acknowledge it. Genesis is acknowledged at once.
//! - After a restart: publish `known`, and the certificate of the newest block at or below it that has one, among the
//!   last 256 heights; or those of the floor, if it is higher.
//!
//! The watcher derives the replica's position from the engine's reports:
//!
//! | report | position | [pace](crate::pace) |
//! |---|---|---|
//! | `notarize` of a view's leader | | the leader proposed |
//! | `nullify` of any replica | | the view is contested |
//! | certificate of notarization, certified | the next view | the view is kept |
//! | certificate of finality | the next view | the view is kept, its block is final |
//! | certificate of `nullify` | the first view of the next term | the view is given up |
//!
//! Each report of two contradicting votes, and each vote of a leader for its block, also goes to the keeper. If its
//! queue is full, the report is dropped.
use crate::application::{Application, Final};
use crate::block::Block;
use crate::epoch::ends_epoch;
use crate::keeper::Finding;
use crate::pace::Pace;
use crate::scheme::{Bip340, Signature, Votes};
use crate::status::Status;
use commonware_actor::Feedback;
use commonware_codec::{DecodeExt, Encode, ReadExt};
use commonware_consensus::marshal::{Update, ancestry::Ancestry, core::Mailbox, standard::Standard};
use commonware_consensus::simplex::elector::{Elector as _, RoundRobinElector};
use commonware_consensus::simplex::types::{
    Activity, Attributable, Context, Finalization, Finalize, Notarization, Notarize, Nullify, Proposal, Subject,
};
use commonware_consensus::types::{Epoch, Height, Round, TermLength, View};
use commonware_consensus::{Reporter, Viewable};
use commonware_cryptography::certificate::Attestation;
use commonware_cryptography::{Digested, ed25519::PublicKey, sha256::Digest};
use commonware_utils::{Acknowledgement, acknowledgement::Exact};
use futures::{StreamExt, channel::mpsc};
use spv::Seal;
use spv::finality::{Certificate, DoubleVote, SignedVote};
use std::num::NonZeroU64;
use std::sync::Arc;

/// Limit of consecutive final blocks without their own certificate. The search for the next certificate stops here.
const WITHOUT_CERTIFICATE: usize = 256;

/// Answers the engine's requests to propose and verify by asking the application.
#[derive(Clone)]
pub(crate) struct Judge {
    pub(crate) application: Arc<dyn Application>,
    pub(crate) status: Status,
    pub(crate) pace: Pace,
    pub(crate) findings: mpsc::Sender<Finding>,
}

/// Returns the newest block and its ancestors above height `known`, newest first.
async fn above(known: u64, mut ancestry: impl Ancestry<Block>) -> Option<(Block, Vec<Block>)> {
    let newest = ancestry.next().await?.inner().clone();
    let mut pending = Vec::new();
    let mut height = newest.height();
    while height > known + 1 {
        let block = ancestry.next().await?.inner().clone();
        height = block.height();
        pending.push(block);
    }
    Some((newest, pending))
}

impl<E: Send> commonware_consensus::Application<E> for Judge {
    type SigningScheme = Bip340;
    type Context = Context<Digest, PublicKey>;
    type Block = Block;
    type Input = ();

    async fn propose(
        &mut self,
        (_, context): (E, Self::Context),
        ancestry: impl Ancestry<Block>,
        (): (),
    ) -> Option<Digested<Block>> {
        // The application's height may grow meanwhile. Read it once, so that `pending` holds all blocks missing at one
        // moment.
        let known = self.status.height();
        let (parent, mut pending) = above(known, ancestry).await?;
        if parent.height() > known {
            pending.insert(0, parent.clone());
        }
        let block = parent.child(self.application.propose(parent.clone(), pending).await?);
        // Record the proposal before its vote: with a slow disk the vote may come too late.
        self.pace.proposed(numbers(context.round));
        let digest = Digest(block.hash());
        Some(Digested::precomputed(block, digest))
    }

    async fn verify(&mut self, (_, context): (E, Self::Context), ancestry: impl Ancestry<Block>) -> bool {
        let Some((block, pending)) = above(self.status.height(), ancestry).await else {
            // The engine has moved on without this block, so an ancestor cannot be fetched.
            return std::future::pending().await;
        };
        match self.application.verify(block.clone(), pending).await {
            Ok(()) => true,
            Err(refusal) => {
                tracing::warn!(height = block.height(), leader = %context.leader, %refusal, "refused a proposal");
                let finding = Finding::Refusal(numbers(context.round), block.clone(), refusal.0);
                // If the queue is full there is enough evidence.
                let _ = self.findings.try_send(finding);
                false
            }
        }
    }
}

/// The epoch and the view of a round.
fn numbers(round: Round) -> (u64, u64) {
    (round.epoch().get(), round.view().get())
}

/// Watches what the engine sees: views, votes and lies.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) scheme: Bip340,
    pub(crate) elector: RoundRobinElector<Bip340>,
    pub(crate) status: Status,
    pub(crate) pace: Pace,
    pub(crate) findings: mpsc::Sender<Finding>,
}

impl Watch {
    fn entered(&self, round: Round) {
        self.status.entered(round.epoch().get(), round.view().get(), self.elector.elect(round, ()).get());
        self.pace.entered(numbers(round));
    }

    /// The block of a view is certified or final: the next view begins.
    fn ended(&self, round: Round) {
        self.entered(Round::new(round.epoch(), round.view().next()));
    }

    fn signed(&self, subject: &Subject<'_, Digest>, attestation: &Attestation<Bip340>) -> Option<(u32, SignedVote)> {
        let signature = Seal(attestation.signature.get()?.0);
        Some((attestation.signer.get(), SignedVote { vote: self.scheme.vote(subject), signature }))
    }

    fn notarize(&self, notarize: &Notarize<Bip340, Digest>) -> Option<(u32, SignedVote)> {
        self.signed(&Subject::Notarize { proposal: &notarize.proposal }, &notarize.attestation)
    }

    fn finalize(&self, finalize: &Finalize<Bip340, Digest>) -> Option<(u32, SignedVote)> {
        self.signed(&Subject::Finalize { proposal: &finalize.proposal }, &finalize.attestation)
    }

    /// Returns the leader's vote from a certificate, if it is in there. If two processes share a key, a replica is
    /// connected to one of them and sees the other's proposals only in certificates.
    fn leaders_vote(&self, notarization: &Notarization<Bip340, Digest>) -> Option<Finding> {
        let leader = self.elector.elect(notarization.round(), ()).get();
        let (_, signature) = notarization.certificate.iter().find(|(replica, _)| *replica == leader)?;
        let vote = self.scheme.vote(&Subject::Notarize { proposal: &notarization.proposal });
        let signed = SignedVote { vote, signature: Seal(signature.0) };
        Some(Finding::Proposal(leader, signed, self.scheme.committee().clone()))
    }

    /// Converts an activity to a finding, if it is evidence.
    fn finding(&self, activity: &Activity<Bip340, Digest>) -> Option<Finding> {
        // The engine hides the two votes; they are encoded one after the other.
        let pair = match activity {
            Activity::Notarize(notarize) => {
                let (replica, signed) = self.notarize(notarize)?;
                let leader = self.elector.elect(notarize.proposal.round, ());
                return (leader == notarize.signer())
                    .then(|| Finding::Proposal(replica, signed, self.scheme.committee().clone()));
            }
            Activity::ConflictingNotarize(pair) => {
                let mut bytes = pair.encode();
                [self.notarize(&Notarize::read(&mut bytes).ok()?)?, self.notarize(&Notarize::decode(bytes).ok()?)?]
            }
            Activity::ConflictingFinalize(pair) => {
                let mut bytes = pair.encode();
                [self.finalize(&Finalize::read(&mut bytes).ok()?)?, self.finalize(&Finalize::decode(bytes).ok()?)?]
            }
            Activity::NullifyFinalize(pair) => {
                let mut bytes = pair.encode();
                let nullify = Nullify::<Bip340>::read(&mut bytes).ok()?;
                let nullify = self.signed(&Subject::Nullify { round: nullify.round }, &nullify.attestation)?;
                [nullify, self.finalize(&Finalize::decode(bytes).ok()?)?]
            }
            Activity::Notarization(notarization) | Activity::Certification(notarization) => {
                return self.leaders_vote(notarization);
            }
            Activity::Nullify(_) | Activity::Nullification(_) | Activity::Finalize(_) | Activity::Finalization(_) => {
                return None;
            }
        };
        let [(replica, first), (other, second)] = pair;
        let replica = u8::try_from(replica).ok().filter(|_| replica == other)?;
        Some(Finding::DoubleVote(DoubleVote { replica, first, second }, self.scheme.committee().clone()))
    }
}

impl Reporter for Watch {
    type Activity = Activity<Bip340, Digest>;

    fn report(&mut self, activity: Self::Activity) -> Feedback {
        if let Some(finding) = self.finding(&activity) {
            // If the queue is full there is enough evidence.
            let _ = self.findings.try_send(finding);
        }
        match &activity {
            Activity::Notarize(notarize) => {
                self.status.voted();
                let round = notarize.proposal.round;
                if self.elector.elect(round, ()) == notarize.signer() {
                    self.pace.proposed(numbers(round));
                }
            }
            Activity::Nullify(nullify) => {
                self.status.voted();
                self.pace.contested(numbers(nullify.round));
            }
            Activity::Finalize(_) => self.status.voted(),
            Activity::Certification(notarization) => {
                self.pace.certified(numbers(notarization.round()));
                self.ended(notarization.round());
            }
            Activity::Finalization(finalization) => {
                self.pace.finalized(numbers(finalization.round()));
                self.ended(finalization.round());
            }
            Activity::Nullification(nullification) => {
                self.status.abandoned();
                self.pace.given_up(numbers(nullification.round));
                let term: TermLength = self.elector.terms().length();
                self.entered(Round::new(nullification.round.epoch(), nullification.view().next_term_start(term)));
            }
            Activity::Notarization(_)
            | Activity::ConflictingNotarize(_)
            | Activity::ConflictingFinalize(_)
            | Activity::NullifyFinalize(_) => {}
        }
        Feedback::Ok
    }
}

/// Receives final blocks from the engine. Its length is bounded by the engine's limit of unacknowledged blocks.
#[derive(Clone)]
pub(crate) struct Inbox(pub(crate) mpsc::UnboundedSender<(Block, Exact)>);

impl Reporter for Inbox {
    type Activity = Update<Block>;

    fn report(&mut self, update: Update<Block>) -> Feedback {
        let Update::Block(block, taken) = update else { return Feedback::Ok };
        match self.0.unbounded_send((block.inner().clone(), taken)) {
            Ok(()) => Feedback::Ok,
            Err(_) => Feedback::Closed,
        }
    }
}

/// Delivers final blocks to the application one by one, and then passes the last block of each epoch to `ends`.
pub(crate) async fn deliver(
    mut inbox: mpsc::UnboundedReceiver<(Block, Exact)>,
    application: Arc<dyn Application>,
    marshal: Mailbox<Bip340, Standard<Block>>,
    status: Status,
    epoch: NonZeroU64,
    ends: mpsc::UnboundedSender<Block>,
) {
    while let Some((block, taken)) = inbox.next().await {
        let height = block.height();
        if height > 0 {
            let finalization = marshal.get_finalization(Height::new(height)).await;
            let certificate = finalization.and_then(|finalization| certificate(&block, &finalization));
            application.finalized(Final { block: block.clone(), certificate: certificate.clone() }).await;
            status.delivered(height);
            if let Some(certificate) = certificate {
                status.certified(certificate);
            }
            if ends_epoch(height, epoch) {
                // Fails only if the engine has ended.
                let _ = ends.unbounded_send(block);
            }
        }
        taken.acknowledge();
    }
}

/// Restores the status after a restart: the application's height and certificate, raised to the floor if any.
pub(crate) async fn resume(marshal: &Mailbox<Bip340, Standard<Block>>, status: &Status, floor: Option<&Certificate>) {
    let processed = marshal.get_processed().await.map_or(Height::zero(), |processed| processed.height());
    if let Some(floor) = floor.filter(|floor| floor.header.height.get() > processed.get()) {
        status.delivered(floor.header.height.get());
        return status.certified(floor.clone());
    }
    let mut height = processed;
    status.delivered(height.get());
    for _ in 0..WITHOUT_CERTIFICATE {
        if let Some(certificate) = certificate_of(marshal, height).await {
            return status.certified(certificate);
        }
        let Some(previous) = height.previous() else { return };
        height = previous;
    }
}

/// Returns the certificate of the block at a height, if the block is final, stored here and has one.
pub(crate) async fn certificate_of(marshal: &Mailbox<Bip340, Standard<Block>>, height: Height) -> Option<Certificate> {
    let finalization = marshal.get_finalization(height).await?;
    certificate(marshal.get_block(height).await?.inner(), &finalization)
}

/// The engine's finalization for a certificate.
pub(crate) fn finalization(certificate: &Certificate) -> Finalization<Bip340, Digest> {
    let round = Round::new(Epoch::new(certificate.epoch), View::new(certificate.view));
    let payload = Digest(certificate.header.hash());
    let proposal = Proposal { round, parent: View::new(certificate.parent_view), payload };
    let votes = certificate.signatures().map(|(replica, signature)| (replica, Signature(signature.0)));
    Finalization { proposal, certificate: Votes::new(votes) }
}

/// Converts a finalization to a certificate; `None` if it is for another block.
fn certificate(block: &Block, finalization: &Finalization<Bip340, Digest>) -> Option<Certificate> {
    let proposal = &finalization.proposal;
    if proposal.payload.0 != block.hash() {
        return None;
    }
    let (round, parent) = (proposal.round, proposal.parent.get());
    let votes = finalization.certificate.iter().map(|(replica, signature)| (replica, Seal(signature.0))).collect();
    Some(Certificate::new(*block.header(), round.epoch().get(), round.view().get(), parent, votes))
}
