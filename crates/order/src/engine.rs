//! A replica: simplex, its marshal and the application, connected.
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

/// Maximum configurable body length in bytes: a block and its certificate must fit a message with a 32-bit length.
pub const BODY_LIMIT: usize = 64 << 20;
/// Maximum number of final blocks that the application has not acknowledged yet.
const WITH_APPLICATION: NonZeroUsize = NZUsize!(16);
/// Blocks that a lagging replica fetches at once.
const FETCHED: NonZeroUsize = NZUsize!(32);
/// Blocks of one replica that wait to be processed. A leader sends one per view; a few more are forwarded.
const BLOCKS_OF_A_REPLICA: usize = 16;
/// Blocks per file of the store of blocks that are not final yet.
const SECTION: NonZeroU64 = NZU64!(4096);
/// Page size of the cache in bytes: with its twelve bytes of checksum it divides the disk's page size.
pub(crate) const PAGE: std::num::NonZeroU16 = NZU16!(4084);
/// Pages in the cache: 4 MiB.
const PAGES: NonZeroUsize = NZUsize!(1024);

/// Numbers of the network channels.
pub mod channel {
    /// Votes of single replicas.
    pub const VOTES: u64 = 0;
    /// Certificates.
    pub const CERTIFICATES: u64 = 1;
    /// Requests for missing certificates, and replies.
    pub const MISSED: u64 = 2;
    /// Blocks of leaders.
    pub const BLOCKS: u64 = 3;
    /// Requests for missing blocks, and replies.
    pub const BACKFILL: u64 = 4;
    /// Messages between applications.
    pub const MESSAGES: u64 = 5;
}

/// Configuration of a replica.
#[derive(Clone, Debug)]
pub struct Config {
    /// The network's id. A vote is valid in one network only.
    pub network: Hash,
    /// The replicas of the first epoch, which the genesis block names. [`Application::committee`] returns those of each
    /// epoch.
    pub founders: Committee,
    /// The replica's own key.
    pub key: ReplicaKey,
    /// Timeouts.
    pub timing: Timing,
    /// Consecutive views of one leader, the same on all replicas. With more than one, clients see fewer changes of
    /// leader; a leader that fails loses the rest of its views at once.
    pub term: NonZeroU32,
    /// Blocks per epoch, at least 2. It must be the same on all replicas and never change. The set of replicas changes
    /// only between epochs. Each epoch starts with a few disk writes, and ending one early for a change of the set
    /// takes at most this number of empty blocks.
    pub epoch: NonZeroU64,
    /// Blocks before the present epoch to keep, with their certificates, for replicas that lag or join. `None` keeps
    /// all. Local: replicas may differ.
    pub keep: Option<u64>,
    /// Certificate of the newest block whose resulting state the application received as a snapshot. The engine begins
    /// on this block. Pass the same one at each start until there is a newer one.
    pub floor: Option<Certificate>,
    /// Maximum body length in bytes: the same on all replicas, and never lowered.
    pub longest_body: usize,
    /// Prefix of the names of its storage partitions.
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
    /// The body limit is too high.
    #[error("a body limit of {0} bytes is too large: set at most {BODY_LIMIT}")]
    Body(usize),
    /// The timeouts are inconsistent.
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
    /// The store cannot be opened.
    #[error("cannot open the store of final blocks: {0}")]
    Store(#[from] commonware_storage::archive::Error),
}

/// Maximum length in bytes of a message between replicas, for any number of them. Used to configure the network.
pub fn message_limit(longest_body: usize) -> u32 {
    let replicas = MAX_REPLICAS as u32;
    let blocks = marshal::max_payload_size::<Standard<Block>, Bip340>(replicas, &longest_body);
    let votes = prefixed(simplex::max_payload_size::<Bip340, Digest>(replicas));
    commonware_p2p::max_message_size(&[blocks, votes])
}

/// A running replica. Clones refer to the same one.
#[derive(Clone)]
pub struct Replica {
    status: Status,
    marshal: Mailbox<Bip340, Standard<Block>>,
}

impl Replica {
    /// Starts a replica on a runtime and a network. `peers` provides the peers of the network; `blocker` disconnects
    /// replicas that lie.
    ///
    /// The replica continues where it stopped. It ends when the runtime stops or the task of `context` is aborted; the
    /// returned handle resolves when the engine has ended.
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

        // The marshal stores final blocks by height, delivers them to the application in order and fetches missing
        // ones.
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
        // The epoch continues, or begins, after the last block that the application has durably.
        let processed = stored.processed().map_or(0, |processed| processed.height().get());
        let processed = floor.as_ref().map_or(processed, |floor| floor.header.height.get().max(processed));
        let epoch = epoch_of(processed + 1, length);
        // Blocks of the previous epoch may be delivered again, with certificates of that epoch's replicas.
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
        // Set the height first: the judge must not treat blocks that the application already has as pending.
        resume(&marshal, &status, floor.as_ref()).await;
        let last = Height::new((epoch * length.get()).saturating_sub(1));
        let stored = marshal.get_block(last).await.map(|block| BeginsOn::Genesis(block.digest()));
        let begins_on = stored.or_else(|| floor.and_then(|floor| begins_on(&floor, epoch, last)));
        let begins_on = begins_on.ok_or(StartError::Anchor { epoch })?;
        let (ends, ended) = mpsc::unbounded();
        let deliveries = deliver(inbox, application.clone(), marshal.clone(), status.clone(), length, ends);
        context.child("delivery").spawn(|_| deliveries);

        // Evidence of replicas that lie.
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

        // Votes.
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

    /// Returns the replica's live status.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Returns the block at a height, if it is final and stored here.
    pub async fn block(&self, height: u64) -> Option<Block> {
        self.marshal.get_block(Height::new(height)).await.map(|block| block.inner().clone())
    }

    /// Returns the certificate of the block at a height, if the block is final, stored here and has one.
    pub async fn certificate(&self, height: u64) -> Option<Certificate> {
        certificate_of(&self.marshal, Height::new(height)).await
    }

    /// Reads the evidence that a replica stored, in no particular order. `partition` is that of its [`Config`].
    pub async fn evidence(context: &impl Storage, partition: &str, longest_body: usize) -> Vec<Evidence> {
        keeper::read(context, &evidence_partition(partition), longest_body).await
    }
}

/// Configures the marshal, which stores and delivers final blocks.
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

/// What an epoch begins on, given a floor in this epoch or a floor at `last`, the last block before the epoch.
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

/// The archives use one file per epoch, so that old epochs can be pruned.
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
