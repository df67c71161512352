//! Where what is in memory that programs in the kernel share: offsets in bytes.
//!
//! Made by schema/generate.py of schema/layouts.toml; change that.

#![allow(dead_code, reason = "the whole layout, whoever uses what of it")]

/// Maximum number of the node's addresses that the program knows; datagrams to others go to the host.
pub const MAX_ADDRESSES: usize = 16;

/// Maximum number of trusted prefixes that the program knows; the host knows all of them.
pub const MAX_PREFIXES: usize = 64;

/// Flag: frames that request no promise are answered at `durable`, or `final`.
pub const STATE_DURABLE: u64 = 1;

/// Flag: untrusted senders are rate-limited, so their datagrams go to the host.
pub const STATE_RATE_LIMITED: u64 = 2;

/// Flag: the interface is the loopback, which carries the host's own source addresses.
pub const STATE_LOOPBACK: u64 = 4;

/// Flag: datagrams that the program does not answer go to the node's AF_XDP socket, not to the host's network
/// stack.
pub const STATE_REDIRECT: u64 = 8;

/// Longest frame that fits in such a socket: a page without the kernel's headroom before a frame
/// (`XDP_PACKET_HEADROOM`).
pub const SOCKET_BYTES: usize = 3840;

/// Bytes of each processor's memory for a request to the key-value store and its reply, with some spare.
pub const KV_WORK_BYTES: u32 = 2048;

/// Stripes, each with its own lock: enough that the processors of a large machine rarely contend.
pub const STRIPES: usize = 4096;

/// Accounts of a bucket.
pub const BUCKET_ACCOUNTS: usize = 4;

/// Buckets that a search visits: 32 accounts, with a mean of two. With a secret hash more practically never
/// occur.
pub const BUCKETS: usize = 8;

/// Entries of a set: two cache lines of them.
pub const SET_ENTRIES: usize = 20;

/// Time is counted in 2^24 nanoseconds, a sixtieth of a second.
pub const TICK_BITS: u32 = 24;

/// Ticks by which an operation's tick may lag its execution, about half a second: the longest wait of a
/// processor for two locks, by a coarse clock. So another processor's tick may lead by the same.
pub const TICKS_LATE: u64 = 32;

/// The remembered bits of a tick.
pub const WHEN_TICKS: u32 = 0xff_ffff;

/// In `when`: the command's bits, 0 if nothing is remembered.
pub const WHEN_COMMAND: u32 = 192;

/// Shift of the command in `when`.
pub const WHEN_COMMAND_SHIFT: u32 = 6;

/// In `when`: the status's bits.
pub const WHEN_STATUS: u32 = 63;

/// A power of two above the largest status that is counted by command.
pub const STATUSES: u32 = 32;

/// In place of a command: the proof of an address' latest transaction.
pub const GENERATE_PROOF: u32 = 0;

/// Words of a request's headers, with padding.
pub const GENERATE_HEADER_WORDS: usize = 6;

/// Words of a proof's body after the tip, in measurements and tests.
pub const BODY_WORDS: usize = 32;

/// An address as two numbers; those of IPv4 are mapped into IPv6.
pub mod address {
    /// Its length.
    pub const BYTES: usize = 16;
    /// The first eight bytes.
    pub const HIGH: usize = 0;
    /// The last eight bytes.
    pub const LOW: usize = 8;
}

/// A trusted prefix.
pub mod prefix {
    /// Its length.
    pub const BYTES: usize = 32;
    /// Its first address.
    pub const NETWORK: usize = 0;
    /// The bits that count.
    pub const MASK: usize = 16;
}

