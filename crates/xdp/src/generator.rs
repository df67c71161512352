//! The generator of `bpf/generator.bpf.c`, for measurements: the kernel creates requests, sends them on an interface
//! and counts the replies.

use std::{
    io,
    net::{Ipv4Addr, SocketAddrV4},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use table::{Array, Region};

use crate::{
    Arena, Error, Interface, Link, Mode, loader,
    program::possible_processors,
    shared_layout::{GENERATE_HEADER_WORDS, GENERATE_PROOF, generator, tally},
    sys,
};

pub use crate::shared_layout::BODY_WORDS;

/// The object that `build.rs` compiled from `bpf/generator.bpf.c`: empty without a compiler.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/generator.o"));

/// Source port of requests.
const PORT: u16 = 4000;

/// Lengths in bytes: the headers of Ethernet, IPv4 and UDP, and a frame with a compact frame, or with a proof frame
/// that has room for the body of `bpf/request.h`.
const HEADERS: usize = 14 + 20 + 8;
const FRAME: usize = HEADERS + 22;
const PROOF_FRAME: usize = HEADERS + 48 + PROOF_BODY;

/// Room for a proof's body in bytes: a tip, and the words of `bpf/request.h`.
pub const PROOF_BODY: usize = 40 + BODY_WORDS * WORD;

/// In place of a command: requests the proof of an address' latest transaction. The address is the number of the
/// account, from 1 on, in 8 bytes, little-endian, and zeros.
pub const PROOF: u32 = GENERATE_PROOF;

/// Frames that the kernel creates and sends at a time: its default, and the maximum of one poll of an interface.
const BATCH: u32 = 64;

const WORD: usize = size_of::<u64>();

/// Words of the first page in use, and of a tally, of which each processor has one.
const WORDS: usize = generator::BYTES / WORD;
const TALLY: usize = tally::BYTES / WORD;

/// The requests to send.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    /// A command of the protocol, or [`PROOF`].
    pub command: u32,
    /// The lowest account.
    pub lowest: u32,
    /// Number of accounts from there on.
    pub accounts: u32,
    /// Whether accounts are chosen at random, or one after the other.
    pub any: bool,
    /// The first transaction id.
    pub transactions: u32,
}

/// Results so far.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// Requests sent.
    pub made: u64,
    /// Replies received.
    pub replies: u64,
    /// Those of them with status 0.
    pub good: u64,
    /// Nanoseconds from the first request to the last reply.
    pub nanoseconds: u64,
}

/// The generator, at one end of a cable.
#[derive(Debug)]
pub struct Generator {
    words: Array<AtomicU64>,
    tallies: Array<AtomicU64>,
    program: Section,
    envelope: Envelope,
    interface: u32,
    _link: Link,
    _kept: Link,
    _arena: Arena,
}

/// Sender and receiver of requests.
#[derive(Debug)]
struct Envelope {
    mac: [u8; 6],
    to_mac: [u8; 6],
    from: Ipv4Addr,
    to: SocketAddrV4,
}

#[derive(Debug)]
struct Section(OwnedFd);

impl AsFd for Section {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Generator {
    /// Loads the generator, and attaches the program that receives replies. Call and use it in the network namespace of
    /// the interface.
    pub fn load(interface: &Interface, from: Ipv4Addr, to: SocketAddrV4, to_mac: [u8; 6]) -> Result<Self, Error> {
        let processors = possible_processors();
        let bytes = processors * tally::BYTES;
        let arena = Arena::with_room_for(&[bytes])?;
        let (tallies, tallies_at) = arena.take(bytes)?;
        let words = |region: Region, count| {
            Arc::new(region)
                .words(0, count)
                .unwrap_or_else(|| unreachable!("regions are aligned to pages, and as long"))
        };
        let (words, tallies) = (words(arena.first_page(), WORDS), words(tallies, processors * TALLY));
        words[generator::TALLIES_AT / WORD].store(tallies_at, Relaxed);
        words[generator::PROCESSORS / WORD].store(processors as u64, Relaxed);
        let load = |section| loader::load(OBJECT, section, &arena, &[], true);
        let (program, receive) = (Section(load("generate")?), Section(load("receive")?));
        // The kernel calls attached programs through a list of their addresses. Each run of an unattached program would
        // add it and remove it again, and wait some 10 ms each time until no processor uses the old list.
        let kept = Link::attach_as(&program, &Interface::named("lo")?, Mode::Generic)?;
        let envelope = Envelope { mac: interface.mac, to_mac, from, to };
        let link = Link::attach_as(&receive, interface, Mode::Native)?;
        Ok(Self {
            words,
            tallies,
            program,
            envelope,
            interface: interface.index,
            _link: link,
            _kept: kept,
            _arena: arena,
        })
    }

