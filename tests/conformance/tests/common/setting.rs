//! A node with a tier in one of two namespaces, and what is done with it over whichever backend.
#![allow(dead_code, clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use node::config::Backend;
use node::{Config, Node};
use turnpike_conformance::{SmallMemory, Summary, Target, run};
use wire::CompactFrame;
use xdp::{Arena, Interface, Link, Mode, Program};
use zerocopy::{FromBytes, IntoBytes};

use super::issuer::{ISSUER, ISSUER_KEY};
use super::{CABLE, CLIENT, NODE, Namespaces, address, enter, replicas, within};
use skip::Ability;

/// A node in its namespace, and the client's end of the cable made ready for frames that XDP sends there.
pub struct Setting {
    pub node: Node,
    config: Config,
    /// The other replicas, where the node is one.
    pub others: Vec<Node>,
    /// What it remembers for retries, where that is little.
    pub retries: Option<SmallMemory>,
    // Before the namespaces.
    _receiver: Link,
    _data: tempfile::TempDir,
    pub namespaces: Namespaces,
}

pub fn config(listen: &str, backend: Backend) -> Config {
    let mut config = Config {
        listen: format!("{listen}:0").parse().unwrap(),
        http: None,
        trusted: vec!["10.77.0.0/24".parse().unwrap(), "fd77::/64".parse().unwrap()],
        issuers: vec![ISSUER_KEY.parse().unwrap()],
        ..Config::default()
    };
    (config.ledger.accounts, config.ledger.freezing) = (4096, true);
    // More than a test sends in ten seconds; all of it lies in the arena, which takes its time.
    config.ledger.retry_operations = 1 << 20;
    config.blocks.interval = 50;
    config.io.backend = backend;
    config
}

/// Starts a node, or tells why it cannot have a tier here.
pub fn set_up(mut config: Config) -> Option<Setting> {
    let (namespaces, receiver) = cable()?;
    let data = tempfile::tempdir().unwrap();
    config.data = data.path().join("data");
    let node = within(&namespaces.node, || Node::start(&config).unwrap());
    assert!([node.backend(), Backend::Auto].contains(&config.io.backend), "the machine allows it");
    Some(Setting { node, config, others: Vec::new(), retries: None, _receiver: receiver, _data: data, namespaces })
}

/// Starts four replicas, the second of which has this configuration of a node alone, or tells why it cannot have a tier here.
pub fn set_up_replica(config: &Config) -> Option<Setting> {
    let (namespaces, receiver) = cable()?;
    let data = replicas::directory();
    let configure = |number, replica: &mut Config| {
        // The same on all.
        replica.issuers.clone_from(&config.issuers);
        replica.ledger.retry_operations = config.ledger.retry_operations;
        if number == 1 {
            (replica.listen, replica.trusted, replica.limits) =
                (config.listen, config.trusted.clone(), config.limits.clone());
            replica.io.clone_from(&config.io);
        }
    };
    let (mut configs, mut others) = within(&namespaces.node, || {
        let configs = replicas::configs(data.path(), configure);
        let nodes = replicas::start(&configs);
        (configs, nodes)
    });
    let (config, node) = (configs.remove(1), others.remove(1));
    assert_eq!(node.backend(), config.io.backend, "the machine allows it");
    Some(Setting { node, config, others, retries: None, _receiver: receiver, _data: data, namespaces })
}

impl Setting {
    /// Stops the node and starts it again, at the same address.
    pub fn restarted(self) -> Self {
        let listen = self.node.local_address();
        self.node.stop();
        let config = Config { listen, ..self.config };
        let node = within(&self.namespaces.node, || Node::start(&config).unwrap());
        Self { node, config, ..self }
    }
}

/// Two namespaces with a cable, whose client's end takes what XDP sends there; or tells why they cannot be had here.
fn cable() -> Option<(Namespaces, Link)> {
    let without = |ability, why: String| {
        skip::lacking(ability, why);
        None
    };
    if !Program::is_built() {
        return without(Ability::Bpf, "the build had no clang 19".to_owned());
    }
    let namespaces = match Namespaces::new() {
        Ok(namespaces) => namespaces,
        Err(why) => return without(Ability::Namespaces, why),
    };
    if let Err(why) = Arena::with_room_for(&[1]) {
        return without(Ability::Bpf, why.to_string());
    }
    // A veth takes frames from XDP only while its own end has a program: any will do, this one answers nothing.
    let receiver = within(&namespaces.client, || {
        let program = Program::load(&Arena::with_room_for(&[1]).unwrap(), true).unwrap();
        Link::attach_as(&program, &Interface::named(CABLE).unwrap(), Mode::Native).unwrap()
    });
    Some((namespaces, receiver))
}

