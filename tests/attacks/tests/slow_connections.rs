//! Connections are held with as little as a byte now and then, so that nobody else finds a place.
#![allow(missing_docs, clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use turnpike_attacks::{STRANGER, TRUSTED, Victim};
use wire::{InfoFrame, Reply, Status};
use zerocopy::IntoBytes;

/// A prefix that neither trusted nor an attacker is in.
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 8, 3);

fn framed(frame: &[u8]) -> Vec<u8> {
    [&(frame.len() as u32).to_be_bytes(), frame].concat()
}

/// The status of an info reply; none where there was no answer.
fn ask(stream: &mut TcpStream, id: u32) -> Option<Status> {
    stream.write_all(&framed(InfoFrame::new(id).as_bytes())).ok()?;
    let mut reply = [0; 4 + InfoFrame::LENGTH];
    stream.read_exact(&mut reply).ok()?;
    match Reply::parse(&reply[4..]) {
        Ok(Reply::Info(info)) => info.status().ok(),
        _ => None,
    }
}

fn serves(victim: &Victim, local: Ipv4Addr) {
    let start = Instant::now();
    assert_eq!(ask(&mut victim.connect(local), 1), Some(Status::Ok), "a connection from {local}");
    assert!(start.elapsed() < Duration::from_secs(1), "a connection from {local} took {:?}", start.elapsed());
}

/// One prefix opens more connections than there are places, and sends a byte on each now and then.
#[test]
fn a_prefix_has_its_share_of_places() {
    let victim = Victim::start(|config| config.limits.frame_timeout = 1000);
    let mut attackers = Vec::from_iter((0..300).map(|_| victim.connect(STRANGER)));
    // The length of a frame of 4 KiB, and its bytes.
    for byte in [0, 0, 0x10, 0].into_iter().chain([0; 6]) {
        attackers.iter_mut().for_each(|stream| drop(stream.write(&[byte])));
        serves(&victim, OTHER);
        serves(&victim, TRUSTED);
        std::thread::sleep(Duration::from_millis(200));
    }
    // Trickling bytes keep no place for longer than a frame may take.
    assert!(victim.figure("turnpike_connections_closed_total{reason=\"slow_frame\"}") >= 32);
    serves(&victim, STRANGER);
}

/// Many prefixes have all places, each with but a few, and send nothing.
#[test]
fn the_idlest_connection_goes() {
    let victim = Victim::start(|_| {});
    let prefixes = (20..60).flat_map(|net| [Ipv4Addr::new(127, 0, net, 1); 7]);
    let attackers = Vec::from_iter(prefixes.map(|local| victim.connect(local)));
    std::thread::sleep(Duration::from_millis(1200));
    let mut honest = victim.connect(OTHER);
    assert_eq!(ask(&mut honest, 1), Some(Status::Ok));
    serves(&victim, TRUSTED);
    // He who asks keeps his place while others come.
    for net in 60..80 {
        serves(&victim, Ipv4Addr::new(127, 0, net, 1));
        assert_eq!(ask(&mut honest, net.into()), Some(Status::Ok));
    }
    drop(attackers);
}

/// Replies that nobody takes do not stay for ever.
#[test]
fn who_takes_no_replies_is_closed() {
    let victim = Victim::start(|config| config.limits.frame_timeout = 500);
    let mut stream = victim.connect(TRUSTED);
    let requests = framed(InfoFrame::new(1).as_bytes()).repeat(1000);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) && stream.write_all(&requests).is_ok() {}
    assert_eq!(victim.figure("turnpike_connections_closed_total{reason=\"slow_reader\"}"), 1);
}

/// Over the rate a connection is told so, request by request, and goes on when there is room again.
#[test]
fn over_the_rate_is_said() {
    let victim = Victim::start(|config| config.limits.rate = 1000);
    let mut stream = victim.connect(STRANGER);
    let mut refused = 0;
    for id in 0..8000 {
        let status = ask(&mut stream, id).expect("no answer");
        refused += u32::from(status == Status::RateLimited);
    }
    assert!(refused > 300, "{refused}: 8,000 requests are more than the burst and what their time earns");
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(ask(&mut stream, 1), Some(Status::Ok));
}

/// Health and figures are there for who asks, whoever else says nothing.
#[test]
fn silent_clients_do_not_hide_the_nodes_health() {
    let victim = Victim::start(|_| {});
    let address = victim.node().http_address().unwrap();
    let silent = Vec::from_iter((0..100).map(|number| {
        let mut stream = TcpStream::connect(address).unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET /he").unwrap();
        }
        stream
    }));
    let start = Instant::now();
    for _ in 0..10 {
        assert!(victim.http("/health").ends_with("ok\n"));
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    drop(silent);
}
