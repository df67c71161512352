//! Streams and datagrams through one data path, on loopback.
#![allow(missing_docs, clippy::unwrap_used)]

// The backend in memory is for other tests.
#[allow(dead_code)]
mod common;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::Toy;
use net::Waker;
use turnpike_nic::counters::Closed;
use turnpike_nic::held::PoolSize;
use turnpike_nic::parking::{Limits, parking};
use turnpike_nic::rate::RateLimit;
use turnpike_nic::selector::{Selector, SelectorConfig};
use turnpike_nic::{
    Backend, Counters, DataPath, Histogram, Pools, StreamLimits, Transmit, UdpBackend, UdpConfig, WithStreams,
};
use wire::{Command, CompactFrame, InfoFrame, MAX_DATAGRAM, ProofRequest, Reply, Status};
use zerocopy::IntoBytes;

/// A data path over both, with replies to durable requests released at once.
struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Waker,
    counters: Arc<Counters>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    fn start(limits: StreamLimits) -> Self {
        let trusted = vec!["127.0.0.0/8".parse().unwrap()];
        Self::with(limits, SelectorConfig { trusted, ..SelectorConfig::default() })
    }

    fn with(limits: StreamLimits, config: SelectorConfig) -> Self {
        let counters = Arc::new(Counters::default());
        // A port that is free for datagrams may be in use by a connection.
        let (udp, address, listener) = (0..100)
            .find_map(|_| {
                let any = UdpConfig::new("127.0.0.1:0".parse().unwrap());
                let udp = UdpBackend::bind(&any, counters.clone()).unwrap();
                let address = udp.local_address().unwrap();
                Some((udp, address, TcpListener::bind(address).ok()?))
            })
            .unwrap();
        let (backend, streams) = WithStreams::new(udp, listener, limits, counters.clone()).unwrap();
        let (waker, mut transmit) = (backend.waker(), backend.transmitter().unwrap());
        let (parking, mut departures) = parking(Limits::default());
        let counted = counters.clone();
        let pool = Pools::new(|_| PoolSize { small: 8, large: 2 });
        let path = DataPath::new(backend, Selector::new(config, address), Toy::default(), parking, pool, counted, 8);
        let stop = Arc::new(AtomicBool::new(false));
        let (path_stop, streams_stop, release_stop) = (stop.clone(), stop.clone(), stop.clone());
        let threads = vec![
            std::thread::spawn(move || drop(path.run(&path_stop).unwrap())),
            std::thread::spawn(move || streams.run(&streams_stop).unwrap()),
            std::thread::spawn(move || {
                let latency = Histogram::default();
                while !release_stop.load(Ordering::Acquire) {
                    departures.release(u64::MAX, &mut transmit as &mut dyn Transmit, &latency);
                    std::thread::sleep(Duration::from_millis(1));
                }
            }),
        ];
        Self { address, stop, waker, counters, threads }
    }

    fn connect(&self) -> TcpStream {
        self.connect_from(Ipv4Addr::LOCALHOST)
    }

    fn connect_from(&self, local: Ipv4Addr) -> TcpStream {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddrV4::new(local, 0)).unwrap();
        connect(&socket, &self.address).unwrap();
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn closed(&self, why: Closed) -> u64 {
        self.counters.closed(why).get()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

fn framed(frame: &[u8]) -> Vec<u8> {
    [&(frame.len() as u32).to_be_bytes(), frame].concat()
}

/// The next reply; `None` if the connection was closed.
fn receive(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut frame).ok()?;
    Some(frame)
}

fn create(transaction: u32) -> CompactFrame {
    CompactFrame::new(Command::Create, transaction, transaction, 0, 0)
}

