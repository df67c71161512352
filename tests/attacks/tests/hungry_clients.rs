//! Clients of the key-value store that ask for much, or do not finish what they began. Others do not notice.
#![allow(missing_docs, clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use turnpike_attacks::Victim;

/// How long an honest client may wait for a reply on a busy machine. Without an attack it waits less than 1 ms.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// How long the server may take on a busy machine to receive what greedy clients have sent.
const LAST_HALVES: Duration = Duration::from_secs(60);

/// Requests of the honest client beside each attack.
const HONEST: usize = 200;

/// A node with a key-value store of two threads.
fn victim() -> Victim {
    Victim::start(|config| {
        config.kv.listen = vec!["127.0.0.1:0".parse().unwrap()];
        config.kv.udp = config.kv.listen.clone();
        config.kv.memory = 256;
        config.kv.threads = 2;
    })
}

fn address(victim: &Victim) -> SocketAddr {
    victim.node().kv().unwrap().tcp()[0]
}

fn connect(victim: &Victim) -> TcpStream {
    let stream = TcpStream::connect(address(victim)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// Sends a request and expects a reply.
fn ask(mut stream: &TcpStream, request: &[u8], reply: &[u8]) {
    stream.write_all(request).unwrap();
    let mut got = vec![0; reply.len()];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(reply));
}

/// Whether a value is stored; the alternative is the want of memory.
fn is_stored(mut stream: &TcpStream, request: &[u8]) -> bool {
    // A server that refuses may close the connection before it has read all of the value.
    let sent = stream.write_all(request);
    let mut reply = String::new();
    let received = BufReader::new(&mut stream).read_line(&mut reply);
    assert!(reply.is_empty() || reply == "STORED\r\n" || reply.starts_with("SERVER_ERROR out of memory"), "{reply:?}");
    sent.is_ok() && received.is_ok() && reply == "STORED\r\n"
}

/// Stores small items.
fn fill(victim: &Victim, items: usize) {
    let stream = connect(victim);
    let all = Vec::from_iter(0..items);
    for some in all.chunks(1000) {
        let sets = some.iter().flat_map(|item| format!("set key{item:08} 0 0 5 noreply\r\nvalue\r\n").into_bytes());
        ask(&stream, &[sets.collect(), b"mn\r\n".to_vec()].concat(), b"MN\r\n");
    }
}

fn set(key: &str, len: usize) -> Vec<u8> {
    [format!("set {key} 0 0 {len}\r\n").into_bytes(), vec![b'v'; len], b"\r\n".to_vec()].concat()
}

/// The honest clients of both workers are answered in time, again and again.
fn others_are_served(victim: &Victim) {
    let honest = [connect(victim), connect(victim), connect(victim), connect(victim)];
    for _ in 0..HONEST {
        for stream in &honest {
            let start = Instant::now();
            ask(stream, b"mg key00000007 v\r\n", b"VA 5\r\nvalue\r\n");
            assert!(start.elapsed() < LONGEST_WAIT, "an honest client waited {:?}", start.elapsed());
        }
    }
}

/// Does something beside clients that send requests without end and read the replies.
fn beside_readers(victim: &Victim, clients: usize, requests: &[u8], work: impl FnOnce()) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..clients {
            let (over, stream) = (&over, connect(victim));
            let sender = stream.try_clone().unwrap();
            scope.spawn(move || while { &sender }.write_all(requests).is_ok() {});
            scope.spawn(move || {
                let mut room = vec![0; 1 << 20];
                while !over.load(Relaxed) && { &stream }.read(&mut room).is_ok_and(|count| count > 0) {}
                let _ = stream.shutdown(std::net::Shutdown::Both);
            });
        }
        work();
        over.store(true, Relaxed);
    });
}

