//! Encrypted channels, with a man in the middle that changes, repeats, swaps and cuts frames, and peers with unexpected
//! keys.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use turnpike_link::{Address, Channel, Config, Error, Identity, PublicKey, SecretKey, ServerChannel, tcp::frame};

const PATIENCE: Duration = Duration::from_secs(60);

/// Frames of a handshake, from the connecting and from the accepting side.
const HANDSHAKE: [usize; 2] = [2, 2];

fn secret(number: u8) -> SecretKey {
    SecretKey::from_bytes([number; 32])
}

fn public(number: u8) -> PublicKey {
    secret(number).public().unwrap()
}

fn config(number: u8, peers: &[u8]) -> Config {
    let identity = Identity::new(secret(number), peers.iter().map(|peer| public(*peer))).unwrap();
    Config { identity: Some(Arc::new(identity)), ..plain() }
}

fn plain() -> Config {
    Config { buffers: 8, buffer_bytes: 4096, ..Config::default() }
}

fn bind(config: &Config) -> (ServerChannel, SocketAddr) {
    let server = ServerChannel::bind(&"tcp://127.0.0.1:0".parse().unwrap(), config).unwrap();
    let Address::Tcp(at) = server.address() else { unreachable!("it listens at tcp://") };
    (server, at)
}

/// Drives both ends until each has the other, or the connecting side has failed.
fn connect(server: &mut ServerChannel, to: SocketAddr, config: &Config) -> Result<(Channel, Channel), Error> {
    let mut near = Channel::connect(&Address::Tcp(to), config)?;
    let deadline = Instant::now() + PATIENCE;
    let mut far = None;
    loop {
        far = far.or_else(|| server.accept().unwrap());
        if near.finish_connect()?
            && let Some(far) = far.take()
        {
            return Ok((near, far));
        }
        assert!(Instant::now() < deadline, "no connection");
        thread::sleep(Duration::from_millis(1));
    }
}

fn receive(channel: &mut Channel) -> Result<Vec<u8>, Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(message) = channel.receive()? {
            return Ok(message.to_vec());
        }
        assert!(Instant::now() < deadline, "nothing comes");
        thread::sleep(Duration::from_millis(1));
    }
}

/// What the man in the middle does to frames of one direction: it gets header and body of each, numbered from 0, and
/// returns the frames to forward.
type Hand = Box<dyn FnMut(usize, Vec<u8>) -> Vec<Vec<u8>> + Send>;

fn pass() -> Hand {
    Box::new(|_, frame| vec![frame])
}

/// Flips a bit of one frame's body.
fn flip(frame: usize, byte: usize) -> Hand {
    Box::new(move |number, mut bytes| {
        if number == frame {
            bytes[frame::Header::BYTES + byte] ^= 1;
        }
        vec![bytes]
    })
}

/// A man in the middle. Forwarded frames are renumbered, so that only the seal can reveal changes. All bytes are
/// recorded.
fn between(to: SocketAddr, from_client: Hand, from_server: Hand) -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = TcpStream::connect(to).unwrap();
        let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let kept = Arc::clone(&keep);
        let other = thread::spawn(move || relay(back.0, back.1, from_server, &kept));
        relay(client, server, from_client, &keep);
        other.join().unwrap();
    });
    (at, seen)
}

