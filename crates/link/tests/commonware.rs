//! What commonware's runtime expects of a network, and that registered buffers pass through it.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{net::SocketAddr, time::Duration};

use commonware_runtime::{
    Clock, Error, IoBuf, IoBufs, Listener as _, Network as _, Runner as _, Sink as _, Spawner, Stream as _, Supervisor,
    tokio::{Context, Runner},
};
use turnpike_link::{
    Address, Config,
    commonware::{Network, Sink, Stream},
    future::Driver,
};

/// Far longer than any step takes; a test that waits this long fails.
const PATIENCE: Duration = Duration::from_secs(30);

const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// Runs a test with a driver that has a thread, and with one that is watched by the runtime.
fn run<F: Future<Output = ()> + Send + 'static>(test: impl Fn(Context, Network) -> F) {
    for has_thread in [true, false] {
        Runner::default().start(|context| {
            let driver = if has_thread { Driver::new().unwrap() } else { on_runtime(&context) };
            let config = Config { buffers: 8, buffer_bytes: 1 << 10, ..Config::default() };
            let test = test(context.child("test"), Network::new(driver, config));
            async move { context.timeout(PATIENCE, test).await.expect("the test waits for ever") }
        });
    }
}

fn on_runtime(context: &Context) -> Driver {
    let (driver, events) = Driver::without_thread().unwrap();
    context.child("events").spawn(|_| async { events.run_on_tokio().await.unwrap() });
    driver
}

/// Both ends of a connection.
async fn pair(network: &Network) -> [(Sink, Stream); 2] {
    let mut listener = network.bind(ANY).await.unwrap();
    let (near, far) = tokio::join!(network.dial(listener.local_addr().unwrap()), listener.accept());
    let (peer, sink, stream) = far.unwrap();
    assert!(peer.ip().is_loopback());
    [near.unwrap(), (sink, stream)]
}

async fn receive(stream: &mut Stream, length: usize) -> Vec<u8> {
    stream.recv(length).await.unwrap().coalesce().into()
}

#[test]
fn bytes_come_as_they_were_sent_however_they_are_cut() {
    run(|context, network| async move {
        let [(mut near, mut from_far), (mut far, mut from_near)] = pair(&network).await;
        // More than all buffers together, in pieces of all sizes; the other side echoes it.
        let sent: Vec<u8> = (0..100_000_u32).map(|at| (at * 7 + at / 251) as u8).collect();
        let echo = context.child("echo").spawn(move |_| async move {
            for length in [1, 1023, 1024, 1025, 30_000, 66_927] {
                let received = from_near.recv(length).await.unwrap();
                assert_eq!(received.len(), length);
                far.send(received).await.unwrap();
            }
            (far, from_near)
        });
        let bytes = sent.clone();
        let sending = context.child("sending").spawn(move |_| async move {
            let mut pieces = IoBufs::from(bytes[..5].to_vec());
            pieces.append(IoBuf::from(bytes[5..7_000].to_vec()));
            pieces.append(IoBuf::from(bytes[7_000..].to_vec()));
            near.send(pieces).await.unwrap();
            near.send(IoBuf::default()).await.unwrap();
            near
        });
        let mut received = Vec::new();
        for length in [0, 3, 997, 50_000, 49_000] {
            received.extend(receive(&mut from_far, length).await);
        }
        assert!(received == sent);
        drop((echo.await.unwrap(), sending.await.unwrap()));
    });
}

/// Address range of bytes.
fn place(bytes: &[u8]) -> std::ops::Range<usize> {
    let bytes = bytes.as_ptr_range();
    bytes.start.addr()..bytes.end.addr()
}

