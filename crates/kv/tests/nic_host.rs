//! The store with the simulated NIC before it, in lock step: clients by datagram, whose requests overlap, and a client
//! on a connection, on the same few keys, checked against a plain model.
//!
//! Skipped, with a word why, where `make rtl` has not built the NIC. `STORM_SEED` repeats a run.
#![allow(clippy::unwrap_used)]

use std::{
    collections::HashMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use nic::{
    backend::Peer,
    rtl::kv::{KvNic, KvNicConfig},
};
use skip::Ability;
use turnpike_kv::{
    host::{NicClients, NicHost},
    replies::Replies,
    service::{Service, Settings},
    session::Session,
    store::{Config, Store},
    turn::Turn,
};

/// The NIC's library, or none with a word why.
fn library() -> Option<PathBuf> {
    let library = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/rtl/libturnpike_nic_kv.so"));
    if library.exists() {
        return Some(library.to_owned());
    }
    skip::lacking(Ability::RtlLibrary, format_args!("there is no {} (`make rtl` builds it)", library.display()));
    None
}

/// A generator of random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A store with the NIC before it, and one connection.
struct Setting {
    service: Arc<Service>,
    clients: NicClients,
    connection: Session,
    departed: Vec<(SocketAddr, Vec<u8>)>,
}

impl Setting {
    fn new(library: PathBuf, config: Config, seed: u64) -> Self {
        let mut random = Random(seed | 1);
        let nic = KvNicConfig {
            library,
            trusted: "127.0.0.0/8".parse().unwrap(),
            series: random.next() as u16 & 0x7fff,
            key_secret: std::array::from_fn(|_| random.next() as u32),
            table_secret: std::array::from_fn(|_| random.next() as u32),
            seed,
        };
        let service = Arc::new(Service::new(Store::new(config).unwrap(), Settings::default()));
        service.set_nic(NicHost::new(KvNic::new(&nic, "127.0.0.1:11211".parse().unwrap()).unwrap()));
        let clients = NicClients::new(&service, &["127.0.0.0/8".parse().unwrap()]);
        let connection = Session::new(&service);
        Self { service, clients, connection, departed: Vec::new() }
    }

    fn nic(&self) -> &NicHost {
        self.service.nic().unwrap()
    }

    fn count(&self, name: &str) -> u64 {
        self.nic().counts().all().into_iter().find(|(count, _)| *count == name).unwrap().1
    }

    /// Executes requests on the connection.
    fn connection(&mut self, requests: &[u8]) -> Vec<u8> {
        let mut replies = Replies::new(1 << 20);
        let now = self.service.store.clock().now();
        let progress = self.connection.feed(requests, &mut replies, &mut Turn::for_datagram(), now);
        assert_eq!(progress.consumed, requests.len(), "{:?}", String::from_utf8_lossy(requests));
        replies.to_vec()
    }

    fn enter(&self, from: SocketAddr, datagram: &[u8]) {
        self.nic().enter(&self.service, [(Peer::new(from), datagram)].into_iter());
    }

    /// Runs the NIC for some cycles. Returns whether there is more to do.
    fn advance(&mut self) -> bool {
        self.clients.advance(self.service.nic().unwrap(), &self.service, &mut self.departed).unwrap()
    }

    /// Sends a request, and returns the reply to it.
    fn ask(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        self.enter("127.0.0.1:2000".parse().unwrap(), &framed(7, request));
        while self.advance() {}
        let (to, reply) = self.departed.pop()?;
        assert!(self.departed.is_empty() && to == "127.0.0.1:2000".parse().unwrap() && reply[..2] == [0, 7]);
        Some(reply[8..].to_vec())
    }
}

fn framed(number: u16, request: &[u8]) -> Vec<u8> {
    [&number.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0], request].concat()
}

/// A binary request.
fn binary(opcode: u8, extras: &[u8], key: &[u8], value: &[u8], cas: u64) -> Vec<u8> {
    let mut request = vec![0x80, opcode, 0, key.len() as u8, extras.len() as u8, 0, 0, 0];
    request.extend_from_slice(&((extras.len() + key.len() + value.len()) as u32).to_be_bytes());
    request.extend_from_slice(&[0; 4]);
    request.extend_from_slice(&cas.to_be_bytes());
    [&request, extras, key, value].concat()
}

fn small_store() -> Config {
    Config { memory: 64 << 20, largest_item: 1 << 20, evict: true, threads: 1 }
}

