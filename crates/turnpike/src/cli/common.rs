//! Options that several commands share.

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

use clap::{Args, ValueEnum};
use client::{Client, Options};

use super::host::Host;
use crate::error::Error;

/// The default node of client commands: `TURNPIKE_NODE`, or else the node on this machine.
pub fn default_node() -> &'static str {
    static NODE: LazyLock<String> = LazyLock::new(|| variable("TURNPIKE_NODE").unwrap_or("127.0.0.1:7400".into()));
    &NODE
}

/// The value of an environment variable; `None` if it is unset or empty.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The HTTP address that an option or else the environment gives; `None` if neither does.
pub fn http_address(option: Option<&Host>) -> Result<Option<Host>, Error> {
    let environment = || variable("TURNPIKE_HTTP").map(|text| text.parse()).transpose();
    let invalid = |error: String| Error::Input(format!("TURNPIKE_HTTP: {error}"));
    option.cloned().map_or_else(|| environment().map_err(invalid), |http| Ok(Some(http)))
}

/// The default port of a node.
pub const NODE_PORT: u16 = 7400;

/// The default port of a node's HTTP server.
pub const HTTP_PORT: u16 = 7480;

/// The I/O backend, as the command line names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum IoArg {
    /// Best backend that the machine allows
    Auto,
    /// Kernel sockets
    Udp,
    /// Kernel sockets, and a program in the network driver that answers reads
    Xdp,
    /// As xdp; other datagrams bypass the host's network stack
    #[value(name = "af_xdp")]
    AfXdp,
    /// Simulated NIC, built by `make rtl`, on sockets or a TAP device
    Rtl,
    /// NIC on a board, on the network of --interface
    Cable,
}

impl From<IoArg> for node::config::Backend {
    fn from(io: IoArg) -> Self {
        match io {
            IoArg::Auto => Self::Auto,
            IoArg::Udp => Self::Udp,
            IoArg::Xdp => Self::Xdp,
            IoArg::AfXdp => Self::AfXdp,
            IoArg::Rtl => Self::Rtl,
            IoArg::Cable => Self::Cable,
        }
    }
}

/// A promise, as the command line names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PromiseArg {
    /// Executed in memory
    Accepted,
    /// In the journal, synced to the disk
    Durable,
    /// In a block that replicas ordered; a node without replicas answers at durable
    Final,
}

impl From<PromiseArg> for wire::Promise {
    fn from(promise: PromiseArg) -> Self {
        match promise {
            PromiseArg::Accepted => Self::Accepted,
            PromiseArg::Durable => Self::Durable,
            PromiseArg::Final => Self::Final,
        }
    }
}

/// A promise that a node can give by default. Replicas use `final` by default anyway.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum NodePromiseArg {
    /// Executed in memory
    Accepted,
    /// In the journal, synced to the disk
    Durable,
}

impl From<NodePromiseArg> for wire::Promise {
    fn from(promise: NodePromiseArg) -> Self {
        match promise {
            NodePromiseArg::Accepted => Self::Accepted,
            NodePromiseArg::Durable => Self::Durable,
        }
    }
}

/// The node to connect to.
#[derive(Args, Clone)]
pub struct NodeArgs {
    /// Talk to this node; the port is 7400 unless given [env: TURNPIKE_NODE]
    #[arg(long, value_name = "HOST[:PORT]", default_value = default_node())]
    pub node: Host,
    /// Fail over to this replica of the node's cluster; may be repeated
    #[arg(long, value_name = "HOST[:PORT]")]
    pub other: Vec<Host>,
    /// Use TCP instead of UDP
    #[arg(long)]
    pub tcp: bool,
}

impl NodeArgs {
    /// The node's address and the client options, which report at once that nothing listens there.
    pub fn endpoint(&self) -> Result<(SocketAddr, Options), Error> {
        let mut addresses = self.node.resolve(NODE_PORT)?;
        let node = addresses.remove(0);
        for other in &self.other {
            addresses.extend(other.resolve(NODE_PORT)?);
        }
        let options = Options { tcp: self.tcp, others: addresses, fail_if_unreachable: true, ..Options::default() };
        Ok((node, options))
    }

    /// A client of the node.
    pub fn connect(&self) -> Result<Client, Error> {
        let (node, options) = self.endpoint()?;
        Client::connect(node, &options).map_err(Error::other)
    }
}

/// The network that a node must belong to.
#[derive(Args)]
pub struct PinArgs {
    /// Require this network id, which commits to the key that seals all blocks [default: trust the node]
    #[arg(long, value_name = "HEX", value_parser = parse_network_id)]
    pub network_id: Option<[u8; 32]>,
}

fn parse_network_id(text: &str) -> Result<[u8; 32], String> {
    let bytes = crate::hex::decode(text).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| "a network id is 64 hexadecimal digits; `turnpike serve` and `turnpike info` print it".into())
}

/// A chain, as the command line names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ChainArg {
    /// The node's own chain
    Own,
    /// Bitcoin
    Bitcoin,
}

/// A Bitcoin network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum NetworkArg {
    /// The main network
    Mainnet,
    /// Test network 3
    Testnet,
    /// Test network 4
    Testnet4,
    /// The default signet
    Signet,
    /// Regression test
    Regtest,
}

impl From<NetworkArg> for spv::bitcoin::Network {
    fn from(network: NetworkArg) -> Self {
        match network {
            NetworkArg::Mainnet => Self::Mainnet,
            NetworkArg::Testnet => Self::Testnet,
            NetworkArg::Testnet4 => Self::Testnet4,
            NetworkArg::Signet => Self::Signet,
            NetworkArg::Regtest => Self::Regtest,
        }
    }
}

pub fn seconds(text: &str) -> Result<Duration, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number of seconds".to_string())?;
    Duration::try_from_secs_f64(value).map_err(|error| error.to_string())
}

/// The node that verifies, if not this machine.
#[derive(Args)]
pub struct ServerOptions {
    /// Verify remotely: send the input to this node
    #[arg(long, value_name = "HOST[:PORT]")]
    pub server: Option<Host>,
    /// Use TCP instead of UDP
    #[arg(long, requires = "server")]
    pub tcp: bool,
    /// Send datagrams of at most this length; engines of a NIC accept 1750 [default: 65507]
    #[arg(long, value_name = "BYTES", requires = "server", conflicts_with = "tcp")]
    pub datagram: Option<usize>,
}

impl ServerOptions {
    /// The node that verifies, and the client options; `None` for this machine.
    pub fn get(&self) -> Result<Option<(SocketAddr, Options)>, Error> {
        let Some(server) = &self.server else { return Ok(None) };
        let mut addresses = server.resolve(NODE_PORT)?;
        let node = addresses.remove(0);
        // The longest datagrams, as a header with its solution does not fit one that passes an Ethernet undivided.
        let datagram = Some(self.datagram.unwrap_or(wire::MAX_DATAGRAM));
        let options = Options {
            tcp: self.tcp,
            others: addresses,
            fail_if_unreachable: true,
            datagram,
            // A node repeats all the work for a repeated frame, and a full frame may take it this long.
            retry_after: Duration::from_secs(1),
            retry_at_most: Duration::from_secs(4),
            ..Options::default()
        };
        Ok(Some((node, options)))
    }
}
