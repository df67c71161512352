//! Epochs: each runs its own voting engine with its own set of replicas.
//!
//! With epochs of L blocks, epoch e consists of the heights e L to (e + 1) L - 1. Its last block is proposed again
//! until it is final. Then the engine ends, and the engine of the next epoch begins on that block. So the set changes
//! at a block that all replicas agree on, and no vote of one set counts in another.
//!
//! State: the epoch e and its running engine; the block that it begins on; the schemes of four recent epochs; for each
//! of the three voting channels, messages of epoch e + 1 that arrived early.
//!
//! 1. To begin e: remove the votes of epoch e - 2. Start an engine with the committee of e on the block that e begins
//!    on. Open the subchannel e of each voting channel, and pass it the early messages of e. Then prune final blocks
//!    and certificates below height e L - 1 - `keep`. Block e L - 1 always stays, because a restart begins on it again.
//! 2. On a message of epoch e + 1: hold it, up to 16 of a replica and 1,024 in all for each channel. Drop messages of
//!    all other epochs without an engine.
//! 3. On a message of any later epoch: its sender is ahead. If the first such message is older than `Timing::fetch`,
//!    request the last block of e from this sender, and restart that time. So a lagging replica passes through the
//!    epochs one by one, and checks each block against the set of its epoch.
//! 4. When the application has the last block of e: abort the engine, wait until its storage is closed, ask the
//!    application for the committee of e + 1, add its scheme, and begin e + 1 on that block.
//! 5. If the engine or the network ends, the replica ends.
//!
//! Only one engine runs at a time. Between 4 and 1 a crash leaves the votes of e and of e - 1: the restart continues
//! with epoch e, whose last block is delivered again, or with e + 1, and needs the votes of no earlier epoch.
use crate::application::Application;
use crate::block::Block;
use crate::committee::ReplicaKey;
use crate::delivery::{Judge, Watch};
use crate::keeper::Finding;
use crate::lane::Lane;
use crate::limits::{BLOCK_BUFFER, MAILBOX, VIEWS_KEPT, VOTE_BUFFER};
use crate::pace::Pace;
use crate::scaled_clock::WithScaledClock;
use crate::scheme::Bip340;
use crate::status::Status;
use crate::timing::Timing;
use crate::vote_files;
use commonware_consensus::Reporters;
use commonware_consensus::marshal::core::Mailbox;
use commonware_consensus::marshal::standard::{Inline, Standard};
use commonware_consensus::simplex::elector::{self, RoundRobin};
use commonware_consensus::simplex::{self, Floor, ForwardPolicy, SkipBudget, SkipPolicy};
use commonware_consensus::types::{Epoch, FixedEpocher, Height, TermLength, ViewDelta};
use commonware_cryptography::certificate::{Provider, Scoped};
use commonware_cryptography::{Sha256, ed25519::PublicKey, sha256::Digest};
use commonware_p2p::{Blocker, Sender};
use commonware_parallel::Sequential;
use commonware_runtime::buffer::paged::CacheRef;
use commonware_runtime::{Clock, Handle, Metrics, Spawner, Storage};
use commonware_utils::{NonZeroDuration, vec::NonEmptyVec};
use futures::channel::mpsc;
use futures::{FutureExt, StreamExt, select_biased};
use rand_core::CryptoRng;
use spv::Hash;
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Epochs whose certificates can be verified: the present one, and recent ones whose messages may still arrive.
const SCHEMES: usize = 4;

/// What the engine of an epoch begins on: the last block of the previous epoch, or a final block of its own.
pub(crate) type BeginsOn = Floor<Bip340, Digest>;

/// The signature schemes of recent epochs, each with that epoch's voters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schemes(Arc<Mutex<BTreeMap<u64, Arc<Bip340>>>>);

impl Schemes {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Bip340>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the scheme of the epoch that begins.
    pub(crate) fn add(&self, epoch: u64, scheme: Bip340) {
        let mut schemes = self.all();
        schemes.insert(epoch, Arc::new(scheme));
        while schemes.len() > SCHEMES {
            schemes.pop_first();
        }
    }
}

impl Provider for Schemes {
    type Scope = Epoch;
    type Scheme = Bip340;

    fn scoped(&self, epoch: Epoch) -> Option<Scoped<Bip340>> {
        self.all().get(&epoch.get()).cloned().map(Scoped::scheme)
    }
}

/// The state that the engines of all epochs share.
pub(crate) struct Epochs<E, S, B>
where
    S: Sender<PublicKey = PublicKey>,
{
    pub(crate) context: E,
    pub(crate) network: Hash,
    pub(crate) key: ReplicaKey,
    pub(crate) timing: Timing,
    pub(crate) term: NonZeroU32,
    pub(crate) length: NonZeroU64,
    pub(crate) keep: Option<u64>,
    pub(crate) partition: String,
    pub(crate) pages: CacheRef,
    pub(crate) application: Arc<dyn Application>,
    pub(crate) marshal: Mailbox<Bip340, Standard<Block>>,
    pub(crate) schemes: Schemes,
    pub(crate) status: Status,
    pub(crate) pace: Pace,
    pub(crate) findings: mpsc::Sender<Finding>,
    pub(crate) blocker: B,
    pub(crate) votes: Lane<S>,
    pub(crate) certificates: Lane<S>,
    pub(crate) missed: Lane<S>,
}