#[test]
fn requests_are_answered_on_their_connection() {
    let server = Server::start(StreamLimits::default());
    let (mut one, mut two) = (server.connect(), server.connect());
    // Split anywhere, and many at once.
    for byte in framed(InfoFrame::new(7).as_bytes()) {
        one.write_all(&[byte]).unwrap();
    }
    two.write_all(&[framed(InfoFrame::new(8).as_bytes()), framed(create(9).as_bytes())].concat()).unwrap();
    let reply = receive(&mut one).unwrap();
    assert!(matches!(Reply::parse(&reply), Ok(Reply::Info(info)) if info.header.id.get() == 7));
    // Replies that wait for the disk come in any order.
    let replies: Vec<u32> = (0..2).map(|_| Reply::parse(&receive(&mut two).unwrap()).unwrap().id()).collect();
    assert!(replies.contains(&8) && replies.contains(&9));
    // Datagrams still work.
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    datagrams.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    datagrams.send_to(InfoFrame::new(10).as_bytes(), server.address).unwrap();
    let mut buffer = [0; 256];
    let length = datagrams.recv(&mut buffer).unwrap();
    assert_eq!(Reply::parse(&buffer[..length]).unwrap().id(), 10);
    // A refused frame is answered like a datagram.
    one.write_all(&framed(&ProofRequest::new(11, wire::Chain::Own, wire::Query::Latest, [0; 32]).as_bytes()[..47]))
        .unwrap();
    let reply = receive(&mut one).unwrap();
    assert!(matches!(Reply::parse(&reply), Ok(Reply::Error(_, Status::Malformed))));
}

#[test]
fn who_does_not_take_replies_is_not_read_from() {
    let limits = StreamLimits { requests: 8, request_bytes: 2048, ..StreamLimits::default() };
    let server = Server::start(limits);
    let (mut slow, mut quick) = (server.connect(), server.connect());
    let count = 20_000_u32;
    let mut writer = slow.try_clone().unwrap();
    let writing = std::thread::spawn(move || {
        for id in 0..count {
            writer.write_all(&framed(InfoFrame::new(id).as_bytes())).unwrap();
        }
    });
    // Others are served meanwhile.
    for id in 0..100 {
        quick.write_all(&framed(InfoFrame::new(id).as_bytes())).unwrap();
        assert_eq!(Reply::parse(&receive(&mut quick).unwrap()).unwrap().id(), id);
    }
    for id in 0..count {
        assert_eq!(Reply::parse(&receive(&mut slow).unwrap()).unwrap().id(), id, "in order, none lost");
    }
    writing.join().unwrap();
}

#[test]
fn connections_that_break_a_rule_are_closed() {
    let limits = StreamLimits { connections: 2, idle: Duration::from_millis(300), ..StreamLimits::default() };
    let server = Server::start(limits);
    let reply = {
        let mut info = InfoFrame::new(1);
        info.header.kind |= wire::REPLY_BIT;
        framed(info.as_bytes())
    };
    let long = (MAX_DATAGRAM as u32 + 1).to_be_bytes();
    for bad in [&[0; 4][..], &long, &[0xff; 4], &framed(&[1]), &reply] {
        let mut stream = server.connect();
        stream.write_all(bad).unwrap();
        assert_eq!(receive(&mut stream), None, "{bad:02x?}");
    }
    // One that is silent, one that sends half of a frame, and one too many.
    let (mut silent, mut half) = (server.connect(), server.connect());
    half.write_all(&[0, 0]).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(receive(&mut server.connect()), None);
    assert_eq!((receive(&mut silent), receive(&mut half)), (None, None));
    let mut again = server.connect();
    again.write_all(&framed(InfoFrame::new(3).as_bytes())).unwrap();
    assert!(receive(&mut again).is_some(), "there is room again");
}

fn is_served(stream: &mut TcpStream, id: u32) -> bool {
    // A closed connection may still accept a write.
    let _ = stream.write_all(&framed(InfoFrame::new(id).as_bytes()));
    receive(stream).is_some_and(|reply| Reply::parse(&reply).unwrap().id() == id)
}

#[test]
fn a_frame_is_whole_in_time_however_its_bytes_trickle() {
    let server = Server::start(StreamLimits { frame: Duration::from_millis(300), ..StreamLimits::default() });
    let (mut slow, mut honest) = (server.connect(), server.connect());
    let start = Instant::now();
    let bytes = framed(InfoFrame::new(1).as_bytes());
    let mut sent = bytes.iter().take_while(|byte| {
        std::thread::sleep(Duration::from_millis(20));
        slow.write_all(&[**byte]).is_ok()
    });
    assert!(sent.by_ref().count() < bytes.len(), "132 bytes take 2.6 seconds");
    assert!(start.elapsed() < Duration::from_secs(2));
    assert_eq!((server.closed(Closed::SlowFrame), server.closed(Closed::Idle)), (1, 0));
    assert!(is_served(&mut honest, 2), "one that says nothing has as long as `idle` tells");
}