fn relay(mut from: TcpStream, mut to: TcpStream, mut hand: Hand, seen: &Mutex<Vec<u8>>) {
    let mut greeting = [0; frame::Greeting::BYTES];
    let mut sequence = 0_u32;
    let mut number = 0;
    let mut run = || -> std::io::Result<()> {
        from.read_exact(&mut greeting)?;
        to.write_all(&greeting)?;
        loop {
            let mut bytes = vec![0; frame::Header::BYTES];
            from.read_exact(&mut bytes)?;
            let body = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
            bytes.resize(frame::Header::BYTES + body, 0);
            from.read_exact(&mut bytes[frame::Header::BYTES..])?;
            seen.lock().unwrap().extend_from_slice(&bytes);
            // Credit frames are not counted: they arrive at random times.
            let frames = if bytes[10] == 0 { hand(number, bytes.clone()) } else { vec![bytes.clone()] };
            number += usize::from(bytes[10] == 0);
            for mut frame in frames {
                frame[4..8].copy_from_slice(&sequence.to_be_bytes());
                sequence += 1;
                to.write_all(&frame)?;
            }
        }
    };
    let _ = run();
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// Both ends with a man in the middle.
fn apart(from_client: Hand, from_server: Hand) -> Result<(Channel, Channel), Error> {
    let (mut server, at) = bind(&config(2, &[1]));
    let (at, _) = between(at, from_client, from_server);
    connect(&mut server, at, &config(1, &[2]))
}

#[test]
fn each_side_knows_who_the_other_is() {
    let (mut server, at) = bind(&config(2, &[1, 3]));
    for number in [1, 3] {
        let (mut near, mut far) = connect(&mut server, at, &config(number, &[2])).unwrap();
        assert_eq!((near.peer_key(), far.peer_key()), (Some(public(2)), Some(public(number))));
        for body in [&b""[..], b"one", &[7; 4096]] {
            assert!(near.send_copy(body).unwrap());
            assert_eq!(receive(&mut far).unwrap(), body);
        }
        assert_eq!(near.buffer().unwrap().unwrap().capacity(), 4096, "the tag takes none of the message's room");
    }
}

#[test]
fn what_is_sent_is_not_on_the_wire() {
    let (mut server, at) = bind(&config(2, &[1]));
    let (at, seen) = between(at, pass(), pass());
    let (mut near, mut far) = connect(&mut server, at, &config(1, &[2])).unwrap();
    let body = b"nobody but the two sides is to read this";
    for _ in 0..3 {
        assert!(near.send_copy(body).unwrap());
        assert_eq!(receive(&mut far).unwrap(), body);
    }
    let seen = seen.lock().unwrap();
    assert!(seen.len() > 3 * body.len());
    assert!(!seen.windows(8).any(|bytes| body.windows(8).any(|part| part == bytes)));
    // Static keys do not appear in the clear either.
    assert!(!seen.windows(32).any(|bytes| bytes == public(1).0 || bytes == public(2).0));
}

#[test]
fn strangers_are_refused_on_both_sides() {
    // The server's key is not the one that the client accepts.
    let (mut server, at) = bind(&config(3, &[1]));
    assert_eq!(connect(&mut server, at, &config(1, &[2])).unwrap_err(), Error::PeerUnknown { key: public(3) });
    // The client's key is not the one that the server accepts: it is refused, and notices.
    let (mut server, at) = bind(&config(2, &[1]));
    assert!(matches!(connect(&mut server, at, &config(4, &[2])), Err(Error::Handshake(_))));
    assert!(server.accept().unwrap().is_none());
    // The next client is accepted.
    connect(&mut server, at, &config(1, &[2])).unwrap();
}

#[test]
fn a_side_that_encrypts_does_not_talk_to_one_that_does_not() {
    for (ours, theirs) in [(config(1, &[2]), plain()), (plain(), config(2, &[1]))] {
        let (mut server, at) = bind(&theirs);
        let error = connect(&mut server, at, &ours).unwrap_err();
        assert!(matches!(error, Error::Greeting { .. } | Error::Closed), "{error}");
        assert!(server.accept().unwrap().is_none());
    }
}

#[test]
fn who_says_to_encrypt_and_sends_something_else_is_not_accepted() {
    let (mut server, at) = bind(&config(2, &[1]));
    let message = |body: &[u8]| {
        let header = frame::Header { length: body.len() as u32, sequence: 0, credits: 0, kind: frame::Kind::Message };
        [&header.encode()[..], body].concat()
    };
    for body in [vec![], vec![1; 31], vec![0; 32], vec![9; 97], vec![9; 4096 + 16]] {
        let mut peer = TcpStream::connect(at).unwrap();
        let below = frame::Greeting { buffers: 10, buffer_bytes: 4096 + 16, is_encrypted: true };
        peer.write_all(&[&below.encode()[..], &message(&body)].concat()).unwrap();
        peer.set_nonblocking(true).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let mut told = Vec::new();
        let mut bytes = [0; 512];
        // The answer to a key of its own making leads nowhere.
        while told.len() < frame::Greeting::BYTES + frame::Header::BYTES + 96 {
            match peer.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => told.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
                Err(_) => break,
            }
            assert!(server.accept().unwrap().is_none());
            assert!(Instant::now() < deadline, "{} bytes, still connected", body.len());
        }
        assert!(server.accept().unwrap().is_none());
    }
}

#[test]
fn a_bit_that_flips_in_the_handshake_ends_it() {
    // Of each message: the first byte, one in the middle, the last one.
    for (frame, bytes) in [(0, [0, 16, 31]), (1, [0, 32, 63])] {
        for byte in bytes {
            let failed = apart(flip(frame, byte), pass()).unwrap_err();
            assert!(matches!(failed, Error::Handshake(_)), "client's {frame}, byte {byte}: {failed}");
        }
    }
    for (frame, bytes) in [(0, [0, 40, 95]), (1, [0, 8, 15])] {
        for byte in bytes {
            let failed = apart(pass(), flip(frame, byte)).unwrap_err();
            assert!(matches!(failed, Error::Handshake(_)), "server's {frame}, byte {byte}: {failed}");
        }
    }
}

