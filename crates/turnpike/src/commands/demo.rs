//! `turnpike demo`: checks all promises of the product in about a minute.
//!
//! The node is the real program in its own process, so that it can be killed.

mod cluster;
mod store;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use chain::bitcoin::{Block, BlockFiles, FileError};
use clap::ValueEnum;
use client::load::{self, Choice, Distribution, Format, Mix, Operations, Pace, Report, Until};
use client::{Client, Options, Pipeline};
use serde::Serialize;
use spv::bitcoin::Network;
use wire::{BatchFormat, Operation, Promise};

use crate::cli::{DemoArgs, IoArg};
use crate::commands::import;
use crate::error::Error;
use crate::hex;
use crate::output::{Output, thousands};
use crate::process::Process;

/// Initial balance of each account. Transfers are of 1, so no account runs dry.
const FUNDS: u64 = 1_000_000;
/// Operations in a datagram: what fits one over loopback.
const BATCH: u16 = 2_700;
/// Datagrams in flight.
const WINDOW: usize = 8;
/// Time until a datagram is sent again; the simulated NIC takes some tenths of a second for each one in the window.
const RETRY: Duration = Duration::from_millis(100);
const RETRY_SIMULATED: Duration = Duration::from_secs(10);
/// Timeout for the node to close the last block and to settle all operations.
const SETTLE: Duration = Duration::from_secs(60);

/// A line of the table.
#[derive(Serialize)]
struct Row {
    what: &'static str,
    operations: u64,
    seconds: f64,
    rate: f64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    promise: &'static str,
}

/// The result of `demo`.
#[derive(Serialize)]
struct DemoReport {
    rows: Vec<Row>,
    proofs_verified: u64,
    proofs_failed: u64,
    balances_differing: u64,
    operations_lost: u64,
    retries: u64,
    /// Requests to the key-value store that the simulated NIC answered, if it ran.
    store_by_nic: Option<u64>,
    store_wrong: u64,
    passed: bool,
}