#[test]
fn both_sides_see_one_store() {
    let Some(library) = library() else { return };
    let mut setting = Setting::new(library, small_store(), 1);
    let get = binary(0x00, &[], b"key", b"", 0);
    let value = |reply: Option<Vec<u8>>| {
        let reply = reply.unwrap();
        (reply[7] == 0).then(|| reply[28..].to_vec())
    };
    // The NIC answers what a client on a connection has set.
    assert_eq!(value(setting.ask(&get)), None);
    assert_eq!(setting.connection(b"set key 5 0 5\r\nfirst\r\n"), b"STORED\r\n");
    assert_eq!(value(setting.ask(&get)), Some(b"first".to_vec()));
    assert_eq!(setting.count("hit"), 1);
    // Both sides see the same number.
    let reply = setting.ask(&get).unwrap();
    let cas = u64::from_be_bytes(reply[16..24].try_into().unwrap());
    assert_eq!(cas >> 63, 1);
    assert_eq!(setting.connection(b"gets key\r\n"), format!("VALUE key 5 5 {cas}\r\nfirst\r\nEND\r\n").into_bytes());
    assert_eq!(setting.count("hit"), 2);
    // A client on a connection sees what the NIC has executed.
    let set = binary(0x01, &[0, 0, 0, 9, 0, 0, 0, 0], b"key", b"second", 0);
    assert_eq!(setting.ask(&set).unwrap()[6..8], [0, 0]);
    assert_eq!(setting.count("write"), 1);
    assert_eq!(setting.connection(b"get key\r\n"), b"VALUE key 9 6\r\nsecond\r\nEND\r\n");
    // A write that depends on the item.
    assert_eq!(setting.connection(b"append key 0 0 4\r\n and\r\n"), b"STORED\r\n");
    assert_eq!(value(setting.ask(&get)), Some(b"second and".to_vec()));
    assert_eq!(setting.ask(b"append key 0 0 6\r\n third\r\n").unwrap(), b"STORED\r\n");
    assert_eq!(value(setting.ask(&get)), Some(b"second and third".to_vec()));
    assert_eq!(setting.count("hit"), 2);
    // A value that the NIC has no room for.
    let long = vec![b'x'; 2000];
    assert_eq!(setting.connection(&[b"set key 0 0 2000\r\n", &long[..], b"\r\n"].concat()), b"STORED\r\n");
    assert_eq!(setting.connection(b"set key 0 0 1\r\nx\r\nflush_all\r\n"), b"STORED\r\nOK\r\n");
    assert_eq!(value(setting.ask(&get)), None);
    // By datagram as well, in both protocols.
    for flush in [binary(0x08, &[], b"", b"", 0), b"flush_all\r\n".to_vec()] {
        setting.ask(&set).unwrap();
        assert!(value(setting.ask(&get)).is_some());
        setting.ask(&flush).unwrap();
        assert_eq!(value(setting.ask(&get)), None);
        assert_eq!(setting.connection(b"get key\r\n"), b"END\r\n");
    }
    // A flush that is due later.
    setting.ask(&set).unwrap();
    assert_eq!(setting.ask(b"flush_all 1\r\n").unwrap(), b"OK\r\n");
    let start = std::time::Instant::now();
    while value(setting.ask(&get)).is_some() {
        assert!(start.elapsed().as_secs() < 20);
    }
    assert_eq!(setting.connection(b"get key\r\n"), b"END\r\n");
    assert!(setting.service.store.counters().get_hits > setting.count("hit"));
}

/// Asks by datagram and on the connection: the replies are the same, and the NIC has answered the first one or not.
fn compare(setting: &mut Setting, request: &[u8], by_nic: bool) {
    let text = request.escape_ascii();
    for turn in 0.. {
        let before = setting.count("hit");
        let by_datagram = setting.ask(request).unwrap_or_default();
        let hits = setting.count("hit") - before;
        let on_connection = setting.connection(request);
        // A second may have passed between both.
        if by_datagram != on_connection && turn < 3 {
            continue;
        }
        assert_eq!(by_datagram.escape_ascii().to_string(), on_connection.escape_ascii().to_string(), "{text}");
        assert_eq!(hits, u64::from(by_nic), "{text}");
        return;
    }
}

