//! The udp backend over loopback.
#![allow(missing_docs, clippy::unwrap_used)]

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use turnpike_nic::{Backend, Batch, Counters, Peer, Reply, Transmit, UdpBackend, UdpConfig};

const PATIENCE: Duration = Duration::from_secs(20);

fn backend(listen: &str, offload: bool) -> (UdpBackend, Arc<Counters>) {
    let counters = Arc::new(Counters::default());
    let config = UdpConfig { offload, ..UdpConfig::new(listen.parse().unwrap()) };
    (UdpBackend::bind(&config, counters.clone()).unwrap(), counters)
}

fn client(bind: &str) -> UdpSocket {
    let socket = UdpSocket::bind(bind).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Receives `count` datagrams and sends each back to its sender. Returns the peers and the number of messages.
fn echo(backend: &mut UdpBackend, count: usize) -> (Vec<Peer>, usize) {
    let mut batch = Batch::new(32);
    let (mut peers, mut messages) = (Vec::new(), 0);
    let start = Instant::now();
    while peers.len() < count {
        assert!(start.elapsed() < PATIENCE, "only {} datagrams arrived", peers.len());
        backend.receive(&mut batch, Duration::from_millis(50)).unwrap();
        messages += batch.messages.len();
        let Batch { memory, messages, .. } = &batch;
        let places: Vec<_> =
            messages.iter().flat_map(|message| message.datagrams().map(|place| (message.peer, place))).collect();
        peers.extend(places.iter().map(|(peer, _)| *peer));
        let sent = backend
            .transmit(&mut places.iter().map(|(peer, place)| Reply { peer: *peer, bytes: &memory[place.clone()] }));
        assert_eq!(sent, places.len());
    }
    assert_eq!(peers.len(), count);
    (peers, messages)
}

fn received(client: &UdpSocket, count: usize) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; 65_536];
    let mut datagrams: Vec<_> = (0..count)
        .map(|_| {
            let length = client.recv(&mut buffer).unwrap();
            buffer[..length].to_vec()
        })
        .collect();
    datagrams.sort();
    datagrams
}

/// Datagrams of many sizes, many of them equal.
fn datagrams() -> Vec<Vec<u8>> {
    let sizes = [22, 22, 22, 22, 16, 192, 192, 192, 100, 64_000, 65_507, 1, 1472, 1472, 1472, 1473];
    let mut datagrams: Vec<_> = sizes.iter().enumerate().map(|(index, &size)| vec![index as u8 + 1; size]).collect();
    datagrams.extend((0..100u8).map(|index| vec![index; 22]));
    datagrams.sort();
    datagrams
}

#[test]
fn echoes_datagrams_of_all_sizes_with_and_without_offload() {
    for offload in [true, false] {
        for (listen, bind) in [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:0", "[::1]:0")] {
            let (mut backend, counters) = backend(listen, offload);
            let address = backend.local_address().unwrap();
            let client = client(bind);
            let datagrams = datagrams();
            let (large, small): (Vec<_>, Vec<_>) = datagrams.iter().partition(|datagram| datagram.len() > 10_000);
            for group in [large, small] {
                for datagram in &group {
                    client.send_to(datagram, address).unwrap();
                }
                let (peers, _) = echo(&mut backend, group.len());
                assert!(peers.iter().all(|peer| peer.address == client.local_addr().unwrap()));
                let group: Vec<_> = group.into_iter().cloned().collect();
                assert_eq!(received(&client, group.len()), group);
            }
            assert_eq!((counters.replies.get(), counters.lost.get()), (datagrams.len() as u64, 0));
        }
    }
}

