//! What the threads of a node share: figures and states for anybody to look at.

use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::Instant,
};

use ledger::{
    builder::{BlockBuilder, Observer},
    journal::Log,
    retries::Fill,
};
use nic::{Class, Costs, Counters, cost::Work, counters::Closed, rtl::RtlCounters};
use proof::Cache;
use wire::Status;
use xdp::{Counter, Gauge, InNicLedger, Program, RetryFill, State};

use crate::{
    config, in_nic,
    metrics::Metrics,
    retries::{self, RetryFigures},
};

/// Figures of a node. All are counters or gauges that one thread writes and any thread reads.
#[derive(Debug)]
pub struct Shared {
    /// What the data path counts.
    pub counters: Arc<Counters>,
    /// What work costs.
    pub costs: Arc<Costs>,
    /// The journal, for how far it is durable.
    pub log: Arc<Log>,
    /// The cache of proofs, if there is one.
    pub cache: Option<Arc<Cache>>,
    /// When the node was started.
    pub started: Instant,
    /// Number of accounts.
    pub accounts: AtomicU64,
    /// Number of accounts that the table holds.
    pub accounts_limit: u64,
    /// Number of accounts from which on only trusted senders open others.
    pub accounts_unreserved: u64,
    /// What is remembered for retries.
    pub retries: RetryFigures,
    /// Operations that were executed and journalled, since the start.
    pub executed: AtomicU64,
    /// Height of the own tip.
    pub height: AtomicU64,
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
    /// The journal failed: what was not durable by then never will be.
    pub storage_failed: AtomicBool,
    /// The journal has no room for operations, because it failed or the disk is full: the node answers reads only.
    pub reads_only: AtomicBool,
    /// The block builder has stopped because of an error.
    pub builder_failed: AtomicBool,
    /// That is because nobody seals blocks.
    pub sealer_failed: AtomicBool,
    /// The socket failed: nothing is served any more.
    pub io_failed: AtomicBool,
    /// What the NIC tier is told, its program, and its sockets, if there is one.
    tier: OnceLock<(State, Arc<Program>, Vec<Gauge>)>,
    rtl: OnceLock<Arc<RtlCounters>>,
    in_nic: OnceLock<Arc<Mutex<InNicLedger>>>,
}