/// Runs `turnpike demo`.
pub fn run(args: &DemoArgs, output: Output) -> Result<(), Error> {
    if let Some(dir) = &args.liar {
        return cluster::play_liar(dir);
    }
    let folder = tempfile::tempdir().map_err(|error| Error::Failed(format!("no temporary folder: {error}")))?;
    let data = folder.path().join("data");
    let mut rows = Vec::new();

    let imported = args.blocks.as_deref().map(|blocks| import_blocks(blocks, &data, &mut rows, output)).transpose()?;
    let mut node = start(&data, SocketAddr::from(([127, 0, 0, 1], 0)), args)?;
    output.progress(format!("node       process {} serves {}, metrics at {}", node.id(), node.address, node.http));

    let options = Options {
        promise: Promise::Durable,
        window: WINDOW,
        // Long enough for a killed node to restart.
        give_up_after: Duration::from_secs(120),
        retry_after: if args.io == Some(IoArg::Rtl) { RETRY_SIMULATED } else { RETRY },
        ..Options::default()
    };
    let mut pipeline = Pipeline::connect(node.address, &options).map_err(Error::other)?;
    let started = Instant::now();
    let opened = u64::from(args.accounts) * 2;
    let bar = output.bar("accounts", opened);
    let balances =
        load::prepare(&mut pipeline, 1, args.accounts, FUNDS, Promise::Durable, |sent| bar.set_position(sent));
    bar.finish_and_clear();
    let balances = balances.map_err(Error::other)?;
    rows.push(Row::timed("CREATE and ISSUE", opened, started.elapsed(), Promise::Durable.name()));
    output.progress(format!("accounts   {} created and funded", thousands(args.accounts.into())));

    let choice = Choice::new(Distribution::Uniform, 1, args.accounts, 1);
    let format = Format::Batch(BatchFormat::Compact);
    let mut workload = Operations::new(Mix::Transfer, format, BATCH, Promise::Durable, choice)
        .map_err(Error::other)?
        .following(balances)
        .sampling((2 * args.transfers / u64::from(args.proofs.max(1))).max(1));
    let [calm, report] = transfer(&mut pipeline, &mut workload, &mut node, &data, args, output)?;
    rows.push(Row::of_load("TRANSFER", &calm, Promise::Durable));
    rows.push(Row::of_load("TRANSFER, kill -9", &report, Promise::Durable));
    let lost = calm.lost + report.lost;
    let done = calm.ok() + report.ok();

    let differing = match workload.balances() {
        Some(expected) => load::check(&mut pipeline, expected).map_err(Error::other)?,
        None => 0,
    };
    output.progress(format!(
        "balances   {} compared with the sum of replies, {differing} differ",
        thousands(args.accounts.into())
    ));

    let mut client = Client::connect(node.address, &options).map_err(Error::other)?;
    let mut proofs = Proofs { output, verified: 0, failed: 0 };
    let network = hex::decode(&node.network).and_then(|bytes| bytes.try_into().ok());
    let network = network.ok_or_else(|| Error::Failed("the node reported no network id".into()))?;
    settle(&mut client, network, workload.samples())?;
    proofs.of_transfers(&mut client, network, workload.samples(), &mut rows)?;
    proofs.of_balances(&mut client, network, args, &mut rows)?;
    if let Some(transactions) = imported {
        proofs.of_bitcoin(&mut client, &transactions, &mut rows)?;
    }
    if !node.stop().map_err(Error::other)? {
        return Err(Error::Failed("the node did not stop cleanly: see its log above".into()));
    }
    check(&data, output)?;
    // Each of them is a node by sockets.
    let is_short = args.no_replicas || args.io.is_some();
    let final_lost = if is_short { 0 } else { cluster::run(folder.path(), &mut rows, output)? };

    let store = if args.io == Some(IoArg::Rtl) { Some(store::run(&mut rows, output)?) } else { None };

    let report = DemoReport {
        rows,
        proofs_verified: proofs.verified,
        proofs_failed: proofs.failed,
        balances_differing: differing,
        operations_lost: lost + final_lost,
        retries: calm.retries + report.retries,
        store_by_nic: store.as_ref().map(|store| store.by_nic),
        store_wrong: store.as_ref().map_or(0, |store| store.wrong),
        passed: store.is_none_or(|store| store.by_nic > 0 && store.wrong == 0)
            && proofs.failed == 0
            && proofs.verified > 0
            && differing == 0
            && lost + final_lost == 0
            && done == 2 * args.transfers,
    };
    output.result(&report, describe);
    if report.passed { Ok(()) } else { Err(Error::Failed("the demo failed: see the table".into())) }
}

