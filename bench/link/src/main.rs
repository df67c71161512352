//! Channels beside raw sockets, `memcpy` and what others have for the same: round trips and rates at each size of message,
//! what encryption costs, many channels on one thread.
//!
//! usage: turnpike-bench-link [--rounds NUMBER] [--fabric PROGRAM] [--iceoryx2 PROGRAM]      `bench/link/run` starts it
//!
//! The other side is a process of its own. Each figure is the median of the rounds; in a round all ways take their turn, so
//! that what else the machine does meets all of them.
#![allow(clippy::unwrap_used, reason = "a benchmark that fails has nothing else to tell")]

mod foreign;
mod raw;

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Release},
    },
    thread,
    time::{Duration, Instant},
};

use figures::Figure;
use foreign::Foreign;
use link::{
    Address, Channel, Config, Identity, KEY_BYTES, Operations, SecretKey, Selector,
    measure::{Prober, Responder, Role},
};
use raw::Raw;

/// As the figures of RUBIN's paper have them.
const KILOBYTES: [usize; 11] = [1, 2, 4, 8, 16, 20, 32, 40, 64, 80, 100];

const LONGEST: usize = 100 << 10;

/// What each way is measured for in a round, in seconds: long enough that the scheduler has given both sides a processor,
/// for which it takes some of its ticks of four milliseconds.
const SPAN: f64 = 0.05;

/// With so many messages it is found out how many fill the span.
const FIRST: usize = 500;

/// For the channels of which there are many.
fn small() -> Config {
    Config { buffers: 4, buffer_bytes: 1 << 10, ..Config::default() }
}

/// The other side: a process that answers at an address, which it prints.
struct Peer(Child, String);

