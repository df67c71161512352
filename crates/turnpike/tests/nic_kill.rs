//! Kills the real program with SIGKILL while its XDP program is attached: the kernel detaches it, the host gets its
//! traffic, and the next start attaches it again.
//!
//! Skipped, with a word why, where the machine does not allow it: it takes root and Linux 6.10.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "common/http.rs"]
mod http;
#[path = "../../../tests/conformance/tests/common/namespaces.rs"]
mod namespaces;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use client::{Client, Options};
use common::{Process, start};
use http::get;
use namespaces::{CABLE, CLIENT, NODE, Namespaces, within};
use skip::Ability;
use wire::{AccountId, CompactFrame, Operation, Status, TransactionId};
use xdp::{Arena, Interface, Link, Mode, Program};
use zerocopy::{FromBytes, IntoBytes};

const KILLS: u32 = 3;

/// How long the kernel may take to clean up after a process.
const PATIENCE: Duration = Duration::from_secs(20);

/// The cable between the two, and its client's end made ready for what XDP sends there.
fn cable() -> Option<(Link, Namespaces)> {
    let namespaces = Namespaces::new();
    let arena = Arena::with_room_for(&[1]);
    match (Program::is_built(), namespaces, arena) {
        (true, Ok(namespaces), Ok(arena)) => {
            let link = within(&namespaces.client, || {
                let program = Program::load(&arena, true).unwrap();
                Link::attach_as(&program, &Interface::named(CABLE).unwrap(), Mode::Native).unwrap()
            });
            Some((link, namespaces))
        }
        (built, namespaces, arena) => {
            let (ability, namespaces) = match namespaces {
                Ok(_) => (Ability::Bpf, None),
                Err(why) => (Ability::Namespaces, Some(why)),
            };
            let arena = arena.err();
            skip::lacking(ability, format_args!("built {built}, namespaces {namespaces:?}, arena {arena:?}"));
            None
        }
    }
}

/// Whether a program is attached at the node's end.
fn is_attached(namespace: &str) -> bool {
    let output = Command::new("ip").args(["-n", namespace, "-j", "link", "show", "dev", CABLE]).output().unwrap();
    let links: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    !links[0]["xdp"].is_null()
}

fn within_patience(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// One REFER in a compact frame, which XDP answers: the balance.
fn refer(namespaces: &Namespaces, node: SocketAddr, account: u32) -> u32 {
    within(&namespaces.client, || {
        let socket = client::connected(node, Some(CLIENT.parse().unwrap())).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let request = CompactFrame::new(wire::Command::Refer, 1, account, 0, 0);
        let mut reply = [0; 22];
        within_patience("no answer to REFER", || {
            socket.send(request.as_bytes()).unwrap();
            socket.recv(&mut reply).is_ok()
        });
        CompactFrame::read_from_bytes(&reply).unwrap().value()
    })
}

/// How many REFER the XDP program has answered.
fn answered_by_xdp(namespaces: &Namespaces, node: &Process) -> u64 {
    let metrics = within(&namespaces.node, || get(node.http, "/metrics"));
    let line = metrics.lines().find(|line| line.starts_with("turnpike_xdp_total") && line.contains("\"refer\""));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap()
}

/// A datagram to the node's own port reaches a socket of the host's.
fn the_host_is_reached(namespaces: &Namespaces, address: SocketAddr) {
    let host = within(&namespaces.node, || UdpSocket::bind(address).unwrap());
    let client = within(&namespaces.client, || UdpSocket::bind((CLIENT, 0)).unwrap());
    host.set_read_timeout(Some(PATIENCE)).unwrap();
    // As long as a frame that the node would have taken.
    let request = CompactFrame::new(wire::Command::Refer, 1, 1, 0, 0);
    client.send_to(request.as_bytes(), address).unwrap();
    let mut bytes = [0; 64];
    assert_eq!(host.recv(&mut bytes).unwrap(), request.as_bytes().len());
}

/// A connection that has nothing to do with the node.
struct Echo(TcpStream);

impl Echo {
    fn new(namespaces: &Namespaces) -> Self {
        let listener = within(&namespaces.node, || TcpListener::bind((NODE, 0)).unwrap());
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = stream.read(&mut bytes) {
                stream.write_all(&bytes[..length]).unwrap();
            }
        });
        Self(within(&namespaces.client, || TcpStream::connect(address).unwrap()))
    }

    fn works(&mut self) {
        let (sent, mut back) = ([7; 10_000], [0; 10_000]);
        self.0.write_all(&sent).unwrap();
        self.0.read_exact(&mut back).unwrap();
        assert_eq!(sent, back);
    }
}

fn start_node(namespaces: &Namespaces, data: &Path, listen: SocketAddr, io: &str) -> Process {
    let arguments = ["--trusted", "10.77.0.0/24", "--accounts", "4096", "--io", io];
    within(&namespaces.node, || start(data, listen, &arguments))
}

fn a_killed_node_leaves_the_interface_to_the_host(io: &str) {
    let Some((_link, namespaces)) = cable() else { return };
    let data = tempfile::tempdir().unwrap();
    let mut echo = Echo::new(&namespaces);
    let mut node = start_node(&namespaces, data.path(), SocketAddr::new(NODE.parse().unwrap(), 0), io);
    let address = node.address;
    let account = AccountId::from(1_u32);
    for kill in 0..KILLS {
        assert!(is_attached(&namespaces.node), "{io}, start {kill}");
        let receipts = within(&namespaces.client, || {
            let mut client = Client::connect(address, &Options::default()).unwrap();
            let issue = Operation::issue(TransactionId::from(100 + kill), account, 5);
            client.submit(&[Operation::create(TransactionId::from(1_u32), account), issue]).unwrap()
        });
        // The first creates it; for the others the same transaction is a retry, which returns the first result.
        assert_eq!(receipts[0].status, Status::Ok);
        assert_eq!(receipts[1].value, u64::from(5 * (kill + 1)), "what was durable outlives the node");
        let before = answered_by_xdp(&namespaces, &node);
        within_patience("XDP answers", || {
            assert_eq!(refer(&namespaces, address, 1), 5 * (kill + 1));
            answered_by_xdp(&namespaces, &node) > before
        });
        echo.works();

        node.kill().unwrap();
        within_patience("the kernel detaches the program", || !is_attached(&namespaces.node));
        the_host_is_reached(&namespaces, address);
        echo.works();
        node = start_node(&namespaces, data.path(), address, io);
    }
    assert!(node.stop().unwrap());
    within_patience("a node that ends detaches the program", || !is_attached(&namespaces.node));
    echo.works();
}

#[test]
fn with_xdp() {
    a_killed_node_leaves_the_interface_to_the_host("xdp");
}

#[test]
fn with_af_xdp() {
    a_killed_node_leaves_the_interface_to_the_host("af_xdp");
}
