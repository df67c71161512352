//! The demo's replicas: four processes that order transfers, one of which is killed, and one that lies.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use client::load::{self, Choice, Distribution, Format, Mix, Operations, Pace, Until};
use client::{Client, Options, Pipeline};
use node::Config;
use order::{Answer, Application, Block, Committee, Final, Payload, Process, Refusal};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use wire::{BatchFormat, Promise};

use super::{FUNDS, Row};
use crate::error::Error;
use crate::hex;
use crate::output::{Output, thousands};

/// Of four replicas, one may be away or lie.
const REPLICAS: usize = 4;
/// The replica that serves the clients, and is killed.
const KILLED: usize = 0;
/// The replica that lies.
const LIAR: usize = 3;
const ACCOUNTS: u32 = 1_000;
/// Before the kill, and after it.
const TRANSFERS: u64 = 50_000;
/// Operations in a datagram: some hundred KiB of a block's one MiB.
const BATCH: u16 = 1_000;
const WINDOW: usize = 8;
/// How long requests are retried.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs it below a folder. Gives how many operations were lost.
pub fn run(folder: &Path, rows: &mut Vec<Row>, output: Output) -> Result<u64, Error> {
    let cluster = Cluster { dir: folder.join("cluster") };
    let accounts = (ACCOUNTS + 16).to_string();
    let options = ["--port", "0", "--trusted", "127.0.0.0/8", "--accounts", &accounts];
    cluster.turnpike("init", &options)?;
    let started = cluster.turnpike("start", &[])?;
    let nodes = started.iter().map(|replica| replica["listen"].as_str()?.parse().ok());
    let nodes: Vec<SocketAddr> =
        nodes.collect::<Option<_>>().ok_or_else(|| failed("the replicas reported no addresses"))?;
    output.progress(format!("replicas   {REPLICAS} processes order blocks; {} serves", nodes[KILLED]));

    let options = Options {
        promise: Promise::Final,
        others: nodes[KILLED + 1..].to_vec(),
        window: WINDOW,
        give_up_after: PATIENCE,
        ..Options::default()
    };
    let mut pipeline = Pipeline::connect(nodes[KILLED], &options).map_err(Error::other)?;
    let bar = output.bar("accounts", 2 * u64::from(ACCOUNTS));
    let balances = load::prepare(&mut pipeline, 1, ACCOUNTS, FUNDS, Promise::Final, |sent| bar.set_position(sent));
    bar.finish_and_clear();
    let balances = balances.map_err(Error::other)?;
    let choice = Choice::new(Distribution::Uniform, 1, ACCOUNTS, 1);
    let mut workload =
        Operations::new(Mix::Transfer, Format::Batch(BatchFormat::Compact), BATCH, Promise::Final, choice)
            .map_err(Error::other)?
            .following(balances)
            .sampling(TRANSFERS);
    let until = Until::operations(TRANSFERS);
    let mut transfer = |pipeline: &mut Pipeline| {
        let bar = output.bar("transfers", TRANSFERS);
        let report = load::run(pipeline, &mut workload, Pace::Closed, until, |report| {
            bar.set_position(report.answered);
            ControlFlow::Continue(())
        });
        bar.finish_and_clear();
        report.map_err(Error::other)
    };
    let calm = transfer(&mut pipeline)?;
    rows.push(Row::of_load("TRANSFER, replicas", &calm, Promise::Final));
    kill(&started[KILLED])?;
    let killed = transfer(&mut pipeline)?;
    rows.push(Row::of_load("TRANSFER, one killed", &killed, Promise::Final));
    let differing = match workload.balances() {
        Some(expected) => load::check(&mut pipeline, expected).map_err(Error::other)?,
        None => 0,
    };
    output.progress(format!(
        "kill -9    of the serving replica; the client failed over {} times; {differing} of {} balances differ",
        pipeline.turns(),
        thousands(ACCOUNTS.into())
    ));
    if differing > 0 || pipeline.turns() == 0 {
        return Err(failed("the replicas did not continue after one was killed"));
    }

    cluster.turnpike("start", &[])?;
    prove(nodes[1], &options, &workload, output)?;
    cluster.lie(&started[LIAR], output)?;
    Ok(calm.lost + killed.lost)
}

/// Proves a transfer by the signatures of a quorum.
fn prove(node: SocketAddr, options: &Options, workload: &Operations, output: Output) -> Result<(), Error> {
    let mut client = Client::connect(node, options).map_err(Error::other)?;
    let mut chain = client.open_chain(None).map_err(Error::other)?;
    let sample = workload.samples().last().ok_or_else(|| failed("no transfer was done"))?;
    let proved = client.prove_transaction(&mut chain, sample.transaction, sample.source).map_err(Error::other)?;
    let vouched = chain.vouched().ok_or_else(|| failed("no certificate covers the transfer"))?;
    output.progress(format!(
        "proof      a transfer is final in block {} of network {}...: {} of {REPLICAS} replicas signed",
        proved.height,
        &hex::encode(chain.network_id())[..16],
        vouched.certificate.signers().count()
    ));
    Ok(())
}

