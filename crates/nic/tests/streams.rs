//! Streams and datagrams through one data path, on loopback.
#![allow(missing_docs, clippy::unwrap_used)]

// The backend in memory is for other tests.
#[allow(dead_code)]
mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use common::Toy;
use turnpike_nic::held::PoolSize;
use turnpike_nic::parking::{Limits, parking};
use turnpike_nic::selector::{Selector, SelectorConfig};
use turnpike_nic::{
    Backend, Counters, DataPath, Pool, StreamLimits, Transmit, UdpBackend, UdpConfig, Waker, WithStreams,
};
use wire::{Command, CompactFrame, InfoFrame, MAX_DATAGRAM, ProofRequest, Reply, Status};
use zerocopy::IntoBytes;

/// A data path over both, with replies to durable requests released at once.
struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Waker,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    fn start(limits: StreamLimits) -> Self {
        let counters = Arc::new(Counters::default());
        let udp = UdpBackend::bind(&UdpConfig::new("127.0.0.1:0".parse().unwrap()), counters.clone()).unwrap();
        let address = udp.local_address().unwrap();
        let (backend, streams) = WithStreams::new(udp, TcpListener::bind(address).unwrap(), limits).unwrap();
        let (waker, mut transmit) = (backend.waker(), backend.transmitter().unwrap());
        let (parking, mut departures) = parking(Limits::default());
        let config = SelectorConfig { trusted: vec!["127.0.0.0/8".parse().unwrap()], ..SelectorConfig::default() };
        let pool = Pool::new(PoolSize { small: 8, large: 2 });
        let path = DataPath::new(backend, Selector::new(config, address), Toy::default(), parking, pool, counters, 8);
        let stop = Arc::new(AtomicBool::new(false));
        let (path_stop, streams_stop, release_stop) = (stop.clone(), stop.clone(), stop.clone());
        let threads = vec![
            std::thread::spawn(move || drop(path.run(&path_stop).unwrap())),
            std::thread::spawn(move || streams.run(&streams_stop).unwrap()),
            std::thread::spawn(move || {
                while !release_stop.load(Ordering::Acquire) {
                    departures.release(u64::MAX, &mut transmit as &mut dyn Transmit);
                    std::thread::sleep(Duration::from_millis(1));
                }
            }),
        ];
        Self { address, stop, waker, threads }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
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

/// The next reply; none where the connection was closed.
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
    // Cut anywhere, and many at once.
    for byte in framed(InfoFrame::new(7).as_bytes()) {
        one.write_all(&[byte]).unwrap();
    }
    two.write_all(&[framed(InfoFrame::new(8).as_bytes()), framed(create(9).as_bytes())].concat()).unwrap();
    let reply = receive(&mut one).unwrap();
    assert!(matches!(Reply::parse(&reply), Ok(Reply::Info(info)) if info.header.id.get() == 7));
    // What waits for the disk comes when it comes.
    let replies: Vec<u32> = (0..2).map(|_| Reply::parse(&receive(&mut two).unwrap()).unwrap().id()).collect();
    assert!(replies.contains(&8) && replies.contains(&9));
    // Datagrams go on beside.
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    datagrams.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    datagrams.send_to(InfoFrame::new(10).as_bytes(), server.address).unwrap();
    let mut buffer = [0; 256];
    let length = datagrams.recv(&mut buffer).unwrap();
    assert_eq!(Reply::parse(&buffer[..length]).unwrap().id(), 10);
    // A refused frame is answered as a datagram is.
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
    // One that says nothing, or only half of something, and one too many.
    let (mut silent, mut half) = (server.connect(), server.connect());
    half.write_all(&[0, 0]).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(receive(&mut server.connect()), None);
    assert_eq!((receive(&mut silent), receive(&mut half)), (None, None));
    let mut again = server.connect();
    again.write_all(&framed(InfoFrame::new(3).as_bytes())).unwrap();
    assert!(receive(&mut again).is_some(), "there is room again");
}
