//! The key-value store next to memcached and Redis: `bench/kv/run` starts the servers. Each load is put on one after the
//! other, in rounds; what is told is the median.

mod fairness;
mod hits;
mod keys;
mod load;
mod paced;
mod processor;
mod program;
mod protocol;
mod shift;
mod udp;

use std::{
    error::Error,
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};

use clap::Parser;
use figures::Figure;

use crate::{hits::Mix, keys::Spread, load::Shape, protocol::Protocol};

/// Compares key-value stores
#[derive(Parser)]
struct Arguments {
    /// The key-value store of Turnpike
    #[arg(long)]
    turnpike: SocketAddr,
    /// memcached
    #[arg(long)]
    memcached: SocketAddr,
    /// Redis
    #[arg(long)]
    redis: SocketAddr,
    /// Only tell how often items are found: with servers that have too little memory for all
    #[arg(long)]
    hits: bool,
    /// The process of the store, and of memcached, whose processor time is told
    #[arg(long, num_args = 2)]
    processes: Option<Vec<u32>>,
    /// How often each is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Items in each
    #[arg(long, default_value_t = 2_000_000)]
    items: u32,
    /// Bytes of a value
    #[arg(long, default_value_t = 100)]
    value: usize,
}

/// Requests drawn in advance.
const DRAWS: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    if arguments.hits {
        return compare_hits(&arguments);
    }
    let servers = [
        ("turnpike", arguments.turnpike, Protocol::Memcached),
        ("memcached", arguments.memcached, Protocol::Memcached),
        ("redis", arguments.redis, Protocol::Redis),
    ];
    for (_, server, protocol) in servers {
        load::fill(server, protocol, arguments.items, arguments.value)?;
    }
    let time = Duration::from_secs_f64(arguments.seconds);
    println!(
        "{:34} {:>12} {:>12} {:>12} {:>8} {:>8}",
        "requests/s", "turnpike", "memcached", "redis", "x mc", "x redis"
    );
    for (name, connections, pipeline) in [("8 connections of 32", 8, 32), ("32 connections of 1", 32, 1)] {
        for spread in [Spread::Zipf, Spread::Uniform] {
            let draws = keys::draws(spread, arguments.items, DRAWS);
            for reads in [95, 50] {
                let shape = Shape { connections, pipeline, reads, value: arguments.value };
                let mut rates = servers.map(|_| Vec::new());
                for _ in 0..arguments.rounds {
                    for ((_, server, protocol), rates) in servers.iter().zip(&mut rates) {
                        rates.push(load::run(*server, *protocol, &shape, &draws, time)?);
                    }
                }
                let [ours, memcached, redis] = rates.map(median);
                let (to_memcached, to_redis) = (ours / memcached, ours / redis);
                let name = format!("{name}, {reads}% get, {spread:?}").to_lowercase();
                println!("{name:34} {ours:12.0} {memcached:12.0} {redis:12.0} {to_memcached:8.2} {to_redis:8.2}");
                Figure { name: &name, value: ours, unit: "/s", peer: Some(("memcached", memcached)) }.record();
                let name = format!("{name} against Redis");
                Figure { name: &name, value: ours, unit: "/s", peer: Some(("Redis", redis)) }.record();
            }
        }
    }
    compare_latencies(&arguments, time)?;
    compare_fairness(&arguments, time)?;
    match arguments.processes.as_deref() {
        Some(&[ours, memcached]) => compare_udp(&arguments, [ours, memcached], time),
        _ => Ok(()),
    }
}

/// Connections whose latency is measured, and the share of the highest rate that they ask at.
const LATENCY_CONNECTIONS: usize = 32;
const LATENCY_SHARE: f64 = 0.7;

/// Loops that use a processor each, as other programs of the machine do.
const BUSY_LOOPS: usize = 2;

/// Compares latencies at one rate for both stores, a share of the slower one's highest, quiet and beside busy loops.
fn compare_latencies(arguments: &Arguments, time: Duration) -> Result<(), Box<dyn Error>> {
    let servers = [arguments.turnpike, arguments.memcached];
    let draws = keys::draws(Spread::Zipf, arguments.items, DRAWS);
    let shape = Shape { connections: LATENCY_CONNECTIONS, pipeline: 1, reads: 100, value: arguments.value };
    let mut highest = servers.map(|_| Vec::new());
    for _ in 0..arguments.rounds {
        for (server, rates) in servers.iter().zip(&mut highest) {
            rates.push(load::run(*server, Protocol::Memcached, &shape, &draws, time)?);
        }
    }
    let rate = LATENCY_SHARE * highest.map(median).into_iter().fold(f64::INFINITY, f64::min);
    compare_latency(arguments, &draws, rate, time, "")?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..BUSY_LOOPS {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let compared = compare_latency(arguments, &draws, rate, time, " beside two busy loops");
        stop.store(true, Relaxed);
        compared
    })
}

fn compare_latency(
    arguments: &Arguments,
    draws: &[u32],
    rate: f64,
    time: Duration,
    beside: &str,
) -> Result<(), Box<dyn Error>> {
    let servers = [arguments.turnpike, arguments.memcached];
    let mut latencies = servers.map(|_| Vec::new());
    for _ in 0..arguments.rounds {
        for (server, latencies) in servers.iter().zip(&mut latencies) {
            let p99 = paced::p99(*server, LATENCY_CONNECTIONS, rate, arguments.value, draws, time)?;
            latencies.push(p99.as_secs_f64() * 1e6);
        }
    }
    let [ours, memcached] = latencies.map(median);
    let name = format!("p99 at 70% of the highest rate, {LATENCY_CONNECTIONS} connections of 1{beside}");
    println!("{name}: {ours:.0} us, memcached {memcached:.0} us, at {rate:.0} gets/s");
    Figure { name: &name, value: ours, unit: "us", peer: Some(("memcached", memcached)) }.record();
    Ok(())
}