#[test]
fn lines_have_the_replies_of_the_host() {
    let Some(library) = library() else { return };
    let mut setting = Setting::new(library, small_store(), 7);
    let long_key = "k".repeat(250);
    for (key, flags, expiry, len) in [
        ("a", 0, 0, 0),
        ("key", 7, 0, 5),
        ("key-of-63-bytes-012345678901234567890123456789012345678901234567", 255, 100_000, 64),
        (long_key.as_str(), u32::MAX, 2_000_000, 1030),
        ("another", 1_000_000_000, 90, 1273),
    ] {
        let value = "v".repeat(len);
        let set = format!("set {key} {flags} {expiry} {len}\r\n{value}\r\n");
        assert_eq!(setting.connection(set.as_bytes()), b"STORED\r\n");
        for verb in ["get", "gets", "mg"] {
            compare(&mut setting, format!("{verb} {key}\r\n").as_bytes(), true);
        }
        for words in
            ["v", "f", "s", "c", "t", "k", "q", "u", "O", "Otoken", "k v O0 t s c f", "v f s c t k q u O01234567890123"]
        {
            compare(&mut setting, format!("mg {key} {words}\r\n").as_bytes(), true);
        }
        for line in [
            format!("get {key} nothing\r\n"),
            format!("get {key} \r\n"),
            format!("gets  {key}\r\n"),
            format!("get {key}\n"),
            format!("get {key}\r\nget nothing\r\n"),
            format!("mg {key} v  f\r\n"),
            format!("mg {key} v v\r\n"),
            format!("mg {key} y\r\n"),
            format!("mg {key} v O0123456789012345678901234567890123\r\n"),
            format!("mg {key} s f v E7\r\n"),
            format!("get {key}\0\r\n"),
            format!("get {}\r\n", "k".repeat(251)),
            format!("mg {}\r\n", "k".repeat(300)),
            "get nothing\r\n".to_owned(),
            "mg nothing v k O3\r\n".to_owned(),
            "mg nothing v q\r\n".to_owned(),
        ] {
            compare(&mut setting, line.as_bytes(), false);
        }
    }
    // An item whose reply might not fit a datagram.
    let value = "v".repeat(1281 - 3);
    assert_eq!(setting.connection(format!("set key 0 0 1278\r\n{value}\r\n").as_bytes()), b"STORED\r\n");
    compare(&mut setting, b"get key\r\n", false);
    assert!(setting.ask(&binary(0x00, &[], b"key", b"", 0)).unwrap().ends_with(value.as_bytes()));
    // Marks that a reply reports: a key in base64, and a value that a client recomputes.
    assert_eq!(setting.connection(b"ms a2V5 2 b\r\nab\r\n"), b"HD\r\n");
    compare(&mut setting, b"mg key k v\r\n", false);
    assert_eq!(setting.connection(b"set key 0 100 2\r\nab\r\n"), b"STORED\r\n");
    compare(&mut setting, b"mg key v\r\n", true);
    assert_eq!(setting.connection(b"mg key v R1000\r\n"), b"VA 2 W\r\nab\r\n");
    compare(&mut setting, b"mg key v\r\n", false);
    assert_eq!(setting.ask(b"mg key v\r\n").unwrap(), b"VA 2 Z\r\nab\r\n");
}

/// Keys of the storm: of one row in the NIC, and of several.
const KEYS: [&str; 5] = [
    "a",
    "b",
    "key-c",
    "key-d-of-some-length",
    concat!(
        "key-e-0123456789012345678901234567890123456789012345678901234567890123456789",
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
    ),
];

/// A value, of a length and with contents that its number determines.
fn value_of(key: usize, number: u64) -> Vec<u8> {
    let length = match number % 16 {
        // More than the NIC takes.
        0 => 2000,
        1 => 1200,
        length => length * length,
    };
    let text = format!("{key}:{number};");
    let whole = text.bytes().cycle().take(text.len().max(length as usize));
    whole.collect()
}

/// A value's number, if the value is whole.
fn number_of(key: usize, value: &[u8]) -> u64 {
    let text = std::str::from_utf8(value).expect("a torn value");
    let (of, rest) = text.split_once(':').expect("a torn value");
    assert_eq!(of, key.to_string(), "the value of another key");
    let number = rest.split_once(';').expect("a torn value").0.parse().expect("a torn value");
    assert_eq!(value, value_of(key, number), "a torn value");
    number
}

/// A write: it took effect at some moment from the request on, and until it was acknowledged or its value was seen.
#[derive(Clone, Copy, Debug)]
struct Written {
    /// `None` removes the item.
    number: Option<u64>,
    from: u64,
    until: u64,
    /// Whether it may have had no effect.
    doubtful: bool,
}

