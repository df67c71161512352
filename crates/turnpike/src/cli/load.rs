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
    /// Send requests of this kind
    #[arg(long, value_enum, default_value_t = MixArg::Transfer)]
    pub mix: MixArg,
    /// Choose accounts by this distribution
    #[arg(long, value_enum, default_value_t = DistributionArg::Uniform)]
    pub distribution: DistributionArg,
    /// Send transfers as operations of 64 bytes, instead of compact entries of 24
    #[arg(long)]
    pub full: bool,
    /// Put this number of operations into a datagram; 0 sends one operation per datagram, as compact frames
    #[arg(long, default_value_t = 60)]
    pub batch: u16,
    /// Sign this share of the transfers, before the run
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, value_parser = fraction)]
    pub signed: f64,
    /// Keep this number of datagrams in flight (closed loop)
    #[arg(long, default_value_t = 64)]
    pub in_flight: u32,
    /// Send at this rate per second (open loop: latency counts from the scheduled time); 0 for a closed loop
    #[arg(long, default_value_t = 0)]
    pub rate: u64,
    /// Ask for this promise [default: durable, and with --batch 0 the node's own]
    #[arg(long, value_enum)]
    pub promise: Option<PromiseArg>,
    /// Seed random choices with this number
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

/// Options of `load --electrum`. Of the other options, only `--operations` (requests) and `--seed` apply to it.
#[derive(Args)]
#[command(next_help_heading = "Electrum")]
pub struct ElectrumLoadArgs {
    /// Send load to this Electrum server of any make, over TCP, instead of a node
    #[arg(long, value_name = "ADDRESS")]
    pub electrum: Option<SocketAddr>,
    /// Send this mix: merkle, history, subscribe, balance, unspent, transaction, header, header-proof, ping
    #[arg(
        long,
        value_name = "METHOD[=WEIGHT],...",
        value_delimiter = ',',
        default_value = "merkle",
        requires = "electrum"
    )]
    pub methods: Vec<String>,
    /// Open this number of connections, each on its own thread
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024), requires = "electrum")]
    pub connections: u16,
    /// Keep this number of requests in flight on each connection
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000), requires = "electrum")]
    pub depth: u16,
    /// Request this number of different transactions and scripts, sampled from the whole chain
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000), requires = "electrum")]
    pub sample: u32,
    /// Report processor time of the threads of this process, the server on this machine
    #[arg(long, value_name = "PID", requires = "electrum")]
    pub pid: Option<u32>,
}

/// The kind of requests to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MixArg {
    /// TRANSFER only
    Transfer,
    /// TRANSFER only, linked in pairs
    Linked,
    /// HOLD, and its CAPTURE after the reply; the last holds may stay open
    TwoPhase,
    /// REFER only
    Refer,
    /// Proofs of accounts' latest transactions, one per datagram
    Proof,
}

/// The distribution of accounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum DistributionArg {
    /// All equally often
    Uniform,
    /// Few accounts often, by Zipf's law
    Zipf,
    /// Always the same two accounts
    HotPair,
}

/// A number from 0 to 1.
fn fraction(text: &str) -> Result<f64, String> {
    let fraction = text.parse().ok().filter(|fraction| (0.0..=1.0).contains(fraction));
    fraction.ok_or_else(|| "expected a number from 0 to 1".into())
}
