//! The figures of the key-value store, by the names of Prometheus's `memcached_exporter`, so that dashboards go on
//! working.

use std::sync::atomic::Ordering::Relaxed;

use kv::{
    service::{Service, VERSION},
    store::Shard,
};

use super::text::Metrics;

/// All figures as Prometheus reads them.
pub fn render(service: &Service) -> String {
    let mut metrics = Metrics::with_prefix("memcached");
    let (store, counts) = (&service.store, &service.counts);
    let counters = store.counters();
    let sum = |of: fn(&Shard) -> usize| store.shards().map(|shard| of(&shard) as u64).sum();
    metrics.gauge("up", "1: the store answers.", 1);
    metrics.gauges("version", "The version reported to clients.", ["version"], [([VERSION], 1)]);
    metrics.gauge("uptime_seconds", "Time since the start.", store.clock().now().into());
    let commands = [
        (["get", "hit"], counters.get_hits),
        (["get", "miss"], counters.get_misses),
        (["set", "hit"], counters.cmd_set),
        (["delete", "hit"], counters.delete_hits),
        (["delete", "miss"], counters.delete_misses),
        (["incr", "hit"], counters.incr_hits),
        (["incr", "miss"], counters.incr_misses),
        (["decr", "hit"], counters.decr_hits),
        (["decr", "miss"], counters.decr_misses),
        (["cas", "hit"], counters.cas_hits),
        (["cas", "miss"], counters.cas_misses),
        (["cas", "badval"], counters.cas_badval),
        (["touch", "hit"], counters.touch_hits),
        (["touch", "miss"], counters.touch_misses),
        (["flush", "hit"], counts.cmd_flush.load(Relaxed)),
    ];
    metrics.counters("commands_total", "Requests, by command and status.", ["command", "status"], commands);
    metrics.gauge("current_items", "Items.", sum(Shard::len));
    metrics.gauge("current_bytes", "Bytes of the items.", sum(Shard::used_bytes));
    metrics.gauge("limit_bytes", "Bytes of memory for items.", store.config().memory as u64);
    metrics.counter("items_total", "Items stored since the start.", counters.total_items);
    metrics.counter("items_evicted_total", "Items evicted before they expired.", counters.evictions);
    metrics.counter("items_reclaimed_total", "Items reclaimed after they expired.", counters.reclaimed);
    metrics.counter("item_no_memory_total", "Values refused because there was no room.", counters.store_no_memory);
    metrics.counter("item_too_large_total", "Values refused because they were too large.", counters.store_too_large);
    metrics.gauge("current_connections", "Connections.", counts.curr_connections.load(Relaxed));
    metrics.gauge("max_connections", "Maximum number of connections.", service.connection_limit() as u64);
    metrics.counter("connections_total", "Connections since the start.", counts.total_connections.load(Relaxed));
    let rejected = counts.rejected_connections.load(Relaxed);
    metrics.counter("connections_rejected_total", "Connections refused because too many were open.", rejected);
    let kicked = [
        (["idle"], &counts.idle_kicks),
        (["memory"], &counts.memory_kicks),
        (["slow"], &counts.slow_kicks),
        (["stalled"], &counts.stalled_kicks),
    ];
    let kicked = kicked.map(|(reason, count)| (reason, count.load(Relaxed)));
    metrics.counters("connections_closed_total", "Connections closed by the server.", ["reason"], kicked);
    let yielded = counts.conn_yields.load(Relaxed);
    metrics.counter("connections_yielded_total", "Times that a connection yielded to others.", yielded);
    metrics.counter("read_bytes_total", "Bytes received.", counts.bytes_read.load(Relaxed));
    metrics.counter("written_bytes_total", "Bytes sent.", counts.bytes_written.load(Relaxed));
    metrics.gauge("accepting_connections", "1 if connections are accepted.", u64::from(!service.is_stopping()));
    if let Some(nic) = service.nic() {
        let events = nic.counts().all().into_iter().map(|(event, count)| ([event], count));
        metrics.counters(
            "nic_total",
            "Requests by UDP, by what the NIC did, and items evicted from it.",
            ["event"],
            events,
        );
    } else if let Some(ahead) = store.ahead() {
        let seen = ahead.counts().into_iter().map(|(name, count)| ([name], count));
        metrics.counters("xdp_total", "Datagrams that reached the XDP program.", ["answer"], seen);
    }
    metrics.into_text()
}
