//! The first page of the arena. Twin of `bpf/state.h`.

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

/// Most addresses of its own that the program knows; datagrams to others are the host's.
const MAX_ADDRESSES: usize = 16;

/// Most trusted prefixes that the program knows; the host knows them all.
const MAX_PREFIXES: usize = 64;

/// Bytes of the state.
pub(crate) const STATE_BYTES: usize = 8 * (PREFIX + 4 * MAX_PREFIXES);

// Where fields are, in words.
const FLAGS: usize = 0;
const OFFSETS: usize = 1;
const PORT: usize = 9;
const MAC: usize = 10;
const ADDRESSES: usize = 11;
const PREFIXES: usize = 12;
const BENCH_ACCOUNTS: usize = 14;
const LEDGER: usize = 15;
const ANNOUNCED: usize = 16;
const DURABLE: usize = 24;
const ADDRESS: usize = 32;
const PREFIX: usize = ADDRESS + 2 * MAX_ADDRESSES;
const _: () = assert!(STATE_BYTES == 2560, "as in state.h");

/// Settings of the program that are on or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u64);

impl Flags {
    /// Frames that ask for no promise are answered at `durable`.
    pub const DURABLE: Self = Self(1);
    /// Who is not trusted is rate-limited, which is for the host.
    pub const RATE_LIMITED: Self = Self(2);
    /// The interface is the loopback: addresses of the host itself come from there.
    pub const LOOPBACK: Self = Self(4);
    /// What is not answered goes to a socket of the node's (AF_XDP) instead of the host's network stack.
    pub const REDIRECT: Self = Self(8);
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Where tables are in the arena; 0 where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offsets {
    /// The table of accounts.
    pub accounts: u64,
    /// The header of the window of retries.
    pub window: u64,
    /// Its index.
    pub index: u64,
    /// Its records.
    pub ring: u64,
    /// The table of the proof cache.
    pub proofs: u64,
    /// Its value store.
    pub values: u64,
    /// Lines of the value store.
    pub value_lines: u64,
    /// The tips of the chains.
    pub tips: u64,
}

/// What the program answers by. Clones are of the same page.
#[derive(Clone, Debug)]
pub struct State(Array<AtomicU64>);

impl State {
    pub(crate) fn new(region: Region) -> Self {
        let words = Arc::new(region).words(0, STATE_BYTES / 8);
        // The arena gives a region of just this size, aligned to a page.
        Self(words.unwrap_or_else(|| unreachable!("a page holds the state")))
    }

    /// Tells where the tables are.
    pub fn set_offsets(&self, offsets: &Offsets) {
        let Offsets { accounts, window, index, ring, proofs, values, value_lines, tips } = *offsets;
        for (at, offset) in [accounts, window, index, ring, proofs, values, value_lines, tips].into_iter().enumerate() {
            self.0[OFFSETS + at].store(offset, Relaxed);
        }
    }

    /// Tells the settings.
    pub fn set_flags(&self, flags: Flags) {
        self.0[FLAGS].store(flags.0, Relaxed);
    }

    /// Tells where the node listens: the port, the interface's own address in Ethernet frames, and its network addresses. Before that
    /// the program answers nothing, so this comes last.
    pub fn set_listening(&self, port: u16, mac: [u8; 6], addresses: &[IpAddr]) {
        self.0[PORT].store(port.into(), Relaxed);
        let [a, b, c, d, e, f] = mac;
        self.0[MAC].store(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]), Relaxed);
        let addresses = &addresses[..addresses.len().min(MAX_ADDRESSES)];
        for (at, address) in addresses.iter().enumerate() {
            self.set_address(ADDRESS + 2 * at, bits(*address));
        }
        self.0[ADDRESSES].store(addresses.len() as u64, Release);
    }

    /// Tells the trusted prefixes: network and length, that of IPv4 within 32 bits.
    pub fn set_trusted(&self, prefixes: impl IntoIterator<Item = (IpAddr, u8)>) {
        let mapped = bits(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED));
        let masked = prefixes.into_iter().filter_map(|(network, length)| {
            let length = u32::from(length) + if network.is_ipv4() { 96 } else { 0 };
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(length)).unwrap_or(0);
            // A prefix of IPv6 that has all of IPv4 in it does not trust that; the host knows how to tell them apart.
            (network.is_ipv4() || mapped & mask != bits(network)).then_some((network, mask))
        });
        let mut count = 0;
        for (network, mask) in masked.take(MAX_PREFIXES) {
            self.set_address(PREFIX + 4 * count, bits(network));
            self.set_address(PREFIX + 4 * count + 2, mask);
            count += 1;
        }
        self.0[PREFIXES].store(count as u64, Relaxed);
    }

    pub(crate) fn set_bench_accounts(&self, accounts: u32) {
        self.0[BENCH_ACCOUNTS].store(accounts.into(), Relaxed);
    }

    /// Tells where the store of the in-NIC ledger is.
    pub(crate) fn set_ledger(&self, offset: u64) {
        self.0[LEDGER].store(offset, Relaxed);
    }

    fn set_address(&self, at: usize, bits: u128) {
        self.0[at].store((bits >> 64) as u64, Relaxed);
        self.0[at + 1].store(bits as u64, Relaxed);
    }

    /// Announces that operations up to a sequence may change the tables from now on: answers that depend on them wait
    /// until they are durable.
    pub fn announce(&self, sequence: u64) {
        self.0[ANNOUNCED].store(sequence, Relaxed);
        // Whoever sees any of the changes also sees this.
        fence(Release);
    }

    /// Tells that no operation beyond a sequence was executed after all.
    pub fn executed(&self, sequence: u64) {
        self.0[ANNOUNCED].store(sequence, Release);
    }

    /// Tells up to which sequence all is durable.
    pub fn durable(&self, sequence: u64) {
        self.0[DURABLE].store(sequence, Release);
    }
}

/// An address as 128 bits, that of IPv4 mapped into IPv6.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}
