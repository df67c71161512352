//! Cost of signalling on `rdma://`: signals and instructions per message, with every send signalled and with one of 16.
//! `tests/rdma/run signals` runs it in an emulated machine whose clock counts instructions, one per nanosecond, of all
//! programs and the kernel, on one processor.
//!
//! usage: rdma_signals      `TURNPIKE_RDMA` is the address of the RDMA device
#![allow(clippy::unwrap_used, reason = "a benchmark that fails has nothing else to tell")]

use std::{env, time::Instant};

use turnpike_link::{Address, Channel, Config, Operations, SelectionKey, Selector, ServerChannel};

const SIZES: [usize; 5] = [64, 1 << 10, 4 << 10, 8 << 10, 16 << 10];

const MESSAGES: u64 = 1600;

/// Messages sent before any is received: a stream, as signals matter for one.
const WINDOW: u64 = 32;

fn main() {
    let Ok(ip) = env::var("TURNPIKE_RDMA") else {
        eprintln!("TURNPIKE_RDMA names no RDMA device; `tests/rdma/run signals` emulates one");
        std::process::exit(77);
    };
    let address: Address = format!("rdma://{ip}:0").parse().unwrap();
    println!("| bytes | signals a message: each | one of 16 | instructions a message: each | one of 16 | saved |");
    println!("|---|---|---|---|---|---|");
    for bytes in SIZES {
        // Alternating, and the minimum of three.
        let mut least = [f64::MAX; 2];
        let mut signals = [0.0; 2];
        for _ in 0..3 {
            for (at, signal_every) in [1, 16].into_iter().enumerate() {
                let (instructions, signalled) = stream(&address, bytes, signal_every);
                least[at] = least[at].min(instructions);
                signals[at] = signalled;
            }
        }
        let [each, sixteenth] = least;
        let saved = each - sixteenth;
        println!("| {bytes} | {:.4} | {:.4} | {each:.0} | {sixteenth:.0} | {saved:.0} |", signals[0], signals[1]);
    }
}

/// Nanoseconds (which are instructions) and signals per message of a stream.
fn stream(address: &Address, bytes: usize, signal_every: u16) -> (f64, f64) {
    let config = Config { buffers: 64, buffer_bytes: 16 << 10, signal_every, ..Config::default() };
    let mut selector = Selector::new().unwrap();
    let server = ServerChannel::bind(address, &config).unwrap();
    let at = server.address();
    let server = selector.register_server(server).unwrap();
    let near = selector.register(Channel::connect(&at, &config).unwrap(), Operations::CONNECT).unwrap();
    let mut far = None;
    while far.is_none() || !selector.channel(near).unwrap().finish_connect().unwrap() {
        selector.select(None).unwrap();
        if let Some(channel) = selector.server(server).unwrap().accept().unwrap() {
            far = Some(selector.register(channel, Operations::RECEIVE).unwrap());
        }
    }
    let far = far.unwrap();
    selector.set_interest(near, Operations::NONE).unwrap();
    selector.close(server).unwrap();
    let begun = Instant::now();
    for _ in 0..MESSAGES / WINDOW {
        for _ in 0..WINDOW {
            send(&mut selector, near, bytes);
        }
        for _ in 0..WINDOW {
            receive(&mut selector, far, bytes);
        }
    }
    let took = begun.elapsed().as_nanos() as f64 / MESSAGES as f64;
    let counters = selector.channel(near).unwrap().counters();
    (took, counters.signalled as f64 / MESSAGES as f64)
}

fn send(selector: &mut Selector, key: SelectionKey, bytes: usize) {
    loop {
        let channel = selector.channel(key).unwrap();
        if let Some(mut buffer) = channel.buffer().unwrap() {
            buffer.set_len(bytes);
            return channel.send(buffer).unwrap();
        }
        selector.set_interest(key, Operations::SEND).unwrap();
        selector.select(None).unwrap();
        selector.set_interest(key, Operations::NONE).unwrap();
    }
}

fn receive(selector: &mut Selector, key: SelectionKey, bytes: usize) {
    loop {
        match selector.channel(key).unwrap().receive().unwrap() {
            Some(message) => return assert_eq!(message.len(), bytes),
            None => selector.select(None).map(drop).unwrap(),
        }
    }
}
