//! Options of `turnpike kv` that let units, scripts and configurations written for memcached keep working.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueHint};

/// Options of memcached that are not in [`super::KvArgs`].
#[derive(Args)]
#[command(next_help_heading = "Options for compatibility with memcached")]
pub struct KvCompatibleArgs {
    /// Run as this user, when started by root
    #[arg(short = 'u', long, value_name = "USER")]
    pub user: Option<String>,
    /// Write the process id to this file while the store runs
    #[arg(short = 'P', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub pidfile: Option<PathBuf>,
    /// Serve in the background; return when the store is ready
    #[arg(short = 'd', long)]
    pub daemon: bool,
    /// Lock all memory, so that none is swapped out
    #[arg(short = 'k', long)]
    pub lock_memory: bool,
    /// Allow core dumps as large as the hard limit
    #[arg(short = 'r', long)]
    pub enable_coredumps: bool,
    /// Accepted, no effect: --log sets the log level
    #[arg(short = 'v', long, action = ArgAction::Count)]
    pub verbose: u8,
    /// Accepted, no effect: each turn is bounded by requests, bytes and time
    #[arg(short = 'R', long, value_name = "COUNT")]
    pub max_reqs_per_event: Option<u32>,
    /// Accepted, no effect: items always have a CAS number
    #[arg(short = 'C', long)]
    pub disable_cas: bool,
    /// Accepted, no effect: each class of blocks is an eighth larger than the one before
    #[arg(short = 'f', long, value_name = "FACTOR")]
    pub slab_growth_factor: Option<f64>,
    /// Accepted, no effect: the smallest block has 48 bytes
    #[arg(short = 'n', long, value_name = "BYTES")]
    pub slab_min_size: Option<u32>,
    /// Accepted, no effect: the store always requests large pages
    #[arg(short = 'L', long)]
    pub enable_largepages: bool,
    /// Refuse the command watch
    #[arg(short = 'W', long)]
    pub disable_watch: bool,
    /// Accepted, no effect: keys are not counted by prefix
    #[arg(short = 'D', long, value_name = "CHARACTER")]
    pub delimiter: Option<char>,
    /// Accepted, no effect: threads get connections round-robin
    #[arg(short = 'N', long, value_name = "COUNT")]
    pub napi_ids: Option<u32>,
}

impl KvCompatibleArgs {
    /// The options given that have no effect, each with the reason.
    pub fn without_effect(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        [
            (self.verbose > 0, "-v", "set the log level with --log, such as --log debug"),
            (self.max_reqs_per_event.is_some(), "-R", "each turn is bounded by requests, bytes and time"),
            (self.disable_cas, "-C", "items always have a CAS number"),
            (self.slab_growth_factor.is_some(), "-f", "each class of blocks is an eighth larger than the one before"),
            (self.slab_min_size.is_some(), "-n", "the smallest block has 48 bytes"),
            (self.enable_largepages, "-L", "the store always requests large pages"),
            (self.delimiter.is_some(), "-D", "keys are not counted by prefix"),
            (self.napi_ids.is_some(), "-N", "threads get connections round-robin"),
        ]
        .into_iter()
        .filter(|(is_given, ..)| *is_given)
        .map(|(_, option, reason)| (option, reason))
    }
}
