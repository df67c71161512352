//! The figures of the server of Electrum's clients.

use std::sync::atomic::Ordering::Relaxed;

use electrum::Service;

use super::text::Metrics;

/// Writes them.
pub fn write(metrics: &mut Metrics, service: &Service) {
    let counts = &service.counts;
    let shares = service.shares();
    metrics.counter("electrum_requests_total", "Requests of Electrum's clients.", counts.requests.load(Relaxed));
    metrics.counter("electrum_errors_total", "Requests answered with an error.", counts.errors.load(Relaxed));
    metrics.counter("electrum_notifications_total", "Notifications sent.", counts.notifications.load(Relaxed));
    metrics.counter("electrum_connections_total", "Connections accepted.", counts.connections.load(Relaxed));
    metrics.gauge("electrum_connections", "Connections.", shares.connections() as u64);
    metrics.gauge(
        "electrum_buffered_bytes",
        "Bytes of incomplete requests and of replies that clients have not read.",
        shares.buffered() as u64,
    );
    metrics.gauge("electrum_subscriptions", "Subscriptions.", shares.subscriptions() as u64);
    metrics.gauge("electrum_mempool_transactions", "Unconfirmed transactions.", service.mempool().len() as u64);
    let limited = [
        (["connections"], counts.refused_connections.load(Relaxed)),
        (["subscriptions"], counts.refused_subscriptions.load(Relaxed)),
        (["reply_size"], counts.refused_replies.load(Relaxed)),
        (["request_size"], counts.refused_requests.load(Relaxed)),
        (["cost"], counts.waits.load(Relaxed)),
        (["silence"], counts.timeouts.load(Relaxed)),
        (["buffers"], counts.evictions.load(Relaxed)),
    ];
    metrics.counters("electrum_limited_total", "Times that a limit delayed or refused a client.", ["limit"], limited);
    metrics.counter("electrum_read_bytes_total", "Bytes received.", counts.bytes_read.load(Relaxed));
    metrics.counter("electrum_written_bytes_total", "Bytes sent.", counts.bytes_written.load(Relaxed));
}
