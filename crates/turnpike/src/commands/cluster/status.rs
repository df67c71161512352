//! `turnpike cluster status`: the state of each replica of a directory, as the replicas report it.

use std::net::SocketAddr;

use client::{Client, Options};
use node::Config;
use serde::Serialize;

use super::{ANSWER, dir, home::Home};
use crate::cli::ClusterArgs;
use crate::error::Error;
use crate::output::Output;
use crate::{hex, http};

/// The metric that counts pieces of evidence.
const EVIDENCE: &str = "turnpike_order_evidence ";

/// Maximum size of a page of metrics, in bytes.
const METRICS: u64 = 1 << 20;

/// The state of a replica.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The number of its folder.
    pub replica: usize,
    pub listen: String,
    pub http: Option<String>,
    pub process: Option<i32>,
    pub network: Option<String>,
    pub height: Option<u64>,
    pub accounts: Option<u64>,
    /// Its number in the voting set, if any; the size of that set; and the leader, as far as the replica knows.
    pub member: Option<u8>,
    pub replicas: Option<u8>,
    pub leader: Option<u8>,
    pub epoch: Option<u64>,
    pub generation: Option<u32>,
    /// Blocks that another replica has executed and this one has not. Only `status` compares them.
    pub behind: Option<u64>,
    /// Number of pieces of evidence against other replicas. Only `status` requests it.
    pub evidence: Option<u64>,
}

impl Report {
    /// Queries the replica of a folder, if a process runs it.
    pub fn new(home: &Home) -> Result<Self, Error> {
        let config = home.config()?;
        let process = home.process();
        let mut report = Self {
            replica: home.number,
            listen: config.listen.to_string(),
            http: config.http.map(|address| address.to_string()),
            process: process.map(|pid| pid.as_raw_nonzero().get()),
            network: None,
            height: None,
            accounts: None,
            member: None,
            replicas: None,
            leader: None,
            epoch: None,
            generation: None,
            behind: None,
            evidence: None,
        };
        if process.is_some() {
            report.ask(&config);
        }
        Ok(report)
    }

    fn ask(&mut self, config: &Config) {
        let options = Options { give_up_after: ANSWER, ..Options::default() };
        let Ok(mut client) = Client::connect(config.listen, &options) else { return };
        let Ok(info) = client.info() else { return };
        self.network = Some(hex::encode(&info.network));
        self.height = Some(info.tip_height.get());
        self.accounts = Some(info.accounts.get());
        let Ok(finality) = client.finality() else { return };
        self.member = finality.replica;
        self.replicas = Some(finality.replicas);
        self.leader = Some(finality.leader);
        self.generation = Some(finality.generation);
        // The epoch of the next block.
        self.epoch = Some((finality.height + 1) / config.cluster.epoch);
    }

    fn text(&self) -> String {
        let Self { replica, listen, .. } = self;
        let (Some(process), Some(height), Some(accounts)) = (self.process, self.height, self.accounts) else {
            let state = self.process.map_or("is down".into(), |process| format!("process {process}  does not answer"));
            return format!("replica {replica}  {listen}  {state}");
        };
        let member = match (self.member, self.replicas) {
            (Some(number), Some(replicas)) => format!("member {number} of {replicas}"),
            (None, Some(replicas)) => format!("not a member of the {replicas}"),
            _ => "membership unknown".into(),
        };
        let mut text = format!("replica {replica}  {listen}  process {process}  {member}");
        let numbers = [
            ("leader", self.leader.map(u64::from)),
            ("epoch", self.epoch),
            ("generation", self.generation.map(u64::from)),
            ("height", Some(height)),
            ("behind", self.behind),
            ("accounts", Some(accounts)),
            ("evidence", self.evidence),
        ];
        for (name, number) in numbers {
            text.extend(number.map(|number| format!("  {name} {number}")));
        }
        text
    }

    /// Prints it.
    pub fn print(&self, output: Output) {
        output.result(self, Self::text);
    }
}

/// The number of pieces of evidence that a replica keeps, by its metrics.
fn evidence(at: SocketAddr) -> Option<u64> {
    let mut response = http::agent(ANSWER).get(format!("http://{at}/metrics")).call().ok()?;
    let text = response.body_mut().with_config().limit(METRICS).read_to_string().ok()?;
    text.lines().find_map(|line| line.strip_prefix(EVIDENCE))?.trim().parse().ok()
}

/// Runs `turnpike cluster status`. An error where a replica is down, or is not of the set.
pub fn run(args: &ClusterArgs, output: Output) -> Result<(), Error> {
    let homes = Home::all(&dir(args)?)?;
    let mut reports = homes.iter().map(Report::new).collect::<Result<Vec<_>, _>>()?;
    let highest = reports.iter().filter_map(|report| report.height).max();
    for report in &mut reports {
        report.behind = highest.zip(report.height).map(|(highest, height)| highest - height);
        if report.height.is_some() {
            report.evidence = report.http.as_ref().and_then(|address| address.parse().ok()).and_then(evidence);
        }
        report.print(output);
    }
    let named = |which: fn(&Report) -> bool| {
        let found = reports.iter().filter(|report| which(report)).map(|report| report.replica.to_string());
        found.collect::<Vec<_>>().join(", ")
    };
    let down = named(|report| report.height.is_none());
    if !down.is_empty() {
        let text =
            format!("down or not answering: {down}; run `turnpike cluster start`, and see the `log` in the folder");
        return Err(Error::Failed(text));
    }
    let outside = named(|report| report.member.is_none());
    if !outside.is_empty() {
        let text = format!("not members of the set: {outside}; `turnpike cluster add` resumes one that is joining");
        return Err(Error::Failed(text));
    }
    Ok(())
}
