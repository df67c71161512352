//! What a get takes that the program in the network driver answers: runs of the kernel's own (`BPF_PROG_TEST_RUN`), without a driver.
//! Each run also makes the next request.

use std::{error::Error, io};

use kv::store::{self, Store, mirror_bytes};
use xdp::{Arena, KvCounter, KvProgram, bench_key};

use crate::processor;

/// Where the generator's requests are sent to (`write_envelope` of bpf/request.h).
const PORT: u16 = 11211;
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Bytes of an item and more, for the store's memory; slots of the mirror for each key, so that hardly any has no place.
const ITEM: usize = 512;
const SLOTS: usize = 4;

/// Runs before the kernel is asked again.
const RUNS: u32 = 1_000_000;

/// Nanoseconds for each of some gets, of any of so many keys.
pub fn nanoseconds(keys: u32, value: usize, rounds: usize) -> Result<Vec<f64>, Box<dyn Error>> {
    let memory = (keys as usize * ITEM).max(64 << 20);
    let store = Store::new(store::Config { memory, largest_item: 1 << 20, evict: true, threads: 2 })?;
    let bytes = mirror_bytes(keys as usize * SLOTS * 512);
    let arena = Arena::with_room_for(&[bytes])?;
    let (mirror, offset) = arena.take(bytes)?;
    store.set_mirror(mirror)?;
    arena.state().set_mirror(offset);
    arena.state().set_trusted([("10.0.0.0".parse()?, 8)]);
    arena.state().set_listening(PORT, MAC, &["10.0.0.1".parse()?]);
    let value = vec![b'v'; value];
    let now = store.clock().now();
    for number in 0..keys {
        let name = bench_key(number);
        let key = store.key(&name);
        let write = store::Write::new(store::Mode::Set, key, &value);
        store.shard(key.hash).write(&write, now);
        store.mirror(key, now);
    }
    let program = KvProgram::load_bench(&arena, keys)?;
    let frame = vec![0; 256];
    program.test_run(&frame, RUNS)?;
    let time = || {
        let before = processor::own();
        program.test_run(&frame, RUNS)?;
        io::Result::Ok((processor::own() - before).as_nanos() as f64 / f64::from(RUNS))
    };
    let times = (0..rounds).map(|_| time()).collect::<Result<_, _>>()?;
    let (hits, runs) = (program.count(KvCounter::Hit), u64::from(RUNS) * (rounds as u64 + 1));
    if hits < runs / 100 * 95 {
        return Err(format!("only {hits} of {runs} gets were answered").into());
    }
    Ok(times)
}
