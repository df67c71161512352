//! A ledger and a proof cache in an arena, the program loaded over them, and frames to run it on.
#![allow(dead_code, clippy::unwrap_used)]

use std::net::IpAddr;
use std::time::Duration;

use ledger::{Ledger, Limits, Now, Secret, retries};
use proof::Cache;
use skip::Ability;
use table::Region;
use turnpike_xdp::{Arena, Flags, Offsets, Program, State};
use wire::{Command, CompactFrame, Operation};
use zerocopy::IntoBytes;

pub const PORT: u16 = 7400;
pub const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const PEER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
pub const WINDOW: usize = 1024;
const SPARE: usize = 4096;

/// The tables of the tests.
pub struct Tier {
    pub arena: Arena,
    pub state: State,
    pub ledger: Ledger,
    pub cache: Cache,
    pub offsets: Offsets,
    /// A page after the state, for use by a test.
    pub spare: Option<Region>,
    window: usize,
    elapsed: u64,
}

/// How long the tests' ledgers recognise retries.
const RETENTION: Duration = Duration::from_secs(10);

/// A memory for this number of retries.
fn limits(operations: usize) -> retries::Limits {
    retries::Limits { retention: RETENTION, ..retries::Limits::with_operations(operations) }
}

impl Tier {
    pub fn new(accounts: usize, window: usize) -> Option<Self> {
        Self::with_cache(accounts, window, 1 << 20)
    }

    /// The same with a proof cache of `bytes` bytes.
    pub fn with_cache(accounts: usize, window: usize, bytes: usize) -> Option<Self> {
        let limits = Limits { accounts, retries: limits(window) };
        let [accounts, header, index, ring] = limits.memory().unwrap();
        let config = proof::Config { bytes, ..proof::Config::default() };
        let [proofs, values, tips] = config.memory().unwrap();
        let arena = match Arena::with_room_for(&[SPARE, accounts, header, index, ring, proofs, values, tips]) {
            Ok(arena) => arena,
            Err(error) => {
                skip::lacking(Ability::Bpf, error);
                return None;
            }
        };
        let take = |len| arena.take(len).unwrap();
        let (spare, _) = take(SPARE);
        let (accounts, accounts_at) = take(accounts);
        let ((header, window_at), (index, index_at), (ring, ring_at)) = (take(header), take(index), take(ring));
        let ((table, proofs_at), (values, values_at), (tips, tips_at)) = (take(proofs), take(values), take(tips));
        let memory = ledger::Memory { accounts, retries: retries::Memory { header, index, ring } };
        let ledger = Ledger::within(memory, limits, Secret::from_seed([3; 16])).unwrap();
        let cache = Cache::within(&config, proof::Memory { table, values, tips }).unwrap();
        let offsets = Offsets {
            accounts: accounts_at,
            window: window_at,
            index: index_at,
            ring: ring_at,
            proofs: proofs_at,
            values: values_at,
            value_lines: config.value_lines(),
            tips: tips_at,
        };
        let state = arena.state();
        state.set_offsets(&offsets);
        state.set_flags(Flags::default());
        let own = ["10.0.0.1", "fd00::1"].map(|address| address.parse().unwrap());
        state.set_listening(PORT, MAC, &own);
        state.set_trusted([("10.0.0.0".parse().unwrap(), 8), ("fd00::".parse().unwrap(), 8)]);
        Some(Self { arena, state, ledger, cache, offsets, spare: Some(spare), window, elapsed: 0 })
    }

