//! Tests specific to `rdma://`: killed processes, failing queue pairs, saved signals. They run if `TURNPIKE_RDMA` is
//! the address of an RDMA device, as in the machine of `make test-rdma`.
#![allow(missing_docs, clippy::unwrap_used)]
#![cfg(feature = "rdma")]

mod common;

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use common::{receive, wait_for};
use skip::Ability;
use turnpike_link::{Address, Channel, Config, Error, Operations, SelectionKey, Selector, ServerChannel};

/// Selects the role of a child process, which runs an otherwise ignored test of this program.
const PART: &str = "TURNPIKE_LINK_PART";

fn device() -> Option<Address> {
    let Ok(ip) = env::var("TURNPIKE_RDMA") else {
        skip::lacking(Ability::Rdma, "TURNPIKE_RDMA names no RDMA device; `make test-rdma` emulates one");
        return None;
    };
    Some(format!("rdma://{ip}:0").parse().unwrap())
}

fn config() -> Config {
    Config { buffers: 8, buffer_bytes: 16 << 10, ..Config::default() }
}

/// A process that connects to an address and plays a role there.
fn child(part: &str, to: &Address) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "a_child_plays_its_part", "--ignored", "--nocapture"])
        .env(PART, format!("{part} {to}"))
        .stdout(if part == "drain" { Stdio::piped() } else { Stdio::null() })
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "the process that the other tests start"]
fn a_child_plays_its_part() {
    let Ok(part) = env::var(PART) else { return };
    let (part, to) = part.split_once(' ').unwrap();
    let mut selector = Selector::new().unwrap();
    let channel = Channel::connect(&to.parse().unwrap(), &config()).unwrap();
    let key = selector.register(channel, Operations::CONNECT).unwrap();
    wait_for(&mut selector, key, Operations::CONNECT);
    selector.channel(key).unwrap().finish_connect().unwrap();
    match part {
        "echo" => loop {
            match receive(&mut selector, key) {
                Ok(message) => send(&mut selector, key, &message).unwrap(),
                Err(error) => return assert_eq!(error, Error::Closed),
            }
        },
        // Until it is killed.
        "flood" => loop {
            send(&mut selector, key, &[7; 16 << 10]).unwrap();
        },
        // Echoes each message, until it is killed.
        "drain" => {
            println!("\nready");
            loop {
                receive(&mut selector, key).unwrap();
            }
        }
        part => panic!("nobody plays {part}"),
    }
}

fn send(selector: &mut Selector, key: SelectionKey, bytes: &[u8]) -> Result<(), Error> {
    while !selector.channel(key).unwrap().send_copy(bytes)? {
        wait_for(selector, key, Operations::SEND);
    }
    Ok(())
}

fn accept(selector: &mut Selector, server: SelectionKey) -> SelectionKey {
    wait_for(selector, server, Operations::ACCEPT);
    selector.set_interest(server, Operations::ACCEPT).unwrap();
    let channel = selector.server(server).unwrap().accept().unwrap().unwrap();
    selector.register(channel, Operations::NONE).unwrap()
}

fn listen(address: &Address) -> (Selector, SelectionKey, Address) {
    let mut selector = Selector::new().unwrap();
    let server = ServerChannel::bind(address, &config()).unwrap();
    let at = server.address();
    let server = selector.register_server(server).unwrap();
    (selector, server, at)
}

#[test]
fn without_a_device_the_error_tells_what_to_do() {
    // "none": rdma-core itself is missing.
    let is_bare = match env::var("TURNPIKE_RDMA").as_deref() {
        Ok("none") => true,
        Ok(_) => return,
        Err(_) => false,
    };
    let address = "rdma://192.0.2.1:7500".parse().unwrap();
    for failed in
        [Channel::connect(&address, &config()).unwrap_err(), ServerChannel::bind(&address, &config()).unwrap_err()]
    {
        // There may be a device with another address.
        let helps = |text: &str| text.contains("apt-get install") || text.contains("modprobe");
        let tells = matches!(&failed, Error::RdmaUnavailable(text) if helps(text));
        assert!(tells || matches!(failed, Error::System { .. }), "{failed}");
        assert!(!is_bare || failed.to_string().contains("apt-get install librdmacm1"), "{failed}");
    }
}