impl Peer {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
        Self(child, address.trim().to_owned())
    }

    fn address(&self) -> Address {
        self.1.parse().unwrap()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(address: &str, config: &Config) {
    let mut responder = Responder::bind(&address.parse().unwrap(), config).unwrap();
    println!("{}", responder.address());
    responder.run(&AtomicBool::new(false)).unwrap();
}

/// What bounds shared memory: one thread copies to a ring of as many buffers as a channel has, and one copies out of it.
fn copy_twice(length: usize, messages: usize) -> Duration {
    let slots: Vec<_> = (0..64).map(|_| Mutex::new(vec![0_u8; length])).collect();
    let (written, read) = (AtomicU64::new(0), AtomicU64::new(0));
    let wait = |until: &dyn Fn() -> bool| {
        for round in 1_u32.. {
            if until() {
                break;
            }
            if round.is_multiple_of(64) { thread::yield_now() } else { std::hint::spin_loop() }
        }
    };
    let message = vec![7; length];
    thread::scope(|scope| {
        let begun = Instant::now();
        let reader = scope.spawn(|| {
            let mut copy = vec![0; length];
            for number in 0..messages as u64 {
                wait(&|| written.load(Acquire) > number);
                copy.copy_from_slice(&slots[number as usize % slots.len()].lock().unwrap());
                read.store(number + 1, Release);
            }
        });
        for number in 0..messages as u64 {
            wait(&|| number - read.load(Acquire) < slots.len() as u64);
            slots[number as usize % slots.len()].lock().unwrap().copy_from_slice(&message);
            written.store(number + 1, Release);
        }
        reader.join().unwrap();
        begun.elapsed()
    })
}

/// Time of a message in seconds where each of so many channels always has one on the way, all on one thread.
fn many(address: &Address, channels: usize) -> f64 {
    let mut selector = Selector::new().unwrap();
    let mut keys = Vec::new();
    for _ in 0..channels {
        let channel = Channel::connect(address, &small()).unwrap();
        let key = selector.register(channel, Operations::CONNECT).unwrap();
        while !selector.channel(key).unwrap().finish_connect().unwrap() {
            selector.select(None).unwrap();
        }
        let channel = selector.channel(key).unwrap();
        assert!(channel.send_copy(b"e").unwrap() && channel.send_copy(&[7; 1 << 10]).unwrap());
        selector.set_interest(key, Operations::RECEIVE).unwrap();
        keys.push(key);
    }
    // The first message in each buffer has pages mapped.
    let first = 2 * usize::from(small().buffers) * channels;
    settled(first, |messages| {
        let begun = Instant::now();
        let mut answered = 0;
        let mut ready = Vec::new();
        while answered < messages {
            selector.select(None).unwrap();
            ready.clear();
            ready.extend(selector.selected());
            for (key, _) in &ready {
                let channel = selector.channel(*key).unwrap();
                // A credit may come after the message.
                while let Some(mut buffer) = channel.buffer().unwrap() {
                    let Some(message) = channel.receive().unwrap() else { break };
                    buffer.fill(&message);
                    channel.send(buffer).unwrap();
                    answered += 1;
                }
            }
        }
        begun.elapsed().as_secs_f64() / answered as f64
    })
}

/// The time of one message, by as many as fill the span, of what measures it by so many; `first` are measured to know how many.
fn settled(first: usize, mut measure: impl FnMut(usize) -> f64) -> f64 {
    let time = measure(first);
    measure(((SPAN / time) as usize).max(first))
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let options: Vec<_> = arguments.iter().map(String::as_str).collect();
    match options[..] {
        ["raw"] => raw::serve(),
        ["many-raw"] => raw::serve_many(),
        ["serve", address] => serve(address, &Config::default()),
        ["encrypted", address] => serve(address, &encrypted()),
        ["many", address] => serve(address, &small()),
        _ => {
            let option = |name: &str| {
                options.chunks_exact(2).find_map(|pair| (pair[0] == format!("--{name}")).then(|| pair[1].to_owned()))
            };
            let rounds = option("rounds").map_or(7, |rounds| rounds.parse().unwrap());
            measure(rounds, option("fabric"), option("iceoryx2"));
            measure_many(rounds);
        }
    }
}

/// Both sides have the same key, and talk to nobody else.
fn encrypted() -> Config {
    let secret = SecretKey::from_bytes([7; KEY_BYTES]);
    let identity = Identity::new(secret.clone(), [secret.public().unwrap()]).unwrap();
    Config { identity: Some(Arc::new(identity)), ..Config::default() }
}

/// The median of so many times, in seconds.
fn median_of(count: usize, mut time: impl FnMut() -> Duration) -> f64 {
    median(&mut (0..count).map(|_| time().as_secs_f64()).collect::<Vec<_>>())
}

/// What is measured in each round: seconds of a round trip, and MiB in a second.
#[derive(Default)]
struct Way {
    trips: Vec<f64>,
    rates: Vec<f64>,
}

impl Way {
    /// The medians: microseconds, and MiB in a second.
    fn medians(&mut self) -> (f64, f64) {
        (median(&mut self.trips) * 1e6, median(&mut self.rates))
    }
}

/// A channel of each role to a process of its own.
struct Probed {
    _peer: Peer,
    echo: Prober,
    copy: Prober,
    drop: Prober,
}

impl Probed {
    fn new(arguments: &[&str], config: &Config) -> Self {
        let peer = Peer::start(arguments);
        let connect = |role| Prober::connect(&peer.address(), config, role).unwrap();
        let (echo, copy, drop) = (connect(Role::Echo), connect(Role::Copy), connect(Role::Drop));
        Self { _peer: peer, echo, copy, drop }
    }
}

fn measure(rounds: usize, fabric: Option<String>, iceoryx2: Option<String>) {
    let tcp = "tcp://127.0.0.1:0";
    let mut channels = [
        Probed::new(&["serve", "shm://"], &Config::default()),
        Probed::new(&["serve", tcp], &Config::default()),
        Probed::new(&["encrypted", tcp], &encrypted()),
    ];
    let mut foreign = [fabric, iceoryx2].map(|program| program.map(|program| Foreign::start(&program)));
    let peer = Peer::start(&["raw"]);
    let mut raw = Raw::connect(&peer.1);
    let message = vec![7; LONGEST];
    for kilobytes in KILOBYTES {
        let bytes = kilobytes << 10;
        // MiB in a second, of what streams so many messages.
        let rate = |stream: &mut dyn FnMut(usize) -> Duration| {
            let message = settled(FIRST, |count| stream(count).as_secs_f64() / count as f64);
            bytes as f64 / message / (1 << 20) as f64
        };
        let [mut shm, mut tcp, mut encrypted, mut sockets, mut fabric, mut iceoryx2] =
            [const { Vec::new() }; 6].map(|_: Vec<f64>| Way::default());
        let (mut memcpy, mut in_place) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            for (channel, way) in channels.iter_mut().zip([&mut shm, &mut tcp, &mut encrypted]) {
                way.trips.push(settled(FIRST, |count| median_of(count, || channel.echo.round_trip(bytes).unwrap())));
                way.rates.push(rate(&mut |count| channel.copy.stream(&message[..bytes], count as u64).unwrap()));
            }
            in_place.push(rate(&mut |count| channels[1].drop.stream_in_place(bytes, count as u64).unwrap()));
            sockets.trips.push(settled(FIRST, |count| median_of(count, || raw.round_trip(bytes))));
            sockets.rates.push(rate(&mut |count| raw.stream(bytes, count)));
            memcpy.push(rate(&mut |count| copy_twice(bytes, count)));
            for (program, way) in foreign.iter_mut().zip([&mut fabric, &mut iceoryx2]) {
                if let Some(program) = program {
                    way.trips.push(settled(FIRST, |count| program.round_trip(bytes, count)));
                    way.rates.push(rate(&mut |count| program.stream(bytes, count)));
                }
            }
        }
        let memcpy = ("memcpy between threads", median(&mut memcpy));
        let [(shm, shm_rate), (tcp, tcp_rate), (encrypted, encrypted_rate), (sockets, sockets_rate)] =
            [shm, tcp, encrypted, sockets].each_mut().map(Way::medians);
        let figure = |name: &str, value, unit, peer: (&str, f64)| {
            let name = &format!("{name}, {kilobytes} KB");
            Figure { name, value, unit, peer: Some(peer) }.record();
            let ratio = if unit == "us" { peer.1 / value } else { value / peer.1 };
            println!("{name}: {value:.1} {unit}, {} {:.1}: {ratio:.2}", peer.0, peer.1);
        };
        figure("shm, round trip", shm, "us", ("raw sockets", sockets));
        figure("tcp, round trip", tcp, "us", ("raw sockets", sockets));
        figure("tcp encrypted, round trip", encrypted, "us", ("tcp", tcp));
        figure("shm, rate in MiB", shm_rate, "/s", memcpy);
        figure("tcp, rate in MiB", tcp_rate, "/s", ("raw sockets", sockets_rate));
        figure("tcp in place, rate in MiB", median(&mut in_place), "/s", ("raw sockets", sockets_rate));
        figure("tcp encrypted, rate in MiB", encrypted_rate, "/s", ("tcp", tcp_rate));
        for (is_there, mut theirs, name, peer, ours) in [
            (foreign[0].is_some(), fabric, "tcp", "libfabric", (tcp, tcp_rate)),
            (foreign[1].is_some(), iceoryx2, "shm", "iceoryx2", (shm, shm_rate)),
        ] {
            if is_there {
                let theirs = theirs.medians();
                figure(&format!("{name}, round trip beside {peer}"), ours.0, "us", (peer, theirs.0));
                figure(&format!("{name}, rate in MiB beside {peer}"), ours.1, "/s", (peer, theirs.1));
            }
        }
    }
}