#[test]
fn joined_messages_are_split_and_replies_joined() {
    let (mut server, _) = backend("127.0.0.1:0", true);
    let (mut client, _) = backend("127.0.0.1:0", true);
    let peer = Peer::new(server.local_address().unwrap());
    // The client sends with the same code: equal sizes, and a shorter last one, leave as one message.
    let datagrams: Vec<Vec<u8>> =
        (0..60u8).map(|index| vec![index; 88]).chain([vec![99; 50]]).chain((0..5).map(|_| vec![7; 70])).collect();
    let sent = client.transmit(&mut datagrams.iter().map(|bytes| Reply { peer, bytes }));
    assert_eq!(sent, datagrams.len());
    let (_, messages) = echo(&mut server, datagrams.len());
    assert!(messages <= 2, "{messages} messages");
    let mut batch = Batch::new(8);
    let mut back = Vec::new();
    while back.len() < datagrams.len() {
        client.receive(&mut batch, Duration::from_millis(50)).unwrap();
        for message in &batch.messages {
            back.extend(message.datagrams().map(|place| batch.memory[place].to_vec()));
        }
    }
    assert_eq!(back, datagrams);
}

#[test]
fn the_ipv6_wildcard_serves_both_families_from_the_address_asked() {
    let (mut backend, _) = backend("[::]:0", true);
    let port = backend.local_address().unwrap().port();
    for (bind, to) in [("127.0.0.1:0", "127.0.0.1"), ("127.0.0.1:0", "127.0.0.2"), ("[::1]:0", "::1")] {
        let client = client(bind);
        let to = SocketAddr::new(to.parse().unwrap(), port);
        client.send_to(b"hello", to).unwrap();
        let (peers, _) = echo(&mut backend, 1);
        assert_eq!(peers[0].address, client.local_addr().unwrap(), "IPv4 stands as IPv4");
        assert_eq!(peers[0].local, Some(to.ip()));
        let (length, from) = client.recv_from(&mut [0; 16]).unwrap();
        assert_eq!((length, from), (5, to));
    }
}

#[test]
fn the_ipv4_wildcard_answers_from_the_address_asked() {
    let (mut backend, _) = backend("0.0.0.0:0", true);
    let port = backend.local_address().unwrap().port();
    let client = client("127.0.0.1:0");
    let to = SocketAddr::new("127.0.0.3".parse().unwrap(), port);
    client.send_to(b"hello", to).unwrap();
    echo(&mut backend, 1);
    assert_eq!(client.recv_from(&mut [0; 16]).unwrap(), (5, to));
}

#[test]
fn a_waker_ends_the_wait_and_a_transmitter_sends_from_another_thread() {
    let (mut backend, _) = backend("127.0.0.1:0", true);
    let client = client("127.0.0.1:0");
    let peer = Peer::new(client.local_addr().unwrap());
    let (waker, mut transmitter) = (backend.waker(), backend.transmitter().unwrap());
    let thread = std::thread::spawn(move || {
        transmitter.transmit(&mut [Reply { peer, bytes: b"from a worker" }].into_iter());
        waker.wake();
    });
    let mut batch = Batch::new(1);
    // Without the waker this would not end.
    backend.receive(&mut batch, Duration::MAX).unwrap();
    assert!(batch.messages.is_empty());
    thread.join().unwrap();
    let mut buffer = [0; 32];
    let (length, from) = client.recv_from(&mut buffer).unwrap();
    assert_eq!((&buffer[..length], from), (&b"from a worker"[..], backend.local_address().unwrap()));
}

#[test]
fn what_cannot_be_sent_is_counted() {
    let (mut backend, counters) = backend("127.0.0.1:0", true);
    let client = client("127.0.0.1:0");
    let good = Peer::new(client.local_addr().unwrap());
    let bad = Peer::new("[2001:db8::1]:9".parse().unwrap());
    let replies = [(bad, 5), (good, 6), (bad, 7), (good, 8)];
    let bytes = [1; 8];
    let sent = backend.transmit(&mut replies.iter().map(|&(peer, length)| Reply { peer, bytes: &bytes[..length] }));
    assert_eq!((sent, counters.replies.get(), counters.lost.get()), (2, 2, 2));
    assert_eq!(received(&client, 2), [vec![1; 6], vec![1; 8]]);
}
