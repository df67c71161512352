//! Clients of Electrum, WebSocket and Esplora that send without end, or hold what they never finish.
#![allow(missing_docs, clippy::unwrap_used)]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use turnpike_attacks::bitcoind::{Bitcoind, chain};
use turnpike_attacks::{STRANGER, TRUSTED, Victim, connect};

/// A prefix that neither trusted nor an attacker is in.
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 8, 3);
/// How long an honest client may wait, on a machine that does much else. Before turns were bounded it waited until the
/// flood ended.
const BOUND: Duration = Duration::from_secs(3);
/// How long an attack lasts.
const ATTACK: Duration = Duration::from_secs(4);
const HELLO: &[u8] = b"{\"id\":0,\"method\":\"server.version\",\"params\":[\"\",\"1.4\"]}\n";
const PING: &[u8] = b"{\"id\":1,\"method\":\"server.ping\"}\n";

/// A node that serves wallets over a short chain.
fn start(configure: impl FnOnce(&mut node::Config)) -> (Victim, Bitcoind) {
    let bitcoind = Bitcoind::start(chain(20));
    let victim = Victim::start(|config| {
        config.bitcoin.node = bitcoind.url();
        config.bitcoin.cookie = bitcoind.cookie();
        config.electrum.listen = vec!["127.0.0.1:0".parse().unwrap()];
        config.electrum.listen_ws = vec!["127.0.0.1:0".parse().unwrap()];
        config.electrum.esplora = true;
        // Little enough that a flood meets it on any machine.
        config.electrum.prefix_cost = 50_000;
        config.electrum.trusted = vec![format!("{TRUSTED}/32").parse().unwrap()];
        configure(config);
    });
    (victim, bitcoind)
}

fn tcp(victim: &Victim) -> SocketAddr {
    victim.node().electrum().unwrap().tcp()[0]
}

fn web_socket(victim: &Victim, local: Ipv4Addr) -> TcpStream {
    let mut stream = connect(local, victim.node().electrum().unwrap().web_socket()[0]);
    let request = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 101 "));
    stream
}

/// A masked frame, whose mask is 0.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = match payload.len() {
        length @ ..126 => vec![0x80 | length as u8],
        length => [&[0x80 | 127], &(length as u64).to_be_bytes()[..]].concat(),
    };
    [&[first], &length[..], &[0; 4], payload].concat()
}

/// An honest wallet, and how long it waited at most.
struct Wallet {
    stream: BufReader<TcpStream>,
    longest: Duration,
}

impl Wallet {
    fn connect(victim: &Victim, local: Ipv4Addr) -> Self {
        let stream = connect(local, tcp(victim));
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut wallet = Self { stream: BufReader::new(stream), longest: Duration::ZERO };
        wallet.ask(HELLO);
        wallet.longest = Duration::ZERO;
        wallet
    }

    fn ask(&mut self, request: &[u8]) {
        let (start, mut line) = (Instant::now(), String::new());
        self.stream.get_mut().write_all(request).unwrap();
        assert_ne!(self.stream.read_line(&mut line).unwrap(), 0, "an honest connection was closed");
        self.longest = self.longest.max(start.elapsed());
    }
}

/// Sends bytes over and over until it is to stop, and reads what comes.
fn flood(mut stream: TcpStream, bytes: Vec<u8>, stop: Arc<AtomicBool>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        stream.set_nonblocking(true).unwrap();
        let (mut sent, mut room) = (0, vec![0; 64 << 10]);
        while !stop.load(Relaxed) {
            match stream.write(&bytes[sent..]) {
                Ok(count) => sent = (sent + count) % bytes.len(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
                Err(_) => return,
            }
            while stream.read(&mut room).is_ok_and(|count| count > 0) {}
        }
    })
}

/// Has honest wallets ask beside floods, and gives how long one waited at most.
fn wait_beside(victim: &Victim, floods: impl FnOnce(&Arc<AtomicBool>) -> Vec<thread::JoinHandle<()>>) -> Duration {
    let mut wallets = Vec::from_iter((0..4).map(|_| Wallet::connect(victim, OTHER)));
    let stop = Arc::default();
    let floods = floods(&stop);
    let end = Instant::now() + ATTACK;
    while Instant::now() < end {
        wallets.iter_mut().for_each(|wallet| wallet.ask(PING));
        thread::sleep(Duration::from_millis(5));
    }
    stop.store(true, Relaxed);
    floods.into_iter().for_each(|flood| flood.join().unwrap());
    let longest = wallets.iter().map(|wallet| wallet.longest).max().unwrap();
    println!("honest wallets waited at most {longest:?}");
    longest
}

