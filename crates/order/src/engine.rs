//! A replica: simplex and its marshal, put together.
use crate::application::Application;
use crate::block::Block;
use crate::committee::{Committee, ReplicaKey};
use crate::delivery::{Inbox, certificate_of, deliver, finalization, resume};
use crate::epoch::epoch_of;
use crate::epochs::{BeginsOn, Epochs, Schemes};
use crate::evidence::Evidence;
use crate::keeper::{self, Keeper};
use crate::lane::Lane;
use crate::limits::{BLOCK_BUFFER, MAILBOX, VIEWS_KEPT, VOTE_BUFFER};
use crate::pace::Pace;
use crate::rest::Rest;
use crate::scheme::Bip340;
use crate::status::Status;
use crate::timing::Timing;
use commonware_broadcast::buffered;
use commonware_consensus::marshal::standard::Standard;
use commonware_consensus::marshal::{self, core::Actor, core::Mailbox, resolver::p2p as backfill};
use commonware_consensus::simplex::{self, types::Finalization};
use commonware_consensus::types::{FixedEpocher, Height, ViewDelta};
use commonware_cryptography::certificate::Verifier as _;
use commonware_cryptography::{Digested, Digestible as _, ed25519::PublicKey, sha256::Digest};
use commonware_p2p::utils::mux::prefixed;
use commonware_p2p::{Blocker, Provider, Receiver, Sender};
use commonware_parallel::Sequential;
use commonware_runtime::buffer::paged::CacheRef;
use commonware_runtime::{Clock, Handle, Metrics, Spawner, Storage};
use commonware_storage::{archive::prunable, translator::EightCap};
use commonware_utils::{NZU16, NZU64, NZUsize, NonZeroDuration};
use futures::channel::mpsc;
use rand_core::CryptoRng;
use spv::Hash;
use spv::finality::{Certificate, MAX_REPLICAS};
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use thiserror::Error;

/// The longest body that may be configured: a block and its certificate have to fit one message of 32 bits of length.
pub const BODY_LIMIT: usize = 64 << 20;
/// Blocks that are final and with the application at once.
const WITH_APPLICATION: NonZeroUsize = NZUsize!(16);
/// Blocks that are fetched at once by a replica that lags.
const FETCHED: NonZeroUsize = NZUsize!(32);
/// Blocks of a replica that wait for their turn. A leader sends one a view; a few more are forwarded.
const BLOCKS_OF_A_REPLICA: usize = 16;
/// Blocks in a file of what is not final yet.
const SECTION: NonZeroU64 = NZU64!(4096);
/// Pages of the cache, in bytes, with the twelve of their checksum a divisor of the disk's.
const PAGE: std::num::NonZeroU16 = NZU16!(4084);
/// Pages of the cache: 4 MiB.
const PAGES: NonZeroUsize = NZUsize!(1024);

/// Numbers of the network's channels.
pub mod channel {
    /// Votes of single replicas.
    pub const VOTES: u64 = 0;
    /// Certificates.
    pub const CERTIFICATES: u64 = 1;
    /// Requests for certificates, and answers.
    pub const MISSED: u64 = 2;
    /// Blocks of leaders.
    pub const BLOCKS: u64 = 3;
    /// Requests for blocks, and answers.
    pub const BACKFILL: u64 = 4;
    /// Messages between applications.
    pub const MESSAGES: u64 = 5;
}