impl<E, S, B> Epochs<E, S, B>
where
    E: Clock + CryptoRng + Spawner + Storage + Metrics,
    S: Sender<PublicKey = PublicKey>,
    B: Blocker<PublicKey = PublicKey>,
{
    /// Runs an engine for each epoch, starting with `epoch` on `begins_on`. `ended` yields the last block of each epoch
    /// once the application has it.
    pub(crate) async fn run(
        mut self,
        mut epoch: u64,
        mut begins_on: BeginsOn,
        mut ended: mpsc::UnboundedReceiver<Block>,
    ) {
        loop {
            let Some(engine) = self.start(epoch, begins_on).await else { return };
            // Keep the block that the epoch begins on, so that a restart can begin on it again.
            let first = (epoch * self.length.get()).saturating_sub(1);
            if let Some(older) = self.keep.and_then(|keep| first.checked_sub(keep)) {
                self.marshal.prune(Height::new(older));
            }
            let Some(last) = self.until_ended(epoch, engine, &mut ended).await else { return };
            epoch += 1;
            begins_on = Floor::Genesis(Digest(last.hash()));
            let committee = self.application.committee(epoch);
            self.schemes.add(epoch, Bip340::new(self.network, committee.into(), &self.key));
        }
    }

    /// Waits until the application has the last block of an epoch, then stops the engine. `None` if the engine ended
    /// before.
    async fn until_ended(
        &mut self,
        epoch: u64,
        mut engine: Handle<()>,
        ended: &mut mpsc::UnboundedReceiver<Block>,
    ) -> Option<Block> {
        let last = Height::new((epoch + 1) * self.length.get() - 1);
        let mut behind: Option<SystemTime> = None;
        let block = loop {
            let from = select_biased! {
                block = ended.next() => match block? {
                    block if block.height() == last.get() => break block,
                    // A floor at the end of the previous epoch is delivered as well.
                    _ => continue,
                },
                _ = (&mut engine).fuse() => return None,
                from = self.votes.ahead(epoch).fuse() => from?,
                from = self.certificates.ahead(epoch).fuse() => from?,
            };
            // A replica in a later epoch has the blocks missing here. Usually they are already on their way.
            let now = self.context.current();
            let since = *behind.get_or_insert(now);
            if now.duration_since(since).is_ok_and(|passed| passed > self.timing.fetch) {
                self.marshal.hint_finalized(last, NonEmptyVec::new(from));
                behind = None;
            }
        };
        engine.abort();
        // Wait, so that its storage is closed.
        let _ = engine.await;
        Some(block)
    }

    /// Starts the engine of an epoch.
    async fn start(&mut self, epoch: u64, begins_on: BeginsOn) -> Option<Handle<()>> {
        let scheme = self.schemes.all().get(&epoch).cloned().expect("who votes is learnt before");
        let scheme = Bip340::clone(&scheme);
        // Keep the votes of an epoch until no restart can return to it.
        if let Some(over) = epoch.checked_sub(2) {
            let partition = vote_files::folder(&self.partition, over);
            // There are none if this replica was offline.
            let _ = self.context.remove(&partition, None).await;
        }
        let context = self.context.child("epoch").with_attribute("epoch", epoch);
        let elector = match self.term.get() {
            1 => RoundRobin::<Sha256>::default(),
            _ => RoundRobin::default().with_term(TermLength::new(self.term), self.timing.silence, ViewDelta::zero()),
        };
        let judge = Judge {
            application: self.application.clone(),
            status: self.status.clone(),
            pace: self.pace.clone(),
            findings: self.findings.clone(),
        };
        let epocher = FixedEpocher::new(self.length);
        let judge = Inline::new(context.child("judge"), judge, self.marshal.clone(), epocher);
        let watch = Watch {
            scheme: scheme.clone(),
            elector: elector::Config::<Bip340>::build(elector.clone(), scheme.committee().identities()),
            status: self.status.clone(),
            pace: self.pace.clone(),
            findings: self.findings.clone(),
        };
        let timing = &self.timing;
        let engine = simplex::Engine::new(
            WithScaledClock::new(context.child("simplex"), self.pace.clone()),
            simplex::Config {
                scheme,
                elector,
                blocker: self.blocker.clone(),
                automaton: judge.clone(),
                relay: judge.clone(),
                reporter: Reporters::from((judge, watch)),
                // Late votes may contradict earlier ones, which is evidence.
                track_historical_votes: true,
                strategy: Sequential,
                partition: vote_files::folder(&self.partition, epoch),
                mailbox_size: MAILBOX,
                epoch: Epoch::new(epoch),
                floor: begins_on,
                replay_buffer: BLOCK_BUFFER,
                write_buffer: VOTE_BUFFER,
                page_cache: self.pages.clone(),
                leader_timeout: timing.leader,
                certification_timeout: timing.certification,
                timeout_retry: timing.retry,
                view_retention: ViewDelta::new(VIEWS_KEPT),
                skip: SkipPolicy::Enabled { timeout: timing.silence, budget: SkipBudget::Participants },
                fetch_timeout: NonZeroDuration::new_panic(timing.fetch),
                fetch_retry_delay: timing.fetch / 4,
                forward: ForwardPolicy::SilentVoters,
            },
        );
        let votes = self.votes.open(epoch).await?;
        let certificates = self.certificates.open(epoch).await?;
        let missed = self.missed.open(epoch).await?;
        Some(engine.start(votes, certificates, missed))
    }
}
