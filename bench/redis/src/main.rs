//! Durable single-operation transfers: a Turnpike node next to Redis, which runs the same transfer as a script with
//! `appendfsync always`. Both are driven by one thread of this program, in turns, with the same accounts. `bench/redis/run`
//! starts the servers.

mod redis;
mod sample;
mod turnpike;

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use figures::Figure;

use crate::redis::Redis;
use crate::sample::{Sample, median};
use crate::turnpike::Turnpike;

/// Compares durable transfers of Turnpike and Redis
#[derive(Parser)]
struct Arguments {
    /// The node, whose promise is durable and which trusts this address
    #[arg(long)]
    node: SocketAddr,
    /// The Redis server, with appendfsync always
    #[arg(long)]
    redis: SocketAddr,
    /// How often each is measured
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Accounts on both sides
    #[arg(long, default_value_t = 100_000)]
    accounts: u32,
}

/// What is in flight where many are.
const MANY: usize = 64;

/// What each account holds at first: more than a run can take away.
const BALANCE: u32 = 1_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let time = Duration::from_secs_f64(arguments.seconds);
    let accounts = arguments.accounts;
    let mut turnpike = Turnpike::prepare(arguments.node, accounts, BALANCE)?;
    let mut redis = Redis::prepare(arguments.redis, accounts, BALANCE)?;
    check(&mut turnpike, &mut redis, accounts)?;

    let mut samples: [Vec<Sample>; 5] = Default::default();
    for round in 0..=arguments.rounds {
        let measured = [
            turnpike.measure(MANY, time)?,
            redis.measure(MANY, 1, time)?,
            redis.measure(1, MANY, time)?,
            turnpike.measure(1, time)?,
            redis.measure(1, 1, time)?,
        ];
        // The first round warms up.
        if round > 0 {
            samples.iter_mut().zip(measured).for_each(|(samples, sample)| samples.push(sample));
        }
    }
    let [many, clients, pipelined, one, one_redis] = &samples;
    let rate = |samples: &[Sample]| median(samples.iter().map(Sample::rate));
    let middle = |samples: &[Sample]| median(samples.iter().map(|sample| sample.p50.as_secs_f64() * 1e6));
    let tail = |samples: &[Sample]| median(samples.iter().map(|sample| sample.p99.as_secs_f64() * 1e6));
    println!("medians of {} rounds of {} s, {accounts} accounts", arguments.rounds, arguments.seconds);
    println!("| in flight | server | operations/s | p50 µs | p99 µs |");
    println!("|---|---|---|---|---|");
    for (in_flight, server, samples) in [
        ("64", "Turnpike, 64 datagrams", many),
        ("64", "Redis, 64 connections", clients),
        ("64", "Redis, pipelined on one connection", pipelined),
        ("1", "Turnpike", one),
        ("1", "Redis", one_redis),
    ] {
        let (rate, middle, tail) = (rate(samples), middle(samples), tail(samples));
        println!("| {in_flight} | {server} | {rate:.0} | {middle:.0} | {tail:.0} |");
    }
    let best = rate(clients).max(rate(pipelined));
    println!("64 in flight: {:.2} times the rate of Redis at its better (at least 4 wanted)", rate(many) / best);
    let record = |name, value, unit, theirs| Figure { name, value, unit, peer: Some(("Redis", theirs)) }.record();
    record("64 in flight, rate", rate(many), "/s", best);
    record("1 in flight, p50", middle(one), "us", middle(one_redis));
    record("1 in flight, p99", tail(one), "us", tail(one_redis));
    println!("1 in flight: {:.2} times the p50 of Redis (at most 0.8 wanted)", middle(one) / middle(one_redis));
    Ok(())
}

/// Both sides have to be right before they are measured: the same transfers get the same statuses and values.
fn check(turnpike: &mut Turnpike, redis: &mut Redis, accounts: u32) -> Result<(), Box<dyn Error>> {
    let id = turnpike.fresh_id()?;
    let transfers = [
        (id, 1, 2, 10),
        (id, 1, 2, 10),
        (id, 1, 2, 11),
        (id, 1, 3, 10),
        (id + 1, 1, accounts + 1000, 10),
        (id + 2, accounts + 1000, 1, 10),
        (id + 3, 1, 1, 10),
        (id + 4, 1, 2, 0),
        (id + 5, 1, 2, BALANCE),
        (id + 5, 1, 2, BALANCE),
        (id + 6, 2, 1, 10),
    ];
    for (id, source, destination, amount) in transfers {
        let ours = turnpike.transfer(id, source, destination, amount)?;
        let theirs = redis.transfer(id, source, destination, amount)?;
        if ours != theirs {
            return Err(format!(
                "transfer {id} of {amount} from {source} to {destination}: status and value {ours:?} of Turnpike, {theirs:?} of Redis"
            )
            .into());
        }
    }
    Ok(())
}