/// What a replica is to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// The network's id: no vote counts in another one.
    pub network: Hash,
    /// The replicas of the first epoch, for what all blocks stand on. [`Application::committee`] tells those of each epoch.
    pub founders: Committee,
    /// The replica's own key.
    pub key: ReplicaKey,
    /// How long it waits.
    pub timing: Timing,
    /// Views that one leader leads in a row, the same on all replicas. More than one spares clients a change of leaders with
    /// each block; a leader that fails loses the rest of its views at once.
    pub term: NonZeroU32,
    /// Blocks of an epoch, at least 2, the same on all replicas for ever. The set of replicas changes between two epochs only, and
    /// each begins with some disk writes; what it takes to end one for a change of the set is as many empty blocks at most.
    pub epoch: NonZeroU64,
    /// Blocks behind the present epoch that are kept for replicas that lag or join, and their certificates; none is given free
    /// where it is not told. Local: replicas may differ.
    pub keep: Option<u64>,
    /// The newest block of which the application was given what it and all before it came to, instead of the blocks: the engine
    /// begins on it. The same at each start, until there is a newer one.
    pub floor: Option<Certificate>,
    /// The longest body in bytes, the same on all replicas, and never less than before.
    pub longest_body: usize,
    /// The first part of the names of what it stores.
    pub partition: String,
}

impl Config {
    fn check(&self) -> Result<(), StartError> {
        if self.longest_body > BODY_LIMIT {
            return Err(StartError::Body(self.longest_body));
        }
        if !self.timing.is_sound() {
            return Err(StartError::Timing);
        }
        if self.epoch.get() < 2 {
            return Err(StartError::Epoch(self.epoch));
        }
        Ok(())
    }
}

/// A sender and a receiver for each [`channel`].
pub struct Channels<S, R> {
    /// [`channel::VOTES`].
    pub votes: (S, R),
    /// [`channel::CERTIFICATES`].
    pub certificates: (S, R),
    /// [`channel::MISSED`].
    pub missed: (S, R),
    /// [`channel::BLOCKS`].
    pub blocks: (S, R),
    /// [`channel::BACKFILL`].
    pub backfill: (S, R),
}

/// Why a replica cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Epochs are too short.
    #[error("an epoch of {0} block is too short: set at least 2")]
    Epoch(NonZeroU64),
    /// The limit of bodies is too high.
    #[error("a body limit of {0} bytes is too large: set at most {BODY_LIMIT}")]
    Body(usize),
    /// Times that make no sense together.
    #[error(
        "the timeout for a leader must be shorter than for votes, and both, and the repeat interval, than the silence"
    )]
    Timing,
    /// The block that the epoch begins on is not stored.
    #[error("the block before epoch {epoch} is missing: restore the replica's whole directory")]
    Anchor {
        /// The epoch.
        epoch: u64,
    },
    /// What is stored cannot be opened.
    #[error("cannot open the store of final blocks: {0}")]
    Store(#[from] commonware_storage::archive::Error),
}

/// The length of the longest message that replicas send, however many they become, for the network's configuration.
pub fn message_limit(longest_body: usize) -> u32 {
    let replicas = MAX_REPLICAS as u32;
    let blocks = marshal::max_payload_size::<Standard<Block>, Bip340>(replicas, &longest_body);
    let votes = prefixed(simplex::max_payload_size::<Bip340, Digest>(replicas));
    commonware_p2p::max_message_size(&[blocks, votes])
}

/// A replica that runs. Clones are of the same one.
#[derive(Clone)]
pub struct Replica {
    status: Status,
    marshal: Mailbox<Bip340, Standard<Block>>,
}

