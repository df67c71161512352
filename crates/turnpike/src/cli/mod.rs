//! The command line: every command and option with its help text, a file for each command. Completions and man pages are
//! made from it.

mod account;
mod check;
mod cluster;
mod common;
mod config;
mod coproc;
mod delay;
mod demo;
mod doctor;
mod headers;
mod import;
mod in_nic;
mod key;
mod kv;
mod link;
mod load;
mod proof;
mod replay;
mod serve;
mod verify;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum, ValueHint};

pub use account::{AccountCommand, ListArgs, OperationArgs, SponsorArgs};
pub use check::CheckArgs;
pub use cluster::{
    ClusterAddArgs, ClusterApproveArgs, ClusterArgs, ClusterCommand, ClusterInitArgs, ClusterJoinArgs,
    ClusterRemoveArgs, ClusterSyncArgs,
};
pub use common::{ChainArg, IoArg, NodeArgs};
pub use config::ConfigCommand;
pub use coproc::{CoprocAssembleArgs, CoprocCommand, CoprocDisassembleArgs, CoprocRunArgs};
pub use delay::{DelayCommand, DelayEvaluateArgs, DelayUnlockArgs, DelayVerifyArgs, ModulusChoice};
pub use demo::DemoArgs;
pub use doctor::DoctorArgs;
pub use headers::HeadersArgs;
pub use import::ImportCommand;
pub use in_nic::InNicArgs;
pub use key::KeyCommand;
pub use kv::{KvArgs, KvIo, KvProtocol};
pub use link::{LinkChannelArgs, LinkCommand, LinkPingArgs, LinkServeArgs, LinkThroughputArgs};
pub use load::{DistributionArg, LoadArgs, MixArg};
pub use proof::{ProofCommand, ProofGetArgs};
pub use replay::ReplayArgs;
pub use serve::ServeArgs;
pub use verify::{
    VerifyBlockArgs, VerifyCommand, VerifyEcdsaArgs, VerifyEquihashArgs, VerifyFiles, VerifyGroth16Args, VerifyOptions,
};

/// A fast path for blockchains: durable transfers over UDP, settled into blocks, with proofs that anyone can check.
#[derive(Parser)]
#[command(name = "turnpike", version, propagate_version = true, max_term_width = 120)]
pub struct Cli {
    /// Print results as JSON, one object a line
    #[arg(long, global = true)]
    pub json: bool,
    /// What to log to standard error: error, warn, info, debug, trace, or directives such as node=debug [default:
    /// info, or the key `log` of a node's configuration]
    #[arg(long, global = true, value_name = "FILTER")]
    pub log: Option<String>,
    /// How to write the log
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    #[command(subcommand)]
    pub command: Command,
}

/// How log lines are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// What the program can do.
#[derive(Subcommand)]
pub enum Command {
    /// Run a node
    Serve(ServeArgs),
    /// Run a ledger of compact frames inside the network driver, accepted only: a crash loses what was not journalled yet
    InNic(InNicArgs),
    /// Run several replicas on this machine that order blocks together, each a process of its own
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Tell what this machine's kernel, network drivers and privileges allow, and what to change
    Doctor(DoctorArgs),
    /// Create accounts, issue, transfer, look up balances, and list accounts and their transactions
    #[command(subcommand)]
    Account(AccountCommand),
    /// Make and show the keys of keyed accounts and issuers
    #[command(subcommand)]
    Key(KeyCommand),
    /// Fetch Merkle proofs from a node, and verify them without one
    #[command(subcommand)]
    Proof(ProofCommand),
    /// Synchronise block headers from a node, checking every link
    Headers(HeadersArgs),
    /// Read blocks of another chain into a data directory
    #[command(subcommand)]
    Import(ImportCommand),
    /// Put load on a node and report rate and latency
    Load(LoadArgs),
    /// Send the transactions of a capture to a node
    Replay(ReplayArgs),
    /// Verify proofs of work, signatures and blocks out of files; the exit status is 0 if all are valid, 1 if some are not, 2
    /// if the files cannot be used
    #[command(subcommand)]
    Verify(VerifyCommand),
    /// Audit a data directory: sums, chains, roots, balances
    Check(CheckArgs),
    /// Evaluate and verify delays that nobody can shorten, and open time-locks
    #[command(subcommand)]
    Delay(DelayCommand),
    /// Run programs of the pairing coprocessor on its model, assemble and disassemble them
    #[command(subcommand)]
    Coproc(CoprocCommand),
    /// Tell what a node serves and where it stands
    Info(NodeArgs),
    /// Run a key-value store that speaks memcached's protocols
    Kv(KvArgs),
    /// Measure message channels between processes, and answer those who do
    #[command(subcommand)]
    Link(LinkCommand),
    /// Show, in about a minute, what Turnpike does: durable transfers, proofs, a kill -9, nothing lost
    Demo(DemoArgs),
    /// Check a configuration file, or print one with every key and its default
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the man pages
    Man {
        /// The folder to write to
        #[arg(value_hint = ValueHint::DirPath)]
        directory: PathBuf,
    },
}
