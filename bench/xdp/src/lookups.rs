//! REFER and cached proofs, one a datagram: a node with sockets alone next to one with the NIC tier, the same requests from the same
//! generator.

use std::{
    net::UdpSocket,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use figures::Figure;
use node::{Config, Node, config::Backend};
use wire::{BatchFormat, BatchHeader, Chain, Command, CompactEntry, CompactFrame, Promise, Query};
use xdp::{
    Link,
    generator::{Generator, PROOF, PROOF_BODY, Requests, Tally},
};
use zerocopy::IntoBytes;

use crate::{
    cable::{Cable, Failure, SERVER, median},
    processor::ProcessorTime,
};

/// Accounts that a batch creates: what an Ethernet frame takes.
const BATCH: u32 = 60;

/// How long each rate is offered.
const OFFERED: Duration = Duration::from_millis(200);

/// Requests are sent every so often, as many as the rate asks for.
const PERIOD: Duration = Duration::from_millis(1);

/// The lowest rate, and what each is more than the one before: up to 19 million a second, twice what cables have been seen to carry.
const LOWEST_RATE: f64 = 100_000.0;
const STEP: f64 = 1.5;
const STEPS: i32 = 14;

/// Requests one at a time for the latency.
const ALONE: u32 = 500;

/// How long requests are sent to see what processor time they take; at the lowest rate, which all sides keep up with.
const COSTED: Duration = Duration::from_secs(1);

/// Bytes of memory that a proof takes in the cache: lines of 64 with a header of 8, and some to spare.
const CACHED: u64 = 384;

/// How long the node may take to have all accounts in blocks: a hundred times what it takes.
const SETTLED: Duration = Duration::from_secs(120);

/// What is asked for.
const KINDS: [(u32, &str); 2] = [(Command::Refer as u32, "REFER"), (PROOF, "proof hit")];

/// What was measured of one kind of requests, round by round.
#[derive(Default)]
struct Figures {
    /// Replies a second.
    rates: Vec<f64>,
    /// Microseconds.
    latencies: Vec<f64>,
    /// Nanoseconds of processor time a reply, with what generator and cable take.
    costs: Vec<f64>,
}

/// A node behind its cable, or nobody, where requests are sent back as they are.
struct Side {
    name: &'static str,
    generator: Generator,
    _link: Option<Link>,
    // Before its namespaces.
    node: Option<Node>,
    cable: Cable,
    accounts: u32,
    transactions: u32,
    figures: [Figures; KINDS.len()],
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
        // All accounts may be created within the time that an operation is remembered for.
        config.ledger.retry_operations = u64::from(accounts).max(1 << 16);
        config.proofs.cache = 1 + u64::from(accounts) * CACHED / (1 << 20);
        config.io.backend = backend;
        let node = cable.at_server(|| Ok(Node::start(&config)?))?;
        if (backend == Backend::Xdp) != node.uses_tier() {
            return Err(format!("{name}: the node does not serve as it was to").into());
        }
        let link = if backend == Backend::Udp { Some(cable.pass()?) } else { None };
        let generator = cable.generator()?;
        cable.at_client(|| create(accounts))?;
        fill(&node, accounts)?;
        let (node, figures) = (Some(node), Default::default());
        Ok(Self { name, generator, _link: link, node, cable, accounts, transactions: 0, figures })
    }

    /// Nobody: what generator and cable take by themselves.
    fn reflecting(accounts: u32) -> Result<Self, Failure> {
        let cable = Cable::new()?;
        let link = Some(cable.reflect()?);
        let (generator, figures) = (cable.generator()?, Default::default());
        Ok(Self { name: "", generator, _link: link, node: None, cable, accounts, transactions: 0, figures })
    }

    fn requests(&self, kind: usize) -> Requests {
        let Self { accounts, transactions, .. } = *self;
        Requests { command: KINDS[kind].0, lowest: 1, accounts, any: true, transactions }
    }

    /// Offers ever higher rates, from one processor and from two: the most replies a second.
    fn best_rate(&mut self, kind: usize) -> Result<(), Failure> {
        let mut best = 0_f64;
        for threads in [1, 2] {
            // All of them: on a busy machine a rate may fail where a higher one does not.
            for step in 0..STEPS {
                let tally = self.offered(kind, LOWEST_RATE * STEP.powi(step), threads, OFFERED)?;
                best = best.max(tally.good as f64 * 1e9 / tally.nanoseconds.max(1) as f64);
            }
        }
        self.figures[kind].rates.push(best);
        Ok(())
    }

    /// The processor time that a request takes at a low rate.
    fn cost(&mut self, kind: usize) -> Result<(), Failure> {
        let before = ProcessorTime::now()?;
        let tally = self.offered(kind, LOWEST_RATE, 1, COSTED)?;
        let spent = before.elapsed()?;
        self.figures[kind].costs.push(spent.as_nanos() as f64 / tally.replies.max(1) as f64);
        Ok(())
    }

    fn offered(&mut self, kind: usize, rate: f64, threads: u32, time: Duration) -> Result<Tally, Failure> {
        self.generator.begin(&self.requests(kind));
        let each = (rate * PERIOD.as_secs_f64() / f64::from(threads)) as u32;
        let (cable, generator) = (&self.cable, &self.generator);
        thread::scope(|scope| {
            let send = || {
                cable.at_client(|| {
                    let begun = Instant::now();
                    let mut due = PERIOD;
                    while begun.elapsed() < time {
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
        self.transactions =
            self.transactions.wrapping_add((tally.made as u32).wrapping_mul(self.generator.interleaved()));
        Ok(tally)
    }

    /// One at a time: the median from when the request was made to when the reply came, microseconds.
    fn latency(&mut self, kind: usize) -> Result<(), Failure> {
        let mut alone = Vec::new();
        for _ in 0..ALONE {
            self.transactions = self.transactions.wrapping_add(1);
            let tally = self.cable.burst(&self.generator, &self.requests(kind), 1)?;
            if tally.replies == 1 {
                alone.push(tally.nanoseconds as f64 / 1e3);
            }
        }
        self.figures[kind].latencies.push(median(alone));
        Ok(())
    }

    /// That proofs are hits is what is measured.
    fn check_hits(&self) -> Result<(), Failure> {
        let misses =
            self.node.iter().filter_map(|node| node.state().cache.as_ref()).map(|cache| cache.counters().misses);
        match misses.sum::<u64>() {
            misses if misses * 20 > self.generator.tally().replies => {
                Err(format!("{}: {misses} proofs were not in the cache", self.name).into())
            }
            _ => Ok(()),
        }
    }
}

/// Puts something of a proof's size into the cache for every account, when all that created them is in blocks: a hit copies it, whatever
/// it says.
fn fill(node: &Node, accounts: u32) -> Result<(), Failure> {
    let since = Instant::now();
    while node.state().durable() < u64::from(accounts) || node.behind() > 0 || node.is_open() {
        if since.elapsed() > SETTLED {
            return Err(
                format!("{} of {accounts} accounts are durable after {SETTLED:?}", node.state().durable()).into()
            );
        }
        thread::sleep(Duration::from_millis(10));
    }
    let cache = node.state().cache.as_ref().ok_or("the node has no cache of proofs")?;
    let tip = cache.tip(Chain::Own).ok_or("the cache knows no tip")?;
    let mut body = [&tip.hash[..], &tip.height.to_be_bytes()].concat();
    body.resize(PROOF_BODY, 7);
    for account in 1..=u64::from(accounts) {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&account.to_le_bytes());
        cache.fill(Chain::Own, Query::Latest, &key, &body);
    }
    Ok(())
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
    let mut nobody = Side::reflecting(accounts)?;
    let mut sides =
        [Side::start("udp", Backend::Udp, accounts, scratch)?, Side::start("xdp", Backend::Xdp, accounts, scratch)?];
    for _ in 0..rounds {
        for kind in 0..KINDS.len() {
            nobody.cost(kind)?;
            for side in &mut sides {
                side.cost(kind)?;
                side.check_hits()?;
                side.best_rate(kind)?;
                side.latency(kind)?;
            }
        }
    }
    println!("\n## {accounts} accounts, one request a datagram, promise accepted, medians of {rounds} rounds");
    println!(
        "| | backend | most replies a second | one at a time, p50 | replies a second of the server's processor time |"
    );
    println!("|---|---|---|---|---|");
    for (kind, (_, what)) in KINDS.iter().enumerate() {
        let alone = median(nobody.figures[kind].costs.clone());
        let [(udp, udp_latency, udp_share), (xdp, xdp_latency, xdp_share)] = sides.each_ref().map(|side| {
            let Figures { rates, latencies, costs } = &side.figures[kind];
            let (rate, latency) = (median(rates.clone()), median(latencies.clone()));
            // What is beyond generator and cable. On a busy machine that may come out as nothing.
            let share = 1e9 / (median(costs.clone()) - alone).max(1.0);
            println!("| {what} | {} | {rate:.0} | {latency:.2} us | {share:.0} |", side.name);
            (rate, latency, share)
        });
        let record = |name: &str, value, unit, theirs| {
            Figure { name: &format!("{what}, {name}"), value, unit, peer: Some(("sockets", theirs)) }.record();
        };
        record("replies a second", xdp, "/s", udp);
        record("one at a time, p50", xdp_latency, "us", udp_latency);
        record("replies for a second of the server's processor time", xdp_share, "/s", udp_share);
        println!(
            "{what}: rate {:.2} x (goal 10 x); p50 1/{:.2} (goal 1/6); processor time 1/{:.2}, generator and cable {alone:.0} ns apart",
            xdp / udp,
            udp_latency / xdp_latency,
            xdp_share / udp_share
        );
    }
    Ok(())
}