impl Replica {
    /// Starts a replica on a runtime and a network: `peers` tells whom the network connects to, `blocker` cuts off who lies.
    /// It goes on where it was when it ended. It ends when the runtime stops, or `context`'s task is aborted; the handle that
    /// is returned tells when the engine has ended.
    pub async fn start<E, S, R, P, B>(
        context: E,
        config: Config,
        application: Arc<dyn Application>,
        channels: Channels<S, R>,
        peers: P,
        blocker: B,
    ) -> Result<(Self, Handle<()>), StartError>
    where
        E: Clock + CryptoRng + Spawner + Storage + Metrics,
        S: Sender<PublicKey = PublicKey>,
        R: Receiver<PublicKey = PublicKey>,
        P: Provider<PublicKey = PublicKey>,
        B: Blocker<PublicKey = PublicKey>,
    {
        config.check()?;
        let Config { network, founders, key, timing, term, epoch: length, keep, floor, longest_body, partition } =
            config;
        let me = key.name().identity().clone();
        let genesis = Block::genesis(network, founders.replicas().hash());
        let name = Digest(genesis.hash());
        let pages = CacheRef::new(PAGE, PAGES);
        let status = Status::default();

        // What is final: stored by height, given to the application in order, fetched from others where it is missing.
        let schemes = Schemes::default();
        let archive = |name: &str, codec_config| prunable_config(&partition, name, codec_config, pages.clone(), length);
        let certificates: prunable::Archive<_, _, _, Finalization<Bip340, Digest>> = prunable::Archive::init(
            context.child("certificates"),
            archive("certificates", Bip340::certificate_codec_config_unbounded()),
        )
        .await?;
        let blocks: prunable::Archive<_, _, _, Arc<Block>> =
            prunable::Archive::init(context.child("blocks"), archive("blocks", longest_body)).await?;
        let start = match &floor {
            Some(floor) => marshal::Start::Floor(finalization(floor)),
            None => marshal::Start::Genesis(Digested::precomputed(genesis, name)),
        };
        let marshal_config = marshal_config(&partition, start, schemes.clone(), length, longest_body, pages.clone());
        let (actor, marshal, stored) =
            Actor::init(context.child("marshal"), certificates, blocks, marshal_config).await;
        // The epoch goes on, or begins, behind the last block that the application has for sure.
        let processed = stored.processed().map_or(0, |processed| processed.height().get());
        let processed = floor.as_ref().map_or(processed, |floor| floor.header.height.get().max(processed));
        let epoch = epoch_of(processed + 1, length);
        // Blocks of the epoch before may come again, with certificates of those who voted then.
        for epoch in epoch.saturating_sub(1)..=epoch {
            schemes.add(epoch, Bip340::new(network, application.committee(epoch).into(), &key));
        }
        let fetch_timeout = NonZeroDuration::new_panic(timing.fetch);
        let resolver = backfill::init(
            context.child("backfill"),
            backfill::Config {
                public_key: me.clone(),
                peer_provider: peers.clone(),
                blocker: blocker.clone(),
                mailbox_size: MAILBOX,
                fetch_timeout,
                fetch_retry_delay: timing.fetch / 4,
                priority_requests: false,
                priority_responses: false,
            },
            channels.backfill,
        );
        let (broadcast, buffer) = buffered::Engine::new(
            context.child("broadcast"),
            buffered::Config {
                public_key: me,
                mailbox_size: MAILBOX,
                deque_size: BLOCKS_OF_A_REPLICA,
                priority: false,
                codec_config: longest_body,
                peer_provider: peers,
                strategy: Sequential,
            },
        );
        broadcast.start(channels.blocks);
        let (sender, inbox) = mpsc::unbounded();
        actor.start(Inbox(sender), buffer, resolver);
        // The judge is not to take what the application has for pending.
        resume(&marshal, &status, floor.as_ref()).await;
        let last = Height::new((epoch * length.get()).saturating_sub(1));
        let stored = marshal.get_block(last).await.map(|block| BeginsOn::Genesis(block.digest()));
        let begins_on = stored.or_else(|| floor.and_then(|floor| begins_on(&floor, epoch, last)));
        let begins_on = begins_on.ok_or(StartError::Anchor { epoch })?;
        let (ends, ended) = mpsc::unbounded();
        let deliveries = deliver(inbox, application.clone(), marshal.clone(), status.clone(), length, ends);
        context.child("delivery").spawn(|_| deliveries);

        // Who lies.
        let (findings, found) = mpsc::channel(keeper::QUEUE);
        let partition_of_evidence = evidence_partition(&partition);
        let keeper = {
            let (application, status) = (application.clone(), status.clone());
            move |context| Keeper {
                context,
                application,
                partition: partition_of_evidence,
                network,
                longest_body,
                status,
            }
        };
        context.child("evidence").spawn(move |context| keeper(context).run(found));

        // The votes.
        let rest = Rest::new(application.clone());
        let pace = Pace::new(timing.leader, timing.longest, status.clone()).with_rest(rest);
        let epochs = Epochs {
            network,
            key,
            timing,
            term,
            length,
            keep,
            partition,
            pages,
            application,
            marshal: marshal.clone(),
            schemes,
            status: status.clone(),
            pace,
            findings,
            blocker,
            votes: Lane::new(context.child("votes"), channels.votes),
            certificates: Lane::new(context.child("certified"), channels.certificates),
            missed: Lane::new(context.child("missed"), channels.missed),
            context: context.child("epochs"),
        };
        let handle = context.child("votes_of_epochs").spawn(move |_| epochs.run(epoch, begins_on, ended));
        Ok((Self { status, marshal }, handle))
    }

