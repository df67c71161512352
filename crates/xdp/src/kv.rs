//! The XDP program of the key-value store: loading, counters, and test runs on a packet.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use crate::{
    Arena, Error, KvCounter, TestRun,
    error::refused,
    loader,
    program::{count, possible_processors},
    shared_layout::KV_WORK_BYTES,
    sys,
};

/// The object that `build.rs` compiled from `bpf/kv.bpf.c`: empty without a compiler.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kv.o"));

/// The same for `bpf/kv_bench.bpf.c`.
const BENCH_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kv_bench.o"));

/// The program over the mirror of a store, with its maps.
#[derive(Debug)]
pub struct KvProgram {
    program: OwnedFd,
    counters: OwnedFd,
    processors: usize,
}

impl KvProgram {
    /// Loads the program over an arena.
    pub fn load(arena: &Arena) -> Result<Self, Error> {
        Self::load_object(OBJECT, "xdp", arena)
    }

    /// Loads the program after a generator of gets, for measurements: each run requests one of `keys` keys,
    /// [`bench_key`].
    pub fn load_bench(arena: &Arena, keys: u32) -> Result<Self, Error> {
        arena.state().set_bench_accounts(keys);
        Self::load_object(BENCH_OBJECT, "bench", arena)
    }

    fn load_object(object: &[u8], section: &str, arena: &Arena) -> Result<Self, Error> {
        let map = |name, size, entries| {
            sys::create_map(sys::MAP_PERCPU_ARRAY, name, [4, size], entries, 0).map_err(refused("a map"))
        };
        let counters = map("counters", 8, KvCounter::ALL.len() as u32)?;
        let work = map("work", KV_WORK_BYTES, 1)?;
        let maps = [("counters", counters.as_fd()), ("work", work.as_fd())];
        let program = loader::load(object, section, arena, &maps, true)?;
        Ok(Self { program, counters, processors: possible_processors() })
    }

    /// Value of a counter, summed over all processors.
    pub fn count(&self, counter: KvCounter) -> u64 {
        count(self.counters.as_fd(), counter as u32, self.processors)
    }

    /// Runs the program on a packet, which begins with its Ethernet header, `repeat` times.
    pub fn test_run(&self, packet: &[u8], repeat: u32) -> io::Result<TestRun> {
        TestRun::run(self.program.as_fd(), packet, repeat)
    }
}

impl AsFd for KvProgram {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.program.as_fd()
    }
}

/// A key of the generator: its number in four characters of six bits, then constant bytes.
pub fn bench_key(number: u32) -> [u8; 92] {
    let mut key = [b'k'; 92];
    for (at, character) in key[..4].iter_mut().enumerate() {
        *character = b'0' + (number >> (6 * at) & 63) as u8;
    }
    key
}
