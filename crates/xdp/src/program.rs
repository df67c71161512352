//! The XDP program: loading, counters, and test runs on a packet.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use crate::{Arena, Counter, Error, error::refused, loader, sys};

/// The object that `build.rs` compiled from `bpf/turnpike.bpf.c`: empty without a compiler.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/turnpike.o"));

/// The same for `bpf/bench.bpf.c`.
const BENCH_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bench.o"));

/// The same for `bpf/storm.bpf.c`.
const STORM_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/storm.o"));

/// Maximum number of receive queues of an interface that can have a socket.
pub const QUEUES: u32 = 64;

/// Maximum number of bytes that a program adds to a packet; more than any does.
const GROWTH: usize = 1024;

/// Result of a test run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// The program's verdict: 2 to pass the packet to the host, 3 to send it back.
    pub verdict: u32,
    /// The packet after the run.
    pub packet: Vec<u8>,
    /// Average nanoseconds per run.
    pub nanoseconds: u32,
}

impl TestRun {
    /// Runs a program.
    pub(crate) fn run(program: BorrowedFd<'_>, packet: &[u8], repeat: u32) -> io::Result<Self> {
        // The reply may be longer.
        let mut output = vec![0; packet.len().max(64) + GROWTH];
        let (verdict, length, nanoseconds) = sys::test_run(program, packet, &mut output, repeat)?;
        output.truncate(length);
        Ok(Self { verdict, packet: output, nanoseconds })
    }

    /// Whether the packet is passed to the host.
    pub fn passes(&self) -> bool {
        self.verdict == 2
    }

    /// Whether the packet is sent back.
    pub fn replies(&self) -> bool {
        self.verdict == 3
    }
}

/// The loaded program with its maps.
#[derive(Debug)]
pub struct Program {
    program: OwnedFd,
    counters: OwnedFd,
    sockets: OwnedFd,
    processors: usize,
}

impl Program {
    /// Whether the build had a compiler for it.
    pub fn is_built() -> bool {
        !OBJECT.is_empty()
    }

    /// Loads the program over an arena. With `fragments` it accepts packets in several pieces, such as large frames.
    pub fn load(arena: &Arena, fragments: bool) -> Result<Self, Error> {
        Self::load_object(OBJECT, "xdp", arena, fragments)
    }

    /// Loads the program after a generator of REFER, for measurements: each run queries one of `accounts` accounts.
    pub fn load_bench(arena: &Arena, accounts: u32) -> Result<Self, Error> {
        arena.state().set_bench_accounts(accounts);
        Self::load_object(BENCH_OBJECT, "bench", arena, true)
    }

    /// The same after a generator of proof requests for `keys` keys: the number from 1 in 8 bytes, little-endian, and
    /// zeros.
    pub fn load_bench_proofs(arena: &Arena, keys: u32) -> Result<Self, Error> {
        arena.state().set_bench_accounts(keys);
        Self::load_object(BENCH_OBJECT, "prove", arena, true)
    }

    /// Loads the program between a generator of requests and a checker of replies, for tests (`tests/storm.rs`).
    pub fn load_storm(arena: &Arena) -> Result<Self, Error> {
        Self::load_object(STORM_OBJECT, "storm", arena, true)
    }

    fn load_object(object: &[u8], section: &str, arena: &Arena, fragments: bool) -> Result<Self, Error> {
        let map =
            |kind, name, size, entries| sys::create_map(kind, name, [4, size], entries, 0).map_err(refused("a map"));
        let counters = map(sys::MAP_PERCPU_ARRAY, "counters", 8, Counter::ALL.len() as u32)?;
        let sockets = map(sys::MAP_XSKMAP, "sockets", 4, QUEUES)?;
        let maps = [("counters", counters.as_fd()), ("sockets", sockets.as_fd())];
        let program = loader::load(object, section, arena, &maps, fragments)?;
        Ok(Self { program, counters, sockets, processors: possible_processors() })
    }

    /// Value of a counter, summed over all processors.
    pub fn count(&self, counter: Counter) -> u64 {
        count(self.counters.as_fd(), counter as u32, self.processors)
    }

    /// Runs the program on a packet, which begins with its Ethernet header, `repeat` times.
    pub fn test_run(&self, packet: &[u8], repeat: u32) -> io::Result<TestRun> {
        TestRun::run(self.program.as_fd(), packet, repeat)
    }

    /// Redirects the unanswered frames of a receive queue to a socket.
    pub fn set_socket(&self, queue: u32, socket: &impl AsRawFd) -> Result<(), Error> {
        sys::update(self.sockets.as_fd(), queue, socket.as_raw_fd() as u64).map_err(refused("a socket in the map"))
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.program.as_fd()
    }
}

/// The sum of a counter over all processors.
pub(crate) fn count(counters: BorrowedFd<'_>, counter: u32, processors: usize) -> u64 {
    let mut numbers = vec![0; processors];
    match sys::lookup(counters, counter, &mut numbers) {
        Ok(()) => numbers.iter().sum(),
        Err(_) => 0,
    }
}

/// Maximum number of processors: per-processor maps have that many values.
pub(crate) fn possible_processors() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = text.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
    // Too many is harmless, too few is not.
    last.map_or(8192, |last| last + 1)
}
