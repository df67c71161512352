//! Measures the prototype of the fast path: four replicas as processes on this machine. `bench/fast-path/run` runs all
//! of it, beside the ordered path and CometBFT.

use std::{error::Error, path::PathBuf, thread, time::Duration};

use clap::{Parser, Subcommand};
use fast_path_bench::{
    client::{Client, one_at_a_time, rate},
    cluster::{self, Cluster, Transport},
    genesis::{BALANCE, Owner, REPLICAS},
};
use figures::Figure;
use wire::{FastBatch, FastOrder};

/// Measure the fast path
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run one replica; the other commands start it
    Replica(cluster::Arguments),
    /// Measure the latency of one order at a time
    Latency {
        #[command(flatten)]
        run: Run,
        /// Orders to measure
        #[arg(long, default_value_t = 1000)]
        orders: u64,
    },
    /// Measure the rate of batches of 1,024 orders
    Rate {
        #[command(flatten)]
        run: Run,
        /// Batches under way at once, each of other accounts
        #[arg(long, default_value_t = 8)]
        windows: usize,
        /// Batches of a window, one after the other
        #[arg(long, default_value_t = 24)]
        batches: u64,
    },
}

#[derive(clap::Args)]
struct Run {
    /// Directory for the lock journals: on tmpfs, or on the disk to measure
    #[arg(long)]
    directory: PathBuf,
    /// Name of the figures
    #[arg(long)]
    name: String,
    /// Transport between replicas, and to the client
    #[arg(long, default_value = "tcp")]
    transport: Transport,
}

/// Orders before the measured ones: replicas connect, and touch their memory.
const WARM_UP: u64 = 50;

/// Time for the last certificate to reach the other replicas.
const SETTLE: Duration = Duration::from_millis(500);

impl Run {
    fn start(&self, accounts: u32) -> Result<(tempfile::TempDir, Cluster), Box<dyn Error>> {
        let directory = tempfile::tempdir_in(&self.directory)?;
        let cluster = Cluster::start(&std::env::current_exe()?, directory.path(), accounts, self.transport)?;
        let mut client = Client::connect(cluster.addresses())?;
        for collector in 0..REPLICAS {
            if !client.wait_for_replicas(collector, REPLICAS as u8 - 1)? {
                return Err("the replicas do not connect to each other".into());
            }
        }
        Ok((directory, cluster))
    }

    fn record(&self, figure: &str, value: f64, unit: &str) {
        let name = if figure.is_empty() { self.name.clone() } else { format!("{}, {figure}", self.name) };
        println!("{name}: {value:.2} {unit}");
        Figure { name: &name, value, unit, peer: None }.record();
    }

    /// Stops the replicas and checks that all of them applied all orders, and that no money appeared or vanished.
    fn check(cluster: Cluster, accounts: u32, orders: u64) -> Result<(), Box<dyn Error>> {
        thread::sleep(SETTLE);
        for report in cluster.stop()? {
            let expected = cluster::Report { applied: orders, total: i128::from(BALANCE) * i128::from(accounts) };
            if report != expected {
                return Err(format!("a replica reports `{report}`, not `{expected}`").into());
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    match Arguments::parse().command {
        Command::Replica(arguments) => cluster::replica(&arguments),
        Command::Latency { run, orders } => latency(&run, orders),
        Command::Rate { run, windows, batches } => measure_rate(&run, windows, batches),
    }
}

fn latency(run: &Run, orders: u64) -> Result<(), Box<dyn Error>> {
    const ACCOUNTS: u32 = 2;
    let [source, destination] = [Owner::new(0), Owner::new(1)];
    let signed: Vec<_> = (0..WARM_UP + orders).map(|sequence| source.order(sequence, destination.account, 1)).collect();
    let (warm_up, measured) = signed.split_at(WARM_UP as usize);
    let (_directory, cluster) = run.start(ACCOUNTS)?;
    let mut client = Client::connect(&cluster.addresses()[..1])?;
    one_at_a_time(&mut client, warm_up)?;
    let latencies = one_at_a_time(&mut client, measured)?;
    drop(client);
    Run::check(cluster, ACCOUNTS, WARM_UP + orders)?;
    run.record("p50", latencies.quantile(0.5), "ms");
    run.record("p99", latencies.quantile(0.99), "ms");
    Ok(())
}

fn measure_rate(run: &Run, windows: usize, batches: u64) -> Result<(), Box<dyn Error>> {
    let accounts = u32::try_from(windows * FastBatch::MAX_ORDERS)?;
    let owners: Vec<_> = (0..accounts).map(Owner::new).collect();
    let signed: Vec<Vec<Vec<FastOrder>>> = owners
        .chunks(FastBatch::MAX_ORDERS)
        .map(|owners| {
            let pay = |sequence| -> Vec<FastOrder> {
                let destinations = owners.iter().cycle().skip(1);
                owners.iter().zip(destinations).map(|(from, to)| from.order(sequence, to.account, 1)).collect()
            };
            (0..batches).map(pay).collect()
        })
        .collect();
    let (_directory, cluster) = run.start(accounts)?;
    let mut client = Client::connect(cluster.addresses())?;
    let rate = rate(&mut client, &signed)?;
    drop(client);
    Run::check(cluster, accounts, u64::from(accounts) * batches)?;
    run.record("", rate, "/s");
    Ok(())
}
