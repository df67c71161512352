//! The memory of the in-NIC ledger's store.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use table::Array;

use crate::{
    Arena, Committed, Error, InNicConfig, RetryFill, Tick,
    retries::{self, Retries},
    shared_layout::{BUCKET_ACCOUNTS, BUCKETS, STRIPES, account_bucket, ledger_header, retries_header},
};

/// Average number of accounts per bucket when all exist: with room for four, one bucket in twenty overflows.
const MEAN_ACCOUNTS: usize = 2;

/// Size of the header in bytes, mostly unused: the buckets begin on their own page.
const HEADER_BYTES: usize = 4096;
const _: () = assert!(ledger_header::BYTES <= HEADER_BYTES);

/// Words of the smallest page size.
const PAGE_WORDS: usize = 4096 / size_of::<u64>();

/// Index of a word in the header or in a bucket.
const fn word(at: usize) -> usize {
    at / size_of::<u64>()
}

/// Words of a bucket.
const BUCKET: usize = word(account_bucket::BYTES);
const _: () = assert!(account_bucket::COUNT == 0 && account_bucket::NEXT == 4, "the first word of a bucket");

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Layout of a store of a given size.
#[derive(Clone, Copy, Debug)]
struct Layout {
    limit: usize,
    bucket_bits: u32,
    overflows: usize,
    retries: retries::Size,
}

impl Layout {
    fn new(config: &InNicConfig) -> Self {
        let limit = config.accounts;
        let buckets = limit.div_ceil(MEAN_ACCOUNTS).max(STRIPES).next_power_of_two();
        Self {
            limit,
            bucket_bits: buckets.trailing_zeros(),
            // Each of them is preceded by a full bucket.
            overflows: limit / BUCKET_ACCOUNTS + 1,
            retries: retries::Size::with_operations(config.retries),
        }
    }

    fn buckets(&self) -> usize {
        (1 << self.bucket_bits) + self.overflows
    }

    fn log_at(&self) -> usize {
        HEADER_BYTES + self.buckets() * BUCKET * size_of::<u64>()
    }

    /// On a cache line, because the log's size is a multiple of one.
    fn sets_at(&self) -> usize {
        self.log_at() + self.retries.log_bytes()
    }

    fn bytes(&self) -> usize {
        self.sets_at() + self.retries.sets_bytes()
    }
}

/// The store of an in-NIC ledger, as seen by user space.
#[derive(Debug)]
pub struct InNicStore {
    header: Array<AtomicU64>,
    buckets: Array<AtomicU64>,
    retries: Retries,
    all: Array<AtomicU64>,
}

impl InNicStore {
    /// Size of a store in bytes.
    pub fn bytes(config: &InNicConfig) -> usize {
        Layout::new(config).bytes()
    }

    /// Creates an empty store in an arena. The secret determines the places of accounts and must be random.
    pub fn within(arena: &Arena, config: &InNicConfig, secret: [u64; 2]) -> Result<Self, Error> {
        let layout = Layout::new(config);
        let (region, offset) = arena.take(layout.bytes())?;
        let region = Arc::new(region);
        let words = |at, len| region.words(at, len).unwrap_or_else(|| unreachable!("the layout has the size"));
        let retention = retries::retention_ticks(config.retention);
        let store = Self {
            header: words(0, HEADER_BYTES / size_of::<u64>()),
            buckets: words(HEADER_BYTES, layout.buckets() * BUCKET),
            retries: Retries {
                secret,
                log: words(layout.log_at(), layout.retries.log_bytes() / size_of::<u64>()),
                sets: words(layout.sets_at(), layout.retries.sets_bytes() / size_of::<u64>()),
                processors: layout.retries.processors as u64,
                retention,
            },
            all: words(0, layout.bytes() / size_of::<u64>()),
        };
        for (at, value) in [
            (ledger_header::SECRET, secret[0]),
            (ledger_header::SECRET + 8, secret[1]),
            (ledger_header::LIMIT, layout.limit as u64),
            (ledger_header::BUCKET_BITS, layout.bucket_bits.into()),
            (ledger_header::BUCKETS_AT, HEADER_BYTES as u64),
            (ledger_header::RETRIES + retries_header::LOG_MASK, layout.retries.places as u64 - 1),
            (ledger_header::RETRIES + retries_header::SETS, layout.retries.sets as u64),
            (ledger_header::RETRIES + retries_header::LOG_AT, layout.log_at() as u64),
            (ledger_header::RETRIES + retries_header::SETS_AT, layout.sets_at() as u64),
            (ledger_header::RETRIES + retries_header::RETENTION, retention),
            (ledger_header::RETRIES + retries_header::PROCESSORS, layout.retries.processors as u64),
        ] {
            store.cell(at).store(value, Relaxed);
        }
        arena.state().set_ledger(offset);
        Ok(store)
    }