/// The first page of the arena: offsets of its parts, and the senders that the tier answers.
pub mod state {
    /// Its length.
    pub const BYTES: usize = 2624;
    /// Boolean settings.
    pub const FLAGS: usize = 0;
    /// Offset of the table of accounts in the arena; 0, as for all offsets, if absent.
    pub const ACCOUNTS_AT: usize = 8;
    /// Offset of the header of the window of retries.
    pub const WINDOW_AT: usize = 16;
    /// Offset of its index.
    pub const INDEX_AT: usize = 24;
    /// Offset of its records.
    pub const RING_AT: usize = 32;
    /// Offset of the table of the proof cache.
    pub const PROOFS_AT: usize = 40;
    /// Offset of its value store.
    pub const VALUES_AT: usize = 48;
    /// Number of lines of the value store; the lines begin after their heads.
    pub const VALUE_LINES: usize = 56;
    /// Offset of the tips of the chains.
    pub const TIPS_AT: usize = 64;
    /// The port that the node listens on.
    pub const PORT: usize = 72;
    /// The interface's address, in the lower 48 bits, first byte lowest.
    pub const MAC: usize = 80;
    /// Number of addresses.
    pub const ADDRESSES: usize = 88;
    /// Number of prefixes.
    pub const PREFIXES: usize = 96;
    /// Always zero, which the kernel's verifier does not know.
    pub const ZERO: usize = 104;
    /// Number of accounts that measurements use.
    pub const BENCH_ACCOUNTS: usize = 112;
    /// Offset of the store of the in-NIC ledger, if it runs.
    pub const LEDGER_AT: usize = 120;
    /// Offset of the mirror of the key-value store, if it runs.
    pub const MIRROR_AT: usize = 128;
    /// Number of the run of a program that generates requests to the key-value store.
    pub const BENCH_TURN: usize = 136;
    /// No operation after this sequence has changed anything that is readable here.
    pub const ANNOUNCED: usize = 192;
    /// All operations up to this sequence are in the journal, synced.
    pub const DURABLE: usize = 256;
    /// The node's own addresses.
    pub const ADDRESS: usize = 320;
    /// Trusted prefixes.
    pub const PREFIX: usize = 576;
}

/// The published tip of a chain: a sequence lock, then the fields that crates/proof writes.
pub mod published_tip {
    /// Its length.
    pub const BYTES: usize = 64;
    /// The sequence lock.
    pub const SEQUENCE: usize = 0;
    /// The tip's hash, as bytes.
    pub const HASH: usize = 8;
    /// Its height.
    pub const HEIGHT: usize = 40;
    /// Epoch (upper half) and number of the tip.
    pub const GENERATION: usize = 48;
}

/// The memory of retries, in the store's header.
pub mod retries_header {
    /// Its length.
    pub const BYTES: usize = 48;
    /// Places of the log, a power of two, minus 1.
    pub const LOG_MASK: usize = 0;
    /// Sets of the index.
    pub const SETS: usize = 8;
    /// Offset of the log from the store's header.
    pub const LOG_AT: usize = 16;
    /// Offset of the sets from the store's header.
    pub const SETS_AT: usize = 24;
    /// Ticks for which all operations are remembered, plus twice `TICKS_LATE`.
    pub const RETENTION: usize = 32;
    /// Upper bound of the machine's processors. Each has at most one operation in flight, so this number of
    /// places of the log may be being written, and must not be read.
    pub const PROCESSORS: usize = 40;
}

/// The first bytes of the in-NIC ledger's store.
pub mod ledger_header {
    /// Its length.
    pub const BYTES: usize = 192;
    /// The secret key of its hash functions.
    pub const SECRET: usize = 0;
    /// Accounts that may be created.
    pub const LIMIT: usize = 16;
    /// 2^`bucket_bits` buckets are found by hash; overflow buckets follow them.
    pub const BUCKET_BITS: usize = 24;
    /// Offset of the buckets from this header.
    pub const BUCKETS_AT: usize = 32;
    /// The memory of retries.
    pub const RETRIES: usize = 64;
    /// Number of accounts. All processors write this and the following fields.
    pub const ACCOUNTS: usize = 128;
    /// Overflow buckets in use.
    pub const OVERFLOWS: usize = 136;
    /// Sequence of the last executed operation.
    pub const SEQUENCE: usize = 144;
}

/// A cache line with the accounts of one hash.
pub mod account_bucket {
    /// Its length.
    pub const BYTES: usize = 64;
    /// Accounts in this bucket.
    pub const COUNT: usize = 0;
    /// The bucket that this one overflows into; 0 for none.
    pub const NEXT: usize = 4;
    /// Their ids.
    pub const IDS: usize = 8;
    /// Their balances.
    pub const BALANCES: usize = 24;
}

