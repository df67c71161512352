//! The XDP program: loading, counters, and running it on a packet of one's own.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use crate::{
    Arena, Counter, Error,
    error::refused,
    object::{self, Address},
    sys,
};

/// What `build.rs` made of `bpf/turnpike.bpf.c`: empty where there was no compiler.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/turnpike.o"));

/// The same of `bpf/bench.bpf.c`.
const BENCH_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bench.o"));

/// Most receive queues of an interface that sockets can be given for.
pub const QUEUES: u32 = 64;

/// In a load of 64 bits: the address is that of a map, or of a map's memory (include/uapi/linux/bpf.h).
const PSEUDO_MAP_FD: u8 = 1;
const PSEUDO_MAP_VALUE: u8 = 2;

/// What a run of the program on a packet came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// The program's verdict: 2 to pass the packet to the host, 3 to send it back.
    pub verdict: u32,
    /// The packet as the program left it.
    pub packet: Vec<u8>,
    /// Nanoseconds that a run took, on average.
    pub nanoseconds: u32,
}

impl TestRun {
    /// Whether the packet goes to the host.
    pub fn passes(&self) -> bool {
        self.verdict == 2
    }

    /// Whether the packet goes back to where it came from.
    pub fn replies(&self) -> bool {
        self.verdict == 3
    }
}

/// The program, loaded, and its maps.
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

    /// Loads the program over an arena. With `fragments` it takes packets in several pieces, as large frames are; not together with
    /// sockets, which do not.
    pub fn load(arena: &Arena, fragments: bool) -> Result<Self, Error> {
        Self::load_object(OBJECT, "xdp", arena, fragments)
    }

    /// Loads the program behind a generator of REFER, for measurements: each run asks for one of `accounts` accounts.
    pub fn load_bench(arena: &Arena, accounts: u32) -> Result<Self, Error> {
        arena.state().set_bench_accounts(accounts);
        Self::load_object(BENCH_OBJECT, "bench", arena, true)
    }

    fn load_object(object: &[u8], section: &str, arena: &Arena, fragments: bool) -> Result<Self, Error> {
        if object.is_empty() {
            return Err(Error::NotBuilt);
        }
        let map =
            |kind, name, size, entries| sys::create_map(kind, name, [4, size], entries, 0).map_err(refused("a map"));
        let counters = map(sys::MAP_PERCPU_ARRAY, "counters", 8, Counter::ALL.len() as u32)?;
        let sockets = map(sys::MAP_XSKMAP, "sockets", 4, QUEUES)?;
        let mut code = object::code(object, section)?;
        for (at, address) in code.addresses {
            let (map, kind, offset) = match address {
                Address::Arena(offset) => (arena.map(), PSEUDO_MAP_VALUE, offset),
                Address::Map("counters") => (counters.as_fd(), PSEUDO_MAP_FD, 0),
                Address::Map("sockets") => (sockets.as_fd(), PSEUDO_MAP_FD, 0),
                Address::Map(_) => return Err(Error::Object("a map of an unknown name")),
            };
            // The upper half of the second byte is the source register, which tells what the address is of; the lower halves of both
            // instructions take the map's descriptor and the offset.
            let instruction = &mut code.instructions[at..at + 16];
            instruction[1] = instruction[1] & 0x0f | kind << 4;
            instruction[4..8].copy_from_slice(&map.as_raw_fd().to_le_bytes());
            instruction[12..16].copy_from_slice(&offset.to_le_bytes());
        }
        let flags = if fragments { sys::F_XDP_HAS_FRAGS } else { 0 };
        let program = sys::load("turnpike", &code.instructions, c"Dual MIT/GPL", flags).map_err(|(source, log)| {
            if log.is_empty() { refused("to load the XDP program")(source) } else { Error::Verifier { source, log } }
        })?;
        Ok(Self { program, counters, sockets, processors: possible_processors() })
    }

    /// How often something happened, on all processors together.
    pub fn count(&self, counter: Counter) -> u64 {
        let mut numbers = vec![0; self.processors];
        match sys::lookup(self.counters.as_fd(), counter as u32, &mut numbers) {
            Ok(()) => numbers.iter().sum(),
            Err(_) => 0,
        }
    }

    /// Runs the program on a packet, which begins with its Ethernet header, `repeat` times.
    pub fn test_run(&self, packet: &[u8], repeat: u32) -> io::Result<TestRun> {
        let mut output = vec![0; packet.len().max(64)];
        let (verdict, length, nanoseconds) = sys::test_run(self.program.as_fd(), packet, &mut output, repeat)?;
        output.truncate(length);
        Ok(TestRun { verdict, packet: output, nanoseconds })
    }

    /// Has a receive queue's frames that are not answered go to a socket.
    pub fn set_socket(&self, queue: u32, socket: &impl AsRawFd) -> Result<(), Error> {
        sys::update(self.sockets.as_fd(), queue, socket.as_raw_fd() as u32).map_err(refused("a socket in the map"))
    }

    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.program
    }
}

/// How many processors there may ever be: maps with a value for each have so many.
fn possible_processors() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = text.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
    // Too many is harmless, too few would not be.
    last.map_or(8192, |last| last + 1)
}
