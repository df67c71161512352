//! Updates of a provable key-value state: Turnpike's chain with its index, nomt and qmdb, as `bench/state/run` drives
//! them. All get the same batches, alternating; each commit is durable and has a root.
//!
//! ```text
//! usage: turnpike-bench-state measure DIRECTORY ENTRIES ROUNDS UPDATES BATCH...
//!        turnpike-bench-state recover DIRECTORY ENTRIES ROUNDS UPDATES BATCH...
//! ```
//!
//! `measure` creates the entries in each store, and commits at least UPDATES updates a round in batches of each size.
//! It checks samples, and exits without closing anything. `recover`, with the same arguments, opens the files and
//! checks the same samples. It then measures Turnpike with a node's schedule of roots.

mod peer_nomt;
mod peer_qmdb;
mod store;
mod turnpike;
mod usage;
mod workload;

use chain::own::RootSchedule;
use commonware_runtime::{Runner as _, tokio};
use figures::Figure;
use peer_nomt::PeerNomt;
use peer_qmdb::PeerQmdb;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, process, thread};
use store::{Result, Root, Store};
use turnpike::{EACH_BLOCK, Turnpike};
use usage::{Usage, resident};
use workload::{Update, Workload};

/// Entries that a commit creates: half of what a block may have.
const CREATIONS: u64 = 1 << 19;

/// Entries that are read back and proved, and keys that no store has. A loss of one entry in a thousand is found with a
/// probability of 63 %, and that of the last batch always.
const SAMPLE: u64 = 1000;

const VERSIONS: [(&str, &str); 2] = [("nomt", "nomt 1.0.5"), ("qmdb", "qmdb 2026.10.0")];

struct Plan {
    directory: PathBuf,
    entries: u64,
    rounds: usize,
    updates: u64,
    batches: Vec<u64>,
}

impl Plan {
    fn parse(arguments: &[String]) -> Result<Self> {
        let [directory, entries, rounds, updates, batches @ ..] = arguments else {
            return Err("missing arguments: DIRECTORY ENTRIES ROUNDS UPDATES BATCH...".into());
        };
        let batches = batches.iter().map(|batch| batch.parse()).collect::<std::result::Result<Vec<u64>, _>>()?;
        let plan = Self {
            directory: directory.into(),
            entries: entries.parse()?,
            rounds: rounds.parse()?,
            updates: updates.parse()?,
            batches,
        };
        let is_possible = |batch: &u64| (1..=CREATIONS).contains(batch) && 2 * batch <= plan.entries;
        if plan.rounds == 0 || plan.batches.is_empty() || !plan.batches.iter().all(is_possible) {
            return Err(format!("a batch has 1 to {CREATIONS} updates of at most half of the entries").into());
        }
        Ok(plan)
    }

    /// The batches of a round.
    fn round(&self, workload: &mut Workload, batch: u64) -> Vec<Vec<Update>> {
        (0..self.updates.div_ceil(batch)).map(|_| workload.updates(batch)).collect()
    }

    /// The same of `measure`: a round before the others for each size warms the caches.
    fn rounds(&self) -> impl Iterator<Item = (u64, usize)> {
        self.batches.iter().flat_map(|batch| (0..=self.rounds).map(move |round| (*batch, round)))
    }

    /// A name for the number of entries.
    fn size(&self) -> String {
        match self.entries {
            entries if entries.is_multiple_of(1_000_000) => format!("{} million entries", entries / 1_000_000),
            entries => format!("{} entries", thousands(entries)),
        }
    }
}

fn thousands(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1000), number % 1000),
    }
}

/// What one store took for batches of one size.
#[derive(Default)]
struct Measured {
    /// Updates a second of each round.
    rates: Vec<f64>,
    /// Milliseconds of each commit.
    commits: Vec<f64>,
    usage: Usage,
    updates: u64,
}

impl Measured {
    fn rate(&self) -> f64 {
        percentile(&self.rates, 50)
    }

    fn bytes(&self) -> f64 {
        self.usage.written as f64 / self.updates as f64
    }

    fn processor(&self) -> f64 {
        self.usage.processor as f64 / self.updates as f64
    }
}

fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() - 1) * percent / 100]
}

