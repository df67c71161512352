//! Properties of channels on every transport: each test runs for every address of [`ADDRESSES`], and over `rdma://` if
//! `TURNPIKE_RDMA` is the address of an RDMA device, as in the machine of `make test-rdma`. Each test runs both
//! unencrypted and encrypted.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    cell::Cell,
    collections::VecDeque,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use common::{PATIENCE, receive, wait_for};
use turnpike_link::{
    Address, Channel, Config, Error, Identity, KEY_BYTES, Operations, SecretKey, SelectionKey, Selector, ServerChannel,
};

/// Addresses at which a server channel chooses its own port or name.
const ADDRESSES: [&str; 2] = ["tcp://127.0.0.1:0", "shm://"];

fn each(test: impl Fn(&Address)) {
    let rdma = std::env::var("TURNPIKE_RDMA").map(|ip| format!("rdma://{ip}:0"));
    let all = ADDRESSES.map(str::to_owned).into_iter().chain(rdma);
    for address in all {
        let address: Address = address.parse().unwrap();
        let ways = if address.can_encrypt() { &[false, true][..] } else { &[false] };
        for is_encrypted in ways {
            IS_ENCRYPTED.set(*is_encrypted);
            test(&address);
        }
    }
}

thread_local! {
    /// Whether the channels of this test encrypt; read by its configurations.
    static IS_ENCRYPTED: Cell<bool> = const { Cell::new(false) };
}

/// Both sides have the same key and accept each other.
fn identity() -> Option<Arc<Identity>> {
    let secret = SecretKey::from_bytes([42; KEY_BYTES]);
    let public = secret.public().unwrap();
    IS_ENCRYPTED.get().then(|| Arc::new(Identity::new(secret, [public]).unwrap()))
}

fn usual() -> Config {
    // An emulated machine may need longer for a greeting than is sensible elsewhere.
    Config { greeting_timeout: PATIENCE, identity: identity(), ..Config::default() }
}