    /// Starts again with other requests.
    pub fn begin(&self, requests: &Requests) {
        let Requests { command, lowest, accounts, any, transactions } = *requests;
        let mut headers = self.envelope.headers(frame_bytes(command)).to_vec();
        headers.resize(GENERATE_HEADER_WORDS * WORD, 0);
        for (word, bytes) in self.words.iter().zip(headers.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Relaxed);
        }
        for (at, value) in [
            (generator::COMMAND, command.into()),
            (generator::LOWEST, lowest.into()),
            (generator::ACCOUNTS, accounts.into()),
            (generator::ANY, any.into()),
            (generator::TRANSACTIONS, transactions.into()),
            (generator::ORDERED, 0),
        ] {
            self.words[at / WORD].store(value, Relaxed);
        }
        self.tallies.iter().for_each(|word| word.store(0, Relaxed));
    }

    /// Distance between a processor's transaction ids in requests for random accounts, so that those of other
    /// processors fit between.
    pub fn interleaved(&self) -> u32 {
        self.words[generator::PROCESSORS / WORD].load(Relaxed) as u32
    }

    /// Creates and sends `count` requests. Returns once they are on their way.
    pub fn send(&self, count: u32) -> io::Result<()> {
        let frame = [0; PROOF_FRAME];
        let bytes = frame_bytes(self.words[generator::COMMAND / WORD].load(Relaxed) as u32);
        sys::test_run_live(self.program.as_fd(), &frame[..bytes], self.interface, count, BATCH)
    }

    /// The results since [`begin`](Self::begin).
    pub fn tally(&self) -> Tally {
        let each = |field: usize| self.tallies[field / WORD..].iter().step_by(TALLY).map(|word| word.load(Relaxed));
        let first = each(tally::FIRST).filter(|time| *time > 0).min().unwrap_or(0);
        let nanoseconds = each(tally::LAST).max().unwrap_or(0).saturating_sub(first);
        Tally {
            made: each(tally::MADE).sum(),
            replies: each(tally::REPLIES).sum(),
            good: each(tally::GOOD).sum(),
            nanoseconds,
        }
    }
}

fn frame_bytes(command: u32) -> usize {
    if command == PROOF { PROOF_FRAME } else { FRAME }
}

/// Attaches a program that passes everything. A virtual cable accepts frames sent by a program only if there is one at
/// the other end.
pub fn attach_pass(interface: &Interface) -> Result<Link, Error> {
    attach(interface, "pass")
}

/// Attaches a program that reflects requests unchanged, to measure the cost of generator and cable alone.
pub fn attach_reflect(interface: &Interface) -> Result<Link, Error> {
    attach(interface, "reflect")
}

fn attach(interface: &Interface, section: &str) -> Result<Link, Error> {
    let arena = Arena::with_room_for(&[])?;
    let program = Section(loader::load(OBJECT, section, &arena, &[], true)?);
    Link::attach_as(&program, interface, Mode::Native)
}

impl Envelope {
    /// The headers of a frame of this length, without a UDP checksum, which IPv4 allows.
    fn headers(&self, frame: usize) -> [u8; HEADERS] {
        let Self { mac, to_mac, from, to } = *self;
        let mut headers = [0; HEADERS];
        headers[..6].copy_from_slice(&to_mac);
        headers[6..12].copy_from_slice(&mac);
        let total = (frame - 14) as u16;
        headers[12..24].copy_from_slice(&[8, 0, 0x45, 0, (total >> 8) as u8, total as u8, 0, 0, 0x40, 0, 64, 17]);
        headers[26..30].copy_from_slice(&from.octets());
        headers[30..34].copy_from_slice(&to.ip().octets());
        let sum: u32 = headers[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
        headers[24..26].copy_from_slice(&checksum.to_be_bytes());
        for (field, value) in headers[34..].chunks_mut(2).zip([PORT, to.port(), total - 20, 0]) {
            field.copy_from_slice(&value.to_be_bytes());
        }
        headers
    }
}

/// The headers of a request in a compact frame.
#[cfg(test)]
pub(crate) fn headers(mac: [u8; 6], to_mac: [u8; 6], from: Ipv4Addr, to: SocketAddrV4) -> [u8; HEADERS] {
    Envelope { mac, to_mac, from, to }.headers(FRAME)
}
