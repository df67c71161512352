//! The figures of a follower.

use super::text::Metrics;
use crate::follow::FollowStatus;

/// Writes them.
pub fn write(metrics: &mut Metrics, status: &FollowStatus) {
    metrics.gauge("follow_up", "1 if the followed node answers.", status.is_up().into());
    metrics.gauge("follow_stopped", "1 if this node follows no more: see /status.", status.stopped().is_some().into());
    metrics.gauge("follow_diverged", "1 if the followed node contradicted itself.", status.has_diverged().into());
    let help = "Durable operations of the followed node that are not executed here.";
    metrics.gauge("follow_behind_operations", help, status.behind());
    let help = "Time since this node had all that the followed one reported.";
    metrics.gauge_seconds("follow_behind_seconds", help, status.lag());
    let help = "Connections to the followed node after the first.";
    metrics.counter("follow_reconnections_total", help, status.reconnections());
}