/// Both ends of a connection.
fn pair(address: &Address, ours: &Config, theirs: &Config) -> (Channel, Channel) {
    let mut server = ServerChannel::bind(address, theirs).unwrap();
    let mut near = Channel::connect(&server.address(), ours).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let mut far = None;
    loop {
        let is_connected = near.finish_connect().unwrap();
        far = far.or_else(|| server.accept().unwrap());
        match far {
            Some(far) if is_connected => return (near, far),
            _ => assert!(Instant::now() < deadline, "no connection"),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Both ends in one selector, which drives them.
fn selected_pair(address: &Address, config: &Config) -> (Selector, SelectionKey, SelectionKey) {
    let (near, far) = pair(address, config, config);
    let mut selector = Selector::new().unwrap();
    let near = selector.register(near, Operations::NONE).unwrap();
    let far = selector.register(far, Operations::NONE).unwrap();
    (selector, near, far)
}

fn send(selector: &mut Selector, key: SelectionKey, bytes: &[u8]) {
    while !selector.channel(key).unwrap().send_copy(bytes).unwrap() {
        wait_for(selector, key, Operations::SEND);
    }
}

/// A message whose bytes depend on its number.
fn body(number: u32, length: usize) -> Vec<u8> {
    (0..length).map(|at| (number as usize * 31 + at * 7) as u8).collect()
}

fn small() -> Config {
    Config { buffers: 4, buffer_bytes: 1 << 10, ..usual() }
}

#[test]
fn messages_come_whole_and_in_order_both_ways() {
    each(|address| {
        let (mut selector, near, far) = selected_pair(address, &usual());
        let lengths = [0, 1, 15, 16, 17, 63, 64, 1000, 4096, 65_536, 131_071, 131_072];
        for (number, length) in (0..).zip(lengths) {
            send(&mut selector, near, &body(number, length));
            assert_eq!(receive(&mut selector, far).unwrap(), body(number, length));
            send(&mut selector, far, &body(number + 100, length));
            assert_eq!(receive(&mut selector, near).unwrap(), body(number + 100, length));
        }
    });
}

#[test]
fn what_was_sent_together_goes_with_a_flush_or_the_next_selection() {
    each(|address| {
        let (near, far) = pair(address, &usual(), &usual());
        // Each side has its own selector, so that neither drives the other.
        let (mut ours, mut theirs) = (Selector::new().unwrap(), Selector::new().unwrap());
        let near = ours.register(near, Operations::NONE).unwrap();
        let far = theirs.register(far, Operations::NONE).unwrap();
        for is_flushed in [true, false] {
            for number in 0..20 {
                assert!(ours.channel(near).unwrap().send_copy(&body(number, 100)).unwrap());
            }
            if is_flushed {
                ours.channel(near).unwrap().flush();
            } else {
                ours.select(Some(Duration::ZERO)).unwrap();
            }
            for number in 0..20 {
                assert_eq!(receive(&mut theirs, far).unwrap(), body(number, 100));
            }
        }
        // Removing a channel from a selector flushes it.
        for number in 0..5 {
            assert!(ours.channel(near).unwrap().send_copy(&body(number, 100)).unwrap());
        }
        let near = ours.deregister(near).unwrap();
        for number in 0..5 {
            assert_eq!(receive(&mut theirs, far).unwrap(), body(number, 100));
        }
        drop(near);
    });
}

#[test]
fn a_close_is_one_though_credits_are_on_the_way() {
    each(|address| {
        let (mut near, mut far) = pair(address, &small(), &small());
        for number in 0..4 {
            assert!(near.send_copy(&body(number, 1024)).unwrap());
        }
        let mut received = 0;
        let mut receive = |far: &mut Channel| loop {
            match far.receive() {
                Ok(Some(message)) => {
                    assert_eq!(message[..], body(received, 1024));
                    received += 1;
                }
                Ok(None) if received < 4 => thread::sleep(Duration::from_millis(1)),
                Ok(None) => break Ok(received),
                Err(end) => break Err(end),
            }
        };
        // Credits leave with the look that finds nothing more, and this side never reads them.
        assert_eq!(receive(&mut far), Ok(4));
        let mut near = Some(near);
        let deadline = Instant::now() + PATIENCE;
        let end = loop {
            // An encrypted channel closes with a message, which waits for a credit.
            if near.as_mut().is_some_and(Channel::close) {
                near = None;
            }
            match receive(&mut far) {
                Ok(_) => assert!(Instant::now() < deadline, "never closed"),
                Err(end) => break end,
            }
        };
        assert_eq!(end, Error::Closed);
    });
}

#[test]
fn a_receiver_that_keeps_messages_stops_the_sender_and_nothing_is_lost() {
    each(|address| {
        let (mut selector, near, far) = selected_pair(address, &small());
        let mut sent = 0;
        // The sender has one credit for each of the receiver's buffers.
        while selector.channel(near).unwrap().send_copy(&body(sent, 1024)).unwrap() {
            sent += 1;
        }
        assert_eq!(sent, 4);
        let mut held = Vec::new();
        for number in 0..sent {
            wait_for(&mut selector, far, Operations::RECEIVE);
            held.push(selector.channel(far).unwrap().receive().unwrap().unwrap());
            assert_eq!(held[number as usize][..], body(number, 1024));
        }
        selector.set_interest(near, Operations::SEND).unwrap();
        assert_eq!(selector.select(Some(Duration::from_millis(50))).unwrap(), 0, "there is no room");
        assert!(!selector.channel(near).unwrap().send_copy(b"more").unwrap());
        // Held messages do not change until they are returned, on any thread.
        assert!((0..).zip(&held).all(|(number, message)| message[..] == body(number, 1024)));
        thread::spawn(move || drop(held)).join().unwrap();
        wait_for(&mut selector, near, Operations::SEND);
        send(&mut selector, near, b"more");
        assert_eq!(receive(&mut selector, far).unwrap(), b"more");
    });
}

#[test]
fn a_receiver_that_keeps_all_buffers_but_one_gets_another_message() {
    each(|address| {
        let (mut selector, near, far) = selected_pair(address, &small());
        let mut held = VecDeque::new();
        for number in 0..20 {
            send(&mut selector, near, &body(number, 1024));
            wait_for(&mut selector, far, Operations::RECEIVE);
            held.push_back(selector.channel(far).unwrap().receive().unwrap().unwrap());
            if held.len() == 4 {
                let oldest = held.pop_front();
                thread::spawn(move || drop(oldest)).join().unwrap();
            }
        }
    });
}

#[test]
fn buffers_that_are_not_sent_go_back_with_their_credit() {
    each(|address| {
        let (mut selector, near, far) = selected_pair(address, &small());
        for _ in 0..3 {
            let taken: Vec<_> = std::iter::from_fn(|| selector.channel(near).unwrap().buffer().unwrap()).collect();
            assert_eq!(taken.len(), 4);
            assert!(selector.channel(near).unwrap().buffer().unwrap().is_none());
        }
        for number in 0..20 {
            send(&mut selector, near, &body(number, 10));
            assert_eq!(receive(&mut selector, far).unwrap(), body(number, 10));
        }
    });
}

#[test]
fn the_smaller_size_of_both_sides_holds() {
    each(|address| {
        let (mut near, mut far) = pair(address, &usual(), &small());
        assert_eq!(near.buffer().unwrap().unwrap().capacity(), 1024);
        assert_eq!(far.buffer().unwrap().unwrap().capacity(), 1024);
        for wrong in [
            Config { buffers: 1, ..small() },
            Config { buffers: Config::MAX_BUFFERS + 1, ..small() },
            Config { buffer_bytes: 63, ..small() },
            Config { buffer_bytes: Config::MAX_BUFFER_BYTES + 1, ..small() },
            Config { greeting: 0, ..small() },
            Config { signal_every: 0, ..small() },
            Config { signal_every: Config::MAX_SIGNAL_EVERY + 1, ..small() },
        ] {
            assert!(matches!(Channel::connect(address, &wrong), Err(Error::Config(_))));
            assert!(matches!(ServerChannel::bind(address, &wrong), Err(Error::Config(_))));
        }
    });
}

#[test]
fn a_close_is_told_behind_the_messages_from_before_it() {
    each(|address| {
        let (mut selector, near, far) = selected_pair(address, &small());
        send(&mut selector, near, b"last");
        wait_for(&mut selector, far, Operations::RECEIVE);
        selector.close(near).unwrap();
        assert_eq!(selector.len(), 1);
        assert_eq!(receive(&mut selector, far).unwrap(), b"last");
        assert_eq!(receive(&mut selector, far), Err(Error::Closed));
        // It stays closed, and the channel is ready for any operation, which reports it.
        assert_eq!(receive(&mut selector, far), Err(Error::Closed));
        wait_for_any(&mut selector, far);
        assert_eq!(selector.channel(far).unwrap().send_copy(b"late"), Err(Error::Closed));
    });
}

fn wait_for_any(selector: &mut Selector, key: SelectionKey) {
    selector.set_interest(key, Operations::SEND | Operations::RECEIVE).unwrap();
    assert_eq!(selector.select(Some(PATIENCE)).unwrap(), 1);
}

#[test]
fn what_is_ready_stays_ready_and_what_is_not_wanted_is_not_told() {
    each(|address| {
        let (mut selector, near, far) = selected_pair(address, &small());
        send(&mut selector, near, b"one");
        wait_for(&mut selector, far, Operations::RECEIVE);
        assert_eq!(selector.select(Some(Duration::ZERO)).unwrap(), 0, "nobody is interested");
        selector.set_interest(far, Operations::RECEIVE).unwrap();
        for _ in 0..3 {
            assert_eq!(selector.select(None).unwrap(), 1);
            assert_eq!(selector.selected().collect::<Vec<_>>(), [(far, Operations::RECEIVE)]);
        }
        assert_eq!(&selector.channel(far).unwrap().receive().unwrap().unwrap()[..], b"one");
        assert_eq!(selector.select(Some(Duration::ZERO)).unwrap(), 0);
    });
}

#[test]
fn keys_of_channels_that_were_taken_out_are_stale() {
    each(|address| {
        let (mut selector, near, far) = selected_pair(address, &small());
        let channel = selector.deregister(near).unwrap();
        assert_eq!(selector.interest(near), Err(Error::StaleKey));
        assert_eq!(selector.close(near), Err(Error::StaleKey));
        let again = selector.register(channel, Operations::NONE).unwrap();
        assert_ne!(again, near, "the place is the same, the key is not");
        assert!(selector.channel(near).is_err());
        send(&mut selector, again, b"still there");
        assert_eq!(receive(&mut selector, far).unwrap(), b"still there");
    });
}

#[test]
fn a_waker_ends_a_selection_from_another_thread() {
    let mut selector = Selector::new().unwrap();
    let waker = selector.waker();
    for _ in 0..100 {
        let waker = waker.clone();
        let other = thread::spawn(move || waker.wake());
        assert_eq!(selector.select(None).unwrap(), 0);
        other.join().unwrap();
    }
    // A wakeup before the selection ends it, too, and only that one.
    waker.wake();
    waker.wake();
    assert_eq!(selector.select(None).unwrap(), 0);
    let begun = Instant::now();
    assert_eq!(selector.select(Some(Duration::from_millis(20))).unwrap(), 0);
    assert!(begun.elapsed() >= Duration::from_millis(20));
}

#[test]
fn a_server_channel_and_many_channels_on_one_thread() {
    each(|address| {
        const CLIENTS: usize = 50;
        let mut selector = Selector::new().unwrap();
        let server = ServerChannel::bind(address, &small()).unwrap();
        let at = server.address();
        let server = selector.register_server(server).unwrap();
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            let channel = Channel::connect(&at, &small()).unwrap();
            clients.push(selector.register(channel, Operations::CONNECT).unwrap());
        }
        let (mut connected, mut answered) = (0, 0);
        let deadline = Instant::now() + PATIENCE;
        while answered < CLIENTS {
            assert!(Instant::now() < deadline, "{connected} connected, {answered} answered");
            selector.select(Some(Duration::from_secs(1))).unwrap();
            for (key, ready) in selector.selected().collect::<Vec<_>>() {
                if key == server {
                    while let Some(channel) = selector.server(server).unwrap().accept().unwrap() {
                        selector.register(channel, Operations::RECEIVE).unwrap();
                    }
                } else if ready.contains(Operations::CONNECT) {
                    assert!(selector.channel(key).unwrap().finish_connect().unwrap());
                    let number = clients.iter().position(|client| *client == key).unwrap();
                    assert!(selector.channel(key).unwrap().send_copy(&body(number as u32, 100)).unwrap());
                    selector.set_interest(key, Operations::RECEIVE).unwrap();
                    connected += 1;
                } else if let Some(number) = clients.iter().position(|client| *client == key) {
                    let message = selector.channel(key).unwrap().receive().unwrap().unwrap();
                    assert_eq!(message[..], body(number as u32, 100));
                    answered += 1;
                } else {
                    // Echoes each message.
                    let message = selector.channel(key).unwrap().receive().unwrap().unwrap();
                    assert!(selector.channel(key).unwrap().send_copy(&message).unwrap());
                }
            }
        }
        assert_eq!(selector.len(), 2 * CLIENTS + 1);
    });
}

#[test]
fn a_peer_that_is_not_there_is_told() {
    each(|address| {
        let at = ServerChannel::bind(address, &small()).unwrap().address();
        let failed = match Channel::connect(&at, &small()) {
            Err(error) => error,
            Ok(channel) => {
                let mut selector = Selector::new().unwrap();
                let key = selector.register(channel, Operations::CONNECT).unwrap();
                assert_eq!(selector.select(Some(PATIENCE)).unwrap(), 1);
                selector.channel(key).unwrap().finish_connect().unwrap_err()
            }
        };
        assert!(matches!(failed, Error::System { .. }), "{failed}");
    });
}
