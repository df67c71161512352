//! `turnpike link`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use link::{Address, Config, PublicKey};

/// Commands of `link`.
#[derive(Subcommand)]
pub enum LinkCommand {
    /// Answer measurements of peers until interrupted
    Serve(LinkServeArgs),
    /// Measure round-trip times of messages
    Ping(LinkPingArgs),
    /// Measure how many messages a second reach the other side
    Throughput(LinkThroughputArgs),
    /// Make the key that identifies this side to peers, and show its public key
    Key {
        /// The key file, created if missing: 64 hexadecimal digits, readable by the owner only
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

/// Options of `link serve`.
#[derive(Args)]
pub struct LinkServeArgs {
    #[command(flatten)]
    pub channel: LinkChannelArgs,
}

/// Options of `link ping`.
#[derive(Args)]
pub struct LinkPingArgs {
    #[command(flatten)]
    pub channel: LinkChannelArgs,
    /// Send messages of this size
    #[arg(long, value_name = "BYTES", default_value_t = 1024)]
    pub bytes: u32,
    /// Measure this number of round trips
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: u64,
}

/// Options of `link throughput`.
#[derive(Args)]
pub struct LinkThroughputArgs {
    #[command(flatten)]
    pub channel: LinkChannelArgs,
    /// Send messages of this size
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub bytes: u32,
    /// Send this number of messages
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: u64,
}

/// Address and settings of a channel.
#[derive(Args)]
pub struct LinkChannelArgs {
    /// Use this address: tcp://IP:PORT, shm://NAME_OR_PATH or rdma://IP:PORT
    #[arg(long, value_name = "ADDRESS")]
    pub address: Address,
    /// Use this number of buffers in each direction
    #[arg(long, value_name = "NUMBER", default_value_t = Config::default().buffers)]
    pub buffers: u16,
    /// Use buffers of this size, which is the longest message
    #[arg(long, value_name = "BYTES", default_value_t = Config::default().buffer_bytes)]
    pub buffer_bytes: u32,
    /// Use this key file: both sides prove their keys, and messages are encrypted
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "peer")]
    pub key: Option<PathBuf>,
    /// Accept the peer with this public key, which `link key` shows there; may be repeated
    #[arg(long, value_name = "KEY", requires = "key")]
    pub peer: Vec<PublicKey>,
}
