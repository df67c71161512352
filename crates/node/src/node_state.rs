//! State shared by the threads of a node: counters and flags.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::Instant,
};

use chain::own::{DamagedBlock, OwnReader};
use ledger::{
    Ledger,
    builder::{BlockBuilder, Observer},
    journal::{Log, Submitter},
};
use nic::{Costs, Counters, Histogram, Subscriber, rtl::RtlCounters};
use proof::Cache;
use xdp::{Counter, Gauge, InNicLedger, Program, State};

use crate::{
    config, disk::Disk, feeds::FeedCounters, follow::FollowStatus, follower, replica::order_status::OrderStatus,
    retries::RetryFigures,
};

/// State of a node. All figures are counters or gauges that one thread writes and any thread reads.
#[derive(Debug)]
pub struct NodeState {
    /// What the data path counts.
    pub counters: Arc<Counters>,
    /// What work costs.
    pub costs: Arc<Costs>,
    /// What the feeds count.
    pub feeds: Arc<FeedCounters>,
    /// The journal, for how far it is durable.
    pub log: Arc<Log>,
    /// The cache of proofs, if there is one.
    pub cache: Option<Arc<Cache>>,
    /// When the node was started.
    pub started: Instant,
    /// Number of accounts.
    pub accounts: AtomicU64,
    /// Number of frozen accounts.
    pub frozen: AtomicU64,
    /// Number of accounts of other assets than 0.
    pub of_assets: AtomicU64,
    /// Number of open holds.
    pub holds: AtomicU64,
    /// Number of accounts that the table holds.
    pub accounts_limit: u64,
    /// Number of accounts from which on only trusted senders open others.
    pub accounts_unreserved: u64,
    /// The least that an account pays for opening another.
    pub deposit: u64,
    /// The fill of the memory of retries.
    pub retries: RetryFigures,
    /// Operations that were executed and journalled, since the start.
    pub executed: AtomicU64,
    /// Time to write and sync batches of the journal; on a replica, whole blocks.
    pub sync: Histogram,
    /// Height of the own tip.
    pub height: AtomicU64,
    /// Height of the last block that states the index root: balance proofs are as of it.
    pub index_height: AtomicU64,
    /// Height of the first retained block; 0 if no block is pruned.
    pub first_retained: AtomicU64,
    /// Transactions in all blocks.
    pub settled: AtomicU64,
    /// Last operation that the block builder has looked at.
    pub built: AtomicU64,
    /// There are transactions in a block that is not closed yet.
    pub open: AtomicBool,
    /// Signatures that were checked.
    pub verified: AtomicU64,
    /// Messages of verify frames that were answered.
    pub verifications: AtomicU64,
    /// The journal failed: operations not durable by then never will be.
    pub storage_failed: AtomicBool,
    /// The block builder has stopped because of an error.
    pub builder_failed: AtomicBool,
    /// The reason is that sealing fails.
    pub sealer_failed: AtomicBool,
    /// The socket failed: the node serves nothing.
    pub io_failed: AtomicBool,
    /// The NIC tier's state, program and socket gauges, if any.
    tier: OnceLock<(State, Arc<Program>, Vec<Gauge>)>,
    /// The journal of a node alone.
    journal: OnceLock<Submitter>,
    /// The data directory.
    data: OnceLock<PathBuf>,
    rtl: OnceLock<Arc<RtlCounters>>,
    in_nic: OnceLock<Arc<Mutex<InNicLedger>>>,
    kv: OnceLock<Arc<kv::service::Service>>,
    electrum: OnceLock<Arc<electrum::Service>>,
    following: OnceLock<Arc<follower::FollowerStatus>>,
    followed: OnceLock<Arc<FollowStatus>>,
    order: OnceLock<OrderStatus>,
    chain: OnceLock<OwnReader>,
    subscriber: OnceLock<Subscriber>,
}

