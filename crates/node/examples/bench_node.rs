//! Transfers a second over loopback: a node and a client in one process, on their own data directory.
//!
//! `bench_node [accounts] [seconds] [promise] [operations a datagram] [datagrams in flight] [data directory]`, by
//! default 2,000,000 accounts, 10 s, `durable`, 1000, 16, and a temporary directory below the current one. Prints rate,
//! latency, processor time of each thread, and the lag of the block builder.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{collections::BTreeMap, fs, ops::ControlFlow, path::PathBuf, time::Duration};

use client::{
    Options, Pipeline,
    load::{self, Choice, Distribution, Format, Mix, Operations, Pace, Until},
};
use turnpike_node::{Config, Node};
use wire::{BatchFormat, Promise};

fn argument<T: std::str::FromStr>(at: usize, default: T) -> T {
    std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Processor time of the threads of this process by name, in milliseconds.
fn processor_times() -> BTreeMap<String, u64> {
    let mut times = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let Ok(stat) = fs::read_to_string(task.path().join("stat")) else { continue };
        let (name, rest) = stat.split_once(") ").unwrap();
        let fields: Vec<_> = rest.split(' ').collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        *times.entry(name.split_once('(').unwrap().1.to_owned()).or_default() += ticks * 10;
    }
    times
}

/// Kilobytes of this process that are resident.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn main() {
    let accounts: u32 = argument(1, 2_000_000);
    let time = Duration::from_secs(argument(2, 10));
    let promise = if argument(3, String::new()) == "accepted" { Promise::Accepted } else { Promise::Durable };
    let (batch, window): (u16, usize) = (argument(4, 1000), argument(5, 16));
    let directory = tempfile::tempdir_in(".").unwrap();
    let mut config = Config {
        data: argument(6, PathBuf::from(directory.path())),
        listen: "127.0.0.1:0".parse().unwrap(),
        http: None,
        trusted: vec!["127.0.0.0/8".parse().unwrap()],
        ..Config::default()
    };
    config.ledger.accounts = u64::from(accounts);
    let node = Node::start(&config).unwrap();

    let options = Options { window, promise, ..Options::default() };
    let mut pipeline = Pipeline::connect(node.local_address(), &options).unwrap();
    load::prepare(&mut pipeline, 1, accounts, 1 << 32, Promise::Durable, |_| ()).unwrap();
    while node.behind() > 0 || node.is_open() {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_secs(2));
    println!("{accounts} accounts, {} MiB resident at idle", resident() >> 10);

    let choice = Choice::new(Distribution::Uniform, 1, accounts, 1);
    let format = Format::Batch(BatchFormat::Operation);
    let mut workload = Operations::new(Mix::Transfer, format, batch, promise, choice).unwrap();
    let before = processor_times();
    let mut most_behind = 0;
    let report = load::run(&mut pipeline, &mut workload, Pace::Closed, Until::time(time), |_| {
        most_behind = most_behind.max(node.behind());
        ControlFlow::Continue(())
    })
    .unwrap();
    let operations = report.answered as f64;
    println!(
        "{promise}: {:.3} million/s, p50 {} us, p99 {} us, {} sent again, {} lost",
        operations / report.elapsed.as_secs_f64() / 1e6,
        report.latency.value_at_quantile(0.5) / 1000,
        report.latency.value_at_quantile(0.99) / 1000,
        report.retries,
        report.lost,
    );
    println!("builder: {} behind at the end, {most_behind} at most", node.behind());
    for (thread, milliseconds) in processor_times() {
        let used = milliseconds - before.get(&thread).copied().unwrap_or(0);
        if used > 0 {
            println!("{thread:12} {:5} ms, {:4.0} ns an operation", used, used as f64 * 1e6 / operations);
        }
    }
    println!("{} MiB resident", resident() >> 10);
    node.stop();
}
