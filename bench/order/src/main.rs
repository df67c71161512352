//! Replicas as processes on this machine: how fast they order opaque bodies, and what happens when one is killed.
//! `bench/order/run` runs all of it.

use clap::{Parser, Subcommand};
use figures::Figure;
use order_bench::cluster::{Cluster, Shape};
use order_bench::replica::{self, Engine, THREADS};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

/// Measures replicas
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// One replica; the others start it
    Replica(replica::Arguments),
    /// Latency and rate
    Rate {
        #[command(flatten)]
        run: Run,
        /// Bytes of a body
        #[arg(long, default_value_t = 1024)]
        body: usize,
        /// Seconds that are measured
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
    },
    /// One of the replicas is killed, and started again
    Kill {
        #[command(flatten)]
        run: Run,
    },
}

#[derive(clap::Args)]
struct Run {
    /// Where replicas store; it is to be on tmpfs, or on the disk that is measured
    #[arg(long)]
    directory: PathBuf,
    /// What the figures are named after
    #[arg(long)]
    name: String,
    /// Replicas
    #[arg(long, default_value_t = 4)]
    replicas: usize,
    /// Views that one leader leads in a row
    #[arg(long, default_value_t = 1)]
    term: u32,
    /// How long replicas wait for a leader, in milliseconds
    #[arg(long, default_value_t = 60)]
    patience: u64,
    /// What carries the bytes between replicas: tcp, shm or rdma
    #[arg(long, default_value_t)]
    transport: order::Transport,
    /// The part of a replica that runs: whole, or votes for the consensus engine by itself
    #[arg(long, default_value_t = Engine::Whole)]
    engine: Engine,
    /// Threads of a replica
    #[arg(long, default_value_t = THREADS)]
    threads: usize,
}

/// Before anything is measured, replicas connect and fill what they fill once.
const WARM_UP: Duration = Duration::from_secs(2);
/// Longest time that replicas take to connect, on a machine that does much else.
const CONNECT: Duration = Duration::from_secs(60);
/// Blocks after which replicas count as connected.
const CONNECTED: u64 = 20;

impl Run {
    fn start(&self, body: usize) -> Result<(tempfile::TempDir, Cluster), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir_in(&self.directory)?;
        let shape = Shape {
            replicas: self.replicas,
            body,
            term: self.term,
            patience: self.patience,
            transport: self.transport,
            engine: self.engine,
            threads: self.threads,
        };
        let cluster = Cluster::start(&std::env::current_exe()?, directory.path(), shape)?;
        cluster.reach(CONNECTED, CONNECT);
        sleep(WARM_UP);
        Ok((directory, cluster))
    }

    fn record(&self, figure: &str, value: f64, unit: &str) {
        let name = format!("{}, {figure}", self.name);
        println!("{name}: {value:.2} {unit}");
        Figure { name: &name, value, unit, peer: None }.record();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Arguments::parse().command {
        Command::Replica(arguments) => {
            replica::run(arguments);
            Ok(())
        }
        Command::Rate { run, body, seconds } => rate(&run, body, seconds),
        Command::Kill { run } => kill(&run),
    }
}

/// The value that a share of sorted values is not above.
fn quantile(sorted: &[u64], share: f64) -> f64 {
    sorted.get((sorted.len() as f64 * share) as usize).or(sorted.last()).map_or(f64::NAN, |&value| value as f64)
}

fn rate(run: &Run, body: usize, seconds: f64) -> Result<(), Box<dyn std::error::Error>> {
    let (_directory, cluster) = run.start(body)?;
    let first = cluster.height(0);
    sleep(Duration::from_secs_f64(seconds));
    let last = cluster.height(0);
    cluster.agree();
    let lines: Vec<_> = (0..run.replicas).flat_map(|number| cluster.lines(number)).collect();
    let measured = lines.iter().filter(|line| (first..last).contains(&line.height));
    let mut took: Vec<_> = measured.filter_map(|line| line.took).collect();
    took.sort_unstable();
    let bodies = (last - first) as f64 / seconds;
    run.record("p50", quantile(&took, 0.5) / 1000.0, "ms");
    run.record("p99", quantile(&took, 0.99) / 1000.0, "ms");
    run.record("bodies", bodies, "/s");
    run.record("transactions of 256 bytes", bodies * (body / 256) as f64, "/s");
    Ok(())
}

/// Seconds of each stretch of the kill: before it, after it, and after the replica is back.
const STRETCH: Duration = Duration::from_secs(4);

fn kill(run: &Run) -> Result<(), Box<dyn std::error::Error>> {
    let (_directory, mut cluster) = run.start(1024)?;
    sleep(STRETCH);
    let killed = run.replicas - 1;
    cluster.kill(killed);
    let at_kill = now();
    sleep(STRETCH);
    let at_restart = now();
    let behind = cluster.height(0);
    cluster.restart(killed)?;
    cluster.reach(behind, CONNECT);
    let joined = cluster.lines(killed).iter().find(|line| line.height >= behind).map_or(0, |line| line.at);
    sleep(STRETCH);
    cluster.agree();
    let lines = cluster.lines(0);
    let stretch = STRETCH.as_micros() as u64;
    let between = |from: u64, to: u64| lines.iter().filter(|line| (from..to).contains(&line.at)).count() as f64;
    let after: Vec<_> =
        lines.iter().map(|line| line.at).filter(|at| (at_kill - 1_000_000..at_restart).contains(at)).collect();
    let gap = after.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let before = between(at_kill - stretch, at_kill) / STRETCH.as_secs_f64();
    let settled = between(at_kill + 1_000_000, at_restart) / ((at_restart - at_kill - 1_000_000) as f64 / 1e6);
    run.record("longest gap after a kill", gap as f64 / 1000.0, "ms");
    run.record("rate from 1 s after the kill, of that before", settled / before, "x");
    run.record("until it has caught up", joined.saturating_sub(at_restart) as f64 / 1000.0, "ms");
    Ok(())
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64)
}
