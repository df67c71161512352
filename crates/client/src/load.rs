//! Load generation: many requests of one kind, in a closed loop or at a rate, with counts and latencies.
//!
//! [`run`] drives a [`Workload`] over a [`Pipeline`]; [`prepare`] creates its accounts and [`check`] compares their
//! balances with the expected ones.

mod accounts;
mod choice;
mod report;
mod signed;
mod workload;

use std::ops::ControlFlow;
use std::time::Duration;

pub use accounts::{Balances, check, prepare};
pub use choice::{Choice, Distribution};
pub use report::Report;
pub use signed::sign_transfers;
pub use workload::{Format, Mix, Operations, Proofs, Workload};

use crate::{Error, Pipeline};

/// Interval of progress reports, and maximum wait for replies.
const BEAT: Duration = Duration::from_millis(100);

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As replies arrive: the window is kept full.
    Closed,
    /// At this rate in operations per second, whether replies arrive or not, as far as the window allows. Latency
    /// counts from when a request was due, so a node that falls behind cannot hide it.
    Open(f64),
}

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    /// Number of operations.
    pub operations: u64,
    /// Or this time, whichever ends first.
    pub time: Duration,
}

impl Until {
    /// This number of operations, however long they take.
    pub fn operations(operations: u64) -> Self {
        Self { operations, time: Duration::MAX }
    }

    /// As many operations as possible in this time.
    pub fn time(time: Duration) -> Self {
        Self { operations: u64::MAX, time }
    }
}

/// Runs a workload until it has sent everything, and all of that was answered or given up.
///
/// `progress` sees the counts about ten times per second and can end the run early. A node that is gone ends it, too:
/// when a request was given up, and nothing was answered in all the time of its attempts.
pub fn run(
    pipeline: &mut Pipeline,
    workload: &mut impl Workload,
    pace: Pace,
    until: Until,
    mut progress: impl FnMut(&Report) -> ControlFlow<()>,
) -> Result<Report, Error> {
    let mut report = Report::default();
    pipeline.abandon();
    let retries = pipeline.window().retries();
    let start = pipeline.now();
    let end = start.saturating_add(until.time);
    let mut beat = start + BEAT;
    let mut stopped = false;
    let mut answered = start;
    loop {
        let now = pipeline.now();
        if now >= beat {
            beat = now + BEAT;
            report.elapsed = now - start;
            report.retries = pipeline.window().retries() - retries;
            stopped |= progress(&report).is_break();
        }
        stopped |= now >= end;
        let mut wait = BEAT;
        while !stopped && report.sent < until.operations {
            let due = match pace {
                Pace::Closed => now,
                Pace::Open(rate) => start + Duration::from_secs_f64(report.sent as f64 / rate.max(f64::MIN_POSITIVE)),
            };
            if due > now {
                wait = wait.min(due - now);
                break;
            }
            let Some(draft) = pipeline.begin() else { break };
            report.sent += workload.fill(draft, until.operations - report.sent, due, now);
            report.datagrams += 1;
        }
        if pipeline.window().in_flight() == 0 && (stopped || report.sent >= until.operations) {
            break;
        }
        let mut gone = false;
        pipeline.turn(wait, |completion| {
            report.take(&completion);
            if completion.reply.is_ok() {
                answered = now;
                workload.take(&completion, &mut report);
            } else {
                gone |= answered <= completion.due;
            }
        })?;
        stopped |= gone;
    }
    report.elapsed = pipeline.now() - start;
    report.retries = pipeline.window().retries() - retries;
    Ok(report)
}