/// An executed operation, as user space reads it for its journal.
pub mod committed {
    /// Its length.
    pub const BYTES: usize = 40;
    /// Its place in the order of execution, from 1.
    pub const SEQUENCE: usize = 0;
    /// The source's balance after it.
    pub const VALUE: usize = 8;
    /// The command's code.
    pub const COMMAND: usize = 16;
    /// The transaction id.
    pub const TRANSACTION: usize = 20;
    /// The source account.
    pub const SOURCE: usize = 24;
    /// The receiver of a transfer.
    pub const DESTINATION: usize = 28;
    /// The amount as requested.
    pub const AMOUNT: usize = 32;
    /// The status's code.
    pub const STATUS: usize = 36;
}

/// An operation in the log of retries.
pub mod remembered_operation {
    /// Its length.
    pub const BYTES: usize = 24;
    /// The transaction id.
    pub const TRANSACTION: usize = 0;
    /// The source account.
    pub const SOURCE: usize = 4;
    /// The receiver of a transfer.
    pub const DESTINATION: usize = 8;
    /// The amount as requested.
    pub const AMOUNT: usize = 12;
    /// The reply's value, which has 32 bits.
    pub const VALUE: usize = 16;
    /// The lower 24 bits of the tick, which repeat after three days: an operation that then seems young is
    /// only kept longer. Then two bits of the command and six of the status.
    pub const WHEN: usize = 20;
}

/// A set of the index of retries: it locates the operations of one hash.
pub mod retry_set {
    /// Its length.
    pub const BYTES: usize = 128;
    /// The tick in which an operation of this set last went to its second set, plus 1; 0 for none.
    pub const OVERFLOWED: usize = 0;
    /// The next entry to replace.
    pub const NEXT: usize = 4;
    /// Tag of each operation, compared first.
    pub const TAGS: usize = 8;
    /// The lower half of each operation's sequence.
    pub const SEQUENCES: usize = 48;
}

/// The first page of the generator's arena: the requests to generate.
pub mod generator {
    /// Its length.
    pub const BYTES: usize = 192;
    /// The headers of a request, padded to whole words.
    pub const HEADERS: usize = 0;
    /// A command of the protocol, or GENERATE_PROOF.
    pub const COMMAND: usize = 48;
    /// Number of accounts from the lowest on.
    pub const ACCOUNTS: usize = 56;
    /// Not 0: requests are for random accounts, not for one after the other.
    pub const ANY: usize = 64;
    /// Prefix of transaction ids.
    pub const TRANSACTIONS: usize = 72;
    /// The lowest account.
    pub const LOWEST: usize = 80;
    /// Offset of the tallies in the arena, one per processor: a line that two processors write would cost as
    /// much as a request.
    pub const TALLIES_AT: usize = 88;
    /// Number of tallies.
    pub const PROCESSORS: usize = 96;
    /// Requests generated for one account after the other.
    pub const ORDERED: usize = 128;
}

/// The counts of a processor: a cache line.
pub mod tally {
    /// Its length.
    pub const BYTES: usize = 64;
    /// Requests generated.
    pub const MADE: usize = 0;
    /// Time of the first request, in nanoseconds of the monotonic clock.
    pub const FIRST: usize = 8;
    /// Replies received.
    pub const REPLIES: usize = 16;
    /// Replies with status 0.
    pub const GOOD: usize = 24;
    /// Time of the last reply.
    pub const LAST: usize = 32;
}

/// Counters of the tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// REFER answered.
    Refer,
    /// Retries answered.
    Retry,
    /// Proofs answered.
    Proof,
    /// Datagrams for the node left to the host: of another kind, from an untrusted sender, or not known to the tier.
    Host,
    /// Left to the host because something was not durable yet.
    NotDurable,
    /// Left to the host because the writer was changing the same data.
    Contended,
    /// Left to the host because the checksum was wrong: the host drops them.
    Checksum,
    /// Replies lost because the frame could not be shortened.
    Lost,
}