/// What a client may see of a key.
#[derive(Debug)]
struct Model {
    writes: Vec<Written>,
}

impl Model {
    fn new() -> Self {
        Self { writes: vec![Written { number: None, from: 0, until: 0, doubtful: false }] }
    }

    /// A read, requested at `from` and answered at `until`.
    fn read(&mut self, number: Option<u64>, from: u64, until: u64) {
        let hidden = self.hidden(from);
        let mut writes = self.writes.iter_mut();
        let seen = writes.find(|write| write.number == number && write.from <= until && write.until >= hidden);
        let Some(seen) = seen else { panic!("a stale value: {number:?} at {from} to {until} of {self:?}") };
        if number.is_some() {
            (seen.until, seen.doubtful) = (seen.until.min(until), false);
        }
    }

    /// A write that ended before a moment hides all that ended before that write began.
    fn hidden(&self, moment: u64) -> u64 {
        let ended = self.writes.iter().filter(|write| !write.doubtful && write.until < moment);
        ended.map(|write| write.from).max().unwrap_or(0)
    }

    /// Forgets what no request sees that begins later.
    fn forget(&mut self, now: u64) {
        let hidden = self.hidden(now);
        self.writes.retain(|write| write.until >= hidden);
    }
}

/// What a request by datagram does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Read,
    /// A write of this number, or the end of the item.
    Write(Option<u64>),
    /// Adds to the counter.
    Increment,
    /// Reads the counter, which was at least so far.
    Count(u64),
    Flush,
    /// Neither.
    Touch,
}

/// A request by datagram without a reply yet.
#[derive(Debug)]
struct Pending {
    key: usize,
    asked: Asked,
    is_text: bool,
    from: u64,
}

struct Storm {
    setting: Setting,
    random: Random,
    models: Vec<Model>,
    pending: HashMap<u16, Pending>,
    /// The first of two datagrams of a reply.
    parts: HashMap<u16, Vec<u8>>,
    /// Advances with every request and reply.
    now: u64,
    requests: u16,
    numbers: u64,
    /// Whether there is a counter. Otherwise all items are flushed now and then.
    counts: bool,
    /// Increments that were acknowledged.
    counter: u64,
    /// Reads that missed and that hit, and swaps.
    checked: [u64; 3],
}

impl Storm {
    fn write(&mut self, key: usize, number: Option<u64>) {
        self.models[key].writes.push(Written { number, from: self.now, until: u64::MAX, doubtful: true });
    }

    /// The write of a number that was requested at a moment is done, or had no effect.
    fn written(&mut self, key: usize, number: Option<u64>, from: u64, done: bool) {
        let now = self.now;
        let writes = &mut self.models[key].writes;
        let at = writes.iter().position(|write| write.number == number && write.from == from).unwrap();
        if done {
            (writes[at].until, writes[at].doubtful) = (writes[at].until.min(now), false);
        } else {
            writes.remove(at);
        }
    }

