//! REFER, one operation a datagram: a node with sockets alone next to one with the NIC tier, the same requests from the same generator.

use std::{
    net::UdpSocket,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use node::{Config, Node, config::Backend};
use wire::{BatchFormat, BatchHeader, Command, CompactEntry, CompactFrame, Promise};
use xdp::{
    Link,
    generator::{Generator, INTERLEAVED, Requests},
};
use zerocopy::IntoBytes;

use crate::cable::{Cable, Failure, SERVER, median};

/// Accounts that a batch creates: what an Ethernet frame takes.
const BATCH: u32 = 60;

/// How long each rate is offered.
const OFFERED: Duration = Duration::from_millis(200);

/// Requests are sent every so often, as many as the rate asks for.
const PERIOD: Duration = Duration::from_millis(1);

/// The lowest rate, and what each is more than the one before: up to 6 million a second.
const LOWEST_RATE: f64 = 100_000.0;
const STEP: f64 = 1.5;
const STEPS: i32 = 11;

/// Requests one at a time for the latency.
const ALONE: u32 = 500;

/// A node behind its cable.
struct Side {
    name: &'static str,
    generator: Generator,
    _pass: Option<Link>,
    // Before its namespaces.
    _node: Node,
    cable: Cable,
    requests: Requests,
    rates: Vec<f64>,
    latencies: Vec<f64>,
}

impl Side {
    fn start(name: &'static str, backend: Backend, accounts: u32, scratch: &Path) -> Result<Self, Failure> {
        let cable = Cable::new()?;
        let mut config = Config {
            data: scratch.join(name),
            listen: SERVER.into(),
            http: None,
            trusted: vec!["10.77.0.0/24".parse()?],
            promise: Promise::Accepted,
            ..Config::default()
        };
        config.ledger.accounts = accounts.into();
        config.ledger.window = 1 << 16;
        config.io.backend = backend;
        let node = cable.at_server(|| Ok(Node::start(&config)?))?;
        if (backend == Backend::Xdp) != node.uses_tier() {
            return Err(format!("{name}: the node does not serve as it was to").into());
        }
        let pass = if backend == Backend::Udp { Some(cable.pass()?) } else { None };
        let generator = cable.generator()?;
        cable.at_client(|| create(accounts))?;
        let requests = Requests { command: 4, lowest: 1, accounts, any: true, transactions: 0 };
        Ok(Self { name, generator, _pass: pass, _node: node, cable, requests, rates: vec![], latencies: vec![] })
    }

    /// Offers ever higher rates, from one processor and from two: the most replies a second.
    fn best_rate(&mut self) -> Result<(), Failure> {
        let mut best = 0_f64;
        for threads in [1, 2] {
            // All of them: on a busy machine a rate may fail where a higher one does not.
            for step in 0..STEPS {
                best = best.max(self.offered(LOWEST_RATE * STEP.powi(step), threads)?);
            }
        }
        self.rates.push(best);
        Ok(())
    }

    fn offered(&mut self, rate: f64, threads: u32) -> Result<f64, Failure> {
        self.generator.begin(&self.requests);
        let each = (rate * PERIOD.as_secs_f64() / f64::from(threads)) as u32;
        let (cable, generator) = (&self.cable, &self.generator);
        thread::scope(|scope| {
            let send = || {
                cable.at_client(|| {
                    let begun = Instant::now();
                    let mut due = PERIOD;
                    while begun.elapsed() < OFFERED {
                        generator.send(each)?;
                        thread::sleep(due.saturating_sub(begun.elapsed()));
                        due += PERIOD;
                    }
                    Ok(())
                })
            };
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(send)).collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        thread::sleep(Duration::from_millis(20));
        let tally = generator.tally();
        self.requests.transactions = self.requests.transactions.wrapping_add(tally.made as u32 * INTERLEAVED);
        Ok(tally.good as f64 * 1e9 / tally.nanoseconds.max(1) as f64)
    }

    /// One at a time: the median from when the request was made to when the reply came, microseconds.
    fn latency(&mut self) -> Result<(), Failure> {
        let mut alone = Vec::new();
        for _ in 0..ALONE {
            self.requests.transactions += 1;
            let tally = self.cable.burst(&self.generator, &self.requests, 1)?;
            if tally.replies == 1 {
                alone.push(tally.nanoseconds as f64 / 1e3);
            }
        }
        self.latencies.push(median(alone));
        Ok(())
    }
}

/// Creates the accounts from 1 on, over a socket.
fn create(accounts: u32) -> Result<(), Failure> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(SERVER)?;
    socket.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut reply = [0; 2048];
    for first in (1..=accounts).step_by(BATCH as usize) {
        let count = BATCH.min(accounts - first + 1);
        let mut batch =
            BatchHeader::new(first, BatchFormat::Compact, count as u16, Promise::Accepted).as_bytes().to_vec();
        for account in first..first + count {
            batch.extend(CompactEntry::from(CompactFrame::new(Command::Create, account, account, 0, 0)).as_bytes());
        }
        // Again where it was lost: a retry changes nothing.
        let answered = (0..20).any(|_| {
            socket.send(&batch).is_ok()
                && socket.recv(&mut reply).is_ok_and(|length| reply[4..8] == batch[4..8] && length == batch.len())
        });
        if !answered {
            return Err("the node does not create accounts".into());
        }
    }
    Ok(())
}

/// Runs it.
pub fn run(scratch: &Path, rounds: u32, accounts: u32) -> Result<(), Failure> {
    let mut sides =
        [Side::start("udp", Backend::Udp, accounts, scratch)?, Side::start("xdp", Backend::Xdp, accounts, scratch)?];
    for _ in 0..rounds {
        for side in &mut sides {
            side.best_rate()?;
            side.latency()?;
        }
    }
    println!("\n## REFER of {accounts} accounts, one a datagram, promise accepted, medians of {rounds} rounds");
    println!("| backend | most replies a second | one at a time, p50 |");
    println!("|---|---|---|");
    let [(udp, udp_latency), (xdp, xdp_latency)] = sides.each_ref().map(|side| {
        let (rate, latency) = (median(side.rates.clone()), median(side.latencies.clone()));
        println!("| {} | {rate:.0} | {latency:.2} us |", side.name);
        (rate, latency)
    });
    println!("rate: {:.2} x (goal 10 x); p50: 1/{:.2} (goal 1/6)", xdp / udp, udp_latency / xdp_latency);
    Ok(())
}