/// What the far side receives of four messages that a man in the middle handles.
fn four(hand: impl FnMut(usize, Vec<u8>) -> Vec<Vec<u8>> + Send + 'static) -> (Vec<Vec<u8>>, Error) {
    let mut hand = hand;
    let hand: Hand = Box::new(move |number, frame| match number.checked_sub(HANDSHAKE[0]) {
        Some(number) => hand(number, frame),
        None => vec![frame],
    });
    let (mut near, mut far) = apart(hand, pass()).unwrap();
    for body in [&b"one"[..], b"two", b"three", b"four"] {
        assert!(near.send_copy(body).unwrap());
    }
    drop(near);
    let mut messages = Vec::new();
    loop {
        match receive(&mut far) {
            Ok(message) => messages.push(message),
            Err(error) => return (messages, error),
        }
    }
}

#[test]
fn what_is_changed_replayed_lost_or_swapped_on_the_way_does_not_open() {
    let all = || ["one", "two", "three", "four"].map(|body| body.as_bytes().to_vec());
    assert_eq!(four(|_, frame| vec![frame]), (all().to_vec(), Error::Closed));
    // Replayed, lost, swapped, shorter, longer, empty.
    assert_eq!(four(|number, frame| vec![frame; 1 + usize::from(number == 1)]), (all()[..2].to_vec(), Error::Tampered));
    assert_eq!(four(|number, frame| vec![frame; usize::from(number != 1)]), (all()[..1].to_vec(), Error::Tampered));
    let mut held = Vec::new();
    let swapped = four(move |number, frame| {
        if number == 1 {
            held = frame;
            return vec![];
        }
        if number == 2 { vec![frame, std::mem::take(&mut held)] } else { vec![frame] }
    });
    assert_eq!(swapped, (all()[..1].to_vec(), Error::Tampered));
    for length in [0_u32, 15, 16, 18, 20, 4000] {
        let cut = four(move |number, mut frame| {
            if number == 1 {
                frame.resize(frame::Header::BYTES + length as usize, 0);
                frame[..4].copy_from_slice(&length.to_be_bytes());
            }
            vec![frame]
        });
        assert_eq!(cut, (all()[..1].to_vec(), Error::Tampered), "{length} bytes");
    }
    for byte in 0..19 {
        let flipped = four(move |number, mut frame| {
            frame[frame::Header::BYTES + byte] ^= u8::from(number == 1);
            vec![frame]
        });
        assert_eq!(flipped, (all()[..1].to_vec(), Error::Tampered), "byte {byte}");
    }
}

#[test]
fn a_stream_that_is_cut_between_two_messages_is_told_apart_from_a_close() {
    // The close is the fifth.
    for cut in 0..=4 {
        let (messages, error) = four(move |number, frame| if number < cut { vec![frame] } else { vec![] });
        assert_eq!((messages.len(), error), (cut, Error::Lost), "cut before message {cut}");
    }
}

#[test]
fn a_handshake_that_is_replayed_leads_nowhere() {
    let (mut server, at) = bind(&config(2, &[1]));
    let sent = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&sent);
    let record: Hand = Box::new(move |_, frame| {
        keep.lock().unwrap().extend_from_slice(&frame);
        vec![frame]
    });
    let (through, _) = between(at, record, pass());
    let (mut near, mut far) = connect(&mut server, through, &config(1, &[2])).unwrap();
    assert!(near.send_copy(b"pay").unwrap());
    assert_eq!(receive(&mut far).unwrap(), b"pay");
    // Replay everything that the client sent.
    let mut peer = TcpStream::connect(at).unwrap();
    let below = frame::Greeting { buffers: 10, buffer_bytes: 4096 + 16, is_encrypted: true };
    peer.write_all(&below.encode()).unwrap();
    peer.write_all(&sent.lock().unwrap()).unwrap();
    peer.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let mut bytes = [0; 512];
    loop {
        assert!(server.accept().unwrap().is_none());
        match peer.read(&mut bytes) {
            Ok(0) => break,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            _ => assert!(Instant::now() < deadline, "still connected"),
        }
    }
    // The first connection is not disturbed.
    assert!(near.send_copy(b"more").unwrap());
    assert_eq!(receive(&mut far).unwrap(), b"more");
}