#[test]
fn two_processes_exchange_messages_of_every_size() {
    let Some(address) = device() else { return };
    let (mut selector, server, at) = listen(&address);
    let mut echo = child("echo", &at);
    let key = accept(&mut selector, server);
    let peer = selector.channel(key).unwrap().peer().unwrap();
    assert!(matches!(address, Address::Rdma(device) if device.ip() == peer.ip()), "{peer}");
    for length in (0..=64).chain((6..14).map(|power| (1 << power) + 1)).chain([16 << 10]) {
        let bytes: Vec<u8> = (0..length).map(|at: usize| (at * 31 + length) as u8).collect();
        send(&mut selector, key, &bytes).unwrap();
        assert_eq!(receive(&mut selector, key).unwrap(), bytes);
    }
    selector.close(key).unwrap();
    assert!(echo.wait().unwrap().success(), "it was told of the close");
}

#[test]
fn a_sender_that_is_killed_is_told_and_disturbs_nobody() {
    let Some(address) = device() else { return };
    let (mut selector, server, at) = listen(&address);
    let mut echo = child("echo", &at);
    let other = accept(&mut selector, server);
    for round in 0..3 {
        let mut flood = child("flood", &at);
        let key = accept(&mut selector, server);
        for _ in 0..20 + round {
            assert_eq!(receive(&mut selector, key).unwrap(), [7; 16 << 10]);
        }
        flood.kill().unwrap();
        let error = loop {
            match receive(&mut selector, key) {
                Ok(message) => assert_eq!(message, [7; 16 << 10], "no half of a message is received"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Lost | Error::QueuePair { .. }), "{error}");
        assert_eq!(receive(&mut selector, key), Err(error), "it stays so");
        flood.wait().unwrap();
        send(&mut selector, other, b"still there").unwrap();
        assert_eq!(receive(&mut selector, other).unwrap(), b"still there");
        selector.close(key).unwrap();
    }
    selector.close(other).unwrap();
    assert!(echo.wait().unwrap().success());
}

#[test]
fn a_receiver_that_is_killed_in_mid_send_is_told() {
    let Some(address) = device() else { return };
    let (mut selector, server, at) = listen(&address);
    let mut drain = child("drain", &at);
    let key = accept(&mut selector, server);
    let mut ready = BufReader::new(drain.stdout.take().unwrap()).lines();
    while ready.next().unwrap().unwrap() != "ready" {}
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        drain.kill().unwrap();
        drain.wait().unwrap();
    });
    let mut sent = 0_u64;
    let error = loop {
        match send(&mut selector, key, &[9; 16 << 10]) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
    };
    killer.join().unwrap();
    assert!(sent > 8, "{sent} messages before it was killed");
    assert!(matches!(error, Error::Lost | Error::QueuePair { .. }), "{error}");
}

#[test]
fn one_of_sixteen_sends_is_signalled() {
    let Some(address) = device() else { return };
    const MESSAGES: u64 = 2000;
    let (mut selector, server, at) = listen(&address);
    let mut counts = Vec::new();
    for signal_every in [1, 16] {
        let config = Config { signal_every, ..config() };
        let near = selector.register(Channel::connect(&at, &config).unwrap(), Operations::NONE).unwrap();
        let far = accept(&mut selector, server);
        wait_for(&mut selector, near, Operations::CONNECT);
        for number in 0..MESSAGES {
            send(&mut selector, near, &number.to_be_bytes()).unwrap();
            assert_eq!(receive(&mut selector, far).unwrap(), number.to_be_bytes());
        }
        let (near, far) = (selector.channel(near).unwrap().counters(), selector.channel(far).unwrap().counters());
        assert!(near.sent >= MESSAGES && far.received == MESSAGES);
        counts.push(near);
        let credits = far.sent;
        assert!(credits <= MESSAGES / 4, "{credits} frames of credits, each of which is worth half of 8 buffers");
    }
    let [each, sixteenth] = counts[..] else { unreachable!() };
    assert_eq!(each.signalled, each.sent);
    assert!(sixteenth.signalled * 16 <= sixteenth.sent, "{sixteenth:?}");
    assert!(sixteenth.signalled > 0, "without one, no buffer would come back");
}
