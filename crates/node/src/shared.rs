//! What the threads of a node share: figures and states for anybody to look at.

use std::{
    fmt::Write as _,
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
};
use nic::{Counters, rtl::RtlCounters};
use proof::Cache;
use wire::Status;
use xdp::{Counter, Gauge, InNicLedger, Program, State};

use crate::in_nic;

/// Figures of a node. All are counters or gauges that one thread writes and any thread reads.
#[derive(Debug)]
pub struct Shared {
    /// What the data path counts.
    pub counters: Arc<Counters>,
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
    /// The socket failed: nothing is served any more.
    pub io_failed: AtomicBool,
    /// What the NIC tier is told, its program, and its sockets, if there is one.
    tier: OnceLock<(State, Arc<Program>, Vec<Gauge>)>,
    rtl: OnceLock<Arc<RtlCounters>>,
    in_nic: OnceLock<Arc<Mutex<InNicLedger>>>,
}

/// One figure for Prometheus.
struct Figure {
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    value: u64,
}

impl Shared {
    /// Figures of a node that starts.
    pub(crate) fn new(counters: Arc<Counters>, log: Arc<Log>, cache: Option<Arc<Cache>>, accounts_limit: u64) -> Self {
        Self {
            counters,
            log,
            cache,
            started: Instant::now(),
            accounts: AtomicU64::new(0),
            accounts_limit,
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
        if self.builder_failed.load(Relaxed) {
            return Some("the block builder failed: see the log");
        }
        None
    }

    /// All figures as Prometheus reads them.
    pub fn metrics(&self) -> String {
        let counter = |name, help, value| Figure { name, help, kind: "counter", value };
        let gauge = |name, help, value| Figure { name, help, kind: "gauge", value };
        let cache = self.cache.as_ref().map(|cache| cache.counters()).unwrap_or_default();
        let figures = [
            counter("messages_total", "Messages received.", self.counters.messages.get()),
            counter("datagrams_total", "Datagrams received.", self.counters.datagrams.get()),
            counter("frames_total", "Datagrams received past the network stack.", self.counters.frames.get()),
            counter("bytes_total", "Bytes received.", self.counters.bytes.get()),
            counter("operations_total", "Operations received.", self.counters.operations.get()),
            counter("queries_total", "Proof, headers, info and verify frames received.", self.counters.queries.get()),
            counter("dropped_total", "Datagrams that got no answer.", self.counters.dropped.get()),
            counter("replies_total", "Replies sent.", self.counters.replies.get()),
            counter("lost_total", "Replies that could not be sent.", self.counters.lost.get()),
            counter("executed_total", "Operations executed and journalled.", self.executed.load(Relaxed)),
            counter("verified_total", "Signatures checked.", self.verified.load(Relaxed)),
            counter("verifications_total", "Messages of verify frames answered.", self.verifications.load(Relaxed)),
            gauge("transactions", "Transactions in all blocks.", self.settled.load(Relaxed)),
            counter("proof_hits_total", "Proofs answered from the cache.", cache.hits),
            counter("proof_misses_total", "Proofs that the cache did not hold.", cache.misses),
            counter("proof_invalidations_total", "Proofs forgotten because of new blocks.", cache.invalidations),
            counter("proof_evictions_total", "Proofs forgotten to make room.", cache.evictions),
            gauge("accounts", "Accounts.", self.accounts.load(Relaxed)),
            gauge("accounts_limit", "Accounts that the table holds.", self.accounts_limit),
            gauge("durable_sequence", "Last durable operation.", self.durable()),
            gauge("built_sequence", "Last operation that the block builder has seen.", self.built.load(Relaxed)),
            gauge("builder_behind", "Durable operations not yet in a block.", self.behind()),
            gauge("height", "Height of the own chain.", self.height.load(Relaxed)),
            gauge("journal_segments", "Segments of the journal in use.", self.log.segments() as u64),
            gauge("storage_failed", "1 if the journal cannot be written.", self.storage_failed.load(Relaxed).into()),
            gauge("reads_only", "1 if only reads are answered.", self.reads_only.load(Relaxed).into()),
            gauge("builder_failed", "1 if the builder has stopped.", self.builder_failed.load(Relaxed).into()),
            gauge("uptime_seconds", "Time since the start.", self.started.elapsed().as_secs()),
        ];
        let mut text = String::new();
        for Figure { name, help, kind, value } in figures {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP turnpike_{name} {help}\n# TYPE turnpike_{name} {kind}");
            let _ = writeln!(text, "turnpike_{name} {value}");
        }
        if let Some((_, _, sockets)) = self.tier.get() {
            let _ = writeln!(
                text,
                "# HELP turnpike_xdp_total Datagrams that XDP has seen.\n# TYPE turnpike_xdp_total counter"
            );
            for counter in Counter::ALL {
                let _ =
                    writeln!(text, "turnpike_xdp_total{{answer=\"{}\"}} {}", counter.name(), self.tier_count(counter));
            }
            let losses: Vec<_> = sockets.iter().map(Gauge::losses).collect();
            let _ = writeln!(
                text,
                "# HELP turnpike_frames_lost_total Frames that AF_XDP could not deliver.\n# TYPE turnpike_frames_lost_total counter\n\
                 turnpike_frames_lost_total{{reason=\"full\"}} {}\nturnpike_frames_lost_total{{reason=\"invalid\"}} {}",
                losses.iter().map(|losses| losses.full).sum::<u64>(),
                losses.iter().map(|losses| losses.invalid).sum::<u64>()
            );
        }
        if let Some(rtl) = self.rtl() {
            let _ = writeln!(
                text,
                "# HELP turnpike_rtl_total What the simulated NIC has done.\n# TYPE turnpike_rtl_total counter"
            );
            for (name, count) in rtl.all() {
                let _ = writeln!(text, "turnpike_rtl_total{{what=\"{name}\"}} {count}");
            }
        }
        if let Some(ledger) = self.in_nic.get() {
            let _ = in_nic::write_metrics(&mut text, &in_nic::lock(ledger), self.durable());
        }
        let _ = writeln!(text, "# HELP turnpike_refused_total Frames refused.\n# TYPE turnpike_refused_total counter");
        for status in Status::ALL.iter().filter(|status| !status.is_journalled()) {
            let _ = writeln!(
                text,
                "turnpike_refused_total{{status=\"{}\"}} {}",
                status.name(),
                self.counters.refused(*status)
            );
        }
        text
    }
}
