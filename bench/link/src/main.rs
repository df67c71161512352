//! Channels beside raw sockets and `memcpy`: round trips and rates at each size of message, many channels on one thread.
//!
//! usage: turnpike-bench-link [--rounds NUMBER]      `bench/link/run` starts it
//!
//! The other side is a process of its own. Each figure is the median of the rounds; in a round all ways take their turn, so
//! that what else the machine does meets all of them.
#![allow(clippy::unwrap_used, reason = "a benchmark that fails has nothing else to tell")]

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Release},
    },
    thread,
    time::{Duration, Instant},
};

use figures::Figure;
use link::{
    Address, Channel, Config, Operations, Selector,
    measure::{Prober, Responder, Role},
};

/// As the figures of RUBIN's paper have them.
const KILOBYTES: [usize; 11] = [1, 2, 4, 8, 16, 20, 32, 40, 64, 80, 100];

const LONGEST: usize = 100 << 10;

/// Of a round: some ten milliseconds each.
const ROUND_TRIPS: u32 = 500;
const STREAMED_BYTES: usize = 32 << 20;
const MANY_MESSAGES: usize = 20_000;

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

/// What a plain program does with a socket: a length, then the message. Without a message, it answers with one of no bytes;
/// with the highest bit of the length set, the message is sent back.
fn serve_raw() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    let (mut socket, _) = listener.accept().unwrap();
    socket.set_nodelay(true).unwrap();
    let mut message = vec![0; 4 + LONGEST];
    while socket.read_exact(&mut message[..4]).is_ok() {
        let head = u32::from_be_bytes(message[..4].try_into().unwrap());
        let length = 4 + (head & !ECHO) as usize;
        socket.read_exact(&mut message[4..length]).unwrap();
        if head & ECHO != 0 || length == 4 {
            socket.write_all(&message[..length]).unwrap();
        }
    }
}

const ECHO: u32 = 1 << 31;

struct Raw(TcpStream, Vec<u8>);

impl Raw {
    fn send(&mut self, length: usize, flag: u32) {
        self.1[..4].copy_from_slice(&(length as u32 | flag).to_be_bytes());
        self.0.write_all(&self.1[..4 + length]).unwrap();
    }

    fn round_trip(&mut self, length: usize) -> Duration {
        let begun = Instant::now();
        self.send(length, ECHO);
        self.0.read_exact(&mut self.1[..4]).unwrap();
        self.0.read_exact(&mut self.1[4..4 + length]).unwrap();
        begun.elapsed()
    }

    fn stream(&mut self, length: usize, messages: usize) -> Duration {
        let begun = Instant::now();
        (0..messages).for_each(|_| self.send(length, 0));
        self.send(0, 0);
        self.0.read_exact(&mut self.1[..4]).unwrap();
        begun.elapsed()
    }
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

/// Time of a message where each of so many channels always has one on the way, all on one thread.
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
    let mut run = |messages: usize| {
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
        begun.elapsed().as_secs_f64() / answered as f64 * 1e9
    };
    run(4 * channels);
    run(MANY_MESSAGES)
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["raw"] => serve_raw(),
        ["serve", address] => serve(address, &Config::default()),
        ["many", address] => serve(address, &small()),
        ["--rounds", rounds] => measure(rounds.parse().unwrap()),
        _ => measure(7),
    }
}

fn measure(rounds: usize) {
    let raw = Peer::start(&["raw"]);
    let peers = ["shm://", "tcp://127.0.0.1:0"].map(|address| Peer::start(&["serve", address]));
    let connect =
        |role| peers.each_ref().map(|peer| Prober::connect(&peer.address(), &Config::default(), role).unwrap());
    let (mut echoes, mut copies) = (connect(Role::Echo), connect(Role::Copy));
    let socket = TcpStream::connect(&raw.1).unwrap();
    socket.set_nodelay(true).unwrap();
    let mut raw = Raw(socket, vec![7; 4 + LONGEST]);
    let message = vec![7; LONGEST];
    for kilobytes in KILOBYTES {
        let bytes = kilobytes << 10;
        let messages = STREAMED_BYTES / bytes;
        let mut times: [Vec<f64>; 3] = Default::default();
        let mut rates: [Vec<f64>; 4] = Default::default();
        let rate = |time: Duration| (messages * bytes) as f64 / time.as_secs_f64() / (1 << 20) as f64;
        for _ in 0..rounds {
            for (at, echo) in echoes.iter_mut().enumerate() {
                let mut trips: Vec<_> =
                    (0..ROUND_TRIPS).map(|_| echo.round_trip(bytes).unwrap().as_secs_f64() * 1e6).collect();
                times[at].push(median(&mut trips));
            }
            let mut trips: Vec<_> = (0..ROUND_TRIPS).map(|_| raw.round_trip(bytes).as_secs_f64() * 1e6).collect();
            times[2].push(median(&mut trips));
            for (at, copy) in copies.iter_mut().enumerate() {
                rates[at].push(rate(copy.stream(&message[..bytes], messages as u64).unwrap()));
            }
            rates[2].push(rate(raw.stream(bytes, messages)));
            rates[3].push(rate(copy_twice(bytes, messages)));
        }
        let [shm, tcp, sockets] = times.each_mut().map(|times| median(times));
        let [shm_rate, tcp_rate, sockets_rate, memcpy] = rates.each_mut().map(|rates| median(rates));
        let figure = |name: &str, value, unit, peer| {
            Figure { name: &format!("{name}, {kilobytes} KB"), value, unit, peer: Some(peer) }.record();
        };
        figure("shm, round trip", shm, "us", ("raw sockets", sockets));
        figure("tcp, round trip", tcp, "us", ("raw sockets", sockets));
        figure("shm, rate in MiB", shm_rate, "/s", ("memcpy between threads", memcpy));
        figure("tcp, rate in MiB", tcp_rate, "/s", ("raw sockets", sockets_rate));
        println!(
            "{kilobytes:>3} KB  round trip us: shm {shm:.2}, tcp {tcp:.2}, raw {sockets:.2} (raw/shm {:.2}, tcp/raw {:.2})  \
             MiB/s: shm {shm_rate:.0}, memcpy {memcpy:.0} (memcpy/shm {:.2}), tcp {tcp_rate:.0}, raw {sockets_rate:.0}",
            sockets / shm,
            tcp / sockets,
            memcpy / shm_rate
        );
    }
    drop((echoes, copies));
    for address in ["shm://", "tcp://127.0.0.1:0"] {
        let scheme = &address[..3];
        let (mut few, mut all) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let peer = Peer::start(&["many", address]);
            few.push(many(&peer.address(), 10));
            all.push(many(&peer.address(), 1000));
        }
        let (few, all) = (median(&mut few), median(&mut all));
        Figure {
            name: &format!("{scheme}, a message of 1,000 channels"),
            value: all,
            unit: "ns",
            peer: Some(("10 channels", few)),
        }
        .record();
        println!("{scheme}: a message of 10 channels {few:.0} ns, of 1,000 {all:.0} ns: {:.2}", all / few);
    }
}
