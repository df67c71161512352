//! The figures of a replica.

use order::StatusSnapshot;

use super::text::Metrics;
use crate::replica::Standing;

/// Writes them.
pub fn write(metrics: &mut Metrics, standing: &Standing) {
    let StatusSnapshot {
        epoch,
        view,
        leader,
        height,
        votes,
        abandoned,
        timeout_factor,
        evidence,
        ended,
        in_view,
        is_resting,
    } = standing.status.snapshot();
    let (number, replicas) = standing.place();
    metrics.gauge("order_replicas", "Replicas of the set that votes.", replicas as u64);
    metrics.gauge("order_member", "1 if this replica is of it.", number.is_some().into());
    metrics.gauge("order_generation", "How often the set was changed.", standing.generation().into());
    metrics.gauge("order_epoch", "The epoch that the replica is in.", epoch);
    metrics.gauge("order_view", "The view of the epoch that the replica is in.", view);
    metrics.gauge("order_view_seconds", "How long it has been in it with work to do.", in_view.as_secs());
    metrics.gauge("order_resting", "1 while nothing is to be ordered.", is_resting.into());
    metrics.gauge("order_leader", "The number of the replica that leads it.", leader.into());
    metrics.gauge("order_height", "Height up to which what is final is executed.", height);
    metrics.counter("order_votes_total", "Votes counted, its own too.", votes);
    metrics.counter("order_abandoned_total", "Views that a quorum gave up: idle, or their leaders away.", abandoned);
    metrics.gauge(
        "order_timeout_factor",
        "How many times `cluster.patience` is waited for a leader.",
        timeout_factor.into(),
    );
    metrics.gauge("order_evidence", "Pieces of evidence that replicas lied.", evidence);
    metrics.gauge(
        "order_time_ahead_seconds",
        "By how much the time of blocks is ahead of this node's clock, if by more than 2 s.",
        standing.clocks.block_ahead(),
    );
    metrics.gauge(
        "order_clock_ahead_seconds",
        "By how much this node's clock is ahead of the other replicas', if by more than 2 s.",
        standing.clocks.clock_ahead(),
    );
    metrics.gauge(
        "order_clock_behind_seconds",
        "By how much the last proposal was ahead of this node's clock, if by more than 2 s.",
        standing.clocks.clock_behind(),
    );
    metrics.gauge("order_ended", "1 if the replica orders nothing any more.", ended.into());
}
