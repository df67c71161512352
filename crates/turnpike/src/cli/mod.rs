//! The command line: every command and option with its help text, a file for each command. Completions and man pages
//! are generated from it.

mod account;
mod backup;
mod check;
mod cluster;
mod common;
mod config;
mod coproc;
mod delay;
mod demo;
mod doctor;
mod feed;
mod headers;
mod host;
mod import;
mod in_nic;
mod info;
mod key;
mod kv;
mod kv_compatible;
mod link;
mod load;
pub mod pages;
mod plan;
mod proof;
mod replay;
mod serve;
mod top;
mod verify;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum, ValueHint};

pub use account::{AccountCommand, HistoryArgs, HoldArgs, ListArgs, OperationArgs, SponsorArgs};
pub use backup::BackupArgs;
pub use check::CheckArgs;
pub use cluster::{
    ClusterAddArgs, ClusterApproveArgs, ClusterArgs, ClusterCommand, ClusterConfigureArgs, ClusterInitArgs,
    ClusterJoinArgs, ClusterKeyArgs, ClusterNetworkArgs, ClusterRemoveArgs, ClusterSyncArgs,
};
pub use common::{ChainArg, HTTP_PORT, IoArg, NODE_PORT, variable};
pub use config::ConfigCommand;
pub use coproc::{CoprocAssembleArgs, CoprocCommand, CoprocDisassembleArgs, CoprocRunArgs};
pub use delay::{DelayCommand, DelayEvaluateArgs, DelayUnlockArgs, DelayVerifyArgs, ModulusChoice};
pub use demo::DemoArgs;
pub use doctor::DoctorArgs;
pub use feed::FeedArgs;
pub use headers::HeadersArgs;
pub use host::Host;
pub use import::ImportCommand;
pub use in_nic::InNicArgs;
pub use info::InfoArgs;
pub use key::KeyCommand;
pub use kv::{KvArgs, KvIo, KvProtocol};
pub use kv_compatible::KvCompatibleArgs;
pub use link::{LinkChannelArgs, LinkCommand, LinkPingArgs, LinkServeArgs, LinkThroughputArgs};
pub use load::{DistributionArg, LoadArgs, MixArg};
pub use plan::PlanArgs;
pub use proof::{ProofCommand, ProofGetArgs, ProofVerifyArgs};
pub use replay::ReplayArgs;
pub use serve::ServeArgs;
pub use top::TopArgs;
pub use verify::{
    VerifyBlockArgs, VerifyCommand, VerifyEcdsaArgs, VerifyEquihashArgs, VerifyFiles, VerifyGroth16Args, VerifyOptions,
};

/// A payment ledger that proves every balance: durable transfers over UDP, settled into blocks with Merkle proofs.
#[derive(Parser)]
#[command(name = "turnpike", version, propagate_version = true, max_term_width = 120)]
pub struct Cli {
    /// Print results as JSON, one object per line
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// Log to standard error at this level: error, warn, info, debug, trace, or directives such as node=debug [default:
    /// info, or the key `log` of a node's configuration]
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FILTER")]
    pub log: Option<String>,
    /// Write the log in this format
    #[arg(long, global = true, help_heading = GLOBAL, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    #[command(subcommand)]
    pub command: Command,
}

/// The heading of options common to all commands.
const GLOBAL: &str = "Global options";

/// The format of log lines.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// The commands of the program.
#[derive(Subcommand)]
pub enum Command {
    /// Run a node
    Serve(ServeArgs),
    /// Run a ledger of compact frames inside the network driver, at promise `accepted`
    ///
    /// A crash loses operations that are not yet in the journal.
    InNic(InNicArgs),
    /// Run replicas that order blocks together
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Report what this machine's kernel, network drivers and privileges allow
    Doctor(DoctorArgs),
    /// Compute memory, disk and settings for a number of accounts and a rate
    Plan(PlanArgs),
    /// Create accounts, issue, transfer, read balances, list accounts and transactions
    #[command(subcommand)]
    Account(AccountCommand),
    /// Generate and show keys of accounts and issuers
    #[command(subcommand)]
    Key(KeyCommand),
    /// Fetch Merkle proofs from a node, and verify them offline
    #[command(subcommand)]
    Proof(ProofCommand),
    /// Synchronise block headers from a node, and verify them
    Headers(HeadersArgs),
    /// Import blocks of Bitcoin into a data directory
    #[command(subcommand)]
    Import(ImportCommand),
    /// Generate load, and report rate and latency
    Load(LoadArgs),
    /// Send the transactions of a packet capture to a node
    Replay(ReplayArgs),
    /// Verify proofs of work, signatures and blocks in files
    ///
    /// Exit status: 0 if all are valid, 1 if some are not, 2 if a file cannot be used.
    #[command(subcommand)]
    Verify(VerifyCommand),
    /// Audit a data directory: checksums, chains, roots, balances
    Check(CheckArgs),
    /// Back up a data directory while a node runs on it
    ///
    /// `check` audits the copy, and `serve` starts from it.
    Backup(BackupArgs),
    /// Print the operations that a node journals, as they become durable
    ///
    /// Reconnects where it was, so each operation is printed once. The node must trust this machine's address.
    Feed(FeedArgs),
    /// Evaluate and verify delay functions, open time-locks
    #[command(subcommand)]
    Delay(DelayCommand),
    /// Run, assemble and disassemble programs of the pairing coprocessor
    #[command(subcommand)]
    Coproc(CoprocCommand),
    /// Show what a node serves, and the state of its chain
    Info(InfoArgs),
    /// Watch rates, latencies and the state of a node in the terminal
    ///
    /// Keys: q quits, Ctrl-Z suspends. The node needs its HTTP address.
    Top(TopArgs),
    /// Run a key-value store that speaks memcached's protocols
    Kv(KvArgs),
    /// Measure message channels between processes
    #[command(subcommand)]
    Link(LinkCommand),
    /// Run a demonstration: durable transfers, proofs, a kill -9, nothing lost
    Demo(DemoArgs),
    /// Check a configuration file, or print the default one
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the man pages
    Man {
        /// Write to this folder
        #[arg(value_hint = ValueHint::DirPath)]
        directory: PathBuf,
    },
}