impl Counter {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Refer,
        Self::Retry,
        Self::Proof,
        Self::Host,
        Self::NotDurable,
        Self::Contended,
        Self::Checksum,
        Self::Lost,
    ];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refer => "refer",
            Self::Retry => "retry",
            Self::Proof => "proof",
            Self::Host => "host",
            Self::NotDurable => "not_durable",
            Self::Contended => "contended",
            Self::Checksum => "checksum",
            Self::Lost => "lost",
        }
    }
}

/// Counters of one kind of answer.
const BY_COMMAND: u32 = wire::Command::ALL.len() as u32 * STATUSES;

/// Counters of the in-NIC ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerCounter {
    /// Left to the host: malformed, from an untrusted sender, or of another kind.
    Host,
    /// Left to the host because the checksum was wrong.
    Checksum,
    /// Left to the host because the ring had no room: nothing was done.
    RingFull,
    /// Left to the host because a lock was not available: nothing was done.
    Locked,
    /// Left to the host because the chain of overflow buckets is too long to search: nothing was done.
    Crowded,
    /// Had to wait for a lock of another processor, executed or not.
    Waited,
    /// Answered `BUSY` because all remembered operations are too young to be replaced: nothing was done.
    Full,
    /// Executed, and in the ring.
    Executed {
        /// The command.
        command: wire::Command,
        /// The status.
        status: wire::Status,
    },
    /// Answered without a trace: REFER, retries, transaction ids used again.
    Answered {
        /// The command.
        command: wire::Command,
        /// The status.
        status: wire::Status,
    },
}

impl LedgerCounter {
    /// Those that are not counted by command and status.
    pub const PLAIN: [Self; 7] =
        [Self::Host, Self::Checksum, Self::RingFull, Self::Locked, Self::Crowded, Self::Waited, Self::Full];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Checksum => "checksum",
            Self::RingFull => "ring_full",
            Self::Locked => "locked",
            Self::Crowded => "crowded",
            Self::Waited => "waited",
            Self::Full => "full",
            Self::Executed { .. } => "executed",
            Self::Answered { .. } => "answered",
        }
    }

    /// How many there are.
    pub(crate) const COUNT: u32 = Self::PLAIN.len() as u32 + 2 * BY_COMMAND;

    /// Its number, if there is one: statuses that the program does not answer have none.
    pub(crate) fn number(self) -> Option<u32> {
        let of = |first: u32, command: wire::Command, status: wire::Status| {
            let command = wire::Command::ALL.iter().position(|known| *known == command)? as u32;
            let status = Some(u32::from(status.code())).filter(|status| *status < STATUSES)?;
            Some(first + command * STATUSES + status)
        };
        match self {
            Self::Host => Some(0),
            Self::Checksum => Some(1),
            Self::RingFull => Some(2),
            Self::Locked => Some(3),
            Self::Crowded => Some(4),
            Self::Waited => Some(5),
            Self::Full => Some(6),
            Self::Executed { command, status } => of(Self::PLAIN.len() as u32, command, status),
            Self::Answered { command, status } => of(Self::PLAIN.len() as u32 + BY_COMMAND, command, status),
        }
    }
}

/// Counters of datagrams to the key-value store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvCounter {
    /// Gets answered.
    Hit,
    /// Left to the host: not a get of one key, or one whose reply is longer and whose sender is not trusted.
    Host,
    /// Gets left to the host because the mirror does not have the key.
    Miss,
    /// Gets left to the host because the writer was changing the slot.
    Contended,
    /// Left to the host because the checksum was wrong: the host drops them.
    Checksum,
    /// Gets left to the host because the frame had no room for the reply.
    Room,
    /// Replies lost because the frame could not be shortened.
    Lost,
}

impl KvCounter {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 7] =
        [Self::Hit, Self::Host, Self::Miss, Self::Contended, Self::Checksum, Self::Room, Self::Lost];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Host => "host",
            Self::Miss => "miss",
            Self::Contended => "contended",
            Self::Checksum => "checksum",
            Self::Room => "room",
            Self::Lost => "lost",
        }
    }
}