/// Commits batches, and adds what they took to `measured`. Each root must differ from the one before.
async fn commit(store: &mut impl Store, batches: &[Vec<Update>], measured: &mut Measured) -> Result<()> {
    let mut seconds = 0.0;
    for batch in batches {
        store.stage(batch).await?;
        let before: Root = store.root().await?;
        let (usage, start) = (Usage::now()?, Instant::now());
        let root = store.commit().await?;
        let time = start.elapsed().as_secs_f64();
        measured.usage.add(Usage::now()?.since(usage));
        if root == before && store.states_each_root() {
            return Err(format!("{}: a commit left the root as before", store.name()).into());
        }
        measured.commits.push(time * 1e3);
        seconds += time;
    }
    let updates = batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
    measured.updates += updates;
    measured.rates.push(updates as f64 / seconds);
    Ok(())
}

/// Creates the entries.
async fn create(store: &mut impl Store, plan: &Plan, mut workload: Workload) -> Result<()> {
    let (start, before) = (Instant::now(), resident()?);
    while workload.entries() < plan.entries {
        let count = CREATIONS.min(plan.entries - workload.entries());
        store.stage(&workload.creations(count)).await?;
        store.commit().await?;
        store.settle().await?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let grown = resident()?.saturating_sub(before);
    println!("{:<9} {} created in {seconds:.0} s, {grown} MiB more resident", store.name(), plan.size());
    Ok(())
}

/// Reads back and proves random entries and the last batch's, and the absence of keys.
async fn check(store: &mut impl Store, workload: &mut Workload) -> Result<()> {
    for number in 0..SAMPLE {
        let entry = workload.random_entry();
        if !store.check(&workload.key(entry), Some(&workload.value(entry))).await? {
            return Err(format!("{}: entry {entry} is wrong", store.name()).into());
        }
        if store.proves_absence() && !store.check(&workload.absent_key(number), None).await? {
            return Err(format!("{}: an entry exists that was never created", store.name()).into());
        }
    }
    for update in workload.last_batch().take(SAMPLE as usize) {
        if !store.check(&update.key, Some(&update.value)).await? {
            return Err(format!("{}: an update of the last batch is missing", store.name()).into());
        }
    }
    let absent = if store.proves_absence() { "and the same number of absent keys" } else { "(it proves no absence)" };
    println!("{:<9} {SAMPLE} entries read and proved {absent}", store.name());
    Ok(())
}

fn print(name: &str, batch: u64, measured: &Measured) {
    println!(
        "{name:<9} batches of {:>7}: {:>9.0} updates/s ({:.0} to {:.0}), commit p50 {:.2} ms, p99 {:.2} ms; \
         {:.0} bytes written and {:.0} ns of processor an update",
        thousands(batch),
        measured.rate(),
        percentile(&measured.rates, 0),
        percentile(&measured.rates, 100),
        percentile(&measured.commits, 50),
        percentile(&measured.commits, 99),
        measured.bytes(),
        measured.processor(),
    );
}

/// Stores the figures of a batch size: Turnpike's beside each peer's.
fn record(plan: &Plan, batch: u64, ours: &Measured, peers: [&Measured; 2]) {
    let rest = format!("{}, {} a commit", plan.size(), thousands(batch));
    let is_largest = plan.batches.iter().max() == Some(&batch);
    for (theirs, (peer, version)) in peers.into_iter().zip(VERSIONS) {
        let figure = |what: &str, value: f64, unit: &str, other: f64| {
            let name = format!("{what} beside {peer}, {rest}");
            Figure { name: &name, value, unit, peer: Some((version, other)) }.record();
        };
        figure("updates", ours.rate(), "/s", theirs.rate());
        figure("commit, p50,", percentile(&ours.commits, 50), "ms", percentile(&theirs.commits, 50));
        if is_largest {
            figure("bytes written for an update", ours.bytes(), "bytes", theirs.bytes());
            figure("processor time of an update", ours.processor(), "ns", theirs.processor());
        }
    }
}

async fn measure(context: tokio::Context, plan: Plan, processors: NonZeroUsize) -> Result<()> {
    let mut turnpike = Turnpike::open(&plan.directory, EACH_BLOCK)?;
    let mut nomt = PeerNomt::open(&plan.directory, plan.entries, processors.get())?;
    let mut qmdb = PeerQmdb::open(&context, plan.entries, processors).await?;
    let workload = Workload::new(plan.entries);
    create(&mut turnpike, &plan, workload.clone()).await?;
    create(&mut nomt, &plan, workload.clone()).await?;
    create(&mut qmdb, &plan, workload).await?;

    let mut workload = Workload::created(plan.entries, CREATIONS);
    let mut measured: [Measured; 3] = Default::default();
    for (batch, round) in plan.rounds() {
        let batches = plan.round(&mut workload, batch);
        if round <= 1 {
            // The round before was for warmth.
            measured = Default::default();
        }
        let [ours, nomts, qmdbs] = &mut measured;
        commit(&mut turnpike, &batches, ours).await?;
        commit(&mut nomt, &batches, nomts).await?;
        commit(&mut qmdb, &batches, qmdbs).await?;
        if round == plan.rounds {
            print(turnpike.name(), batch, ours);
            print(nomt.name(), batch, nomts);
            print(qmdb.name(), batch, qmdbs);
            record(&plan, batch, ours, [nomts, qmdbs]);
        }
    }
    println!("{} MiB resident", resident()?);
    check(&mut turnpike, &mut workload).await?;
    check(&mut nomt, &mut workload).await?;
    check(&mut qmdb, &mut workload).await?;
    // Closes no store: `recover` finds only data that commits made durable.
    process::exit(0);
}

async fn recover(context: tokio::Context, plan: Plan, processors: NonZeroUsize) -> Result<()> {
    let mut workload = Workload::created(plan.entries, CREATIONS);
    for (batch, _) in plan.rounds() {
        plan.round(&mut workload, batch);
    }
    let opened = |name: &str, start: Instant| println!("{name:<9} opened in {:.1} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let mut nomt = PeerNomt::open(&plan.directory, plan.entries, processors.get())?;
    opened(nomt.name(), start);
    check(&mut nomt, &mut workload.clone()).await?;
    drop(nomt);
    let start = Instant::now();
    let mut qmdb = PeerQmdb::open(&context, plan.entries, processors).await?;
    opened(qmdb.name(), start);
    check(&mut qmdb, &mut workload.clone()).await?;
    drop(qmdb);
    let start = Instant::now();
    let mut turnpike = Turnpike::open(&plan.directory, RootSchedule::NODE)?;
    opened(turnpike.name(), start);
    check(&mut turnpike, &mut workload.clone()).await?;
    node_schedule(&mut turnpike, &plan, &mut workload).await
}

/// Turnpike as a node runs it: in blocks as large as a node makes them, of which not all state a root.
async fn node_schedule(turnpike: &mut Turnpike, plan: &Plan, workload: &mut Workload) -> Result<()> {
    let batch = CREATIONS.min(plan.entries / 2);
    let mut measured = Measured::default();
    // The blocks that share a root, so that each round pays for one at least.
    let blocks = (plan.entries / 8).div_ceil(batch);
    for _ in 0..plan.rounds {
        let batches: Vec<_> = (0..blocks).map(|_| workload.updates(batch)).collect();
        commit(turnpike, &batches, &mut measured).await?;
    }
    print("node's", batch, &measured);
    let name = format!("updates with a node's schedule of roots, {}, {} a commit", plan.size(), thousands(batch));
    Figure { name: &name, value: measured.rate(), unit: "/s", peer: None }.record();
    Ok(())
}

async fn run(context: tokio::Context, mode: &str, plan: Plan) -> Result<()> {
    let processors = thread::available_parallelism()?;
    match mode {
        "measure" => measure(context, plan, processors).await,
        "recover" => recover(context, plan, processors).await,
        _ => Err(format!("{mode} is neither measure nor recover").into()),
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [mode, rest @ ..] = &arguments[..] else { return Err("missing argument: measure or recover".into()) };
    let plan = Plan::parse(rest)?;
    let threads = thread::available_parallelism()?.get();
    let directory: &Path = &plan.directory;
    let config = tokio::Config::new().with_worker_threads(threads).with_storage_directory(directory.join("qmdb"));
    tokio::Runner::new(config).start(|context| run(context, mode, plan))
}
