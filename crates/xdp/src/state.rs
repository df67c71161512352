//! The first page of the arena: where the tables are, and which senders the program answers.
//!
//! `docs/nic.md` lists the requests that the program answers. An answer from the accounts or from the memory of retries
//! must not expose an operation that a crash could undo, nor a part of a batch. Two counters ensure that:
//!
//! - `announced`: the highest sequence that the tables may include now. Only the writer of the ledger stores it.
//! - `durable`: everything up to this sequence survives a crash. On a single node the thread that syncs the journal
//!   stores it, on a replica the executor.
//!
//! Rules:
//!
//! 1. Before the writer changes a table: store in `announced` the last sequence and the number of operations to
//!    execute, added up. A reader that sees a change also sees the announcement.
//! 2. After it has executed them: store the last sequence in `announced`, since operations that were refused or
//!    repeated took none.
//! 3. On a single node, after a sync and before the replies that wait for it: store its sequence in `durable`.
//! 4. On a replica, rule 1 covers all operations of a final block. Once the block is durable and in the chain, and
//!    before any reply: store the last sequence in `durable`, then in `announced`. If the block cannot be stored,
//!    neither is stored: the program leaves these requests to the host until the node restarts.
//! 5. The program reads `announced`, then `durable`, then the tables, then `announced` again. With [`Flags::DURABLE`]
//!    it answers only if `durable` was at least `announced`, and `announced` has not changed. Otherwise it passes the
//!    request to the host unchanged. Without the flag it answers at once, at `accepted`.
//!
//! Answers from the proof cache depend on closed blocks alone, and need none of this. The program executes no
//! operation, and writes only the marks of used values of the proof cache.
//!
//! The program answers nothing before [`State::set_listening`], which comes last, nor after [`State::stop_listening`].

use std::{
    net::IpAddr,
    ops::BitOr,
    sync::{
        Arc,
        atomic::{
            AtomicU64,
            Ordering::{Relaxed, Release},
            fence,
        },
    },
};

use table::{Array, Region};

use crate::shared_layout::{
    MAX_ADDRESSES, MAX_PREFIXES, STATE_DURABLE, STATE_LOOPBACK, STATE_RATE_LIMITED, STATE_REDIRECT, address, prefix,
    state,
};

/// Index of a word of the state.
const fn word(at: usize) -> usize {
    at / size_of::<u64>()
}

/// Words of an address, and of a prefix, which is a network and a mask.
const ADDRESS: usize = word(address::BYTES);
const PREFIX: usize = word(prefix::BYTES);
const _: () = assert!(address::HIGH == 0 && address::LOW == 8);
const _: () = assert!(prefix::NETWORK == 0 && prefix::MASK == address::BYTES);

/// Settings of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u64);

impl Flags {
    /// Frames that request no promise are answered at `durable`, or `final`.
    pub const DURABLE: Self = Self(STATE_DURABLE);
    /// Untrusted senders are rate-limited, which is left to the host.
    pub const RATE_LIMITED: Self = Self(STATE_RATE_LIMITED);
    /// The interface is the loopback: addresses of the host itself are valid senders.
    pub const LOOPBACK: Self = Self(STATE_LOOPBACK);
    /// Unanswered frames go to a socket of the node (AF_XDP) instead of the host's network stack.
    pub const REDIRECT: Self = Self(STATE_REDIRECT);
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Offsets of the tables in the arena; 0 for a missing one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offsets {
    /// The table of accounts.
    pub accounts: u64,
    /// The header of the window of retries.
    pub window: u64,
    /// The index of that window.
    pub index: u64,
    /// The records of that window.
    pub ring: u64,
    /// The table of the proof cache.
    pub proofs: u64,
    /// The value store of the proof cache.
    pub values: u64,
    /// Lines of the value store.
    pub value_lines: u64,
    /// The tips of the chains.
    pub tips: u64,
}

/// The state that the program works on. Clones share the page.
#[derive(Clone, Debug)]
pub struct State(Array<AtomicU64>);

impl State {
    pub(crate) fn new(region: Region) -> Self {
        let words = Arc::new(region).words(0, word(state::BYTES));
        // The arena returns a region of exactly this size, aligned to a page.
        Self(words.unwrap_or_else(|| unreachable!("a page holds the state")))
    }