    /// The program over the tables, unless it was not built or the kernel refuses it.
    pub fn program(&self) -> Option<Program> {
        match Program::load(&self.arena, true) {
            Ok(program) => Some(program),
            Err(error @ (turnpike_xdp::Error::NotBuilt | turnpike_xdp::Error::Kernel { .. })) => {
                skip::lacking(Ability::Bpf, error);
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Executes an operation and returns its compact reply.
    pub fn execute(&mut self, request: CompactFrame) -> CompactFrame {
        let mut reply = request;
        let mut operation: Operation = request.to_operation();
        let mut value = 0;
        // Time advances such that the memory of retries is always full, but never overfull.
        self.elapsed += RETENTION.as_micros() as u64 * 33 / 32 / self.window as u64 + 1;
        let now = Now { elapsed: self.elapsed, unix: self.elapsed };
        self.ledger.execute(std::slice::from_mut(&mut operation), std::slice::from_mut(&mut value), now, |_, _| {});
        reply.set_reply(operation.status().unwrap(), value);
        reply
    }
}

/// A frame around a payload.
#[derive(Clone, Debug)]
pub struct Envelope {
    pub vlans: Vec<u16>,
    pub source: IpAddr,
    pub destination: IpAddr,
    pub ports: [u16; 2],
    pub macs: [[u8; 6]; 2],
    pub checksum: Checksum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    Right,
    Wrong,
    None,
    /// That of the pseudo header alone, as left by a sender on the same machine.
    Pseudo,
}

impl Default for Envelope {
    fn default() -> Self {
        Self {
            vlans: Vec::new(),
            source: "10.0.0.2".parse().unwrap(),
            destination: "10.0.0.1".parse().unwrap(),
            ports: [4000, PORT],
            macs: [PEER_MAC, MAC],
            checksum: Checksum::Right,
        }
    }
}

impl Envelope {
    pub fn v6() -> Self {
        Self { source: "fd00::2".parse().unwrap(), destination: "fd00::1".parse().unwrap(), ..Self::default() }
    }

    /// The envelope of the reply.
    pub fn turned(&self) -> Self {
        let Self { source, destination, ports: [from, to], macs: [peer, own], .. } = self.clone();
        Self { source: destination, destination: source, ports: [to, from], macs: [own, peer], ..self.clone() }
    }

    pub fn frame(&self, payload: &[u8]) -> Vec<u8> {
        let mut frame = [self.macs[1], self.macs[0]].concat();
        for (at, vlan) in self.vlans.iter().enumerate() {
            frame.extend(if at + 1 < self.vlans.len() { 0x88a8_u16 } else { 0x8100 }.to_be_bytes());
            frame.extend(vlan.to_be_bytes());
        }
        let length = (payload.len() + 8) as u16;
        let mut pseudo = u32::from(length) + 17;
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                frame.extend([0x08, 0x00]);
                let mut header = vec![0x45, 0];
                header.extend((length + 20).to_be_bytes());
                header.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
                header.extend(source.octets());
                header.extend(destination.octets());
                let checksum = !fold(sum(&header));
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
                pseudo += sum(&header[12..20]);
                frame.extend(header);
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
                frame.extend(length.to_be_bytes());
                frame.extend([17, 64]);
                frame.extend(source.octets());
                frame.extend(destination.octets());
                pseudo += sum(&source.octets()) + sum(&destination.octets());
            }
            _ => panic!("one family"),
        }
        let mut udp = self.ports.map(u16::to_be_bytes).concat();
        udp.extend(length.to_be_bytes());
        udp.extend([0, 0]);
        udp.extend(payload);
        let whole = match !fold(pseudo + sum(&udp)) {
            0 => 0xffff,
            checksum => checksum,
        };
        let checksum = match self.checksum {
            Checksum::Right => whole,
            Checksum::Wrong => whole ^ 0x0101,
            Checksum::None => 0,
            Checksum::Pseudo => fold(pseudo),
        };
        udp[6..8].copy_from_slice(&checksum.to_be_bytes());
        frame.extend(udp);
        frame
    }
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
}

fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

pub fn compact(command: Command, transaction: u32, source: u32, destination: u32, amount: u32) -> CompactFrame {
    CompactFrame::new(command, transaction, source, destination, amount)
}

pub fn bytes(frame: &CompactFrame) -> Vec<u8> {
    frame.as_bytes().to_vec()
}
