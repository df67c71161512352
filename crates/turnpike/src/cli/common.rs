//! Options that several commands have.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// The node that client commands talk to unless told otherwise.
pub const DEFAULT_NODE: &str = "127.0.0.1:7400";

/// Where it serves metrics and lists unless told otherwise.
pub const DEFAULT_HTTP: &str = "127.0.0.1:7480";

/// What carries datagrams, as the command line names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum IoArg {
    /// The best that the machine allows
    Auto,
    /// Sockets of the kernel
    Udp,
    /// These, and a program in the network driver that answers reads
    Xdp,
    /// As xdp, and what the program does not answer comes past the host's network stack
    #[value(name = "af_xdp")]
    AfXdp,
    /// The simulated NIC, which `make rtl` builds, on sockets or a TAP device
    Rtl,
}

impl From<IoArg> for node::config::Backend {
    fn from(io: IoArg) -> Self {
        match io {
            IoArg::Auto => Self::Auto,
            IoArg::Udp => Self::Udp,
            IoArg::Xdp => Self::Xdp,
            IoArg::AfXdp => Self::AfXdp,
            IoArg::Rtl => Self::Rtl,
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

/// Which node to talk to.
#[derive(Args, Clone)]
pub struct NodeArgs {
    /// The node's address
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_NODE)]
    pub node: SocketAddr,
    /// Another replica of its cluster, turned to where it does not answer; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub other: Vec<SocketAddr>,
    /// Talk over TCP instead of UDP
    #[arg(long)]
    pub tcp: bool,
}

impl NodeArgs {
    /// How to talk to the node.
    pub fn options(&self) -> client::Options {
        client::Options { tcp: self.tcp, others: self.other.clone(), ..client::Options::default() }
    }
}

/// What network a node has to be of.
#[derive(Args)]
pub struct PinArgs {
    /// The network id that the node has to have; it names the key that seals all blocks. Without it, what the node says is believed
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

/// Who verifies.
#[derive(Args)]
pub struct ServerOptions {
    /// Have a node verify instead of this machine: what is to be verified is sent to it
    #[arg(long, value_name = "ADDRESS")]
    pub server: Option<SocketAddr>,
    /// Talk to it over TCP instead of UDP
    #[arg(long, requires = "server")]
    pub tcp: bool,
    /// Bytes of the longest datagram; by default the most that there can be, 65507. Engines of a NIC take those of up to 1750
    #[arg(long, value_name = "BYTES", requires = "server", conflicts_with = "tcp")]
    pub datagram: Option<usize>,
}

impl ServerOptions {
    /// The node that is to verify, and how to talk to it.
    pub fn get(&self) -> Option<(SocketAddr, client::Options)> {
        // The longest datagrams, as a header with its solution does not fit one that passes an Ethernet undivided.
        let datagram = Some(self.datagram.unwrap_or(wire::MAX_DATAGRAM));
        let options = client::Options {
            tcp: self.tcp,
            datagram,
            // A node does all of the work again for a frame that comes again, and a full one may take it that long.
            retry_after: Duration::from_secs(1),
            retry_at_most: Duration::from_secs(4),
            ..client::Options::default()
        };
        Some((self.server?, options))
    }
}