impl NodeState {
    /// Figures of a node that starts.
    pub(crate) fn new(
        counters: Arc<Counters>,
        log: Arc<Log>,
        cache: Option<Arc<Cache>>,
        ledger: &config::Ledger,
    ) -> Self {
        Self {
            counters,
            costs: Arc::default(),
            feeds: Arc::default(),
            log,
            cache,
            started: Instant::now(),
            accounts: AtomicU64::new(0),
            frozen: AtomicU64::new(0),
            of_assets: AtomicU64::new(0),
            holds: AtomicU64::new(0),
            accounts_limit: ledger.accounts,
            accounts_unreserved: ledger.unreserved(),
            deposit: ledger.deposit,
            retries: RetryFigures::default(),
            executed: AtomicU64::new(0),
            sync: Histogram::default(),
            height: AtomicU64::new(0),
            index_height: AtomicU64::new(0),
            first_retained: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            built: AtomicU64::new(0),
            open: AtomicBool::new(false),
            verified: AtomicU64::new(0),
            verifications: AtomicU64::new(0),
            storage_failed: AtomicBool::new(false),
            builder_failed: AtomicBool::new(false),
            sealer_failed: AtomicBool::new(false),
            io_failed: AtomicBool::new(false),
            tier: OnceLock::new(),
            journal: OnceLock::new(),
            data: OnceLock::new(),
            rtl: OnceLock::new(),
            in_nic: OnceLock::new(),
            kv: OnceLock::new(),
            electrum: OnceLock::new(),
            following: OnceLock::new(),
            followed: OnceLock::new(),
            order: OnceLock::new(),
            chain: OnceLock::new(),
            subscriber: OnceLock::new(),
        }
    }

    pub(crate) fn set_data(&self, path: &Path) {
        // A node has one.
        let _ = self.data.set(path.to_owned());
    }

    /// The room of the data directory's file system.
    pub fn disk(&self) -> Option<Disk> {
        Disk::from_path(self.data.get()?).ok()
    }

    /// The damage that was found in blocks since the start.
    pub fn damage(&self) -> Vec<DamagedBlock> {
        self.chain.get().map(OwnReader::damage).unwrap_or_default()
    }

    pub(crate) fn set_chain(&self, reader: OwnReader) {
        // A node has one.
        let _ = self.chain.set(reader);
    }

