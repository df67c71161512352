//! Peers that break the rules: their channel is closed with the error for that rule, and no other channel is disturbed.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use common::{PATIENCE, accept};
use turnpike_link::{Address, Channel, Config, Error, Operations, Selector, ServerChannel, tcp::frame};

fn config() -> Config {
    let greeting_timeout = Duration::from_millis(300);
    Config { buffers: 4, buffer_bytes: 256, greeting: 8, greeting_timeout, ..Config::default() }
}

fn server() -> (ServerChannel, SocketAddr) {
    let server = ServerChannel::bind(&"tcp://127.0.0.1:0".parse().unwrap(), &config()).unwrap();
    let Address::Tcp(at) = server.address() else { unreachable!("it listens at tcp://") };
    (server, at)
}

fn greeting() -> [u8; frame::Greeting::BYTES] {
    frame::Greeting::from_config(&config()).encode()
}

fn message(sequence: u32, body: &[u8], credits: u16) -> Vec<u8> {
    let header = frame::Header { length: body.len() as u32, sequence, credits, kind: frame::Kind::Message };
    [&header.encode()[..], body].concat()
}

/// The messages and the error of a channel whose peer greets and then sends these bytes.
fn said_to(bytes: &[u8], goes: bool) -> (Vec<Vec<u8>>, Error) {
    let (mut server, at) = server();
    let mut peer = TcpStream::connect(at).unwrap();
    peer.write_all(&greeting()).unwrap();
    let channel = accept(&mut server);
    // Read everything: unread data would make the kernel reset the connection when the peer closes.
    peer.read_exact(&mut greeting()).unwrap();
    peer.write_all(bytes).unwrap();
    let peer = (!goes).then_some(peer);
    let mut selector = Selector::new().unwrap();
    let key = selector.register(channel, Operations::RECEIVE).unwrap();
    let mut messages = Vec::new();
    loop {
        assert_eq!(selector.select(Some(PATIENCE)).unwrap(), 1, "nothing was told");
        match selector.channel(key).unwrap().receive() {
            Ok(Some(message)) => messages.push(message.to_vec()),
            Ok(None) => {}
            Err(error) => {
                drop(peer);
                return (messages, error);
            }
        }
    }
}

#[test]
fn frames_that_break_a_rule_are_told_by_name() {
    let one = message(0, b"one", 0);
    let with = |bytes: &[u8]| [&one[..], bytes].concat();
    let cases = [
        (with(&one), Error::OutOfSequence { expected: 1, got: 0 }),
        (with(&message(2, b"", 0)), Error::OutOfSequence { expected: 1, got: 2 }),
        (with(&message(1, &[0; 257], 0)), Error::TooLong { length: 257, limit: 256 }),
        (with(&message(1, b"", 1)), Error::CreditForged),
        (with(&message(1, b"", u16::MAX)), Error::CreditForged),
    ];
    for (bytes, expected) in cases {
        let (messages, error) = said_to(&bytes, false);
        assert_eq!(error, expected);
        assert!(messages.iter().all(|message| message == b"one" || message.is_empty()), "{messages:?}");
    }
    let mut kind = message(1, b"", 0);
    kind[10] = 77;
    assert!(matches!(said_to(&with(&kind), false).1, Error::BadFrame(_)));
}

#[test]
fn a_peer_that_goes_in_the_middle_is_told_apart_from_one_that_ends() {
    let whole = message(0, b"whole", 0);
    let first = vec![b"whole".to_vec()];
    assert_eq!(said_to(&whole, true), (first.clone(), Error::Closed));
    for cut in 1..whole.len() {
        assert_eq!(said_to(&whole[..cut], true).1, Error::Truncated, "{cut} bytes");
    }
    let (messages, error) = said_to(&[&whole[..], &message(1, b"half", 0)[..14]].concat(), true);
    assert_eq!((messages, error), (first, Error::Truncated));
}