fn kill(replica: &Value) -> Result<(), Error> {
    let pid = replica["process"].as_i64().and_then(|pid| Pid::from_raw(pid as i32));
    let pid = pid.ok_or_else(|| failed("a replica reported no process id"))?;
    kill_process(pid, Signal::KILL).map_err(Error::other)
}

fn failed(text: &str) -> Error {
    Error::Failed(text.to_owned())
}

/// Replicas that end with this.
struct Cluster {
    dir: PathBuf,
}

impl Cluster {
    fn command(&self, command: &str, options: &[&str]) -> Result<Command, Error> {
        let mut process = Command::new(std::env::current_exe().map_err(Error::other)?);
        process.args(["--json", "cluster", command, "--dir"]).arg(&self.dir).args(options);
        Ok(process)
    }

    /// Runs a command of the program, and returns its lines.
    fn turnpike(&self, command: &str, options: &[&str]) -> Result<Vec<Value>, Error> {
        let ran = self.command(command, options)?.output().map_err(Error::other)?;
        if !ran.status.success() {
            let text = String::from_utf8_lossy(&ran.stderr);
            return Err(Error::Failed(format!("turnpike cluster {command}: {}", text.trim())));
        }
        lines(&ran.stdout)
    }

    /// The status of every replica. The command exits with an error while one is down, which is no error here.
    fn status(&self) -> Result<Vec<Value>, Error> {
        lines(&self.command("status", &[])?.output().map_err(Error::other)?.stdout)
    }

    /// Replaces a replica by one that states wrong results whenever it leads, until another replica has evidence.
    fn lie(&self, replica: &Value, output: Output) -> Result<(), Error> {
        kill(replica)?;
        let since = Instant::now();
        while self.status()?.get(LIAR).is_none_or(|status| status["process"].is_i64()) {
            if since.elapsed() > PATIENCE {
                return Err(failed("a killed replica does not exit"));
            }
            sleep(PAUSE);
        }
        let mut liar = Command::new(std::env::current_exe().map_err(Error::other)?);
        liar.args(["--log", "off", "demo", "--liar"]).arg(&self.dir).stdin(Stdio::null());
        let mut liar = liar.spawn().map_err(Error::other)?;
        let evidence = self.wait_for_evidence();
        // It may have ended on its own; the evidence shows whether it lied.
        let _ = (liar.kill(), liar.wait());
        output.progress(format!("liar       refused; {} pieces of evidence are kept", evidence?));
        Ok(())
    }

    /// Waits until a replica has evidence. Returns the number of pieces.
    fn wait_for_evidence(&self) -> Result<u64, Error> {
        let since = Instant::now();
        loop {
            let statuses = self.status()?;
            let running = statuses.iter().filter(|status| status["process"].is_i64());
            let evidence = running.filter_map(|status| evidence_of(status["http"].as_str()?)).max().unwrap_or(0);
            if evidence > 0 {
                return Ok(evidence);
            }
            if since.elapsed() > PATIENCE {
                return Err(failed("no replica detected the liar"));
            }
            sleep(PAUSE);
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Whatever became of the demo.
        if let Ok(mut stop) = self.command("stop", &[]) {
            let _ = stop.output();
        }
    }
}

/// Parses lines of JSON.
fn lines(output: &[u8]) -> Result<Vec<Value>, Error> {
    let text = String::from_utf8_lossy(output);
    text.lines().map(|line| serde_json::from_str(line).map_err(Error::other)).collect()
}

/// Number of pieces of evidence in the metrics of a replica, if it answers.
fn evidence_of(http: &str) -> Option<u64> {
    let text = ureq::get(format!("http://{http}/metrics")).call().ok()?.body_mut().read_to_string().ok()?;
    text.lines().find_map(|line| line.strip_prefix("turnpike_order_evidence "))?.trim().parse().ok()
}

/// Runs the Byzantine replica of the cluster in this directory until it is killed.
pub fn play_liar(dir: &Path) -> Result<(), Error> {
    let mut config = Config::load(&dir.join(format!("replica-{LIAR}/turnpike.toml"))).map_err(Error::other)?;
    config.data = dir.join("liar");
    let (order, site) = node::replica_engine(&config).map_err(Error::other)?;
    let liar = Liar { founders: order.founders.clone() };
    let _liar = Process::start(order, site, Arc::new(liar)).map_err(Error::other)?;
    loop {
        std::thread::park();
    }
}

/// An application that accepts every block, and proposes blocks with a wrong header.
struct Liar {
    /// The set, which does not change in the demo.
    founders: Committee,
}

impl Application for Liar {
    fn propose(&self, _: Block, _: Vec<Block>) -> Answer<'_, Option<Payload>> {
        Box::pin(async {
            // The body of a block without operations: its time, and how far its proposer has executed.
            let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64);
            let body = [time.to_be_bytes(), [0; 8]].concat().into();
            Some(Payload { statement: [0xff; 32], body })
        })
    }

    fn verify(&self, _: Block, _: Vec<Block>) -> Answer<'_, Result<(), Refusal>> {
        Box::pin(async { Ok(()) })
    }

    fn finalized(&self, _: Final) -> Answer<'_, ()> {
        Box::pin(async {})
    }

    fn committee(&self, _: u64) -> Committee {
        self.founders.clone()
    }
}
