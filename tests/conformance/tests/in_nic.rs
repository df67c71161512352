//! The in-NIC ledger over a cable between two network namespaces: replies of the Rust ledger, refusals of the host, a restart, and a
//! node that settles the journal.
//!
//! Skipped, with a word why, where the machine does not allow it: it takes root and Linux 6.15.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use common::{CABLE, CLIENT, NODE, Namespaces, STRANGER, within};
use ledger::{Ledger, Limits, Secret};
use node::config::Backend;
use node::{Config, InNic, Node};
use wire::{Command, CompactFrame, Status};
use xdp::generator::attach_pass;
use xdp::{Interface, LedgerCounter};
use zerocopy::{FromBytes, IntoBytes};

/// Asks one thing, and again while the ring has no room.
fn ask(socket: &UdpSocket, request: CompactFrame) -> CompactFrame {
    let mut reply = [0; 64];
    for _ in 0..100 {
        socket.send(request.as_bytes()).unwrap();
        let Ok(length) = socket.recv(&mut reply) else { continue };
        let reply = CompactFrame::read_from_bytes(&reply[..length]).unwrap();
        if reply.transaction == request.transaction && reply.status.get() != Status::Busy.code() {
            return reply;
        }
    }
    panic!("no answer to {request:?}");
}

fn client(from: &str, to: SocketAddr) -> UdpSocket {
    let socket = client::connected(to, Some(from.parse().unwrap())).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    socket
}

struct Model(Ledger);

impl Model {
    fn reply(&mut self, request: CompactFrame) -> CompactFrame {
        let (mut reply, mut operation, mut value) = (request, [request.to_operation()], [0]);
        self.0.execute(&mut operation, &mut value, |_, _| {});
        reply.set_reply(operation[0].status().unwrap(), value[0]);
        reply
    }
}

/// A talk that every status occurs in.
fn talk(length: u32) -> impl Iterator<Item = CompactFrame> {
    let mut random = 7_u32;
    let mut next = move |below: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(random) * u64::from(below)) >> 32) as u32
    };
    (0..length).map(move |number| {
        let (command, source, destination) = (next(4), next(40), next(40));
        let transaction = 100 + number - if number > 20 && next(5) == 0 { next(20) } else { 0 };
        match command {
            0 => CompactFrame::new(Command::Create, transaction, source, 0, 0),
            1 => CompactFrame::new(Command::Issue, transaction, source, 0, 1 + next(1 << 20)),
            2 if source != destination => {
                CompactFrame::new(Command::Transfer, transaction, source, destination, 1 + next(1 << 20))
            }
            _ => CompactFrame::new(Command::Refer, transaction, source, 0, 0),
        }
    })
}

#[test]
fn executed_in_the_driver_journalled_restored_and_settled() {
    let namespaces = match Namespaces::new() {
        Ok(namespaces) => namespaces,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let directory = tempfile::tempdir().unwrap();
    let mut config = Config {
        data: directory.path().join("data"),
        listen: format!("{NODE}:7433").parse().unwrap(),
        http: None,
        trusted: vec!["10.77.0.0/24".parse().unwrap()],
        ..Config::default()
    };
    config.ledger.accounts = 32;
    let start = |config: &Config| within(&namespaces.node, || InNic::start(config));
    let service = match start(&config) {
        Ok(service) => service,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let _receiver = within(&namespaces.client, || attach_pass(&Interface::named(CABLE).unwrap()).unwrap());
    let mut model = Model(Ledger::new(Limits { accounts: 32, window: 4096 }, Secret::default()).unwrap());
    let to = service.local_address();
    let (socket, stranger) = within(&namespaces.client, || (client(CLIENT, to), client(STRANGER, to)));

    for request in talk(2000) {
        assert_eq!(ask(&socket, request), model.reply(request));
    }
    assert!(service.count(LedgerCounter::Executed) > 1000, "in the driver");
    // What the host is left with.
    let create = CompactFrame::new(Command::Create, 1, 1, 0, 0);
    assert_eq!(ask(&stranger, create).status(), Ok(Status::NotTrusted));
    assert_eq!(ask(&socket, CompactFrame::new(Command::Transfer, 1, 1, 2, 0)).status(), Ok(Status::ZeroAmount));
    let executed = model.0.last_sequence();
    assert_eq!(service.sequences().0, executed);
    drop(service);

    // It comes back as it was, and goes on. What was answered before is known.
    let service = start(&config).unwrap();
    assert_eq!(service.sequences(), (executed, executed));
    for request in talk(2000).skip(1990).chain(talk(2100).skip(2000)) {
        assert_eq!(ask(&socket, request), model.reply(request));
    }
    drop(service);

    // A node takes the journal over: it executes all of it again, and closes blocks.
    config.io.backend = Backend::Udp;
    config.ledger.window = 4096;
    let node = within(&namespaces.node, || Node::start(&config).unwrap());
    for account in 0..40 {
        let refer = CompactFrame::new(Command::Refer, 5, account, 0, 0);
        assert_eq!(ask(&socket, refer), model.reply(refer));
    }
    drop(node);
}
