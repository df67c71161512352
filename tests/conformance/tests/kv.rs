//! The key-value store with XDP or the simulated NIC before it, over a cable between two network namespaces: a storm of
//! writers over TCP and readers over UDP, and any requests beside memcached.
//!
//! Skipped, with a word why, where the machine does not allow it: it takes root and Linux 6.10. `STORM_SECONDS` sets how long the
//! storm lasts.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream, UdpSocket},
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{
        AtomicBool, AtomicU64,
        Ordering::{Relaxed, SeqCst},
    },
    thread,
    time::Duration,
};

use common::{CABLE, CLIENT, NODE, Namespaces, STRANGER, enter, within};
use kv::server::Server;
use node::{
    config::{Kv, KvIo},
    kv_server,
};
use skip::Ability;
use xdp::{Arena, Interface, KvCounter, KvProgram, Link, Mode};

/// How long to wait for a reply by UDP: it may be lost where the machine is busy.
const PATIENCE: Duration = Duration::from_millis(500);

/// A store in its namespace, and the client's end of the cable made ready for frames that XDP sends there.
struct Setting {
    server: Option<Server>,
    // Before the namespaces.
    _receiver: Option<Link>,
    namespaces: Namespaces,
}

/// A store with the simulated NIC before it.
fn set_up_rtl() -> Option<Setting> {
    let rtl = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/rtl/libturnpike_nic_kv.so"));
    if !rtl.exists() {
        skip::lacking(Ability::RtlLibrary, format_args!("there is no {} (`make rtl` builds it)", rtl.display()));
        return None;
    }
    let namespaces = match Namespaces::new() {
        Ok(namespaces) => namespaces,
        Err(why) => {
            skip::lacking(Ability::Namespaces, why);
            return None;
        }
    };
    let server = start(&namespaces, KvIo::Rtl, rtl);
    Some(Setting { server: Some(server), _receiver: None, namespaces })
}

fn start(namespaces: &Namespaces, io: KvIo, rtl: &Path) -> Server {
    let config = Kv {
        listen: vec![format!("{NODE}:0").parse().unwrap()],
        udp: vec![format!("{NODE}:0").parse().unwrap()],
        udp_trusted: vec!["10.77.0.0/24".parse().unwrap()],
        io,
        rtl: rtl.to_owned(),
        threads: 2,
        ..Kv::default()
    };
    let server = within(&namespaces.node, || kv_server::start(&config).unwrap());
    assert!(server.service().store.ahead().is_some(), "the machine allows it");
    server
}

fn set_up() -> Option<Setting> {
    let namespaces = match Namespaces::new() {
        Ok(namespaces) => namespaces,
        Err(why) => {
            skip::lacking(Ability::Namespaces, why);
            return None;
        }
    };
    // A veth takes frames from XDP only while its own end has a program: any will do, this one answers nothing.
    let receiver = within(&namespaces.client, || {
        let program = KvProgram::load(&Arena::with_room_for(&[1])?)?;
        Link::attach_as(&program, &Interface::named(CABLE)?, Mode::Native)
    });
    let receiver = match receiver {
        Ok(receiver) => receiver,
        Err(why @ (xdp::Error::NotBuilt | xdp::Error::Kernel { .. })) => {
            skip::lacking(Ability::Bpf, why);
            return None;
        }
        Err(why) => panic!("{why}"),
    };
    let server = start(&namespaces, KvIo::Xdp, Path::new(""));
    Some(Setting { server: Some(server), _receiver: Some(receiver), namespaces })
}

impl Setting {
    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn tcp(&self) -> Tcp {
        Tcp::new(self.server().tcp()[0])
    }

    fn udp(&self, from: &str) -> Udp {
        let mut udp = Udp::new(from, self.server().udp()[0]);
        if self.server().service().nic().is_some() {
            udp.is_binary = true;
            // The simulation is slow, and writes must not be repeated.
            udp.socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        }
        udp
    }

    /// What XDP has counted.
    fn count(&self, counter: KvCounter) -> u64 {
        let counts = self.server().service().store.ahead().unwrap().counts();
        counts.iter().find(|(name, _)| *name == counter.name()).unwrap().1
    }

