//! The figures that the page draws: one row a second for its clients, and an hour of them at a coarser step.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use nic::{Histogram, HistogramSnapshot};
use wire::{Command, Promise, Status};
use xdp::Counter;

use crate::{metrics::process, node_state::NodeState};

/// Time between rows: what a person follows.
const STEP: Duration = Duration::from_secs(1);
/// Rows of the history: an hour.
const HISTORY: usize = 720;
/// The history has every fifth row.
const EVERY: u64 = 5;
/// Number of figures of a row that are percentiles.
const PERCENTILES: usize = 8;
/// Number of figures of a row.
const FIGURES: usize = 30 + PERCENTILES;

/// A figure and its value; `None` where this node has no such figure, or nothing to take it from.
type Figure = (&'static str, Option<f64>);
/// The values of a row.
type Row = [Option<f64>; FIGURES];

/// The rows of a node.
#[derive(Debug)]
pub struct Figures {
    node_state: Arc<NodeState>,
    recorded: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    /// When the next row is due; `None` at first.
    due: Option<Instant>,
    /// Number of rows so far.
    count: u64,
    history: VecDeque<Row>,
    /// Latencies up to the last row, and up to the last one of the history.
    last: Latencies,
    last_kept: Latencies,
}

/// The histograms whose percentiles are figures.
#[derive(Clone, Copy, Debug, Default)]
struct Latencies([HistogramSnapshot; 4]);

impl Latencies {
    fn read(node_state: &NodeState) -> Self {
        let latency = |promise| node_state.counters.latency(promise);
        let all = [latency(Promise::Accepted), latency(Promise::Durable), latency(Promise::Final), &node_state.sync];
        Self(all.map(Histogram::snapshot))
    }

    /// The percentiles since an earlier time.
    fn figures_since(&self, earlier: &Self) -> [Figure; PERCENTILES] {
        let since = |at: usize, share| self.0[at].since(&earlier.0[at]).quantile(share).map(|time| time.as_secs_f64());
        [
            ("accepted_p50_seconds", since(0, 0.5)),
            ("accepted_p99_seconds", since(0, 0.99)),
            ("durable_p50_seconds", since(1, 0.5)),
            ("durable_p99_seconds", since(1, 0.99)),
            ("final_p50_seconds", since(2, 0.5)),
            ("final_p99_seconds", since(2, 0.99)),
            ("sync_p50_seconds", since(3, 0.5)),
            ("sync_p99_seconds", since(3, 0.99)),
        ]
    }
}

impl Figures {
    /// The figures of a node, none recorded yet.
    pub fn new(node_state: Arc<NodeState>) -> Self {
        Self { node_state, recorded: Mutex::default() }
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a row if one is due, and returns it as an event.
    pub fn tick(&self, now: Instant) -> Option<String> {
        let mut recorded = self.recorded();
        let due = recorded.due.unwrap_or(now);
        if now < due {
            return None;
        }
        // Rows that are missed while the machine is suspended are left out.
        recorded.due = Some((if now < due + STEP { due } else { now }) + STEP);
        let latencies = Latencies::read(&self.node_state);
        let state = self.state();
        let row = |since: &Latencies| join(state, latencies.figures_since(since));
        let event = {
            let figures = row(&recorded.last);
            let (names, values) = (figures.map(|(name, _)| name), figures.map(|(_, value)| value));
            format!("event: figures\ndata: {{\"names\":{},\"row\":{}}}\n\n", names_json(&names), row_json(&values))
        };
        if recorded.count.is_multiple_of(EVERY) {
            if recorded.history.len() == HISTORY {
                recorded.history.pop_front();
            }
            let values = row(&recorded.last_kept).map(|(_, value)| value);
            recorded.history.push_back(values);
            recorded.last_kept = latencies;
        }
        recorded.last = latencies;
        recorded.count += 1;
        Some(event)
    }

    /// The history as JSON.
    pub fn history(&self) -> String {
        let latencies = Latencies::default();
        let names = join(self.state(), latencies.figures_since(&latencies)).map(|(name, _)| name);
        let rows = Vec::from_iter(self.recorded().history.iter().map(row_json));
        let interval = STEP.as_secs() * EVERY;
        format!("{{\"interval\":{interval},\"names\":{},\"rows\":[{}]}}\n", names_json(&names), rows.join(","))
    }

    /// All figures but percentiles.
    fn state(&self) -> [Figure; FIGURES - PERCENTILES] {
        let node_state = &*self.node_state;
        let counters = &node_state.counters;
        let count = |value: u64| Some(value as f64);
        let operations = |command| count(counters.operations(command));
        let cache = node_state.cache.as_ref().map(|cache| cache.counters());
        let answered = [Counter::Refer, Counter::Retry, Counter::Proof].map(|counter| node_state.tier_count(counter));
        let kv = node_state.kv().map(|service| service.store.counters());
        let stat = process::Stat::read();
        let disk = node_state.disk();
        let time = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|time| time.as_secs_f64());
        [
            ("time", time),
            ("create_total", operations(Command::Create)),
            ("issue_total", operations(Command::Issue)),
            ("transfer_total", operations(Command::Transfer)),
            ("refer_total", operations(Command::Refer)),
            ("refused_total", count(Status::ALL.iter().map(|status| counters.refused(*status)).sum())),
            ("busy_total", count(nic::Class::ALL.iter().map(|class| counters.busy(*class).get()).sum())),
            ("queries_total", count(counters.queries.get())),
            ("proof_hits_total", cache.map(|cache| cache.hits as f64)),
            ("proof_misses_total", cache.map(|cache| cache.misses as f64)),
            ("replies_total", count(counters.replies.get())),
            ("dropped_total", count(counters.dropped.get())),
            ("executed_total", count(node_state.executed.load(Relaxed))),
            ("xdp_total", node_state.tier_state().and_then(|_| count(answered.iter().sum()))),
            ("kv_get_total", kv.as_ref().and_then(|kv| count(kv.get_hits + kv.get_misses))),
            ("kv_set_total", kv.as_ref().and_then(|kv| count(kv.cmd_set))),
            ("kv_hits_total", kv.as_ref().and_then(|kv| count(kv.get_hits))),
            ("durable_sequence", count(node_state.durable())),
            ("built_sequence", count(node_state.built.load(Relaxed))),
            ("height", count(node_state.height.load(Relaxed))),
            ("index_height", count(node_state.index_height.load(Relaxed))),
            ("final_height", node_state.order().and_then(|order| count(order.engine.snapshot().height))),
            ("transactions", count(node_state.settled.load(Relaxed))),
            ("accounts", count(node_state.accounts.load(Relaxed))),
            ("connections", count(counters.open_connections())),
            ("resident_bytes", stat.as_ref().and_then(|stat| count(stat.resident_bytes()))),
            ("disk_free_bytes", disk.and_then(|disk| count(disk.free))),
            ("cpu_seconds_total", stat.as_ref().map(|stat| stat.processor().as_secs_f64())),
            ("bitcoin_height", node_state.following().and_then(|status| count(status.height.load(Relaxed)))),
            ("disk_size_bytes", disk.and_then(|disk| count(disk.size))),
        ]
    }
}

fn join(state: [Figure; FIGURES - PERCENTILES], latencies: [Figure; PERCENTILES]) -> [Figure; FIGURES] {
    let mut all = state.into_iter().chain(latencies);
    // Both have this number of figures together.
    std::array::from_fn(|_| all.next().unwrap_or_default())
}

fn names_json(names: &[&str]) -> String {
    format!("[\"{}\"]", names.join("\",\""))
}

/// Numbers as short as they can be: a history has 26,000 of them.
fn row_json(row: &Row) -> String {
    let mut text = String::from("[");
    for (at, value) in row.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = match value.filter(|value| value.is_finite()) {
            Some(value) => write!(text, "{comma}{value}"),
            None => write!(text, "{comma}null"),
        };
    }
    text + "]"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_json() {
        let mut row = [None; FIGURES];
        (row[0], row[1], row[2]) = (Some(1764343200.25), Some(9007199254740991.0), Some(f64::NAN));
        let parsed: Vec<Option<f64>> = serde_json::from_str(&row_json(&row)).unwrap();
        assert_eq!(parsed[..4], [row[0], row[1], None, None]);
        assert_eq!(parsed.len(), FIGURES);
    }
}
