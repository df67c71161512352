//! The attacks that docs/security.md tells of, each a program against a node on loopback: the files of `tests/`, one a topic.
//!
//! An attack is a test that fails where the attack succeeds. It is bounded in count and time, and attacks nothing but the
//! node that it started.
#![allow(clippy::unwrap_used, reason = "a test ends where its setting cannot be made")]

pub mod bitcoind;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream, UdpSocket};
use std::time::Duration;

use client::{Client, Options, Signer};
use node::{Config, Node};
use secp256k1::SecretKey;
use turnpike_conformance::Link;

/// The secret key of the issuer that the node knows.
pub const ISSUER: [u8; 32] = secret(1);

/// Its public key, compressed: the generator of the curve.
pub const ISSUER_KEY: &str = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

/// An address in the node's trusted prefix.
pub const TRUSTED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);

/// An address outside of it.
pub const STRANGER: Ipv4Addr = Ipv4Addr::new(127, 0, 9, 2);

/// How long an answer of the node may take.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// A secret key that is a small number.
pub const fn secret(number: u8) -> [u8; 32] {
    let mut key = [0; 32];
    key[31] = number;
    key
}

/// A connection from a local address.
pub fn connect(local: Ipv4Addr, to: SocketAddr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new(local, 0)).unwrap();
    connect(&socket, &to).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A node under attack, and its data directory.
pub struct Victim {
    /// The node; none while it is down.
    node: Option<Node>,
    config: Config,
    directory: tempfile::TempDir,
}

impl Victim {
    /// Starts a node on loopback that trusts 127.0.0.1 alone, with what `configure` changes of the defaults.
    pub fn start(configure: impl FnOnce(&mut Config)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut config = Config {
            data: directory.path().join("data"),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            http: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            trusted: vec![format!("{TRUSTED}/32").parse().unwrap()],
            issuers: vec![ISSUER_KEY.parse().unwrap()],
            ..Config::default()
        };
        config.ledger.accounts = 1 << 16;
        config.blocks.interval = 50;
        configure(&mut config);
        let node = Some(Node::start(&config).unwrap());
        Self { node, config, directory }
    }

    /// The node.
    pub fn node(&self) -> &Node {
        self.node.as_ref().unwrap()
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.node().local_address()
    }

    /// Where everything of it is.
    pub fn directory(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// Its configuration, for the next start.
    pub fn config(&mut self) -> &mut Config {
        &mut self.config
    }

    /// Ends the node.
    pub fn stop(&mut self) {
        if let Some(node) = self.node.take() {
            node.stop();
        }
    }

    /// Ends the node and starts it again on what it left.
    pub fn restart(&mut self) {
        self.try_restart().unwrap();
    }

    /// The same, where it may refuse to start.
    pub fn try_restart(&mut self) -> Result<(), node::Error> {
        self.stop();
        self.node = Some(Node::start(&self.config)?);
        Ok(())
    }

    /// A client of the node, trusted.
    pub fn client(&self) -> Client {
        Client::connect(self.address(), &Options::default()).unwrap()
    }

    /// Asks the node from a local address, frame by frame.
    pub fn link(&self, local: impl Into<IpAddr>) -> Link {
        Link::open(local.into(), self.address()).unwrap()
    }

    /// A signer of the node's network.
    pub fn signer(&self, secret: [u8; 32]) -> Signer {
        let network = self.client().info().unwrap().network;
        Signer::new(SecretKey::from_byte_array(secret).unwrap(), network)
    }

    /// A connection to the node from a local address.
    pub fn connect(&self, local: Ipv4Addr) -> TcpStream {
        connect(local, self.address())
    }

    /// What the node answers on its HTTP address, or as much of it as came in time.
    pub fn http(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.node().http_address().unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n").unwrap();
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8(reply).unwrap()
    }

    /// A figure of the node.
    pub fn figure(&self, name: &str) -> u64 {
        let figures = self.http("/metrics");
        let line = figures.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
        line.parse().unwrap()
    }

    /// A socket at a local address that talks to the node.
    pub fn socket(&self, local: impl Into<IpAddr>) -> UdpSocket {
        let socket = UdpSocket::bind((local.into(), 0)).unwrap();
        socket.connect(self.address()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.stop();
    }
}