    fn fresh(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Sends a request by datagram.
    fn send(&mut self) {
        self.now += 1;
        let key = self.random.below(KEYS.len() as u64) as usize;
        let name = KEYS[key].as_bytes();
        let number = self.numbers + 1;
        let value = value_of(key, number);
        // Far away: time does not pass here.
        let expiry = [0, 100_000_u32][self.random.below(2) as usize].to_be_bytes();
        let set = [[0, 0, 0, 1], expiry].concat();
        let quiet = 0x10 * u8::from(self.random.chance(20));
        let text = |line: String| (line.into_bytes(), true);
        let ((request, is_text), asked) = match self.random.below(100) {
            0..25 => ((binary(0x00, &[], name, b"", 0), false), Asked::Read),
            25..45 => {
                let (verb, words) =
                    [("get", ""), ("gets", ""), ("mg", " v"), ("mg", " k c v t Ox")][self.random.below(4) as usize];
                (text(format!("{verb} {}{words}\r\n", KEYS[key])), Asked::Read)
            }
            45..50 => ((binary(0x1d, &expiry, name, b"", 0), false), Asked::Read),
            50..53 => ((binary(0x1c, &expiry, name, b"", 0), false), Asked::Touch),
            53..70 if value.len() < 1300 => {
                ((binary(0x01 + quiet, &set, name, &value, 0), false), Asked::Write(Some(number)))
            }
            70..76 if value.len() < 1300 => {
                ((binary(0x03 + quiet, &set, name, &value, 0), false), Asked::Write(Some(number)))
            }
            76..80 => {
                let line = format!("set {} 0 0 {}\r\n", KEYS[key], value.len());
                (([line.as_bytes(), &value, b"\r\n"].concat(), true), Asked::Write(Some(number)))
            }
            80..88 => ((binary(0x04 + quiet, &[], name, b"", 0), false), Asked::Write(None)),
            88..90 => (text(format!("delete {}\r\n", KEYS[key])), Asked::Write(None)),
            90..91 if !self.counts => (text("flush_all\r\n".to_owned()), Asked::Flush),
            91..92 if !self.counts => ((binary(0x08, &[], b"", b"", 0), false), Asked::Flush),
            92..94 if self.counts => ((binary(0x00, &[], b"n", b"", 0), false), Asked::Count(self.counter)),
            94..97 if self.counts => (text("incr n 1\r\n".to_owned()), Asked::Increment),
            97.. if self.counts => {
                let one = [[0, 0, 0, 0, 0, 0, 0, 1].as_slice(), &[0; 12]].concat();
                ((binary(0x05, &one, b"n", b"", 0), false), Asked::Increment)
            }
            _ => ((binary(0x00, &[], name, b"", 0), false), Asked::Read),
        };
        self.requests = self.requests.wrapping_add(1);
        match asked {
            Asked::Write(number) => {
                if number.is_some() {
                    self.fresh();
                }
                self.write(key, number);
            }
            Asked::Flush => (0..KEYS.len()).for_each(|key| self.write(key, None)),
            _ => {}
        }
        // One client is a stranger, whose requests the NIC does not take. It gets only short replies.
        let stranger = self.random.chance(5);
        let from = if stranger { [10, 1, 1, 1] } else { [127, 0, 0, 1] };
        let from = SocketAddr::from((from, 2000 + self.random.below(6) as u16));
        self.setting.enter(from, &framed(self.requests, &request));
        self.pending.insert(self.requests, Pending { key, asked, is_text, from: self.now });
    }

    /// Judges the replies that have left.
    fn receive(&mut self) {
        for (_, reply) in std::mem::take(&mut self.setting.departed) {
            self.now += 1;
            let request = u16::from_be_bytes([reply[0], reply[1]]);
            let (sequence, parts) = (reply[3], reply[5]);
            let mut whole = self.parts.remove(&request).unwrap_or_default();
            assert_eq!(whole.is_empty(), sequence == 0);
            whole.extend_from_slice(&reply[8..]);
            if sequence + 1 < parts {
                self.parts.insert(request, whole);
                continue;
            }
            let reply = &whole[..];
            let Pending { key, asked, is_text, from } = self.pending.remove(&request).expect("a reply to nobody");
            let (good, value) = if is_text {
                let head = format!("VALUE {} ", KEYS[key]);
                let value = reply.strip_prefix(head.as_bytes()).map(|rest| {
                    let start = rest.iter().position(|byte| *byte == b'\n').unwrap() + 1;
                    rest[start..].strip_suffix(b"\r\nEND\r\n").unwrap()
                });
                let value = value.or_else(|| {
                    let rest = reply.strip_prefix(b"VA ")?;
                    let start = rest.iter().position(|byte| *byte == b'\n').unwrap() + 1;
                    rest[start..].strip_suffix(b"\r\n")
                });
                (!reply.starts_with(b"NOT_"), value)
            } else {
                let extras = usize::from(reply[4]);
                (reply[7] == 0, (reply[7] == 0).then(|| &reply[24 + extras..]))
            };
            match asked {
                Asked::Read => {
                    let number = value.map(|value| number_of(key, value));
                    self.checked[usize::from(number.is_some())] += 1;
                    self.models[key].read(number, from, self.now);
                }
                Asked::Write(number) => {
                    self.written(key, number, from, good);
                    // A `replace` or `delete` without an item.
                    if !good {
                        self.models[key].read(None, from, self.now);
                    }
                    // The NIC acknowledges some writes before they are in its stream.
                    if self.random.chance(25) {
                        self.get(key, "get");
                    }
                }
                Asked::Flush => (0..KEYS.len()).for_each(|key| self.written(key, None, from, true)),
                Asked::Increment => {
                    assert!(good);
                    self.counter += 1;
                }
                Asked::Count(least) => {
                    let count: u64 = std::str::from_utf8(value.unwrap()).unwrap().trim().parse().unwrap();
                    let open = self.pending.values().filter(|pending| pending.asked == Asked::Increment).count() as u64;
                    assert!((least..=self.counter + open).contains(&count), "{count} increments");
                }
                Asked::Touch => {}
            }
        }
    }

    /// Runs the NIC until nothing is inside: then requests without replies are done.
    fn drain(&mut self) {
        while self.setting.advance() {
            self.receive();
        }
        self.receive();
        self.now += 1;
        for (_, Pending { key, asked, from, .. }) in std::mem::take(&mut self.pending) {
            match asked {
                // A quiet write that succeeded, or a reply that was too long for a stranger.
                Asked::Write(number) => self.written(key, number, from, true),
                Asked::Flush => (0..KEYS.len()).for_each(|key| self.written(key, None, from, true)),
                Asked::Increment => panic!("an increment without a reply"),
                _ => {}
            }
        }
        self.now += 1;
        self.models.iter_mut().for_each(|model| model.forget(self.now));
    }

    /// Executes a request on the connection, while requests by datagram are in flight.
    fn connection(&mut self) {
        self.now += 1;
        let key = self.random.below(KEYS.len() as u64) as usize;
        let name = KEYS[key];
        let from = self.now;
        let number = self.numbers + 1;
        let store = |word: &str, value: &[u8], cas: &str| {
            [format!("{word} {name} 1 0 {}{cas}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat()
        };
        match self.random.below(100) {
            0..30 => drop(self.get(key, "get")),
            30..50 => {
                // Compare and swap with the item of a read: it succeeds only if the item is still that one.
                let Some((seen, cas)) = self.get(key, "gets") else { return };
                if self.random.chance(50) {
                    (0..self.random.below(4)).for_each(|_| self.send());
                    (0..self.random.below(8)).for_each(|_| _ = self.setting.advance());
                    self.receive();
                }
                let number = self.fresh();
                let from = self.now;
                self.write(key, Some(number));
                let request = store("cas", &value_of(key, number), &format!(" {cas}"));
                let reply = self.setting.connection(&request);
                self.now += 1;
                let swapped = reply == b"STORED\r\n";
                self.checked[2] += u64::from(swapped);
                if swapped {
                    self.models[key].read(Some(seen), from, self.now);
                }
                self.written(key, Some(number), from, swapped);
            }
            50..70 => {
                let word = ["set", "set", "set", "add", "replace"][self.random.below(5) as usize];
                self.fresh();
                self.write(key, Some(number));
                let reply = self.setting.connection(&store(word, &value_of(key, number), ""));
                self.now += 1;
                let stored = reply == b"STORED\r\n";
                assert!(stored || word != "set");
                self.written(key, Some(number), from, stored);
                if word == "replace" && !stored {
                    self.models[key].read(None, from, self.now);
                }
            }
            70..75 => {
                self.fresh();
                self.write(key, Some(number));
                let value = value_of(key, number);
                let request = [format!("ms {name} {} c\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat();
                let reply = self.setting.connection(&request);
                self.now += 1;
                self.written(key, Some(number), from, reply.starts_with(b"HD"));
            }
            75..85 => {
                self.write(key, None);
                let reply = self.setting.connection(format!("delete {name}\r\n").as_bytes());
                self.now += 1;
                self.written(key, None, from, reply == b"DELETED\r\n");
                if reply == b"NOT_FOUND\r\n" {
                    self.models[key].read(None, from, self.now);
                }
            }
            85..90 => drop(self.setting.connection(format!("touch {name} 100000\r\n").as_bytes())),
            90.. if self.counts => {
                assert!(self.setting.connection(b"incr n 1\r\n")[0].is_ascii_digit());
                self.counter += 1;
            }
            90..98 => drop(self.get(key, "get")),
            _ => {
                (0..KEYS.len()).for_each(|key| self.write(key, None));
                assert_eq!(self.setting.connection(b"flush_all\r\n"), b"OK\r\n");
                self.now += 1;
                (0..KEYS.len()).for_each(|key| self.written(key, None, from, true));
            }
        }
    }

    /// Reads an item on the connection. Returns its number, and its CAS with `gets`.
    fn get(&mut self, key: usize, word: &str) -> Option<(u64, u64)> {
        let from = self.now;
        let reply = self.setting.connection(format!("{word} {}\r\n", KEYS[key]).as_bytes());
        self.now += 1;
        let found = reply.strip_suffix(b"END\r\n").unwrap();
        let found = (!found.is_empty()).then(|| {
            let start = found.iter().position(|byte| *byte == b'\n').unwrap() + 1;
            let head = std::str::from_utf8(&found[..start]).unwrap();
            let cas = head.split_whitespace().nth(4).map_or(0, |cas| cas.parse().unwrap());
            (number_of(key, found[start..].strip_suffix(b"\r\n").unwrap()), cas)
        });
        self.checked[usize::from(found.is_some())] += 1;
        self.models[key].read(found.map(|(number, _)| number), from, self.now);
        found
    }
}

/// Reports the seed if the storm fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("STORM_SEED={} repeats this", self.0);
        }
    }
}

fn storm(library: PathBuf, seed: u64, requests: u64, counts: bool) -> (u64, u64) {
    let mut storm = Storm {
        setting: Setting::new(library, small_store(), seed),
        random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        models: KEYS.map(|_| Model::new()).into(),
        pending: HashMap::new(),
        parts: HashMap::new(),
        now: 0,
        requests: 0,
        numbers: 0,
        counts,
        counter: 0,
        checked: [0; 3],
    };
    if counts {
        assert!(storm.setting.ask(&binary(0x01, &[0; 8], b"n", b"0", 0)).is_some());
    }
    for _ in 0..requests {
        match storm.random.below(100) {
            0..55 => storm.send(),
            55..75 => storm.connection(),
            75..98 => {
                for _ in 0..storm.random.below(12) {
                    storm.setting.advance();
                    storm.receive();
                }
            }
            _ => storm.drain(),
        }
    }
    storm.drain();
    if counts {
        let reply = storm.setting.connection(b"incr n 0\r\n");
        assert_eq!(reply, format!("{}\r\n", storm.counter).into_bytes(), "an increment is lost");
    }
    let [misses, found, swaps] = storm.checked;
    assert!(misses > requests / 20 && found > requests / 20 && swaps > 8, "{:?}", storm.checked);
    (storm.setting.count("hit"), storm.setting.count("write"))
}

#[test]
fn no_client_sees_a_stale_or_torn_value() {
    let Some(library) = library() else { return };
    let given = std::env::var("STORM_SEED").ok().map(|seed| seed.parse().unwrap());
    let first = given.unwrap_or_else(|| u64::from(std::process::id()));
    let (mut hits, mut writes, requests) = (0, 0, 3000);
    for seed in first..first + if given.is_some() { 1 } else { 2 } {
        let _seed = Seed(seed);
        let (hit, written) = storm(library.clone(), seed, requests, seed % 2 == 0);
        (hits, writes) = (hits + hit, writes + written);
        println!("seed {seed}: the NIC answered {hit} reads and {written} writes of {requests} requests");
    }
    assert!(hits > 100 && writes > 100, "{hits} reads and {writes} writes by the NIC");
}

#[test]
fn the_host_evicts_items_of_the_nic() {
    let Some(library) = library() else { return };
    let mut setting = Setting::new(library, small_store(), 3);
    // More than the blocks of a class, eight at once.
    let keys: Vec<String> = (0..1024 + 512).map(|at| format!("key-{at}")).collect();
    for some in keys.chunks(8) {
        let client = Peer::new("127.0.0.1:2000".parse().unwrap());
        let sets = some.iter().map(|key| framed(7, &binary(0x01, &[0; 8], key.as_bytes(), key.as_bytes(), 0)));
        let sets: Vec<_> = sets.collect();
        setting.nic().enter(&setting.service, sets.iter().map(|set| (client, &set[..])));
        while setting.advance() {}
        assert_eq!(setting.departed.len(), some.len());
        assert!(setting.departed.drain(..).all(|(_, reply)| reply[14..16] == [0, 0]));
    }
    // A write without room makes some for the next ones.
    let (no_room, evicted) = (setting.count("no_room"), setting.count("evicted"));
    assert!((512 / 8..512 * 2 / 3).contains(&no_room), "{no_room} writes had no room");
    assert_eq!(evicted, 4 * no_room);
    // All items are there, most of the newest in the NIC.
    let before = setting.count("hit");
    for key in keys[keys.len() - 128..].iter().chain(&keys[..2]) {
        let get = binary(0x00, &[], key.as_bytes(), b"", 0);
        assert_eq!(setting.ask(&get).unwrap()[28..], *key.as_bytes());
    }
    assert!(setting.count("hit") - before > 128 / 3);
}

#[test]
fn a_connection_sees_each_write_that_the_nic_has_acknowledged() {
    let Some(library) = library() else { return };
    let mut setting = Setting::new(library, small_store(), 4);
    // Long packets to the host, and short replies: many writes are acknowledged before they are in the stream.
    for round in 0..4_u16 {
        let value = |at: u16| vec![b'a' + (round as u8 + at as u8) % 26; 1200];
        let sets: Vec<_> = (0..32_u16)
            .map(|at| {
                let client = Peer::new(SocketAddr::from(([127, 0, 0, 1], 2000 + at)));
                (client, framed(at, &binary(0x01, &[0; 8], format!("key-{at}").as_bytes(), &value(at), 0)))
            })
            .collect();
        setting.nic().enter(&setting.service, sets.iter().map(|(client, set)| (*client, &set[..])));
        let mut acknowledged = 0;
        while setting.advance() || !setting.departed.is_empty() {
            for (_, reply) in std::mem::take(&mut setting.departed) {
                let at = u16::from_be_bytes([reply[0], reply[1]]);
                assert_eq!(reply[14..16], [0, 0]);
                let found = setting.connection(format!("get key-{at}\r\n").as_bytes());
                let expected = [format!("VALUE key-{at} 0 1200\r\n").as_bytes(), &value(at), b"\r\nEND\r\n"].concat();
                assert!(found == expected, "the connection does not see the write to key-{at} of round {round}");
                acknowledged += 1;
            }
        }
        assert_eq!(acknowledged, 32);
    }
    assert_eq!(setting.count("write"), 4 * 32);
}

#[test]
fn the_nic_has_no_item_that_the_store_has_evicted() {
    let Some(library) = library() else { return };
    // Room for fewer items than are written, and less than the NIC's.
    let config = Config { memory: 512 << 10, largest_item: 8 << 10, evict: true, threads: 1 };
    let mut setting = Setting::new(library, config, 5);
    let keys: Vec<String> = (0..500).map(|at| format!("key-{at}")).collect();
    for some in keys.chunks(8) {
        let client = Peer::new("127.0.0.1:2000".parse().unwrap());
        let set = |key: &String| framed(7, &binary(0x01, &[0; 8], key.as_bytes(), &[b'v'; 1200], 0));
        let sets: Vec<_> = some.iter().map(set).collect();
        setting.nic().enter(&setting.service, sets.iter().map(|set| (client, &set[..])));
        while setting.advance() {}
    }
    setting.departed.clear();
    assert_eq!((setting.count("no_room"), setting.count("write")), (0, 500));
    let evicted = setting.service.store.counters().evictions;
    assert!((50..450).contains(&evicted), "{evicted} items evicted");
    let mut missing = 0;
    for key in keys.iter().step_by(5) {
        let is_here = setting.connection(format!("mg {key}\r\n").as_bytes()) == b"HD\r\n";
        let reply = setting.ask(&binary(0x00, &[], key.as_bytes(), b"", 0)).unwrap();
        assert_eq!(reply[7] == 0, is_here, "{key}");
        missing += u64::from(!is_here);
    }
    assert!((5..95).contains(&missing), "{missing} of 100 items are missing");
    assert_eq!(setting.count("hit"), 100 - missing);
}

#[test]
fn the_nic_has_no_item_that_the_store_has_refused() {
    let Some(library) = library() else { return };
    let config = Config { memory: 512 << 10, largest_item: 8 << 10, evict: false, threads: 1 };
    let mut setting = Setting::new(library, config, 6);
    let value = "v".repeat(1200);
    let set = |key: &str| format!("set {key} 0 0 {}\r\n{value}\r\n", value.len());
    let full = (0..500).map(|at| format!("key-{at}")).find(|key| {
        let reply = setting.connection(set(key).as_bytes());
        assert!(reply == b"STORED\r\n" || reply == b"SERVER_ERROR out of memory storing object\r\n");
        reply != b"STORED\r\n"
    });
    // By datagram the NIC has acknowledged the write already.
    let set = binary(0x01, &[0; 8], b"another", value.as_bytes(), 0);
    assert_eq!(setting.ask(&set).unwrap()[6..8], [0, 0]);
    assert_eq!(setting.count("write"), 1);
    for key in [full.unwrap().as_str(), "another"] {
        assert_eq!(setting.ask(&binary(0x00, &[], key.as_bytes(), b"", 0)).unwrap()[6..8], [0, 1], "{key}");
        assert_eq!(setting.connection(format!("get {key}\r\n").as_bytes()), b"END\r\n");
    }
    assert!(setting.ask(&binary(0x00, &[], b"key-0", b"", 0)).unwrap().ends_with(value.as_bytes()));
    assert_eq!(setting.count("hit"), 1);
}
