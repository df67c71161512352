//! What operators see: whether the node is ready and healthy, its state in sections, its configuration. Read only.

use std::{
    sync::{Arc, OnceLock, atomic::Ordering::Relaxed},
    time::Duration,
};

use serde::Serialize;
use xdp::probe::{self, Finding};

use crate::{Config, metrics::process, node_state::NodeState, open_files, retries::KINDS, text::thousands};

/// The share of a limit from which on a row warns, in percent: there is still time to do something.
const FULL: u64 = 90;
/// The share of free space below which a row warns, in percent.
const LOW: u64 = 10;

/// Reports on a node.
#[derive(Debug)]
pub struct Reporter {
    node_state: Arc<NodeState>,
    network: String,
    promise: &'static str,
    configuration: String,
    /// What the machine can do; it is looked at once, as that loads programs into the kernel.
    machine: OnceLock<Vec<Finding>>,
}

/// The report.
#[derive(Debug, Serialize)]
struct Report<'a> {
    program: &'static str,
    network: &'a str,
    promise: &'a str,
    uptime_seconds: f64,
    ready: bool,
    /// Why it is not ready, or what to know although it is.
    reason: Option<String>,
    healthy: bool,
    sections: Vec<Section>,
    configuration: &'a str,
}

/// Rows of one subject.
#[derive(Debug, Serialize)]
struct Section {
    name: &'static str,
    title: &'static str,
    rows: Vec<Row>,
}

/// A value with a judgement.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    value: String,
    state: Option<State>,
    advice: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    Warning,
    Error,
}

impl Row {
    fn new(name: &str, value: impl ToString) -> Self {
        Self { name: name.into(), value: value.to_string(), state: None, advice: None }
    }

    /// A row that is as it should be, or in another state with what to do.
    fn judged(name: &str, value: impl ToString, fault: Option<(State, &str)>) -> Self {
        let (state, advice) = match fault {
            Some((state, advice)) => (state, Some(advice.to_owned())),
            None => (State::Ok, None),
        };
        Self { state: Some(state), advice, ..Self::new(name, value) }
    }

    /// A number with its limit, which warns when it is nearly reached.
    fn limited(name: &str, value: u64, limit: u64, advice: &str) -> Self {
        let is_full = u128::from(value) * 100 >= u128::from(limit) * u128::from(FULL);
        let fault = is_full.then_some((State::Warning, advice));
        Self::judged(name, format!("{} of {}", thousands(value), thousands(limit)), fault)
    }

    /// A number that should be 0.
    fn faults(name: &str, value: u64, state: State, advice: &str) -> Self {
        Self::judged(name, thousands(value), (value > 0).then_some((state, advice)))
    }
}

impl Reporter {
    /// Reports on a node with this configuration.
    pub fn new(node_state: Arc<NodeState>, network: String, config: &Config) -> Self {
        let promise = if config.cluster.is_wanted() { wire::Promise::Final } else { config.promise };
        Self { node_state, network, promise: promise.name(), configuration: config.to_toml(), machine: OnceLock::new() }
    }

    /// The report as JSON.
    pub fn json(&self) -> String {
        let node_state = &*self.node_state;
        let unready = node_state.unready();
        let note = || node_state.order().and_then(|order| order.note());
        let report = Report {
            program: env!("CARGO_PKG_VERSION"),
            network: &self.network,
            promise: self.promise,
            uptime_seconds: node_state.started.elapsed().as_secs_f64(),
            ready: unready.is_none(),
            reason: unready.map(str::to_owned).or_else(note),
            healthy: node_state.damage().is_empty(),
            sections: self.sections(),
            configuration: &self.configuration,
        };
        // There are no maps in it, and so no keys that could not be written.
        serde_json::to_string(&report).unwrap_or_default() + "\n"
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![
            Section { name: "ledger", title: "Ledger", rows: self.ledger() },
            Section { name: "storage", title: "Storage", rows: self.storage() },
            Section { name: "clients", title: "Clients", rows: self.clients() },
        ];
        let further = [
            ("replica", "Replica", self.replica()),
            ("follow", "Followed node", self.follow()),
            ("kv", "Key-value store", self.kv()),
            ("bitcoin", "Bitcoin", self.bitcoin()),
        ];
        let further = further.into_iter().filter_map(|(name, title, rows)| Some(Section { name, title, rows: rows? }));
        sections.extend(further);
        sections.push(Section { name: "process", title: "Process", rows: self.process() });
        sections.push(Section { name: "machine", title: "Machine", rows: self.machine() });
        sections
    }