    fn hits(&self) -> u64 {
        self.count(KvCounter::Hit)
    }
}

/// A client over TCP.
struct Tcp(BufReader<TcpStream>);

impl Tcp {
    fn new(server: SocketAddr) -> Self {
        let stream = TcpStream::connect(server).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends a request whose reply is a line.
    fn line(&mut self, request: &[u8]) -> String {
        self.0.get_mut().write_all(request).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    fn set(&mut self, key: &str, value: &str) {
        assert_eq!(self.line(format!("set {key} 0 0 {}\r\n{value}\r\n", value.len()).as_bytes()), "STORED\r\n");
    }
}

/// A client over UDP.
struct Udp {
    socket: UdpSocket,
    number: u16,
    /// Whether requests that the simulated NIC takes are sent in the binary protocol, except every other `get`. Replies
    /// are those of the text protocol.
    is_binary: bool,
}

impl Udp {
    fn new(from: &str, server: SocketAddr) -> Self {
        let socket = UdpSocket::bind((from, 0)).unwrap();
        socket.connect(server).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { socket, number: 0, is_binary: false }
    }

    /// What the server says to a request, if the reply is one datagram and is not lost.
    fn ask(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        let is_line = request.starts_with(b"get ") && self.number % 2 == 1;
        match Binary::of_text(request).filter(|_| self.is_binary && !is_line) {
            Some(binary) => self.ask_as_it_is(&binary.request).map(|reply| binary.text(&reply)),
            None => self.ask_as_it_is(request),
        }
    }

    fn ask_as_it_is(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        self.number = self.number.wrapping_add(1);
        let number = self.number.to_be_bytes();
        self.socket.send(&[&number[..], &[0, 0, 0, 1, 0, 0], request].concat()).unwrap();
        let mut reply = [0; 2048];
        loop {
            let length = match self.socket.recv(&mut reply) {
                Ok(length) => length,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return None,
                Err(error) => panic!("{error}"),
            };
            // One that comes late is of an earlier request.
            if reply[..2] == number {
                assert_eq!(reply[2..8], [0, 0, 0, 1, 0, 0]);
                return Some(reply[8..length].to_vec());
            }
        }
    }

    /// Asks until there is an answer.
    fn insist(&mut self, request: &[u8]) -> Vec<u8> {
        (0..40).find_map(|_| self.ask(request)).expect("a reply")
    }

    fn get(&mut self, key: &str) -> Vec<u8> {
        self.insist(format!("get {key}\r\n").as_bytes())
    }
}

/// A request of the binary protocol, made of a text one.
struct Binary {
    request: Vec<u8>,
    key: String,
    verb: String,
}

impl Binary {
    /// The same request as a `get` of one key, `set`, `replace`, `delete` or `touch`.
    fn of_text(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (line, rest) = text.split_once("\r\n")?;
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        // An expiry in the past is one of the text protocol only.
        let number = |at: usize| words.get(at)?.parse::<u32>().ok().map(u32::to_be_bytes);
        let (opcode, extras) = match words[..] {
            ["get", _] => (0x00, Vec::new()),
            ["set" | "replace", ..] => (if words[0] == "set" { 0x01 } else { 0x03 }, [number(2)?, number(3)?].concat()),
            ["delete", _] => (0x04, Vec::new()),
            ["touch", ..] => (0x1c, number(2)?.to_vec()),
            _ => return None,
        };
        let (verb, key) = (words[0].to_owned(), words[1].to_owned());
        let value = rest.strip_suffix("\r\n").unwrap_or_default();
        let body = [&extras[..], key.as_bytes(), value.as_bytes()].concat();
        let mut request = vec![0x80, opcode, 0, key.len() as u8, extras.len() as u8, 0, 0, 0];
        request.extend_from_slice(&(body.len() as u32).to_be_bytes());
        request.extend_from_slice(&[0; 12]);
        request.extend_from_slice(&body);
        Some(Self { request, key, verb })
    }

    /// A reply, as the text protocol has it.
    fn text(&self, reply: &[u8]) -> Vec<u8> {
        let (is_ok, verb) = (reply[6..8] == [0, 0], self.verb.as_str());
        let line = match (verb, is_ok) {
            ("get", true) => {
                let (flags, value) = reply[24..].split_at(4);
                let flags = u32::from_be_bytes(flags.try_into().unwrap());
                let head = format!("VALUE {} {flags} {}\r\n", self.key, value.len());
                return [head.as_bytes(), value, b"\r\nEND\r\n"].concat();
            }
            ("get", false) => "END\r\n",
            ("set" | "replace", true) => "STORED\r\n",
            ("replace", false) => "NOT_STORED\r\n",
            ("delete", true) => "DELETED\r\n",
            ("touch", true) => "TOUCHED\r\n",
            ("delete" | "touch", false) => "NOT_FOUND\r\n",
            _ => panic!("{verb} is refused: {reply:?}"),
        };
        line.as_bytes().to_vec()
    }
}

#[test]
fn what_was_read_is_answered_in_the_driver() {
    let Some(setting) = set_up() else { return };
    within(&setting.namespaces.client, || {
        let (mut tcp, mut udp) = (setting.tcp(), setting.udp(CLIENT));
        let value = "v".repeat(120);
        for key in ["a", "key of many bytes"].map(|key| key.replace(' ', "-") + &"k".repeat(100)) {
            tcp.set(&key, &value);
            let expected = format!("VALUE {key} 0 120\r\n{value}\r\nEND\r\n").into_bytes();
            assert_eq!(udp.get(&key), expected);
            let before = setting.hits();
            assert_eq!(udp.get(&key), expected);
            assert!(setting.hits() > before, "{:?}", setting.server().service().store.ahead().unwrap().counts());
            tcp.set(&key, "another");
            assert_eq!(udp.get(&key), format!("VALUE {key} 0 7\r\nanother\r\nEND\r\n").into_bytes());
            assert_eq!(tcp.line(format!("delete {key}\r\n").as_bytes()), "DELETED\r\n");
            assert_eq!(udp.get(&key), b"END\r\n");
        }
        // Its gets are among those that `stats` tells of.
        let counters = setting.server().service().store.counters();
        assert!(counters.get_hits >= 6 && counters.get_misses >= 2, "{counters:?}");
        assert_eq!(tcp.line(b"stats reset\r\n"), "RESET\r\n");
        assert_eq!(setting.server().service().store.counters().get_hits, 0);
        assert_eq!(setting.count(KvCounter::Lost), 0);
    });
}

/// Who is not trusted gets no more bytes than it sends.
#[test]
fn strangers_pad_their_requests() {
    let Some(setting) = set_up() else { return };
    within(&setting.namespaces.client, || {
        let (mut tcp, mut udp) = (setting.tcp(), setting.udp(CLIENT));
        tcp.set("key", &"v".repeat(60));
        let reply = udp.get("key");
        let mut stranger = setting.udp(STRANGER);
        assert_eq!(stranger.ask(b"get key\r\n"), None);
        let before = setting.hits();
        let padded = |spaces: usize| format!("get key{}\r\n", " ".repeat(spaces));
        let least = reply.len() - padded(0).len();
        assert_eq!(stranger.ask(padded(least - 1).as_bytes()), None);
        assert_eq!(setting.hits(), before);
        assert_eq!(stranger.insist(padded(least).as_bytes()), reply);
        // The reply is shorter than this.
        assert_eq!(stranger.insist(padded(least + 100).as_bytes()), reply);
        assert!(setting.hits() >= before + 2);
    });
}

/// When the store ends, nothing is answered in the driver any more.
#[test]
fn a_store_that_ends_answers_nothing() {
    let Some(mut setting) = set_up() else { return };
    let address = setting.server().udp()[0];
    within(&setting.namespaces.client, || {
        let (mut tcp, mut udp) = (setting.tcp(), setting.udp(CLIENT));
        tcp.set("key", "value");
        udp.get("key");
        udp.get("key");
        assert!(setting.hits() > 0);
    });
    setting.server = None;
    within(&setting.namespaces.client, || {
        let socket = UdpSocket::bind((CLIENT, 0)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.send_to(b"\0\x01\0\0\0\x01\0\0get key\r\n", address).unwrap();
        assert!(socket.recv(&mut [0; 64]).is_err());
    });
}

/// Keys of the storm: of each two one is a text, the other a number.
const KEYS: usize = 16;

/// What is known of a key's versions: up to `done` all are told of, beyond `begun` there is none.
#[derive(Default)]
struct Known {
    done: AtomicU64,
    begun: AtomicU64,
}

impl Known {
    /// Makes the next version.
    fn change(&self, make: impl FnOnce(u64)) {
        let version = self.done.load(Relaxed) + 1;
        self.begun.store(version, SeqCst);
        make(version);
        self.done.store(version, SeqCst);
    }
}

/// Whether a version of a text is that there is none.
fn is_gone(version: u64) -> bool {
    version.is_multiple_of(5)
}

/// The value of a version of a text: of another length each time, and the version all over.
fn text(version: u64) -> String {
    format!("{version},").repeat(1 + version as usize * 7 % 12)
}

fn is_number(key: usize) -> bool {
    key % 2 == 1
}

/// Changes some keys over and over, each in its own way.
fn write(mut tcp: Tcp, known: &[Known], keys: &[usize], flush: bool, stop: &AtomicBool) {
    let mut turn = 0_usize;
    while !stop.load(Relaxed) {
        turn += 1;
        let key = keys[turn % keys.len()];
        let name = format!("key{key}");
        if flush && turn.is_multiple_of(400) {
            // A version of all texts; numbers begin again where they were.
            let texts: Vec<_> = keys.iter().filter(|key| !is_number(**key)).collect();
            for key in &texts {
                let next = (known[**key].done.load(Relaxed) / 5 + 1) * 5;
                known[**key].begun.store(next, SeqCst);
            }
            assert_eq!(tcp.line(b"flush_all\r\n"), "OK\r\n");
            texts.iter().for_each(|key| known[**key].done.store(known[**key].begun.load(Relaxed), SeqCst));
            for key in keys.iter().filter(|key| is_number(**key)) {
                tcp.set(&format!("key{key}"), &known[*key].done.load(Relaxed).to_string());
            }
        }
        match (is_number(key), turn % 7) {
            (_, 0) => {
                let line = tcp.line(format!("touch {name} 1000\r\n").as_bytes());
                assert!(["TOUCHED\r\n", "NOT_FOUND\r\n"].contains(&line.as_str()), "{line}");
            }
            (true, _) => known[key].change(|version| {
                assert_eq!(tcp.line(format!("incr {name} 1\r\n").as_bytes()), format!("{version}\r\n"));
            }),
            (false, _) => known[key].change(|version| {
                if is_gone(version) {
                    // There is none already where it was flushed.
                    tcp.line(format!("delete {name}\r\n").as_bytes());
                } else {
                    tcp.set(&name, &text(version));
                }
            }),
        }
    }
}

/// Reads keys over and over, and checks what comes. Gives how many replies were right.
fn read(mut udp: Udp, known: &[Known], flush: bool, stop: &AtomicBool) -> u64 {
    let mut right = 0;
    for turn in (0_usize..).take_while(|_| !stop.load(Relaxed)) {
        let key = turn * 7 % KEYS;
        let least = known[key].done.load(SeqCst);
        let Some(reply) = udp.ask(format!("get key{key}\r\n").as_bytes()) else { continue };
        let most = known[key].begun.load(SeqCst);
        let reply = String::from_utf8(reply).unwrap();
        let is_right = if reply == "END\r\n" {
            // Where it is flushed, a number is not there for a moment.
            if is_number(key) { flush } else { (least..=most).any(is_gone) }
        } else {
            let (head, rest) = reply.split_once("\r\n").unwrap();
            let value = rest.strip_suffix("\r\nEND\r\n").unwrap();
            assert_eq!(head, format!("VALUE key{key} 0 {}", value.len()));
            let version = value.trim_end().split(',').next().unwrap().parse().unwrap();
            let is_whole = is_number(key) || value == text(version);
            is_whole && (least..=most).contains(&version) && (is_number(key) || !is_gone(version))
        };
        assert!(is_right, "key{key} from version {least} to {most}: {reply:?}");
        right += 1;
    }
    right
}

fn storm(setting: Option<Setting>, writers: usize, flush: bool) {
    let Some(setting) = setting else { return };
    // The lock step in crates/kv has a longer storm of the simulated NIC.
    let usual = if setting.server().service().nic().is_some() { 1.0 } else { 2.0 };
    let seconds = std::env::var("STORM_SECONDS").map_or(usual, |text| text.parse().unwrap());
    let known: Vec<Known> = (0..KEYS).map(|_| Known::default()).collect();
    let stop = AtomicBool::new(false);
    let right: u64 = thread::scope(|scope| {
        let (setting, known, stop) = (&setting, &known, &stop);
        let start = |work: Box<dyn FnOnce() -> u64 + Send>| {
            scope.spawn(move || {
                enter(&setting.namespaces.client);
                // Also when a check has failed.
                let _stop = Stop(stop);
                work()
            })
        };
        within(&setting.namespaces.client, || {
            let mut tcp = setting.tcp();
            for key in 0..KEYS {
                if is_number(key) {
                    tcp.set(&format!("key{key}"), "0");
                }
            }
        });
        let mut threads = Vec::new();
        for writer in 0..writers {
            threads.push(start(Box::new(move || {
                let keys: Vec<_> = (0..KEYS).filter(|key| key / 2 % writers == writer).collect();
                write(setting.tcp(), known, &keys, flush, stop);
                0
            })));
        }
        for _ in 0..2 {
            threads.push(start(Box::new(move || read(setting.udp(CLIENT), known, flush, stop))));
        }
        let parts = (0..(seconds * 50.0) as u32).take_while(|_| !stop.load(Relaxed));
        parts.for_each(|_| thread::sleep(Duration::from_millis(20)));
        stop.store(true, Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let written: u64 = known.iter().map(|known| known.done.load(Relaxed)).sum();
    println!("{right} replies are right, {} of them from the NIC, beside {written} writes", setting.hits());
    println!("{:?}", setting.server().service().store.ahead().unwrap().counts());
    // The simulated NIC is slow where the machine is busy.
    let least = if setting.server().service().nic().is_some() { 10 } else { 100 };
    assert!(setting.hits() > right / 50 && right > least && written > least);
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

#[test]
fn a_storm_of_writers_finds_no_reader_misled() {
    storm(set_up(), 2, false);
}

#[test]
fn a_storm_of_writers_finds_no_reader_of_the_simulated_nic_misled() {
    storm(set_up_rtl(), 2, false);
}

#[test]
fn a_storm_with_flushes_finds_no_reader_of_the_simulated_nic_misled() {
    storm(set_up_rtl(), 1, true);
}

#[test]
fn a_storm_with_flushes_finds_no_reader_misled() {
    storm(set_up(), 1, true);
}

/// memcached, with a socket in a folder of its own.
struct Theirs {
    child: Child,
    folder: tempfile::TempDir,
}

impl Theirs {
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("memcached");
        // Its maintainer holds items that were read for a while, and where it does, `decr` leaves no space behind a number.
        command.args(["-o", "no_lru_maintainer,no_lru_crawler"]);
        command.args(["-u", "root", "-t", "1", "-s"]).arg(folder.path().join("theirs")).stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => Some(Self { child, folder }),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                skip::lacking(Ability::Peers, "memcached is not installed; scripts/setup installs it");
                None
            }
            Err(error) => panic!("memcached does not start: {error}"),
        }
    }

    fn connect(&self) -> UnixStream {
        for _ in 0..600 {
            if let Ok(stream) = UnixStream::connect(self.folder.path().join("theirs")) {
                stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                return stream;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("memcached does not listen")
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// What a server says to a request, told by what it says to `mn` behind it.
fn converse(stream: &mut (impl Read + Write), request: &[u8]) -> Vec<u8> {
    stream.write_all(&[request, b"mn\r\n"].concat()).unwrap();
    let mut reply = Vec::new();
    while !reply.ends_with(b"MN\r\n") {
        let mut room = [0; 4096];
        match stream.read(&mut room).unwrap() {
            0 => panic!("the connection ends behind {:?}", reply.escape_ascii().to_string()),
            length => reply.extend(&room[..length]),
        }
    }
    reply.truncate(reply.len() - 4);
    reply
}

/// A generator of pseudorandom numbers (xorshift*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// A request, and whether it may go by UDP: a read of one key.
fn any_request(random: &mut Random) -> (Vec<u8>, bool) {
    let key = match random.below(8) {
        7 => "k".repeat(250),
        number => format!("key{number}"),
    };
    let value = match random.below(3) {
        0 => random.below(1000).to_string(),
        1 => "v".repeat(random.below(600) as usize),
        _ => "a value with\r\nEND\r\n in it".to_owned(),
    };
    let expiry = ["0", "0", "0", "1000", "-1"][random.below(5) as usize];
    let flags = random.below(1 << 32);
    let command = match random.below(28) {
        0..=5 => {
            let verb = ["set", "set", "add", "replace", "append", "prepend"][random.below(6) as usize];
            format!("{verb} {key} {flags} {expiry} {}\r\n{value}\r\n", value.len())
        }
        6 => format!("delete {key}\r\n"),
        7 => format!("incr {key} {}\r\n", random.below(100)),
        8 => format!("decr {key} {}\r\n", random.below(100)),
        9 => format!("touch {key} {expiry}\r\n"),
        10 => format!("gat {expiry} {key}\r\n"),
        11 => format!("mg {key} v f h\r\n"),
        15..18 => {
            let words = ["", " v", " f v s", " s k v q", " k O7 u", " q v k"][random.below(6) as usize];
            return (format!("mg {key}{words}\r\n").into_bytes(), true);
        }
        12 => format!("ms {key} {} T1000\r\n{value}\r\n", value.len()),
        13 if random.below(4) == 0 => "flush_all\r\n".to_owned(),
        14 => format!("get {key} key1\r\n"),
        _ => return (format!("get {key}{}\r\n", " ".repeat(random.below(3) as usize)).into_bytes(), true),
    };
    (command.into_bytes(), false)
}

/// The same requests to both: the replies are the same, byte by byte, whether XDP gives them or the host.
#[test]
fn any_requests_beside_memcached() {
    beside_memcached(set_up());
}

/// The same with the simulated NIC, which executes writes as well.
#[test]
fn any_requests_by_the_simulated_nic_beside_memcached() {
    beside_memcached(set_up_rtl());
}

fn beside_memcached(setting: Option<Setting>) {
    let Some(setting) = setting else { return };
    let Some(theirs) = Theirs::start() else { return };
    let seed = std::env::var("SEED").map_or(7, |text| text.parse().unwrap());
    let mut random = Random(seed);
    within(&setting.namespaces.client, || {
        let (mut ours, mut udp) = (TcpStream::connect(setting.server().tcp()[0]).unwrap(), setting.udp(CLIENT));
        ours.set_nodelay(true).unwrap();
        let mut memcached = theirs.connect();
        for turn in 0..if udp.is_binary { 1500 } else { 4000 } {
            let (mut request, mut by_udp) = any_request(&mut random);
            if udp.is_binary {
                by_udp |= Binary::of_text(&request).is_some();
                // Reads that the NIC answers leave no mark on the item.
                if request.ends_with(b" v f h\r\n") {
                    request.truncate(request.len() - 4);
                    request.extend_from_slice(b"\r\n");
                }
            }
            let expected = converse(&mut memcached, &request);
            let reply = if by_udp && (1..1300).contains(&expected.len()) {
                udp.insist(&request)
            } else {
                converse(&mut ours, &request)
            };
            let [request, expected, reply] = [request, expected, reply].map(|bytes| bytes.escape_ascii().to_string());
            assert_eq!(reply, expected, "to {request:?}, the request {turn} of SEED={seed}");
        }
    });
    let counts = setting.server().service().store.ahead().unwrap().counts();
    match setting.server().service().nic() {
        Some(_) => assert!(counts[0].1 > 60 && counts[1].1 > 60, "reads and writes by the simulated NIC: {counts:?}"),
        None => assert!(setting.hits() > 200, "XDP was there: {counts:?}"),
    }
}