#[test]
fn replies_are_taken_in_time() {
    let limits = StreamLimits { frame: Duration::from_millis(300), ..StreamLimits::default() };
    let server = Server::start(limits);
    let mut slow = server.connect();
    slow.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    // Request more than the buffers of both sockets hold, and read nothing.
    let requests = framed(InfoFrame::new(1).as_bytes()).repeat(1000);
    while server.closed(Closed::SlowReader) == 0 && slow.write_all(&requests).is_ok() {}
    assert_eq!(server.closed(Closed::SlowReader), 1);
}

#[test]
fn places_are_shared_by_prefix_and_the_idlest_goes() {
    let trusted = vec!["127.0.0.0/24".parse().unwrap()];
    let server = Server::start(StreamLimits { trusted, connections: 6, prefix_connections: 4, ..Default::default() });
    let [crowd, other, third] = [7, 8, 9].map(|net| Ipv4Addr::new(127, 0, net, 1));
    let mut crowded = Vec::from_iter((0..4).map(|_| server.connect_from(crowd)));
    assert!(crowded.iter_mut().all(|stream| is_served(stream, 1)));
    // A fifth connection of the prefix finds no place, because none is idle for long.
    assert!(!is_served(&mut server.connect_from(crowd), 2));
    assert_eq!(server.closed(Closed::Refused), 1);
    let (mut two, mut three) = (server.connect_from(other), server.connect_from(other));
    assert!(is_served(&mut two, 3) && is_served(&mut three, 3));
    // All six are taken and busy: the newcomer replaces a connection of the prefix with most.
    let mut four = server.connect_from(third);
    assert!(is_served(&mut four, 4));
    assert_eq!(receive(&mut crowded.remove(0)), None);
    assert_eq!(server.closed(Closed::Room), 1);
    std::thread::sleep(Duration::from_millis(1100));
    assert!(crowded[1..].iter_mut().all(|stream| is_served(stream, 5)) && is_served(&mut four, 5));
    // Now the one that was idle longest, weighted by its prefix, whichever has most.
    let mut five = server.connect_from(third);
    assert!(is_served(&mut five, 6));
    assert_eq!(receive(&mut crowded[0]), None);
    assert_eq!(server.closed(Closed::Room), 2);
    assert!(is_served(&mut two, 6) && is_served(&mut crowded[1], 6));
    // Two of each prefix are fair: none gets a third.
    assert!(is_served(&mut three, 7) && is_served(&mut four, 7));
    assert!(!is_served(&mut server.connect_from(third), 8));
    // Trusted connections have separate places.
    let mut own = Vec::from_iter((0..6).map(|_| server.connect()));
    assert!(own.iter_mut().all(|stream| is_served(stream, 7)));
    assert!(!is_served(&mut server.connect(), 8));
}

#[test]
fn over_the_rate_every_request_of_a_connection_is_told() {
    let rate_limit = Some(RateLimit { per_second: 1, burst: 10, prefixes: 16 });
    let server = Server::with(StreamLimits::default(), SelectorConfig { rate_limit, ..SelectorConfig::default() });
    let mut stream = server.connect();
    let mut refused = 0;
    // More than the limit of requests without reply.
    for id in 0..1000 {
        stream.write_all(&framed(InfoFrame::new(id).as_bytes())).unwrap();
        let reply = receive(&mut stream).unwrap();
        let Ok(Reply::Info(info)) = Reply::parse(&reply) else { panic!() };
        assert_eq!((info.header.id.get(), reply.len()), (id, InfoFrame::LENGTH));
        refused += u32::from(info.status() == Ok(Status::RateLimited));
    }
    assert!((980..=990).contains(&refused), "{refused}");
}