impl Shared {
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
            log,
            cache,
            started: Instant::now(),
            accounts: AtomicU64::new(0),
            accounts_limit: ledger.accounts,
            accounts_unreserved: ledger.unreserved(),
            retries: RetryFigures::default(),
            executed: AtomicU64::new(0),
            height: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            built: AtomicU64::new(0),
            open: AtomicBool::new(false),
            verified: AtomicU64::new(0),
            verifications: AtomicU64::new(0),
            storage_failed: AtomicBool::new(false),
            reads_only: AtomicBool::new(false),
            builder_failed: AtomicBool::new(false),
            sealer_failed: AtomicBool::new(false),
            io_failed: AtomicBool::new(false),
            tier: OnceLock::new(),
            rtl: OnceLock::new(),
            in_nic: OnceLock::new(),
        }
    }

    pub(crate) fn set_in_nic(&self, ledger: Arc<Mutex<InNicLedger>>) {
        // A service has one.
        let _ = self.in_nic.set(ledger);
    }

    pub(crate) fn set_tier(&self, state: State, program: Arc<Program>, sockets: Vec<Gauge>) {
        // A node has one.
        let _ = self.tier.set((state, program, sockets));
    }

    pub(crate) fn set_rtl(&self, counters: Arc<RtlCounters>) {
        // A node has one.
        let _ = self.rtl.set(counters);
    }

    /// What the simulated NIC has done, if there is one.
    pub fn rtl(&self) -> Option<&RtlCounters> {
        self.rtl.get().map(AsRef::as_ref)
    }

    pub(crate) fn tier_state(&self) -> Option<&State> {
        self.tier.get().map(|(state, ..)| state)
    }

    /// How often the NIC tier did something.
    pub fn tier_count(&self, counter: Counter) -> u64 {
        self.tier.get().map_or(0, |(_, program, _)| program.count(counter))
    }

    pub(crate) fn count_verified(&self, signatures: usize) {
        self.verified.fetch_add(signatures as u64, Relaxed);
    }

    /// The last durable sequence.
    pub fn durable(&self) -> u64 {
        self.log.durable()
    }

    /// Tells where the block builder is.
    pub(crate) fn tell_built<O: Observer>(&self, builder: &BlockBuilder<O>) {
        let tip = builder.tip();
        self.open.store(builder.is_open(), Relaxed);
        self.height.store(tip.height(), Relaxed);
        self.settled.store(tip.transactions, Relaxed);
        // Last: who sees it sees the others as well.
        self.built.store(builder.sequence(), Release);
    }

    /// Number of durable operations that the block builder has not looked at.
    pub fn behind(&self) -> u64 {
        self.durable().saturating_sub(self.built.load(Acquire))
    }

    /// Whether only reads are answered.
    pub fn is_reads_only(&self) -> bool {
        self.storage_failed.load(Relaxed) || self.reads_only.load(Relaxed)
    }

    /// Tells whether the journal has no room and gets none.
    pub(crate) fn tell_reads_only(&self, reads_only: bool) {
        if self.reads_only.swap(reads_only, Relaxed) != reads_only {
            match reads_only {
                true => tracing::error!("the journal cannot be written: reads only"),
                false => tracing::info!("the journal can be written again"),
            }
        }
    }

    /// Why the node is not ready for work, if it is not.
    pub fn unready(&self) -> Option<&'static str> {
        if self.io_failed.load(Relaxed) {
            return Some("the socket failed: restart the node");
        }
        if self.storage_failed.load(Relaxed) {
            return Some("storage failed: the journal cannot be written; mend the disk and restart the node");
        }
        if self.reads_only.load(Relaxed) {
            return Some("the disk has no room for the journal: reads only; free some space");
        }
        if self.sealer_failed.load(Relaxed) {
            return Some(
                "blocks are not sealed: the chain's key or its signer fails; transfers wait in the journal, see the log",
            );
        }
        if self.builder_failed.load(Relaxed) {
            return Some("the block builder failed: see the log");
        }
        None
    }

    /// All figures as Prometheus reads them.
    pub fn metrics(&self) -> String {
        let mut metrics = Metrics::default();
        let counters = &self.counters;
        metrics.counter("messages_total", "Messages received.", counters.messages.get());
        metrics.counter("datagrams_total", "Datagrams received.", counters.datagrams.get());
        metrics.counter("frames_total", "Datagrams received past the network stack.", counters.frames.get());
        metrics.counter("bytes_total", "Bytes received.", counters.bytes.get());
        metrics.counter("operations_total", "Operations received.", counters.operations.get());
        metrics.counter("queries_total", "Proof, headers, info and verify frames received.", counters.queries.get());
        metrics.counter("dropped_total", "Datagrams that got no answer.", counters.dropped.get());
        metrics.counter("replies_total", "Replies sent.", counters.replies.get());
        metrics.counter("lost_total", "Replies that could not be sent.", counters.lost.get());
        metrics.counter("executed_total", "Operations executed and journalled.", self.executed.load(Relaxed));
        metrics.counter("verified_total", "Signatures checked.", self.verified.load(Relaxed));
        let verifications = self.verifications.load(Relaxed);
        metrics.counter("verifications_total", "Messages of verify frames answered.", verifications);
        metrics.gauge("transactions", "Transactions in all blocks.", self.settled.load(Relaxed));
        let cache = self.cache.as_ref().map(|cache| cache.counters()).unwrap_or_default();
        metrics.counter("proof_hits_total", "Proofs answered from the cache.", cache.hits);
        metrics.counter("proof_misses_total", "Proofs that the cache did not hold.", cache.misses);
        metrics.counter("proof_invalidations_total", "Proofs forgotten because of new blocks.", cache.invalidations);
        metrics.counter("proof_evictions_total", "Proofs forgotten to make room.", cache.evictions);
        metrics.gauge("accounts", "Accounts.", self.accounts.load(Relaxed));
        metrics.gauge("accounts_limit", "Accounts that the table holds.", self.accounts_limit);
        let unreserved = self.accounts_unreserved;
        metrics.gauge("accounts_unreserved", "Accounts from which on only trusted senders open others.", unreserved);
        // The program remembers by itself, and no operation that is signed.
        let by_program = self.in_nic.get().map(|ledger| {
            let RetryFill { operations, capacity, age } = in_nic::lock(ledger).retries();
            [Fill { operations, capacity, age: age.as_micros() as u64 }, Fill::default()]
        });
        retries::write(&mut metrics, by_program.unwrap_or_else(|| self.retries.fills()));
        metrics.gauge("durable_sequence", "Last durable operation.", self.durable());
        metrics.gauge("built_sequence", "Last operation that the block builder has seen.", self.built.load(Relaxed));
        metrics.gauge("builder_behind", "Durable operations not yet in a block.", self.behind());
        metrics.gauge("height", "Height of the own chain.", self.height.load(Relaxed));
        metrics.gauge("journal_segments", "Segments of the journal in use.", self.log.segments() as u64);
        let storage_failed = self.storage_failed.load(Relaxed);
        metrics.gauge("storage_failed", "1 if the journal cannot be written.", storage_failed.into());
        metrics.gauge("reads_only", "1 if only reads are answered.", self.reads_only.load(Relaxed).into());
        metrics.gauge("builder_failed", "1 if the builder has stopped.", self.builder_failed.load(Relaxed).into());
        metrics.gauge("sealer_failed", "1 if nobody seals blocks.", self.sealer_failed.load(Relaxed).into());
        metrics.gauge("uptime_seconds", "Time since the start.", self.started.elapsed().as_secs());
        if let Some((_, _, sockets)) = self.tier.get() {
            let seen = Counter::ALL.into_iter().map(|counter| ([counter.name()], self.tier_count(counter)));
            metrics.counters("xdp_total", "Datagrams that XDP has seen.", ["answer"], seen);
            let losses = Vec::from_iter(sockets.iter().map(Gauge::losses));
            let full = losses.iter().map(|losses| losses.full).sum();
            let invalid = losses.iter().map(|losses| losses.invalid).sum();
            let lost = [(["full"], full), (["invalid"], invalid)];
            metrics.counters("frames_lost_total", "Frames that AF_XDP could not deliver.", ["reason"], lost);
        }
        if let Some(rtl) = self.rtl() {
            let done = rtl.all().map(|(name, count)| ([name], count));
            metrics.counters("rtl_total", "What the simulated NIC has done.", ["what"], done);
        }
        if let Some(ledger) = self.in_nic.get() {
            in_nic::write_metrics(&mut metrics, &in_nic::lock(ledger), self.durable());
        }
        let refusals = Status::ALL.iter().copied().filter(|status| !status.is_journalled());
        let refused = refusals.map(|status| ([status.name()], counters.refused(status)));
        metrics.counters("refused_total", "Frames refused.", ["status"], refused);
        let busy = Class::ALL.map(|class| ([class.name()], counters.busy(class).get()));
        metrics.counters("busy_total", "Frames refused as all that may wait for workers did.", ["class"], busy);
        metrics.counter("connections_total", "TCP connections.", counters.connections.get());
        let closed = Closed::ALL.map(|why| ([why.name()], counters.closed(why).get()));
        metrics.counters("connections_closed_total", "TCP connections that ended.", ["reason"], closed);
        let costs = &self.costs;
        metrics.counter("charged_total", "Operations' worth charged to prefixes with a rate.", costs.charged.get());
        let spent = Work::all().map(|work| ([work.name()], costs.spent(work)));
        let help = "Processor time that workers took for signatures and verify frames.";
        metrics.counters("work_nanoseconds_total", help, ["work"], spent);
        let prices = Work::all().map(|work| ([work.name()], costs.price(work)));
        metrics.gauges("price_picoseconds", "What a piece of work is charged at.", ["work"], prices);
        metrics.into_text()
    }
}
