//! `turnpike link`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use link::{Address, Config, PublicKey};

/// What `link` can do.
#[derive(Subcommand)]
pub enum LinkCommand {
    /// Answer those who measure, until interrupted
    Serve(LinkServeArgs),
    /// Measure how long messages take to the other side and back
    Ping(LinkPingArgs),
    /// Measure how fast messages go to the other side
    Throughput(LinkThroughputArgs),
    /// Make the key that peers know this side by, and show its public key
    Key {
        /// The key file, made if it does not exist: 64 hexadecimal digits, readable by their owner only
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
    /// Bytes of a message
    #[arg(long, value_name = "BYTES", default_value_t = 1024)]
    pub bytes: u32,
    /// Round trips
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: u64,
}

/// Options of `link throughput`.
#[derive(Args)]
pub struct LinkThroughputArgs {
    #[command(flatten)]
    pub channel: LinkChannelArgs,
    /// Bytes of a message
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub bytes: u32,
    /// Messages
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: u64,
}

/// Where a channel leads to, and how it is to be.
#[derive(Args)]
pub struct LinkChannelArgs {
    /// Where: tcp://IP:PORT, shm://NAME_OR_PATH or rdma://IP:PORT
    #[arg(long, value_name = "ADDRESS")]
    pub address: Address,
    /// Buffers in each direction
    #[arg(long, value_name = "NUMBER", default_value_t = Config::default().buffers)]
    pub buffers: u16,
    /// Bytes of a buffer, which is the longest message
    #[arg(long, value_name = "BYTES", default_value_t = Config::default().buffer_bytes)]
    pub buffer_bytes: u32,
    /// The key file of this side: peers prove theirs, and messages are encrypted
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "peer")]
    pub key: Option<PathBuf>,
    /// The public key of a peer, as `link key` shows it there; may be repeated
    #[arg(long, value_name = "KEY", requires = "key")]
    pub peer: Vec<PublicKey>,
}
