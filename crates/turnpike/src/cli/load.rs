//! `turnpike load`.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

use super::common::{NodeArgs, PromiseArg};

/// Options of `load`.
#[derive(Args)]
pub struct LoadArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    /// Use this number of accounts, from account 1 on; missing ones are created and funded first
    #[arg(long, default_value_t = 1000)]
    pub accounts: u32,
    /// Send this number of operations
    #[arg(long, default_value_t = 1_000_000)]
    pub operations: u64,
    /// Send these requests
    #[arg(long, value_enum, default_value_t = MixArg::Transfer)]
    pub mix: MixArg,
    /// Choose accounts by this distribution
    #[arg(long, value_enum, default_value_t = DistributionArg::Uniform)]
    pub distribution: DistributionArg,
    /// Put this number of operations into a datagram; 0 sends compact frames of one operation each
    #[arg(long, default_value_t = 60)]
    pub batch: u16,
    /// Sign this share of the transfers, before the run
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, value_parser = fraction)]
    pub signed: f64,
    /// Keep this number of datagrams in flight (closed loop)
    #[arg(long, default_value_t = 64)]
    pub in_flight: u32,
    /// Send at this rate per second (open loop: latency counts from the time due); 0 for a closed loop
    #[arg(long, default_value_t = 0)]
    pub rate: u64,
    /// Ask for this promise [default: durable, and with --batch 0 the node's own]
    #[arg(long, value_enum)]
    pub promise: Option<PromiseArg>,
    /// Seed of random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// With --mix proof: request this percentage of proofs a second time, from the node's cache
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub hits: Option<u8>,
    /// Compare every balance with the node's at the end
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub electrum: ElectrumLoadArgs,
}

/// Options of `load --electrum`, with which `--operations` are requests, `--seed` counts, and no other option does.
#[derive(Args)]
#[command(next_help_heading = "Electrum")]
pub struct ElectrumLoadArgs {
    /// Put load on this Electrum server, of whatever make, over TCP, instead of a node's own protocol
    #[arg(long, value_name = "ADDRESS")]
    pub electrum: Option<SocketAddr>,
    /// What to ask for, and how often of all: merkle, history, subscribe, balance, unspent, transaction, header, header-proof, ping
    #[arg(
        long,
        value_name = "METHOD[=WEIGHT],...",
        value_delimiter = ',',
        default_value = "merkle",
        requires = "electrum"
    )]
    pub methods: Vec<String>,
    /// Connections at once, each on a thread of its own
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024), requires = "electrum")]
    pub connections: u16,
    /// Requests in flight on each connection
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000), requires = "electrum")]
    pub depth: u16,
    /// How many transactions and scripts are asked for, taken from all over the chain
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000), requires = "electrum")]
    pub sample: u32,
    /// The server's process on this machine: what its threads used of processors is told
    #[arg(long, value_name = "PID", requires = "electrum")]
    pub pid: Option<u32>,
}

/// What load consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MixArg {
    /// TRANSFER only
    Transfer,
    /// REFER only
    Refer,
    /// Proofs of accounts' latest transactions, one a datagram
    Proof,
}

/// How load chooses accounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum DistributionArg {
    /// All alike
    Uniform,
    /// Few are chosen often, as by Zipf's law
    Zipf,
    /// Always the same two
    HotPair,
}

/// A number from 0 to 1.
fn fraction(text: &str) -> Result<f64, String> {
    let fraction = text.parse().ok().filter(|fraction| (0.0..=1.0).contains(fraction));
    fraction.ok_or_else(|| "expected a number from 0 to 1".into())
}