    /// How it fares.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// The block of a height, if it is final and here.
    pub async fn block(&self, height: u64) -> Option<Block> {
        self.marshal.get_block(Height::new(height)).await.map(|block| block.inner().clone())
    }

    /// The certificate of the block of a height, if it is final, here, and has one of its own.
    pub async fn certificate(&self, height: u64) -> Option<Certificate> {
        certificate_of(&self.marshal, Height::new(height)).await
    }

    /// The evidence that a replica stored, in no order. The partition is that of its [`Config`].
    pub async fn evidence(context: &impl Storage, partition: &str, longest_body: usize) -> Vec<Evidence> {
        keeper::read(context, &evidence_partition(partition), longest_body).await
    }
}

/// How what is final is kept.
fn marshal_config(
    partition: &str,
    start: marshal::Start<Bip340, Digest, Digested<Block>>,
    schemes: Schemes,
    epoch: NonZeroU64,
    longest_body: usize,
    pages: CacheRef,
) -> marshal::Config<Schemes, FixedEpocher, Sequential, Block, Digested<Block>> {
    marshal::Config {
        provider: schemes,
        epocher: FixedEpocher::new(epoch),
        start,
        partition_prefix: format!("{partition}-marshal"),
        mailbox_size: MAILBOX,
        view_retention: ViewDelta::new(VIEWS_KEPT),
        prunable_items_per_section: SECTION,
        page_cache: pages,
        replay_buffer: BLOCK_BUFFER,
        key_write_buffer: VOTE_BUFFER,
        value_write_buffer: BLOCK_BUFFER,
        block_codec_config: longest_body,
        max_repair: FETCHED,
        max_pending_acks: WITH_APPLICATION,
        strategy: Sequential,
    }
}

/// What an epoch begins on that has a floor, or is behind one that is the `last` block before it.
fn begins_on(floor: &Certificate, epoch: u64, last: Height) -> Option<BeginsOn> {
    let height = floor.header.height.get();
    match floor.epoch {
        of_floor if of_floor == epoch => Some(BeginsOn::Finalized(finalization(floor))),
        _ if height == last.get() => Some(BeginsOn::Genesis(Digest(floor.header.hash()))),
        _ => None,
    }
}

fn evidence_partition(partition: &str) -> String {
    format!("{partition}-evidence")
}

/// Archives have a file for each epoch, so that old ones can be given free.
fn prunable_config<C>(
    partition: &str,
    name: &str,
    codec_config: C,
    pages: CacheRef,
    section: NonZeroU64,
) -> prunable::Config<EightCap, C> {
    prunable::Config {
        translator: EightCap,
        metadata_partition: format!("{partition}-{name}-metadata"),
        key_partition: format!("{partition}-{name}-keys"),
        key_page_cache: pages,
        value_partition: format!("{partition}-{name}-values"),
        compression: None,
        codec_config,
        items_per_section: section,
        key_write_buffer: VOTE_BUFFER,
        value_write_buffer: BLOCK_BUFFER,
        replay_buffer: BLOCK_BUFFER,
    }
}