pub fn conforms(setting: &Setting, trusted: &str, stranger: Option<&str>, filter: &str, rate_limited: bool) -> Summary {
    let target = Target {
        node: setting.node.local_address(),
        trusted: address(trusted),
        stranger: stranger.map(address),
        issuer: Some(ISSUER),
        deposit: 100,
        small_table: stranger.is_some(),
        rate_limited,
        block_patience: Duration::from_secs(60),
        retries: setting.retries,
    };
    let outcomes =
        within(&setting.namespaces.client, || run(&target, filter, |outcome| println!("{outcome}"))).unwrap();
    let summary = Summary::from_outcomes(&outcomes);
    assert_eq!(summary.failed, 0, "{summary}");
    assert!(summary.passed > 0);
    summary
}

/// The cases that fill the memory of retries.
pub fn a_node_that_remembers_little_conforms(backend: Backend) {
    let memory = SmallMemory { operations: 4096, time: Duration::from_secs(2) };
    let mut config = config(NODE, backend);
    (config.ledger.retry_operations, config.ledger.retry_seconds) = (memory.operations as u64, memory.time.as_secs());
    let Some(mut setting) = set_up(config) else { return };
    setting.retries = Some(memory);
    let summary = conforms(&setting, CLIENT, None, "retries", false);
    assert_eq!((summary.passed, summary.skipped), (3, 0), "all cases of retries");
}

/// A client that asks one thing at a time.
pub struct Client(UdpSocket, u32);

impl Client {
    pub fn new(from: &str, node: std::net::SocketAddr) -> Self {
        let socket = client::connected(node, Some(address(from))).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        Self(socket, 0)
    }

    /// Asks until there is an answer.
    pub fn ask(&self, frame: CompactFrame) -> CompactFrame {
        // An emulated machine that shares its processors takes long to start a node.
        let deadline = Instant::now() + Duration::from_secs(120);
        let mut reply = [0; 64];
        while Instant::now() < deadline {
            let _ = self.0.send(frame.as_bytes());
            while let Ok(length) = self.0.recv(&mut reply) {
                let bytes = &reply[..length];
                let reply = CompactFrame::read_from_bytes(bytes)
                    .unwrap_or_else(|_| panic!("{bytes:02x?} in reply to {:02x?}", frame.as_bytes()));
                if reply.transaction == frame.transaction {
                    return reply;
                }
            }
        }
        panic!("no answer to {frame:?}");
    }

    pub fn next(&mut self, command: wire::Command, source: u32, destination: u32, amount: u32) -> CompactFrame {
        self.1 += 1;
        self.ask(CompactFrame::new(command, self.1, source, destination, amount))
    }
}

/// Tells others to stop when it goes out of scope, by a panic too.
pub struct StopAtEnd<'a>(pub &'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Detached and attached again by restarts of the node, under load and with a connection of another kind on the same cable: every
/// question gets its answer, and the connection every byte.
pub fn other_traffic_and_restarts_are_not_disturbed(backend: Backend) {
    let Some(setting) = set_up(config(NODE, backend)) else { return };
    let Setting { node, namespaces, _data: data, _receiver, .. } = setting;
    let listen = node.local_address();
    let stop = AtomicBool::new(false);
    let (answers, echoed) = (AtomicU64::new(0), AtomicU64::new(0));
    let listener = within(&namespaces.node, || TcpListener::bind((NODE, 0)).unwrap());
    let echo = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        // However this ends: who waits for the others would wait for ever.
        let _stop = StopAtEnd(&stop);
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = vec![0; 1 << 16];
            while let Ok(length @ 1..) = stream.read(&mut bytes) {
                stream.write_all(&bytes[..length]).unwrap();
            }
        });
        scope.spawn(|| {
            enter(&namespaces.client);
            let mut stream = TcpStream::connect(echo).unwrap();
            let mut back = vec![0; 40_000];
            for turn in 0_u32.. {
                let bytes: Vec<u8> = (0..40_000_u32).map(|at| (at ^ turn) as u8).collect();
                stream.write_all(&bytes).unwrap();
                stream.read_exact(&mut back).unwrap();
                assert_eq!(bytes, back);
                echoed.fetch_add(1, Ordering::Relaxed);
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        scope.spawn(|| {
            enter(&namespaces.client);
            let mut client = Client::new(CLIENT, listen);
            assert_eq!(client.next(wire::Command::Create, 1, 0, 0).status.get(), 0);
            for sum in 1_u32.. {
                assert_eq!(client.next(wire::Command::Issue, 1, 0, 1).value(), sum);
                let reply = client.next(wire::Command::Refer, 1, 0, 0);
                assert_eq!((reply.status.get(), reply.value()), (0, sum), "what was answered is read");
                answers.fetch_add(1, Ordering::Relaxed);
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let mut node = Some(node);
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(300));
            drop(node.take());
            let config = Config { listen, data: data.path().join("data"), ..config(NODE, backend) };
            node = Some(within(&namespaces.node, || Node::start(&config).unwrap()));
            assert_eq!(node.as_ref().unwrap().backend(), backend);
        }
        std::thread::sleep(Duration::from_millis(300));
        let node = node.unwrap();
        assert!(answers.load(Ordering::Relaxed) > 0 && echoed.load(Ordering::Relaxed) > 0);
        stop.store(true, Ordering::Relaxed);
        // What is being asked gets its answer.
        std::thread::sleep(Duration::from_millis(500));
        drop(node);
    });
}