    fn ledger(&self) -> Vec<Row> {
        let node_state = &*self.node_state;
        let accounts = node_state.accounts.load(Relaxed);
        let failed = |has_failed: bool| has_failed.then_some((State::Error, "restart the node; its log has the cause"));
        let mut rows = vec![
            Row::limited(
                "Accounts",
                accounts,
                node_state.accounts_limit,
                "restart with a larger `ledger.accounts`, or creations will be refused",
            ),
            Row::new("Transactions in blocks", thousands(node_state.settled.load(Relaxed))),
            Row::new("Height", thousands(node_state.height.load(Relaxed))),
            Row::new("Height of balance proofs", thousands(node_state.index_height.load(Relaxed))),
            Row::new("First retained block", thousands(node_state.first_retained.load(Relaxed))),
            Row::new("Last durable operation", thousands(node_state.durable())),
            Row::judged(
                "Block builder",
                format!("{} operations to go", thousands(node_state.behind())),
                failed(node_state.builder_failed.load(Relaxed)),
            ),
            Row::judged(
                "Journal",
                if node_state.is_reads_only() { "refuses operations" } else { "writes" },
                failed(node_state.has_storage_failed()),
            ),
        ];
        for (kind, fill) in KINDS.iter().zip(node_state.retries.fills()) {
            let name = format!("Remembered for retries, {kind}");
            let advice = "operations are answered BUSY when it is full: see `ledger.retry_operations`";
            rows.push(Row::limited(&name, fill.operations as u64, fill.capacity as u64, advice));
        }
        // A kind of operation that nobody has sent yet may have no memory.
        rows.retain(|row| row.value != "0 of 0");
        rows
    }

    fn storage(&self) -> Vec<Row> {
        let node_state = &*self.node_state;
        let mut rows = Vec::new();
        if let Some(disk) = node_state.disk() {
            let advice = "free some space: a node without room for its journal answers only reads";
            let is_low = u128::from(disk.free) * 100 < u128::from(disk.size) * u128::from(LOW);
            let value = format!("{} of {}", bytes(disk.free), bytes(disk.size));
            rows.push(Row::judged("Free space", value, is_low.then_some((State::Warning, advice))));
        }
        rows.push(Row::new("Segments of the journal", node_state.log.segments()));
        let damaged = node_state.damage().len() as u64;
        rows.push(Row::faults(
            "Damaged blocks",
            damaged,
            State::Error,
            "restore a backup, or replace a replica's data with `turnpike cluster sync --replace`; /health names the blocks",
        ));
        rows
    }

    fn clients(&self) -> Vec<Row> {
        let counters = &self.node_state.counters;
        let mut rows = vec![
            Row::new("Connections", thousands(counters.open_connections())),
            Row::new("Messages received", thousands(counters.messages.get())),
            Row::new("Replies lost", thousands(counters.lost.get())),
        ];
        let refused = wire::Status::ALL.iter().map(|status| (status.name(), counters.refused(*status)));
        let refused = refused.filter(|(_, count)| *count > 0);
        rows.extend(refused.map(|(name, count)| Row::new(&format!("Refused: {name}"), thousands(count))));
        rows
    }

    fn replica(&self) -> Option<Vec<Row>> {
        let order = self.node_state.order()?;
        let status = order.engine.snapshot();
        let (number, replicas) = order.number_and_size();
        let seconds = |seconds: u64, name: &str| {
            let advice = "set the clocks of all replicas by NTP";
            Row::judged(name, format!("{seconds} s"), (seconds > 0).then_some((State::Warning, advice)))
        };
        let member = match number {
            Some(number) => Row::judged("Number", format!("{number} of {replicas}"), None),
            None => Row::judged("Number", "none", Some((State::Error, "have it join: `turnpike cluster join`"))),
        };
        Some(vec![
            member,
            Row::new("Changes of the set", order.generation()),
            Row::new("Leader", status.leader),
            Row::new("Epoch and view", format!("{}, {}", status.epoch, status.view)),
            Row::new("Final height", thousands(status.height)),
            Row::new("Views abandoned", thousands(status.abandoned)),
            Row::faults(
                "Evidence",
                status.evidence,
                State::Error,
                "a replica has signed contradictions: see \"Evidence\" in docs/operations.md",
            ),
            seconds(order.clocks.block_ahead(), "Blocks ahead of this clock"),
            seconds(order.clocks.clock_ahead(), "This clock ahead of the others"),
        ])
    }

