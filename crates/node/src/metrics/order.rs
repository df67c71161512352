//! The figures of a replica.

use order::StatusSnapshot;

use super::text::Metrics;
use crate::replica::OrderStatus;

/// Writes them.
pub fn write(metrics: &mut Metrics, order_status: &OrderStatus) {
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
    } = order_status.engine.snapshot();
    let (number, replicas) = order_status.number_and_size();
    metrics.gauge("order_replicas", "Replicas in the voting set.", replicas as u64);
    metrics.gauge("order_member", "1 if this replica is a member of the voting set.", number.is_some().into());
    metrics.gauge("order_generation", "Number of changes of the set.", order_status.generation().into());
    metrics.gauge("order_epoch", "Current epoch of the replica.", epoch);
    metrics.gauge("order_view", "Current view of the replica in its epoch.", view);
    metrics.gauge("order_view_seconds", "Time in the current view with work to do.", in_view.as_secs());
    metrics.gauge("order_resting", "1 while there is nothing to order.", is_resting.into());
    metrics.gauge("order_leader", "Number of the replica that leads the view.", leader.into());
    metrics.gauge("order_height", "Height of the last final block that was executed.", height);
    metrics.counter("order_votes_total", "Votes counted, including its own.", votes);
    metrics.counter("order_abandoned_total", "Views that a quorum abandoned: idle, or leader absent.", abandoned);
    metrics.gauge(
        "order_timeout_factor",
        "Timeout for a leader, in multiples of `cluster.patience`.",
        timeout_factor.into(),
    );
    metrics.gauge("order_evidence", "Pieces of evidence that replicas broke the protocol.", evidence);
    metrics.gauge(
        "order_time_ahead_seconds",
        "Lead of the time of blocks over this node's clock, if more than 2 s.",
        order_status.clocks.block_ahead(),
    );
    metrics.gauge(
        "order_clock_ahead_seconds",
        "Lead of this node's clock over the other replicas' clocks, if more than 2 s.",
        order_status.clocks.clock_ahead(),
    );
    metrics.gauge(
        "order_clock_behind_seconds",
        "Lead of the last proposal over this node's clock, if more than 2 s.",
        order_status.clocks.clock_behind(),
    );
    metrics.gauge("order_ended", "1 if the ordering engine has ended.", ended.into());
}