/// Frames that are no requests: pings, and parts of a message that never ends.
#[test]
fn control_and_continuation_frames_keep_no_wallet_waiting() {
    let (victim, _bitcoind) = start(|_| {});
    let beginning = frame(0x01, b"{");
    for (first, frames) in [(0x89, Vec::new()), (0x00, beginning)] {
        for local in [STRANGER, TRUSTED] {
            let longest = wait_beside(&victim, |stop| {
                let flooders = (0..2).map(|_| {
                    let mut stream = web_socket(&victim, local);
                    stream.write_all(&frames).unwrap();
                    flood(stream, frame(first, b"").repeat(10_000), Arc::clone(stop))
                });
                flooders.collect()
            });
            assert!(longest < BOUND, "frames {first:#x} of {local}: an honest wallet waited {longest:?}");
        }
    }
    // A stranger pays for frames that are no requests.
    assert!(victim.figure("turnpike_electrum_limited_total{limit=\"cost\"}") > 0);
}

/// Batches of the most requests, and lines that are none.
#[test]
fn pipelines_keep_no_wallet_waiting() {
    let (victim, _bitcoind) = start(|_| {});
    let headers = "{\"id\":1,\"method\":\"blockchain.block.headers\",\"params\":[0,20]}";
    let batch = format!("[{}]\n", vec![headers; 1000].join(","));
    for bytes in [batch.into_bytes(), b"\n".repeat(10_000)] {
        let longest = wait_beside(&victim, |stop| {
            let flooders = [STRANGER, STRANGER, TRUSTED, TRUSTED].map(|local| {
                let mut stream = connect(local, tcp(&victim));
                stream.write_all(HELLO).unwrap();
                flood(stream, bytes.clone(), Arc::clone(stop))
            });
            flooders.into()
        });
        assert!(longest < BOUND, "an honest wallet waited {longest:?}");
    }
}

/// Requests that are never finished, as lines and as messages, and replies that nobody takes.
#[test]
fn what_clients_hold_is_bounded() {
    const PREFIX: usize = 4 << 20;
    let (victim, _bitcoind) = start(|config| {
        config.electrum.request_size = 1 << 20;
        config.electrum.reply_size = 1 << 20;
        config.electrum.prefix_buffer_size = PREFIX;
        config.electrum.buffer_size = 2 * PREFIX;
    });
    let mut honest = Wallet::connect(&victim, OTHER);
    let half = vec![b' '; 1_000_000];
    let mut held = Vec::new();
    for number in 0..24 {
        // Three prefixes hold more than all may together.
        let local = Ipv4Addr::new(127, 0, 20 + number % 3, 1);
        let mut stream = match number % 2 {
            0 => connect(local, tcp(&victim)),
            _ => web_socket(&victim, local),
        };
        // One that is closed already takes no more.
        let _ = stream.write_all(&if number % 2 == 0 { half.clone() } else { frame(0x01, &half) });
        held.push(stream);
        honest.ask(PING);
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while victim.figure("turnpike_electrum_limited_total{limit=\"buffers\"}") == 0 {
        assert!(Instant::now() < deadline, "nobody was evicted");
        thread::sleep(Duration::from_millis(10));
    }
    // What one turn reads may come on top.
    let buffered = victim.figure("turnpike_electrum_buffered_bytes");
    assert!(buffered <= 2 * PREFIX as u64 + (1 << 20), "{buffered} bytes are held");
    honest.ask(PING);
}

/// Lists of blocks, which have to be read: over HTTP from an address that is trusted there, as through a proxy.
#[test]
fn lists_of_blocks_keep_no_payment_waiting() {
    let (victim, _bitcoind) = start(|_| {});
    let mut client = victim.client();
    let http = victim.node().http_address().unwrap();
    let stop = Arc::default();
    let request = b"GET /api/blocks HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100);
    let floods =
        Vec::from_iter([STRANGER; 8].map(|local| flood(connect(local, http), request.clone(), Arc::clone(&stop))));
    let (end, mut longest) = (Instant::now() + ATTACK, Duration::ZERO);
    while Instant::now() < end {
        let start = Instant::now();
        client.info().unwrap();
        assert!(victim.http("/health").ends_with("ok\n"));
        longest = longest.max(start.elapsed());
        thread::sleep(Duration::from_millis(5));
    }
    stop.store(true, Relaxed);
    floods.into_iter().for_each(|flood| flood.join().unwrap());
    println!("an honest client waited at most {longest:?}");
    assert!(longest < BOUND, "an honest client waited {longest:?}");
    assert!(victim.figure("turnpike_electrum_limited_total{limit=\"cost\"}") > 0);
}
