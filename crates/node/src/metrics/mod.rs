//! The metrics of a node, in the format of Prometheus.

mod bitcoin;
mod electrum;
mod follow;
mod in_nic;
pub mod kv;
mod order;
pub mod process;
mod text;

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use ledger::retries::Fill;
use nic::{Class, cost::Work, counters::Closed};
use wire::{Command, Promise, Status};
use xdp::{Counter, Gauge, RetryFill};

use crate::{feeds::Ended, node_state::NodeState, retries::KINDS};

use text::Metrics;

/// All metrics in the format of Prometheus.
pub fn render(node_state: &NodeState) -> String {
    let mut metrics = Metrics::with_prefix("turnpike");
    let counters = &node_state.counters;
    metrics.counter("messages_total", "Messages received.", counters.messages.get());
    metrics.counter("datagrams_total", "Datagrams received.", counters.datagrams.get());
    metrics.counter("frames_total", "Datagrams received past the network stack.", counters.frames.get());
    metrics.counter("bytes_total", "Bytes received.", counters.bytes.get());
    let operations = Command::ALL.iter().map(|command| ([command.name()], counters.operations(*command)));
    let help = "Operations executed or refused one by one.";
    metrics.counters("operations_total", help, ["command"], operations);
    let latencies = [Promise::Accepted, Promise::Durable, Promise::Final];
    let latencies = latencies.map(|promise| ([promise.name()], counters.latency(promise).snapshot()));
    let help = "Time from the receipt of a request with operations to its reply, by promise.";
    metrics.histograms("request_duration_seconds", help, ["promise"], latencies);
    let help = "Time to write and sync a batch of the journal; on a replica, a block.";
    metrics.histograms("journal_sync_duration_seconds", help, [], [([], node_state.sync.snapshot())]);
    metrics.counter("queries_total", "Proof, headers, info and verify frames received.", counters.queries.get());
    metrics.counter("dropped_total", "Datagrams that were not answered.", counters.dropped.get());
    metrics.counter("replies_total", "Replies sent.", counters.replies.get());
    metrics.counter("lost_total", "Replies that could not be sent.", counters.lost.get());
    metrics.counter("executed_total", "Operations executed and journalled.", node_state.executed.load(Relaxed));
    metrics.counter("verified_total", "Signatures checked.", node_state.verified.load(Relaxed));
    let verifications = node_state.verifications.load(Relaxed);
    metrics.counter("verifications_total", "Messages of verify frames answered.", verifications);
    metrics.gauge("transactions", "Transactions in all blocks.", node_state.settled.load(Relaxed));
    let cache = node_state.cache.as_ref().map(|cache| cache.counters()).unwrap_or_default();
    metrics.counter("proof_hits_total", "Proofs answered from the cache.", cache.hits);
    metrics.counter("proof_misses_total", "Proofs that were not in the cache.", cache.misses);
    metrics.counter("proof_invalidations_total", "Proofs evicted because of new blocks.", cache.invalidations);
    metrics.counter("proof_evictions_total", "Proofs evicted to make room.", cache.evictions);
    metrics.gauge("accounts", "Accounts.", node_state.accounts.load(Relaxed));
    metrics.gauge("frozen_accounts", "Frozen accounts.", node_state.frozen.load(Relaxed));
    metrics.gauge("asset_accounts", "Accounts of other assets than 0.", node_state.of_assets.load(Relaxed));
    metrics.gauge("holds", "Open holds.", node_state.holds.load(Relaxed));
    metrics.gauge("accounts_limit", "Maximum number of accounts.", node_state.accounts_limit);
    let unreserved = node_state.accounts_unreserved;
    metrics.gauge("accounts_unreserved", "Accounts above which only trusted senders open more.", unreserved);
    // The program has its own memory of retries, without signed operations.
    let by_program = node_state.in_nic().map(|ledger| {
        let RetryFill { operations, capacity, age } = ledger.retries();
        [Fill { operations, capacity, age: age.as_micros() as u64 }, Fill::default()]
    });
    write_retries(&mut metrics, by_program.unwrap_or_else(|| node_state.retries.fills()));
    metrics.gauge("durable_sequence", "Last durable operation.", node_state.durable());
    metrics.gauge("built_sequence", "Last operation that the block builder has read.", node_state.built.load(Relaxed));
    metrics.gauge("builder_behind", "Durable operations not yet in a block.", node_state.behind());
    metrics.gauge("height", "Height of the own chain.", node_state.height.load(Relaxed));
    let help = "Height of the last block that states the index root: balance proofs are as of it.";
    metrics.gauge("index_height", help, node_state.index_height.load(Relaxed));
    let help = "Height of the first retained block: the transactions of those before it are pruned. 0 if none are.";
    metrics.gauge("first_retained_block", help, node_state.first_retained.load(Relaxed));
    metrics.gauge("journal_segments", "Segments of the journal in use.", node_state.log.segments() as u64);
    let failed = [(["error"], node_state.has_storage_failed()), (["full"], node_state.is_disk_full())];
    let failed = failed.map(|(reason, is_so)| (reason, u64::from(is_so)));
    let help = "1 while operations are refused: by error until a restart, or until a full disk has room.";
    metrics.gauges("storage_failed", help, ["reason"], failed);
    metrics.gauge("reads_only", "1 while only reads are answered.", node_state.is_reads_only().into());
    let damage = node_state.damage().len() as u64;
    metrics.gauge("damaged_blocks", "Damage found in blocks on disk, up to 64 pieces: see /health.", damage);
    metrics.gauge("builder_failed", "1 if the builder has stopped.", node_state.builder_failed.load(Relaxed).into());
    metrics.gauge("sealer_failed", "1 if sealing blocks fails.", node_state.sealer_failed.load(Relaxed).into());
    metrics.gauge_seconds("uptime_seconds", "Time since the start.", node_state.started.elapsed());
    process::build_info(&mut metrics);
    if let Some(disk) = node_state.disk() {
        let help = "Bytes available to the node on the data directory's file system.";
        metrics.gauge("disk_free_bytes", help, disk.free);
        metrics.gauge("disk_size_bytes", "Bytes of the data directory's file system.", disk.size);
    }
    if let Some(sockets) = node_state.gauges() {
        let seen = Counter::ALL.into_iter().map(|counter| ([counter.name()], node_state.tier_count(counter)));
        metrics.counters("xdp_total", "Datagrams that XDP has seen.", ["answer"], seen);
        let losses = Vec::from_iter(sockets.iter().map(Gauge::losses));
        let full = losses.iter().map(|losses| losses.full).sum();
        let invalid = losses.iter().map(|losses| losses.invalid).sum();
        let lost = [(["full"], full), (["invalid"], invalid)];
        metrics.counters("frames_lost_total", "Frames that AF_XDP failed to deliver.", ["reason"], lost);
    }
    if let Some(rtl) = node_state.rtl() {
        let done = rtl.all().map(|(name, count)| ([name], count));
        metrics.counters("rtl_total", "Events of the simulated NIC, or of the one on a board.", ["what"], done);
    }
    if let Some(ledger) = node_state.in_nic() {
        in_nic::write(&mut metrics, &ledger, node_state.durable());
    }
    if let Some(service) = node_state.electrum() {
        electrum::write(&mut metrics, service);
    }
    if let Some(status) = node_state.following() {
        bitcoin::write(&mut metrics, status);
    }
    if let Some(status) = node_state.followed() {
        follow::write(&mut metrics, status);
    }
    if let Some(status) = node_state.order() {
        order::write(&mut metrics, status);
    }
    let refusals = Status::ALL.iter().copied().filter(|status| !status.is_journalled());
    let refused = refusals.map(|status| ([status.name()], counters.refused(status)));
    metrics.counters("refused_total", "Frames refused.", ["status"], refused);
    let busy = Class::ALL.map(|class| ([class.name()], counters.busy(class).get()));
    metrics.counters("busy_total", "Frames refused because the queue of the workers was full.", ["class"], busy);
    metrics.counter("connections_total", "TCP connections.", counters.connections.get());
    let closed = Closed::ALL.map(|why| ([why.name()], counters.closed(why).get()));
    metrics.counters("connections_closed_total", "TCP connections closed.", ["reason"], closed);
    let feeds = &node_state.feeds;
    metrics.gauge("feeds", "Open feeds.", feeds.open.load(Relaxed));
    metrics.counter("feed_operations_total", "Operations sent to feeds.", feeds.operations.load(Relaxed));
    let help = "Durable operations that the slowest feed has not been sent.";
    metrics.gauge("feed_behind", help, feeds.behind.load(Relaxed));
    let ended = Ended::ALL.map(|why| ([why.name()], feeds.ended(why)));
    metrics.counters("feeds_ended_total", "Feeds that ended, or were refused.", ["reason"], ended);
    let costs = &node_state.costs;
    metrics.counter("charged_total", "Cost charged to prefixes with a rate, in operations.", costs.charged.get());
    let spent = Work::all().map(|work| ([work.name()], Duration::from_nanos(costs.spent(work))));
    let help = "Processor time of workers on signatures and verify frames.";
    metrics.counters_seconds("work_seconds_total", help, ["work"], spent);
    // Prices are picoseconds: a piece of work may cost less than a nanosecond.
    let prices = Work::all().map(|work| ([work.name()], costs.price(work) as f64 / 1e12));
    metrics.gauges("price_seconds", "Processor time charged for a piece of work.", ["work"], prices);
    metrics.into_text() + &process::text() + &node_state.kv().map(|service| kv::render(service)).unwrap_or_default()
}

/// All figures of a key-value store alone.
pub fn render_store(service: &::kv::service::Service) -> String {
    kv::render(service) + &process::text()
}

/// Writes how full the memory is, as Prometheus reads it.
fn write_retries(metrics: &mut Metrics, fills: [Fill; KINDS.len()]) {
    let each = |figure: fn(&Fill) -> u64| KINDS.iter().zip(&fills).map(move |(kind, fill)| ([*kind], figure(fill)));
    let remembered = each(|fill| fill.operations as u64);
    metrics.gauges("retry_operations", "Operations remembered for retries.", ["kind"], remembered);
    let capacity = each(|fill| fill.capacity as u64);
    metrics.gauges("retry_capacity", "Maximum number of operations remembered.", ["kind"], capacity);
    let ages = KINDS.iter().zip(&fills).map(|(kind, fill)| ([*kind], Duration::from_micros(fill.age)));
    metrics.gauges_seconds("retry_age_seconds", "Age of the oldest operation remembered.", ["kind"], ages);
}
