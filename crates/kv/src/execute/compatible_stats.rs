//! Keys of memcached's `stats` that dashboards read, beside those that the counters have by the same name.
//!
//! A zero stands where memcached counts an event that cannot happen here. Keys without a meaning here are left out:
//! docs/kv.md lists them.

use std::sync::atomic::Ordering::Relaxed;

use crate::{service::Service, store::Shard};

/// Events that cannot happen here.
const NEVER: [&str; 18] = [
    // The listener refuses one connection too many at once and never stops to accept.
    "time_in_listen_disabled_us",
    // A segment of the index is split within the request that fills it.
    "hash_is_expanding",
    // So is a page moved to another class.
    "slab_reassign_rescues",
    "slab_reassign_chunk_rescues",
    "slab_reassign_inline_reclaim",
    "slab_reassign_busy_items",
    "slab_reassign_busy_deletes",
    "slab_reassign_running",
    // No threads beside those that serve work on the items.
    "lru_crawler_running",
    "lru_crawler_starts",
    "lru_maintainer_juggles",
    "lrutail_reflocked",
    "lru_bumps_dropped",
    "moves_to_cold",
    // Memory for items is reserved at the start.
    "malloc_fails",
    // Lines go to the watchers' queues at once.
    "log_worker_dropped",
    // Threads get connections round-robin.
    "unexpected_napi_ids",
    "round_robin_fallback",
];

/// Reports them.
pub(super) fn general(service: &Service, number: &mut impl FnMut(&str, u64)) {
    let sum = |of: fn(&Shard) -> usize| service.store.shards().map(|shard| of(&shard) as u64).sum::<u64>();
    let connections = service.counts.curr_connections.load(Relaxed);
    number("reserved_fds", open_files().saturating_sub(connections));
    number("hash_power_level", sum(Shard::places).max(1).ilog2().into());
    number("slabs_moved", service.store.counters().pages_moved);
    number("slab_global_page_pool", sum(Shard::free_pages));
    let watchers = service.store.watchers();
    number("log_worker_written", watchers.written());
    number("log_watcher_skipped", watchers.skipped());
    number("log_watcher_sent", watchers.sent());
    number("log_watchers", watchers.count());
    NEVER.into_iter().for_each(|name| number(name, 0));
}

/// Files and sockets that the program has open; 0 where the system does not report it.
fn open_files() -> u64 {
    const FILES: &str = "/proc/self/fd";
    // Their number since Linux 6.2, and 0 before.
    let known = std::fs::metadata(FILES).map_or(0, |folder| folder.len());
    if known > 0 { known } else { std::fs::read_dir(FILES).map_or(0, |files| files.count() as u64) }
}

/// Reports settings of memcached that have a counterpart here.
pub(super) fn settings(service: &Service, stat: &mut impl FnMut(&str, &str)) {
    let fixed = [
        ("growth_factor", "1.125"),
        ("chunk_size", "48"),
        ("slab_chunk_max", "16384"),
        ("num_threads_per_udp", "1"),
        ("stat_key_prefix", ":"),
        ("detail_enabled", "no"),
        ("maxconns_fast", "yes"),
        ("slab_reassign", "yes"),
        ("slab_automove", "1"),
        ("lru_crawler", "no"),
        ("lru_maintainer_thread", "no"),
        ("lru_segmented", "yes"),
        ("hot_lru_pct", "10"),
        ("warm_lru_pct", "90"),
        ("temp_lru", "no"),
        ("track_sizes", "no"),
        ("inline_ascii_response", "no"),
        ("num_napi_ids", "0"),
    ];
    fixed.into_iter().for_each(|(name, value)| stat(name, value));
    stat("read_buf_mem_limit", &(service.settings.buffered >> 20).to_string());
}
