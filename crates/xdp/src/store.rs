//! The memory of the in-NIC ledger's store. Twin of `bpf/ledger.h`.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use table::Array;

use crate::{Arena, Error};

/// Stripes, each with a lock of its own.
pub const STRIPES: usize = 4096;

/// Bytes of a stripe's memory of operations.
const STRIPE_BYTES: usize = 2240;

/// Accounts of a bucket, its words, and the first word of its balances.
const BUCKET_ACCOUNTS: usize = 4;
const BUCKET: usize = 8;
const BALANCES: usize = 3;

/// Accounts that the mean bucket has when all are there: with room for four, one in twenty overflows.
const MEAN_ACCOUNTS: usize = 2;

/// Bytes of the header, of which the first 128 are used: the buckets begin with a page of their own.
const HEADER_BYTES: usize = 4096;

/// Words of the smallest page that there is.
const PAGE_WORDS: usize = 4096 / size_of::<u64>();

// Words of the header.
const SECRET: usize = 0;
const LIMIT: usize = 2;
const BUCKET_BITS: usize = 3;
const BUCKETS_AT: usize = 4;
const STRIPES_AT: usize = 5;
const ACCOUNTS: usize = 8;
const SEQUENCE: usize = 10;

/// Where what is in a store for so many accounts.
#[derive(Clone, Copy, Debug)]
struct Layout {
    limit: usize,
    bucket_bits: u32,
    overflows: usize,
}

impl Layout {
    fn new(limit: usize) -> Self {
        let buckets = limit.div_ceil(MEAN_ACCOUNTS).max(STRIPES).next_power_of_two();
        // Each of them has a full bucket of its own before it.
        Self { limit, bucket_bits: buckets.trailing_zeros(), overflows: limit / BUCKET_ACCOUNTS + 1 }
    }

    fn buckets(&self) -> usize {
        (1 << self.bucket_bits) + self.overflows
    }

    fn stripes_at(&self) -> usize {
        HEADER_BYTES + self.buckets() * BUCKET * size_of::<u64>()
    }

    fn bytes(&self) -> usize {
        self.stripes_at() + STRIPES * STRIPE_BYTES
    }
}

/// The store of an in-NIC ledger, as user space sees it.
#[derive(Debug)]
pub struct InNicStore {
    header: Array<AtomicU64>,
    buckets: Array<AtomicU64>,
    all: Array<AtomicU64>,
}

impl InNicStore {
    /// Bytes of a store for so many accounts.
    pub fn bytes(accounts: usize) -> usize {
        Layout::new(accounts).bytes()
    }

    /// Makes an empty store in an arena. The secret decides where accounts lie: it has to be random.
    pub fn within(arena: &Arena, accounts: usize, secret: [u64; 2]) -> Result<Self, Error> {
        let layout = Layout::new(accounts);
        let (region, offset) = arena.take(layout.bytes())?;
        let region = Arc::new(region);
        let words = |at, len| region.words(at, len).unwrap_or_else(|| unreachable!("the layout told the size"));
        let store = Self {
            header: words(0, HEADER_BYTES / size_of::<u64>()),
            buckets: words(HEADER_BYTES, layout.buckets() * BUCKET),
            all: words(0, layout.bytes() / size_of::<u64>()),
        };
        for (at, value) in [
            (SECRET, secret[0]),
            (SECRET + 1, secret[1]),
            (LIMIT, layout.limit as u64),
            (BUCKET_BITS, layout.bucket_bits.into()),
            (BUCKETS_AT, HEADER_BYTES as u64),
            (STRIPES_AT, layout.stripes_at() as u64),
        ] {
            store.header[at].store(value, Relaxed);
        }
        arena.state().set_ledger(offset);
        Ok(store)
    }

    /// Makes all of it resident. A program in the kernel does not do that: what it writes to other pages is lost.
    pub(crate) fn populate(&self) {
        for page in self.all.chunks(PAGE_WORDS) {
            page[0].store(page[0].load(Relaxed), Relaxed);
        }
    }

    /// Number of accounts.
    pub fn accounts(&self) -> u64 {
        self.header[ACCOUNTS].load(Relaxed)
    }

    /// Sequence of the last operation that was executed.
    pub fn sequence(&self) -> u64 {
        self.header[SEQUENCE].load(Relaxed)
    }

    /// All accounts and their balances, in no order; as of one moment only while nothing is executed.
    pub fn balances(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.buckets.chunks_exact(BUCKET).flat_map(|bucket| {
            let word = |at: usize| bucket[at].load(Relaxed);
            let count = (word(0) as u32 as usize).min(BUCKET_ACCOUNTS);
            (0..count).map(move |at| {
                let ids = word(1 + at / 2);
                ((ids >> (32 * (at % 2))) as u32, word(BALANCES + at))
            })
        })
    }
}