/// Measures eight honest clients beside four that pipeline.
fn compare_fairness(arguments: &Arguments, time: Duration) -> Result<(), Box<dyn Error>> {
    let servers = [arguments.turnpike, arguments.memcached];
    let draws = keys::draws(Spread::Zipf, arguments.items, DRAWS);
    let mut latencies = servers.map(|_| [Vec::new(), Vec::new()]);
    for _ in 0..arguments.rounds {
        for (server, latencies) in servers.iter().zip(&mut latencies) {
            let percentiles = fairness::latencies(*server, arguments.value, &draws, time)?;
            for (latencies, latency) in latencies.iter_mut().zip(percentiles) {
                latencies.push(latency.as_secs_f64() * 1e6);
            }
        }
    }
    let [ours, theirs] = latencies;
    for ((ours, theirs), percentile) in ours.into_iter().zip(theirs).zip(["p50", "p99"]) {
        let (ours, memcached) = (median(ours), median(theirs));
        println!("{percentile} of 8 clients beside 4 that pipeline: {ours:.0} us, memcached {memcached:.0} us");
        let name = format!("{percentile} of 8 clients beside 4 that pipeline");
        Figure { name: &name, value: ours, unit: "us", peer: Some(("memcached", memcached)) }.record();
    }
    Ok(())
}

/// Keys of the measurement of the program in the driver, at most: each has half a kilobyte of the mirror.
const PROGRAM_KEYS: u32 = 200_000;

/// Keys of a datagram that has several.
const SEVERAL: usize = 8;

fn compare_udp(arguments: &Arguments, processes: [u32; 2], time: Duration) -> Result<(), Box<dyn Error>> {
    let servers = [arguments.turnpike, arguments.memcached];
    let draws = keys::draws(Spread::Zipf, arguments.items, DRAWS);
    println!("{:34} {:>12} {:>12} {:>8}", "UDP", "turnpike", "memcached", "x");
    for (keys, name) in [(SEVERAL, "UDP, 8 gets a datagram"), (1, "UDP, single gets")] {
        let (mut rates, mut times) = (servers.map(|_| Vec::new()), servers.map(|_| Vec::new()));
        for _ in 0..arguments.rounds {
            for (at, server) in servers.iter().enumerate() {
                let outcome = udp::run(*server, processes[at], keys, &draws, time)?;
                rates[at].push(outcome.rate);
                times[at].push(outcome.processor);
            }
        }
        let ([ours, theirs], [our_time, their_time]) = (rates.map(median), times.map(median));
        println!("{name:34} {ours:12.0} {theirs:12.0} {:8.2}", ours / theirs);
        Figure { name, value: ours, unit: "/s", peer: Some(("memcached", theirs)) }.record();
        let name = format!("{name}: processor time of one");
        println!("{name:34} {our_time:9.0} ns {their_time:9.0} ns {:8.2}", their_time / our_time);
        Figure { name: &name, value: our_time, unit: "ns", peer: Some(("memcached", their_time)) }.record();
        if keys == 1 {
            match program::nanoseconds(arguments.items.min(PROGRAM_KEYS), arguments.value, arguments.rounds) {
                Ok(times) => {
                    let ours = median(times);
                    let name = "UDP, single gets by XDP: processor time of one";
                    println!("{name:34} {ours:9.0} ns {their_time:9.0} ns {:8.2}", their_time / ours);
                    Figure { name, value: ours, unit: "ns", peer: Some(("memcached", their_time)) }.record();
                }
                Err(why) => println!("XDP cannot be measured here: {why}"),
            }
        }
    }
    Ok(())
}

/// How long large items are asked for after small ones filled the store, for each second of a measurement.
const SHIFT: Duration = Duration::from_secs(120);

/// Requests of which hits are counted, for each item.
const REQUESTS: usize = 4;

fn compare_hits(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    println!("{:34} {:>12} {:>12} {:>8}", "hits of a hundred", "turnpike", "memcached", "x");
    for mix in [Mix::Zipf, Mix::Etc, Mix::Scan] {
        let requests = arguments.items as usize * REQUESTS;
        let ratio = |server| hits::ratio(server, mix, arguments.items, requests).map(|ratio| ratio * 100.0);
        let (ours, theirs) = (ratio(arguments.turnpike)?, ratio(arguments.memcached)?);
        let name = format!("hits, {mix:?}").to_lowercase();
        println!("{name:34} {ours:12.2} {theirs:12.2} {:8.3}", ours / theirs);
        Figure { name: &name, value: ours, unit: "x", peer: Some(("memcached", theirs)) }.record();
    }
    let time = SHIFT.mul_f64(arguments.seconds);
    let ratio = |server| shift::ratio(server, arguments.items, time).map(|ratio| ratio * 100.0);
    let (ours, theirs) = (ratio(arguments.turnpike)?, ratio(arguments.memcached)?);
    let name = "hits, large items after small ones";
    println!("{name:34} {ours:12.2} {theirs:12.2} {:8.3}", ours / theirs);
    Figure { name, value: ours, unit: "x", peer: Some(("memcached", theirs)) }.record();
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
