//! The figures of a replica.

use order::{Status, StatusSnapshot};

use super::text::Metrics;

/// Writes them.
pub fn write(metrics: &mut Metrics, status: &Status) {
    let StatusSnapshot { view, leader, height, votes, abandoned, evidence, ended, in_view } = status.snapshot();
    metrics.gauge("order_view", "The view that the replica is in.", view);
    metrics.gauge("order_view_seconds", "How long it has been in it.", in_view.as_secs());
    metrics.gauge("order_leader", "The number of the replica that leads it.", leader.into());
    metrics.gauge("order_height", "Height up to which what is final is executed.", height);
    metrics.counter("order_votes_total", "Votes counted, its own too.", votes);
    metrics.counter("order_abandoned_total", "Views that a quorum gave up: idle, or their leaders away.", abandoned);
    metrics.gauge("order_evidence", "Pieces of evidence that replicas lied.", evidence);
    metrics.gauge("order_ended", "1 if the replica orders nothing any more.", ended.into());
}