fn measure_many(rounds: usize) {
    let (shm, tcp) = ("shm://", "tcp://127.0.0.1:0");
    let mut times = [const { (Vec::new(), Vec::new()) }; 3];
    for _ in 0..rounds {
        let [over_shm, over_tcp, over_sockets] = &mut times;
        for (address, (few, all)) in [(shm, over_shm), (tcp, over_tcp)] {
            let peer = Peer::start(&["many", address]);
            few.push(many(&peer.address(), 10));
            all.push(many(&peer.address(), 1000));
        }
        let peer = Peer::start(&["many-raw"]);
        over_sockets.0.push(raw::many(&peer.1, 10));
        over_sockets.1.push(raw::many(&peer.1, 1000));
    }
    let [shm, tcp, sockets] = times.map(|(mut few, mut all)| (median(&mut few) * 1e9, median(&mut all) * 1e9));
    let figure = |name: &str, value: f64, peer: (&str, f64)| {
        Figure { name, value, unit: "ns", peer: Some(peer) }.record();
        println!("{name}: {value:.0} ns, {} {:.0}: {:.2}", peer.0, peer.1, peer.1 / value);
    };
    for (name, (few, all)) in [("shm", shm), ("tcp", tcp), ("raw sockets", sockets)] {
        figure(&format!("{name}, a message of 1,000 channels"), all, ("10 channels", few));
    }
    figure("tcp, a message of 1,000 channels beside raw sockets", tcp.1, ("raw sockets", sockets.1));
}
