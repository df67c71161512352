//! The figures of the Bitcoin node that is followed.

use std::sync::atomic::Ordering::Relaxed;

use super::text::Metrics;
use crate::follower::FollowerStatus;

/// Writes them.
pub fn write(metrics: &mut Metrics, status: &FollowerStatus) {
    let is_up = status.is_up.load(Relaxed).into();
    metrics.gauge("bitcoin_node_up", "1 while the followed Bitcoin node answers.", is_up);
    metrics.gauge("bitcoin_node_height", "Height reported by the Bitcoin node.", status.node_height.load(Relaxed));
    metrics.gauge("bitcoin_height", "Height of the imported Bitcoin blocks.", status.height.load(Relaxed));
    let failures = status.failures.load(Relaxed);
    metrics.counter("bitcoin_node_failures_total", "Failed polls of the Bitcoin node.", failures);
}