#[test]
fn messages_without_a_credit_close_the_channel() {
    // All in one piece, so that no buffer can be returned meanwhile.
    let bytes: Vec<u8> = (0..5).flat_map(|sequence| message(sequence, b"unasked", 0)).collect();
    let (mut server, at) = server();
    let mut peer = TcpStream::connect(at).unwrap();
    peer.write_all(&greeting()).unwrap();
    let mut channel = accept(&mut server);
    peer.write_all(&bytes).unwrap();
    // Held, so that their buffers are not free.
    let mut held = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    let error = loop {
        match channel.receive() {
            Ok(message) => held.extend(message),
            Err(error) => break error,
        }
        assert!(Instant::now() < deadline, "{} messages", held.len());
    };
    assert_eq!((error, held.len()), (Error::CreditExceeded, 4));
    assert!(held.iter().all(|message| message[..] == *b"unasked"), "what was handed out stays");
}

#[test]
fn who_does_not_greet_as_a_link_is_not_accepted() {
    let (mut server, at) = server();
    let mut version = greeting();
    version[5] ^= 1;
    let mut buffers = greeting();
    buffers[6..8].copy_from_slice(&u16::MAX.to_be_bytes());
    let mut bytes = greeting();
    bytes[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
    for wrong in [*b"GET / HTTP/1.1\r\n", version, buffers, bytes] {
        let mut peer = TcpStream::connect(at).unwrap();
        peer.write_all(&wrong).unwrap();
        let deadline = Instant::now() + PATIENCE;
        peer.set_nonblocking(true).unwrap();
        // Its end of the connection is closed.
        while !matches!(peer.read(&mut [0; 64]), Ok(0)) {
            if matches!(peer.read(&mut [0; 64]), Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset) {
                break;
            }
            assert!(server.accept().unwrap().is_none());
            assert!(Instant::now() < deadline, "still connected");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_flood_of_silent_connections_keeps_nobody_out() {
    let (server, at) = server();
    let mut silent = Vec::new();
    let mut selector = Selector::new().unwrap();
    let server = selector.register_server(server).unwrap();
    for _ in 0..5 {
        silent.extend((0..40).map(|_| TcpStream::connect(at).unwrap()));
        let address = Address::Tcp(at);
        let client = selector.register(Channel::connect(&address, &config()).unwrap(), Operations::CONNECT).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let mut accepted = false;
        while !accepted {
            selector.select(Some(Duration::from_millis(100))).unwrap();
            accepted = selector.server(server).unwrap().accept().unwrap().is_some();
            assert!(Instant::now() < deadline, "kept out");
        }
        assert!(selector.channel(client).unwrap().finish_connect().is_ok());
        selector.close(client).unwrap();
    }
    // Silent connections are closed when their time is over, although nothing happens.
    let begun = Instant::now();
    for peer in &mut silent {
        peer.set_nonblocking(true).unwrap();
        while let Err(error) = peer.read(&mut [0; 64]) {
            if error.kind() == std::io::ErrorKind::ConnectionReset {
                break;
            }
            selector.select(Some(Duration::from_millis(50))).unwrap();
            assert!(begun.elapsed() < PATIENCE, "a silent connection stays");
        }
    }
}

#[test]
fn a_broken_channel_disturbs_no_other_one() {
    let (mut server, at) = server();
    let mut peer = TcpStream::connect(at).unwrap();
    peer.write_all(&greeting()).unwrap();
    let broken = accept(&mut server);
    let mut near = Channel::connect(&Address::Tcp(at), &config()).unwrap();
    let mut far = None;
    let deadline = Instant::now() + PATIENCE;
    while !near.finish_connect().unwrap() || far.is_none() {
        far = far.or_else(|| server.accept().unwrap());
        assert!(Instant::now() < deadline, "no connection");
    }
    let mut selector = Selector::new().unwrap();
    let broken = selector.register(broken, Operations::RECEIVE).unwrap();
    let near = selector.register(near, Operations::NONE).unwrap();
    let far = selector.register(far.unwrap(), Operations::RECEIVE).unwrap();
    peer.write_all(&[0xff; 4096]).unwrap();
    for number in 0_u32..100 {
        while !selector.channel(near).unwrap().send_copy(&number.to_be_bytes()).unwrap() {}
        let deadline = Instant::now() + PATIENCE;
        loop {
            selector.select(Some(PATIENCE)).unwrap();
            if let Some(message) = selector.channel(far).unwrap().receive().unwrap() {
                assert_eq!(message[..], number.to_be_bytes());
                break;
            }
            assert!(Instant::now() < deadline);
        }
    }
    assert!(selector.channel(broken).unwrap().receive().is_err());
}