    /// The in-NIC ledger, if there is one.
    pub(crate) fn in_nic(&self) -> Option<MutexGuard<'_, InNicLedger>> {
        Some(lock(self.in_nic.get()?))
    }

    pub(crate) fn set_in_nic(&self, ledger: Arc<Mutex<InNicLedger>>) {
        // A service has one.
        let _ = self.in_nic.set(ledger);
    }

    /// Passes connections to the thread of feeds, if the node serves feeds.
    pub(crate) fn subscriber(&self) -> Option<&Subscriber> {
        self.subscriber.get()
    }

    pub(crate) fn set_subscriber(&self, subscriber: Subscriber) {
        // A node has one thread of feeds.
        let _ = self.subscriber.set(subscriber);
    }

    /// The key-value store, if there is one.
    pub(crate) fn kv(&self) -> Option<&Arc<kv::service::Service>> {
        self.kv.get()
    }

    pub(crate) fn set_kv(&self, service: Arc<kv::service::Service>) {
        // A node has one.
        let _ = self.kv.set(service);
    }

    /// The Electrum server, if any.
    pub(crate) fn electrum(&self) -> Option<&Arc<electrum::Service>> {
        self.electrum.get()
    }

    pub(crate) fn set_electrum(&self, service: Arc<electrum::Service>) {
        // A node has one.
        let _ = self.electrum.set(service);
    }

    /// The status of the Bitcoin follower, if any.
    pub(crate) fn following(&self) -> Option<&Arc<follower::FollowerStatus>> {
        self.following.get()
    }

    pub(crate) fn set_following(&self, status: Arc<follower::FollowerStatus>) {
        // A node follows one.
        let _ = self.following.set(status);
    }

    /// The status of a follower of another node, if this is one.
    pub fn followed(&self) -> Option<&Arc<FollowStatus>> {
        self.followed.get()
    }

    pub(crate) fn set_followed(&self, status: Arc<FollowStatus>) {
        // A node follows one.
        let _ = self.followed.set(status);
    }

    /// Whether this node follows another one that contradicted itself: nothing may be served.
    pub fn has_diverged(&self) -> bool {
        self.followed().is_some_and(|status| status.has_diverged())
    }

    /// The replica's status, if the node is one.
    pub(crate) fn order(&self) -> Option<&OrderStatus> {
        self.order.get()
    }

    pub(crate) fn set_order(&self, status: OrderStatus) {
        // A node is one replica.
        let _ = self.order.set(status);
    }

    pub(crate) fn set_tier(&self, state: State, program: Arc<Program>, sockets: Vec<Gauge>) {
        // A node has one.
        let _ = self.tier.set((state, program, sockets));
    }

    pub(crate) fn set_rtl(&self, counters: Arc<RtlCounters>) {
        // A node has one.
        let _ = self.rtl.set(counters);
    }

    /// Counters of the simulated NIC, if any.
    pub fn rtl(&self) -> Option<&RtlCounters> {
        self.rtl.get().map(AsRef::as_ref)
    }

    pub(crate) fn tier_state(&self) -> Option<&State> {
        self.tier.get().map(|(state, ..)| state)
    }

    /// Gauges of AF_XDP sockets, if any.
    pub(crate) fn gauges(&self) -> Option<&[Gauge]> {
        self.tier.get().map(|(_, _, gauges)| gauges.as_slice())
    }

    /// The value of a counter of the NIC tier.
    pub fn tier_count(&self, counter: Counter) -> u64 {
        self.tier.get().map_or(0, |(_, program, _)| program.count(counter))
    }

    /// Publishes the numbers of accounts, frozen ones, those of other assets than 0, and open holds.
    pub(crate) fn count_entries(&self, ledger: &Ledger) {
        self.accounts.store(ledger.accounts() as u64, Relaxed);
        self.frozen.store(ledger.frozen() as u64, Relaxed);
        self.of_assets.store(ledger.of_assets() as u64, Relaxed);
        self.holds.store(ledger.holds() as u64, Relaxed);
    }

    pub(crate) fn count_verified(&self, signatures: usize) {
        self.verified.fetch_add(signatures as u64, Relaxed);
    }

    /// The last durable sequence.
    pub fn durable(&self) -> u64 {
        self.log.durable()
    }

    /// Publishes the progress of the block builder.
    pub(crate) fn tell_built<O: Observer>(&self, builder: &BlockBuilder<O>) {
        let tip = builder.tip();
        self.open.store(builder.is_open(), Relaxed);
        self.height.store(tip.height(), Relaxed);
        self.index_height.store(tip.index_height, Relaxed);
        self.first_retained.store(builder.chain().first_retained(), Relaxed);
        self.settled.store(tip.transactions, Relaxed);
        // Last: a reader that sees it sees the others as well.
        self.built.store(builder.sequence(), Release);
    }

    /// Number of durable operations that the block builder has not looked at.
    pub fn behind(&self) -> u64 {
        self.durable().saturating_sub(self.built.load(Acquire))
    }

    pub(crate) fn set_journal(&self, journal: Submitter) {
        // A node has one.
        let _ = self.journal.set(journal);
    }

    /// Whether operations are refused until a restart: the journal failed, or the engine of a replica ended, for
    /// example because it cannot write.
    pub fn has_storage_failed(&self) -> bool {
        self.storage_failed.load(Relaxed) || self.order().is_some_and(|order| order.engine.has_ended())
    }

    /// Whether operations are refused until the disk has room for the journal.
    pub fn is_disk_full(&self) -> bool {
        !self.storage_failed.load(Relaxed) && self.journal.get().is_some_and(|journal| journal.refusal().is_some())
    }

    /// Whether only reads are answered.
    pub fn is_reads_only(&self) -> bool {
        self.has_storage_failed() || self.is_disk_full()
    }

    /// Why the node is not ready for work, if it is not.
    pub fn unready(&self) -> Option<&'static str> {
        if self.io_failed.load(Relaxed) {
            return Some("datagrams are not answered: see the log, then restart the node");
        }
        if self.storage_failed.load(Relaxed) {
            return Some("storage failed: the journal cannot be written; fix the disk, then restart the node");
        }
        if self.is_disk_full() {
            return Some(
                "the disk has no room for the journal: reads only; free some space, and the node goes on by itself",
            );
        }
        if self.sealer_failed.load(Relaxed) {
            return Some(
                "blocks are not sealed: the chain's key or its signer fails; transfers wait in the journal, see the log",
            );
        }
        if self.builder_failed.load(Relaxed) {
            return Some("the block builder failed: see the log");
        }
        match self.followed() {
            Some(status) if status.has_diverged() => {
                Some("the followed node's operations and blocks contradict each other: nothing is served, see the log")
            }
            Some(status) if status.stopped().is_some() => {
                Some("this node stopped following, and serves the blocks that it has: see /status and the log")
            }
            _ => self.order().and_then(OrderStatus::unready),
        }
    }
}

/// Locks the in-NIC ledger. A thread that panicked with the lock left no partial change.
pub(crate) fn lock(ledger: &Mutex<InNicLedger>) -> MutexGuard<'_, InNicLedger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