    fn follow(&self) -> Option<Vec<Row>> {
        let status = self.node_state.followed()?;
        let stopped = status.stopped().map(ToString::to_string);
        let fault = match (&stopped, status.is_up()) {
            (Some(reason), _) => Some((State::Error, reason.as_str())),
            (None, false) => {
                Some((State::Warning, "it does not answer: this node tries again, and serves the blocks that it has"))
            }
            (None, true) => None,
        };
        let value = match (stopped.is_some(), status.is_up()) {
            (true, _) => "stopped",
            (false, true) => "answers",
            (false, false) => "does not answer",
        };
        Some(vec![
            Row::new("Address, for writes", status.node),
            Row::judged("State", value, fault),
            Row::new("Operations to go", thousands(status.behind())),
            Row::new("Time since this node was level", duration(status.lag())),
            Row::new("Reconnections", thousands(status.reconnections())),
        ])
    }

    fn kv(&self) -> Option<Vec<Row>> {
        let service = self.node_state.kv()?;
        let counters = service.store.counters();
        let sum =
            |of: fn(&kv::store::Shard) -> usize| service.store.shards().map(|shard| of(&shard) as u64).sum::<u64>();
        let gets = counters.get_hits + counters.get_misses;
        let hits = (counters.get_hits * 100).checked_div(gets);
        Some(vec![
            Row::new("Items", thousands(sum(kv::store::Shard::len))),
            Row::new(
                "Memory for items",
                format!(
                    "{} of {}",
                    bytes(sum(kv::store::Shard::used_bytes)),
                    bytes(service.store.config().memory as u64)
                ),
            ),
            Row::new("Reads that hit", hits.map_or_else(|| "none yet".to_owned(), |share| format!("{share} %"))),
            Row::new("Items evicted", thousands(counters.evictions)),
            Row::new("Connections", thousands(service.counts.curr_connections.load(Relaxed))),
        ])
    }

    fn bitcoin(&self) -> Option<Vec<Row>> {
        let status = self.node_state.following()?;
        let is_up = status.is_up.load(Relaxed);
        let advice = "the Bitcoin node does not answer: see `bitcoin.node` and `bitcoin.cookie`, and the log";
        Some(vec![
            Row::judged(
                "Bitcoin node",
                if is_up { "answers" } else { "does not answer" },
                (!is_up).then_some((State::Error, advice)),
            ),
            Row::new("Its height", thousands(status.node_height.load(Relaxed))),
            Row::new("Imported height", thousands(status.height.load(Relaxed))),
        ])
    }

    fn process(&self) -> Vec<Row> {
        let advice = "raise the limit of open files (`ulimit -n`, LimitNOFILE=)";
        let mut rows = vec![Row::limited("Open files", open_files::open(), open_files::limit(), advice)];
        if let Some(stat) = process::Stat::read() {
            rows.push(Row::new("Memory", bytes(stat.resident_bytes())));
            rows.push(Row::new("Processor time", duration(stat.processor())));
            rows.push(Row::new("Threads", stat.threads));
        }
        rows
    }

    /// What `turnpike doctor` finds.
    fn machine(&self) -> Vec<Row> {
        let findings = self.machine.get_or_init(probe::machine);
        let row = |finding: &Finding| Row {
            name: finding.what.clone(),
            value: finding.how.clone(),
            // A machine that lacks one of these serves all the same, only slower.
            state: Some(if finding.good { State::Ok } else { State::Warning }),
            advice: Some(finding.advice.clone()).filter(|advice| !advice.is_empty()),
        };
        findings.iter().map(row).collect()
    }
}

fn bytes(number: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| number >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", number as f64 / *unit as f64),
        None => format!("{number} B"),
    }
}

fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_readable() {
        assert_eq!([0, 1023, 1536, 5 << 20, 3 << 30].map(bytes), ["0 B", "1023 B", "1.5 KiB", "5.0 MiB", "3.0 GiB"]);
        assert_eq!(
            [5, 61, 7260].map(|seconds| duration(Duration::from_secs(seconds))),
            ["5.0 s", "1 min 1 s", "2 h 1 min"]
        );
    }

    #[test]
    fn a_row_warns_before_its_limit_is_reached() {
        let state = |value| Row::limited("a", value, 1000, "advice");
        assert!(state(899).advice.is_none() && state(900).advice.is_some());
        // Products must not overflow.
        assert!(Row::limited("a", u64::MAX, u64::MAX, "advice").advice.is_some());
    }
}