    /// Sets the offsets of the tables.
    pub fn set_offsets(&self, offsets: &Offsets) {
        let Offsets { accounts, window, index, ring, proofs, values, value_lines, tips } = *offsets;
        for (at, offset) in [
            (state::ACCOUNTS_AT, accounts),
            (state::WINDOW_AT, window),
            (state::INDEX_AT, index),
            (state::RING_AT, ring),
            (state::PROOFS_AT, proofs),
            (state::VALUES_AT, values),
            (state::VALUE_LINES, value_lines),
            (state::TIPS_AT, tips),
        ] {
            self.cell(at).store(offset, Relaxed);
        }
    }

    fn cell(&self, at: usize) -> &AtomicU64 {
        &self.0[word(at)]
    }

    /// Sets the flags.
    pub fn set_flags(&self, flags: Flags) {
        self.cell(state::FLAGS).store(flags.0, Relaxed);
    }

    /// Sets where the node listens: the port, the interface's own Ethernet address, and its network addresses. Call
    /// this last: before it the program answers nothing.
    pub fn set_listening(&self, port: u16, mac: [u8; 6], addresses: &[IpAddr]) {
        self.cell(state::PORT).store(port.into(), Relaxed);
        let [a, b, c, d, e, f] = mac;
        self.cell(state::MAC).store(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]), Relaxed);
        let addresses = &addresses[..addresses.len().min(MAX_ADDRESSES)];
        for (at, address) in addresses.iter().enumerate() {
            self.set_address(word(state::ADDRESS) + ADDRESS * at, bits(*address));
        }
        self.cell(state::ADDRESSES).store(addresses.len() as u64, Release);
    }

    /// Sets the trusted prefixes: network and length, which for IPv4 is within 32 bits.
    pub fn set_trusted(&self, prefixes: impl IntoIterator<Item = (IpAddr, u8)>) {
        let mapped = bits(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED));
        let masked = prefixes.into_iter().filter_map(|(network, length)| {
            let length = u32::from(length) + if network.is_ipv4() { 96 } else { 0 };
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(length)).unwrap_or(0);
            // An IPv6 prefix that contains all of IPv4 does not trust it; the host knows the difference.
            (network.is_ipv4() || mapped & mask != bits(network)).then_some((network, mask))
        });
        let mut count = 0;
        for (network, mask) in masked.take(MAX_PREFIXES) {
            self.set_address(word(state::PREFIX) + PREFIX * count, bits(network));
            self.set_address(word(state::PREFIX) + PREFIX * count + ADDRESS, mask);
            count += 1;
        }
        self.cell(state::PREFIXES).store(count as u64, Relaxed);
    }

    pub(crate) fn set_bench_accounts(&self, accounts: u32) {
        self.cell(state::BENCH_ACCOUNTS).store(accounts.into(), Relaxed);
    }

    /// Sets the offset of the in-NIC ledger's store.
    pub(crate) fn set_ledger(&self, offset: u64) {
        self.cell(state::LEDGER_AT).store(offset, Relaxed);
    }

    /// Sets the offset of the key-value store's mirror.
    pub fn set_mirror(&self, offset: u64) {
        self.cell(state::MIRROR_AT).store(offset, Relaxed);
    }

    /// Makes the program answer nothing from now on.
    pub fn stop_listening(&self) {
        self.cell(state::ADDRESSES).store(0, Release);
    }

    fn set_address(&self, at: usize, bits: u128) {
        self.0[at].store((bits >> 64) as u64, Relaxed);
        self.0[at + 1].store(bits as u64, Relaxed);
    }

    /// Announces that operations up to a sequence may change the tables from now on: answers that depend on them wait
    /// until they are durable.
    pub fn announce(&self, sequence: u64) {
        self.cell(state::ANNOUNCED).store(sequence, Relaxed);
        // A reader that sees any of the changes also sees this.
        fence(Release);
    }

    /// Withdraws the announcement of operations beyond a sequence, which were not executed.
    pub fn executed(&self, sequence: u64) {
        self.cell(state::ANNOUNCED).store(sequence, Release);
    }

    /// Publishes the sequence up to which everything is durable.
    pub fn durable(&self, sequence: u64) {
        self.cell(state::DURABLE).store(sequence, Release);
    }
}

/// An address as 128 bits; IPv4 is mapped into IPv6.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}
