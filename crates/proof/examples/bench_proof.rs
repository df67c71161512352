//! Measures the proof service: `bench_proof [transactions in a block] [accounts]`.
//!
//! Prints medians of nanoseconds per request, on one core and without a network: hits, misses with stored levels, and
//! the baseline without cache and stored levels, where every request rebuilds the tree; then the announcement of a
//! block, and the paper's own frame.
#![allow(clippy::unwrap_used)]

use std::{hint::black_box, sync::Arc, time::Instant};

use chain::own::{FileCatalog, Levels, NextBlock, Options, OwnChain};
use figures::Figure;
use proof::{Cache, Config, OwnSource, Service, paper::PaperCache};
use spv::{BlockHeader, SealingKey};
use storage::{Directory, RealDirectory};
use turnpike_proof as proof;
use wire::{AccountId, Chain, Command, Operation, ProofRequest, Query, TransactionId};
use zerocopy::{FromZeros, IntoBytes};

/// Requests of a run: a batch of the data path, and short enough that other programs rarely interrupt it.
const RUN: usize = 64;

/// The number of runs, of which the median is taken.
const RUNS: usize = 2001;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>().unwrap());
    let (transactions, accounts) = (arguments.next().unwrap_or(1024), arguments.next().unwrap_or(100_000));
    println!("{transactions} transactions in a block, {accounts} accounts");
    let stored = Fixture::new(Levels::Stored, transactions, accounts);
    let cache = Arc::new(Cache::new(&Config::for_replies(accounts)).unwrap());
    cache.begin_own(&stored.chain.tip());
    let mut cached = stored.service(Some(Arc::clone(&cache)));
    let mut random = Random(1);
    for number in 0..accounts {
        cached.answer(&mut request(number));
    }
    let hits = cache.counters().hits;
    report("hit, reply over the request", RUNS, RUN, || {
        let mut requests: Vec<_> = (0..RUN).map(|_| request(random.below(accounts))).collect();
        time(|| requests.iter_mut().for_each(|request| _ = black_box(cached.answer_cached(request))))
    });
    assert_eq!(cache.counters().hits - hits, (RUNS * RUN) as u64, "{:?}", cache.counters());
    for (name, levels, runs, run) in [
        ("no cache, stored levels", Levels::Stored, 101, RUN),
        ("no cache, tree rebuilt (baseline)", Levels::Rebuilt, 101, 10),
    ] {
        let fixture = if levels == Levels::Stored { &stored } else { &Fixture::new(levels, transactions, accounts) };
        let mut service = fixture.service(None);
        report(name, runs, run, || {
            let mut requests: Vec<_> = (0..run).map(|_| request(random.below(accounts))).collect();
            time(|| requests.iter_mut().for_each(|request| _ = black_box(service.answer(request))))
        });
    }
    // All addresses of a large block, a tenth of which the cache holds.
    let touched: Vec<[u8; 32]> = (0..10 * accounts).map(|_| account(random.below(10 * accounts)).into()).collect();
    let mut tip = cache.tip(Chain::Own).unwrap();
    report("announcement, an address", 1, touched.len(), || {
        let parent = tip.hash;
        tip.hash[0] ^= 1;
        tip.height += 1;
        time(|| cache.announce(Chain::Own, &parent, tip, touched.iter().copied()))
    });
    println!("  {:?}", cache.counters());
    let mut paper = PaperCache::new();
    let key = |number: usize| <[u8; 32]>::try_from(account(number).0.repeat(2)).unwrap();
    (0..accounts).for_each(|number| paper.set(&key(number), &[1; 32]));
    report("the paper's own frame (benchmark only)", RUNS, RUN, || {
        let mut frames: Vec<_> = (0..RUN).map(|_| key(random.below(accounts))).collect();
        time(|| frames.iter_mut().for_each(|frame| _ = black_box(paper.answer(frame))))
    });
}

struct Fixture {
    _folder: tempfile::TempDir,
    chain: OwnChain,
}

impl Fixture {
    /// A chain in which every account has its latest transaction in a block of this size.
    fn new(levels: Levels, transactions: usize, accounts: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory: Arc<dyn Directory> = Arc::new(RealDirectory::create(folder.path()).unwrap());
        let catalog = Box::new(FileCatalog::new(Arc::clone(&directory)));
        let mut key = SealingKey::from_bytes(&[1; 32]).unwrap();
        let genesis = key.seal(&BlockHeader::genesis("bench", &[3; 16], 1000, &key.public()));
        let options = Options { levels, ..Options::default() };
        let mut chain = OwnChain::open(directory, catalog, options, || Ok(genesis)).unwrap();
        let numbers: Vec<usize> = (0..accounts).collect();
        for (height, numbers) in (1..).zip(numbers.chunks(transactions)) {
            let create = |number: &usize| Operation {
                command: Command::Create.code(),
                transaction: TransactionId::from(*number as u32),
                source: account(*number),
                ..Operation::new_zeroed()
            };
            let operations: Vec<Operation> = numbers.iter().map(create).collect();
            let next = NextBlock { operations: &operations, tails: &[], end_sequence: height, timestamp: 2000 };
            chain.append(next, &mut key).unwrap();
        }
        Self { _folder: folder, chain }
    }

    fn service(&self, cache: Option<Arc<Cache>>) -> Service {
        Service::new(cache).with(Chain::Own, Arc::new(OwnSource::new(self.chain.reader())))
    }
}

fn account(number: usize) -> AccountId {
    AccountId::from(u128::from((number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)) << 63)
}

fn request(number: usize) -> [u8; 1024] {
    let mut datagram = [0; 1024];
    let request = ProofRequest::new(7, Chain::Own, Query::Latest, account(number).into());
    datagram[..ProofRequest::LENGTH].copy_from_slice(request.as_bytes());
    datagram
}

fn time(run: impl FnOnce()) -> f64 {
    let started = Instant::now();
    run();
    started.elapsed().as_secs_f64() * 1e9
}

fn report(name: &str, runs: usize, operations: usize, mut run: impl FnMut() -> f64) {
    let mut times: Vec<f64> = (0..runs).map(|_| run() / operations as f64).collect();
    times.sort_by(f64::total_cmp);
    let median = times[runs / 2];
    println!("  {name:<42} {median:>10.1} ns");
    Figure { name: &format!("proof: {name}"), value: median, unit: "ns", peer: None }.record();
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * bound as u128) >> 64) as usize
    }
}