/// Runs the transfers, then the same number while the node is killed and restarted. Returns both results.
fn transfer(
    pipeline: &mut Pipeline,
    workload: &mut Operations,
    node: &mut Process,
    data: &Path,
    args: &DemoArgs,
    output: Output,
) -> Result<[Report; 2], Error> {
    let until = Until::operations(args.transfers);
    let bar = output.bar("transfers", 2 * args.transfers);
    let calm = load::run(pipeline, workload, Pace::Closed, until, |report| {
        bar.set_position(report.answered);
        ControlFlow::Continue(())
    });
    let calm = calm.map_err(Error::other)?;
    let mut killed = None;
    let report = load::run(pipeline, workload, Pace::Closed, until, |report| {
        bar.set_position(args.transfers + report.answered);
        if killed.is_none() && report.answered >= args.transfers / 2 {
            killed = Some(bar.suspend(|| kill_and_restart(node, data, args, report.answered, output)));
        }
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    let report = report.map_err(Error::other)?;
    // So fast a run that it was over before the first look at it is killed afterwards.
    killed.unwrap_or_else(|| kill_and_restart(node, data, args, report.answered, output))?;
    Ok([calm, report])
}

/// Imports blocks, and picks transactions of them to be proved.
fn import_blocks(blocks: &Path, data: &Path, rows: &mut Vec<Row>, output: Output) -> Result<Vec<[u8; 32]>, Error> {
    let started = Instant::now();
    let report = import::bitcoin(blocks, data, Network::Mainnet, false, output)?;
    output.progress(format!("bitcoin    {}", report.describe()));
    let mut transactions = Vec::new();
    let files = BlockFiles::find(blocks, Network::Mainnet).map_err(Error::other)?;
    let read = files.read(|_, raw, _| -> Result<(), FileError> {
        if let Ok(block) = Block::parse(raw.bytes) {
            transactions.extend(block.transactions().iter().map(chain::bitcoin::Transaction::hash));
        }
        Ok(())
    });
    read.map_err(Error::other)?;
    rows.push(Row::timed("Bitcoin import", transactions.len() as u64, started.elapsed(), "checked"));
    Ok(transactions)
}

/// Waits until the newest of the sampled transfers are in a block.
fn settle(client: &mut Client, network: [u8; 32], samples: &[Operation]) -> Result<(), Error> {
    let Some(last) = samples.last() else { return Ok(()) };
    let mut chain = client.open_chain(Some(network)).map_err(Error::other)?;
    let deadline = Instant::now() + SETTLE;
    let durable = client.info().map_err(Error::other)?.durable_sequence.get();
    while client.prove_transaction(&mut chain, last.transaction, last.source).is_err() {
        if Instant::now() > deadline {
            return Err(Error::Failed(format!("operation {durable} was not settled in a block within {SETTLE:?}")));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// The fetched proofs, and their results.
struct Proofs {
    output: Output,
    verified: u64,
    failed: u64,
}

impl Proofs {
    fn of_transfers(
        &mut self,
        client: &mut Client,
        network: [u8; 32],
        samples: &[Operation],
        rows: &mut Vec<Row>,
    ) -> Result<(), Error> {
        let mut chain = client.open_chain(Some(network)).map_err(Error::other)?;
        client.sync_headers(&mut chain).map_err(Error::other)?;
        self.run("proof of a transfer", samples, rows, |sample| {
            let proved =
                client.prove_transaction(&mut chain, sample.transaction, sample.source).map_err(Error::other)?;
            let found = &proved.operation;
            Ok((found.source, found.destination, found.amount())
                == (sample.source, sample.destination, sample.amount()))
        })
    }

    /// Balances that are proved have to be those that the node answers.
    fn of_balances(
        &mut self,
        client: &mut Client,
        network: [u8; 32],
        args: &DemoArgs,
        rows: &mut Vec<Row>,
    ) -> Result<(), Error> {
        let mut chain = client.open_chain(Some(network)).map_err(Error::other)?;
        client.sync_headers(&mut chain).map_err(Error::other)?;
        let step = (args.accounts / args.proofs.max(1)).max(1);
        let mut accounts = HashMap::new();
        for account in (1..=args.accounts).step_by(step as usize) {
            accounts.insert(account, client.refer(account.into()).map_err(Error::other)?.value);
        }
        let accounts: Vec<(u32, u64)> = accounts.into_iter().collect();
        self.run("proof of a balance", &accounts, rows, |(account, balance)| {
            let proved = client.prove_index(&mut chain, (*account).into()).map_err(Error::other)?;
            Ok(proved.entry.is_some_and(|entry| entry.balance.get() == *balance))
        })
    }

    fn of_bitcoin(&mut self, client: &mut Client, transactions: &[[u8; 32]], rows: &mut Vec<Row>) -> Result<(), Error> {
        let mut chain = spv::bitcoin::HeaderChain::new(Network::Mainnet);
        client.sync_bitcoin_headers(&mut chain).map_err(Error::other)?;
        self.run("proof in Bitcoin", transactions, rows, |transaction| {
            Ok(client.prove_bitcoin(&mut chain, *transaction).map_err(Error::other)?.transaction == *transaction)
        })
    }

    fn run<T>(
        &mut self,
        what: &'static str,
        subjects: &[T],
        rows: &mut Vec<Row>,
        mut prove: impl FnMut(&T) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let started = Instant::now();
        let mut latencies = Vec::with_capacity(subjects.len());
        let bar = self.output.bar("proofs", subjects.len() as u64);
        for subject in bar.wrap_iter(subjects.iter()) {
            let asked = Instant::now();
            match prove(subject) {
                Ok(true) => self.verified += 1,
                Ok(false) => self.failed += 1,
                Err(error) => {
                    tracing::error!(%error, what, "a proof failed");
                    self.failed += 1;
                }
            }
            latencies.push(asked.elapsed());
        }
        bar.finish_and_clear();
        latencies.sort_unstable();
        let mut row = Row::timed(what, subjects.len() as u64, started.elapsed(), "provable");
        let at = |share: usize| latencies.get(latencies.len() * share / 100).map(|latency| latency.as_secs_f64() * 1e6);
        (row.p50_us, row.p99_us) = (at(50), at(99));
        rows.push(row);
        Ok(())
    }
}

/// Starts a node of this program.
fn start(data: &Path, listen: SocketAddr, args: &DemoArgs) -> Result<Process, Error> {
    let program = std::env::current_exe().map_err(Error::other)?;
    let accounts = (u64::from(args.accounts) + 16).to_string();
    let io = args.io.as_ref().and_then(ValueEnum::to_possible_value);
    let mut arguments = vec!["--accounts", &accounts];
    if let Some(io) = &io {
        arguments.extend(["--io", io.get_name()]);
    }
    Process::start(program, data, listen, &arguments)
        .map_err(|error| Error::Failed(format!("cannot start the node: {error}")))
}

/// Kills the process with SIGKILL, like a crash, and starts another one on the same data.
fn kill_and_restart(node: &mut Process, data: &Path, args: &DemoArgs, done: u64, output: Output) -> Result<(), Error> {
    node.kill().map_err(Error::other)?;
    let killed = Instant::now();
    let restarted = start(data, node.address, args)?;
    if restarted.network != node.network {
        return Err(Error::Failed(format!("{} has changed: the node began a new network", data.display())));
    }
    *node = restarted;
    output.progress(format!(
        "kill -9    after {} transfers; process {} serves again after {} ms",
        thousands(done),
        node.id(),
        killed.elapsed().as_millis()
    ));
    Ok(())
}

/// Audits the data directory with the program's own command.
fn check(data: &Path, output: Output) -> Result<(), Error> {
    let program = std::env::current_exe().map_err(Error::other)?;
    let checked = Command::new(program).arg("check").arg(data).output().map_err(Error::other)?;
    let text = String::from_utf8_lossy(if checked.status.success() { &checked.stdout } else { &checked.stderr });
    if !checked.status.success() {
        return Err(Error::Failed(format!("the audit failed: {}", text.trim())));
    }
    output
        .progress(format!("audit\n{}", text.trim_end().lines().map(|line| format!("  {line}\n")).collect::<String>()));
    Ok(())
}

impl Row {
    fn timed(what: &'static str, operations: u64, took: Duration, promise: &'static str) -> Self {
        let seconds = took.as_secs_f64();
        Self { what, operations, seconds, rate: operations as f64 / seconds, p50_us: None, p99_us: None, promise }
    }

    fn of_load(what: &'static str, report: &Report, promise: Promise) -> Self {
        let mut row = Self::timed(what, report.answered, report.elapsed, promise.name());
        row.p50_us = Some(report.latency_at(0.5).as_secs_f64() * 1e6);
        row.p99_us = Some(report.latency_at(0.99).as_secs_f64() * 1e6);
        row
    }
}

fn describe(report: &DemoReport) -> String {
    let mut text = format!(
        "{:<20} {:>12} {:>9} {:>12} {:>10} {:>10}  {}\n",
        "", "operations", "seconds", "a second", "p50 us", "p99 us", "promise"
    );
    for row in &report.rows {
        let latency = |value: Option<f64>| value.map_or_else(|| "-".to_string(), |value| format!("{value:.0}"));
        text.push_str(&format!(
            "{:<20} {:>12} {:>9.2} {:>12} {:>10} {:>10}  {}\n",
            row.what,
            thousands(row.operations),
            row.seconds,
            thousands(row.rate as u64),
            latency(row.p50_us),
            latency(row.p99_us),
            row.promise
        ));
    }
    text.push_str(&format!(
        "\nproofs verified = {}, failed = {}; lost = {}; balances that differ = {}; datagrams sent again = {}\n{}",
        thousands(report.proofs_verified),
        report.proofs_failed,
        report.operations_lost,
        report.balances_differing,
        thousands(report.retries),
        if report.passed { "All checks passed." } else { "FAILED." }
    ));
    text
}