    /// Makes all of it resident. A kernel program does not do that: its writes to other pages are lost.
    pub(crate) fn populate(&self) {
        for page in self.all.chunks(PAGE_WORDS) {
            page[0].store(page[0].load(Relaxed), Relaxed);
        }
    }

    /// Adds an account with its balance, while no program is running. Returns whether there was a place: there is none
    /// if the chain of overflowing buckets is too long, or the account limit is reached.
    pub fn insert(&mut self, account: u32, balance: u64) -> bool {
        let load = |at: usize| self.buckets[at].load(Relaxed);
        if self.accounts() >= self.cell(ledger_header::LIMIT).load(Relaxed) {
            return false;
        }
        // The count is the lower half of the first word, the next bucket the upper half.
        let mut bucket = self.first_bucket(account) * BUCKET;
        for _ in 1..BUCKETS {
            match load(bucket) >> 32 {
                0 => break,
                next => bucket = next as usize * BUCKET,
            }
        }
        let first = load(bucket);
        if first >> 32 != 0 {
            return false;
        }
        let mut at = first as usize;
        if at == BUCKET_ACCOUNTS {
            let next = (1 << self.bucket_bits()) + self.cell(ledger_header::OVERFLOWS).fetch_add(1, Relaxed);
            self.buckets[bucket].store(first | next << 32, Relaxed);
            (bucket, at) = (next as usize * BUCKET, 0);
        }
        self.buckets[bucket + word(account_bucket::BALANCES) + at].store(balance, Relaxed);
        self.buckets[bucket + word(account_bucket::IDS) + at / 2]
            .fetch_or(u64::from(account) << (32 * (at % 2)), Relaxed);
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.cell(ledger_header::ACCOUNTS).fetch_add(1, Relaxed);
        true
    }

    /// Remembers an operation executed at a tick, so that its retry is recognised, while no program is running. Returns
    /// whether there was a place: there is none if too many others are as young.
    pub fn remember(&mut self, committed: &Committed, then: Tick, now: Tick) -> bool {
        self.retries.remember(committed, then, now)
    }

    /// Continues after a sequence, remembering nothing.
    pub fn begin_after(&mut self, sequence: u64) {
        self.retries.begin_after(sequence);
        self.cell(ledger_header::SEQUENCE).store(sequence, Relaxed);
    }

    /// How full the memory of retries is.
    pub fn fill(&self, now: Tick) -> RetryFill {
        self.retries.fill(self.sequence(), now)
    }

    /// A word of the header.
    fn cell(&self, at: usize) -> &AtomicU64 {
        &self.header[word(at)]
    }

    fn bucket_bits(&self) -> u64 {
        self.cell(ledger_header::BUCKET_BITS).load(Relaxed)
    }

    fn first_bucket(&self, account: u32) -> usize {
        let secret = |at: usize| self.header[word(ledger_header::SECRET) + at].load(Relaxed);
        let mut hash = u64::from(account) ^ secret(0);
        hash = (hash ^ hash >> 32).wrapping_mul(secret(1) | 1);
        hash = (hash ^ hash >> 32).wrapping_mul(GOLDEN);
        (hash >> (64 - self.bucket_bits())) as usize
    }

    /// Number of accounts.
    pub fn accounts(&self) -> u64 {
        self.cell(ledger_header::ACCOUNTS).load(Relaxed)
    }

    /// Sequence of the last operation that was executed.
    pub fn sequence(&self) -> u64 {
        self.cell(ledger_header::SEQUENCE).load(Relaxed)
    }

    /// All accounts and their balances, in no particular order; consistent only while nothing is executed.
    pub fn balances(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.buckets.chunks_exact(BUCKET).flat_map(|bucket| {
            let load = |at: usize| bucket[at].load(Relaxed);
            let count = (load(0) as u32 as usize).min(BUCKET_ACCOUNTS);
            (0..count).map(move |at| {
                let ids = load(word(account_bucket::IDS) + at / 2);
                ((ids >> (32 * (at % 2))) as u32, load(word(account_bucket::BALANCES) + at))
            })
        })
    }
}