#[test]
fn what_is_received_is_the_registered_buffer_itself() {
    run(|_, network| async move {
        let [(mut near, _near), (_far, mut from_near)] = pair(&network).await;
        near.send(vec![7; 600]).await.unwrap();
        let first = from_near.recv(100).await.unwrap().coalesce();
        let peeked = place(from_near.peek(1000));
        assert_eq!(from_near.peek(1000).len(), 500);
        let second = from_near.recv(500).await.unwrap().coalesce();
        // All three are the same memory: nothing was copied on the way out.
        assert_eq!(place(first.as_ref()).end, place(second.as_ref()).start);
        assert_eq!(place(second.as_ref()), peeked);
        assert!(from_near.peek(1).is_empty());
        // It is one of the adjacent 1 KiB buffers, as is that of another message. Copies are as long as messages.
        near.send(vec![8; 600]).await.unwrap();
        let other = from_near.recv(600).await.unwrap().coalesce();
        assert_eq!(place(other.as_ref()).start.abs_diff(place(first.as_ref()).start), 1 << 10);
        assert!(place(first.as_ref()).start.is_multiple_of(128));
    });
}

#[test]
fn who_keeps_what_was_received_does_not_stop_the_peer() {
    run(|_, network| async move {
        let [(mut near, _near), (_far, mut from_near)] = pair(&network).await;
        let mut kept = Vec::new();
        for number in 0..100 {
            near.send(vec![number; 512]).await.unwrap();
            kept.push(from_near.recv(512).await.unwrap());
        }
        for (number, bytes) in (0..).zip(kept) {
            assert_eq!(bytes.coalesce(), [number; 512]);
        }
    });
}

#[test]
fn a_half_that_ends_leaves_the_other_one() {
    run(|_, network| async move {
        let [(mut near, mut from_far), (mut far, mut from_near)] = pair(&network).await;
        near.send(vec![1; 50]).await.unwrap();
        drop(near);
        assert!(matches!(from_near.recv(100).await, Err(Error::RecvFailed)));
        assert!(matches!(from_near.recv(1).await, Err(Error::Closed)));
        far.send(b"ok").await.unwrap();
        assert_eq!(receive(&mut from_far, 2).await, b"ok");
    });
}

#[test]
fn what_is_dropped_in_the_middle_is_unusable() {
    run(|context, network| async move {
        let [(mut near, mut from_far), (mut far, mut from_near)] = pair(&network).await;
        let receiving = from_near.recv(1);
        assert!(tokio::time::timeout(Duration::from_millis(5), receiving).await.is_err());
        assert!(matches!(from_near.recv(1).await, Err(Error::Closed)));
        // Nobody receives, so that some send waits forever.
        while tokio::time::timeout(Duration::from_millis(20), near.send(vec![0; 4096])).await.is_ok() {}
        assert!(matches!(near.send(b"more").await, Err(Error::Closed)));
        far.send(b"ok").await.unwrap();
        assert_eq!(receive(&mut from_far, 2).await, b"ok");
        drop(context);
    });
}

#[test]
fn a_peer_that_goes_is_told_behind_what_it_sent() {
    run(|context, network| async move {
        let [(mut near, mut from_far), (mut far, from_near)] = pair(&network).await;
        far.send(b"okay").await.unwrap();
        assert_eq!(receive(&mut from_far, 2).await, b"ok");
        assert_eq!(from_far.peek(9), b"ay");
        drop((far, from_near));
        let failed = loop {
            match near.send(b"late").await {
                Ok(()) => context.sleep(Duration::from_millis(5)).await,
                Err(error) => break error,
            }
        };
        assert!(matches!(failed, Error::SendFailed));
        assert!(matches!(near.send(b"late").await, Err(Error::Closed)));
        assert_eq!(receive(&mut from_far, 2).await, b"ay");
    });
}

#[test]
fn addresses_that_cannot_be_had_are_told() {
    run(|_, network| async move {
        assert!(matches!(network.dial(SocketAddr::from(([127, 0, 0, 1], 1))).await, Err(Error::ConnectionFailed)));
        let mut listener = network.bind(ANY).await.unwrap();
        let taken = listener.local_addr().unwrap();
        assert!(matches!(network.bind(taken).await, Err(Error::BindFailed)));
        // Wherever the route leads.
        let elsewhere = Network::with_route(Driver::new().unwrap(), Config::default(), move |_| Address::Tcp(taken));
        let dialled = elsewhere.dial(SocketAddr::from(([192, 0, 2, 1], 9)));
        let (dialled, accepted) = tokio::join!(dialled, listener.accept());
        assert!(dialled.is_ok() && accepted.is_ok());
    });
}