/// Walks over all items, by the thousand in a few bytes.
#[test]
fn walks_over_all_items_take_turns_and_end_with_the_node() {
    let mut victim = victim();
    fill(&victim, 200_000);
    let attackers = Vec::from_iter((0..4).map(|_| connect(&victim)));
    for mut attacker in &attackers {
        attacker.write_all(&b"stats sizes\r\nlru_crawler metadump all\r\n".repeat(500)).unwrap();
    }
    others_are_served(&victim);
    let start = Instant::now();
    victim.stop();
    assert!(start.elapsed() < Duration::from_secs(20), "the node took {:?} to end", start.elapsed());
}

/// The same in datagrams, whose source may be forged.
#[test]
fn walks_are_refused_by_udp() {
    let victim = victim();
    fill(&victim, 200_000);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(victim.node().kv().unwrap().udp()[0]).unwrap();
    socket.set_read_timeout(Some(LONGEST_WAIT)).unwrap();
    let datagram = |requests: &[u8]| [&[0, 1, 0, 0, 0, 1, 0, 0], requests].concat();
    let mut room = [0; 2000];
    for request in ["stats sizes\r\n", "lru_crawler metadump all\r\n", "stats cachedump 1 0\r\n"] {
        socket.send(&datagram(request.as_bytes())).unwrap();
        let count = socket.recv(&mut room).unwrap();
        assert_eq!(&room[8..count], b"SERVER_ERROR not available over UDP\r\n");
    }
    for _ in 0..10 {
        socket.send(&datagram(&b"stats sizes\r\n".repeat(100))).unwrap();
        socket.send(&datagram(&b"stats\r\n".repeat(8000))).unwrap();
    }
    // The answers to those come first.
    socket.send(&datagram(b"mg key00000007 v\r\n")).unwrap();
    while {
        let count = socket.recv(&mut room).unwrap();
        &room[8..count] != b"VA 5\r\nvalue\r\n"
    } {}
}

/// More requests at once than anybody has.
#[test]
fn clients_that_pipeline_take_turns_with_others() {
    let victim = victim();
    fill(&victim, 1000);
    let keys = String::from_iter((0..100).map(|key| format!(" key{key:08}")));
    let requests = [b"get key00000001\r\n".repeat(2000), format!("get{keys}\r\n").into_bytes().repeat(50)].concat();
    beside_readers(&victim, 4, &requests, || others_are_served(&victim));
}

/// One request for gigabytes, whose client takes them as fast as they come.
#[test]
fn one_get_of_a_hundred_thousand_keys_takes_turns_with_others() {
    let victim = victim();
    fill(&victim, 1000);
    ask(&connect(&victim), &set("k", 60_000), b"STORED\r\n");
    let request = ["get".to_owned(), " k".repeat(100_000), "\r\n".to_owned()].concat();
    beside_readers(&victim, 2, request.as_bytes(), || others_are_served(&victim));
}

/// Values and lines that are announced, or sent except for their ends, by more clients than there is room for.
#[test]
fn half_requests_leave_room_for_others() {
    let victim = victim();
    fill(&victim, 1000);
    ask(&connect(&victim), &set("kept", 300_000), b"STORED\r\n");
    let announced = Vec::from_iter((0..70).map(|_| connect(&victim)));
    announced.iter().for_each(|mut stream| stream.write_all(b"set a 0 0 1048000\r\nx").unwrap());
    ask(&connect(&victim), &set("b", 1_000_000), b"STORED\r\n");
    let half = set("c", 1_000_000);
    let line = ["get".to_owned(), " key".repeat(200_000)].concat();
    let held = Vec::from_iter((0..150).map(|_| connect(&victim)));
    for (number, mut stream) in held.iter().enumerate() {
        // Those that hold the most are closed meanwhile.
        let _ = stream.write_all(if number % 2 == 0 { &half[..900_000] } else { line.as_bytes() });
    }
    others_are_served(&victim);
    // While the last halves arrive, a large value may find no room; a client that tries again does.
    let deadline = Instant::now() + LAST_HALVES;
    while !is_stored(&connect(&victim), &set("b", 1_000_000)) {
        assert!(Instant::now() < deadline, "there is no room for another client's value");
    }
    ask(&connect(&victim), b"mg kept s\r\n", b"HD s300000\r\n");
}
