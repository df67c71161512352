//! `turnpike proof`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use wire::{AccountId, TransactionId};

use super::common::{NetworkArg, NodeArgs, PinArgs, seconds};

/// Proofs.
#[derive(Subcommand)]
pub enum ProofCommand {
    /// Fetch a proof, and verify it against headers that are synchronised from the node
    Get(Box<ProofGetArgs>),
    /// Verify a proof in a file: one of `proof get --out`, or the output of Bitcoin Core's gettxoutproof
    Verify(ProofVerifyArgs),
}

/// Options of `proof verify`.
#[derive(Args)]
pub struct ProofVerifyArgs {
    /// The proof
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Verify against these headers, which `turnpike headers` writes; a gettxoutproof can do without
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub headers: Option<PathBuf>,
    /// Trust the first of the headers to be at this height; needed if it is not the genesis block
    #[arg(long, value_name = "HEIGHT", requires = "headers")]
    pub first_height: Option<u32>,
    /// Require this number of transactions in the block of a gettxoutproof
    #[arg(long, value_name = "COUNT")]
    pub transactions: Option<u32>,
    /// Check the depth of the tree of a gettxoutproof by this coinbase transaction, which the proof must include;
    /// binary, or hexadecimal as Bitcoin Core's getrawtransaction prints it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub coinbase: Option<PathBuf>,
    #[command(flatten)]
    pub network: PinArgs,
}

/// What to fetch a proof of.
#[derive(Args)]
pub struct ProofGetArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    #[command(flatten)]
    pub subject: ProofSubject,
    /// Source account of --transaction
    #[arg(long, value_name = "ACCOUNT", requires = "transaction")]
    pub source: Option<AccountId>,
    /// Wait until it is in a block, at most this long
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "30", value_parser = seconds)]
    #[arg(conflicts_with_all = ["bitcoin_script", "bitcoin_transaction"])]
    pub wait: Option<Duration>,
    /// Require a certificate of finality, signed by a quorum of replicas
    #[arg(long = "final", conflicts_with_all = ["bitcoin_script", "bitcoin_transaction"])]
    pub is_final: bool,
    #[command(flatten)]
    pub pin: PinArgs,
    /// Accept other sealed headers in place of those in --headers, and report the replaced ones
    #[arg(long, requires = "headers")]
    pub accept_reorganisation: bool,
    /// Use this Bitcoin network
    #[arg(long, value_enum, default_value_t = NetworkArg::Mainnet)]
    pub network: NetworkArg,
    /// Write the proof to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Keep headers in this file: the next run fetches only new ones, of the same chain
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub headers: Option<PathBuf>,
}

/// Exactly one of these.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct ProofSubject {
    /// The latest transaction of an account of the own chain that is in a block
    #[arg(long, value_name = "ACCOUNT")]
    pub latest: Option<AccountId>,
    /// The balance and the latest transaction of an account, or that there is no such account
    #[arg(long, value_name = "ACCOUNT")]
    pub balance: Option<AccountId>,
    /// A transaction of the own chain, by its id and --source
    #[arg(long, value_name = "ID")]
    pub transaction: Option<TransactionId>,
    /// A transaction of the own chain, by height and position
    #[arg(long, value_name = "HEIGHT:POSITION")]
    pub locator: Option<String>,
    /// The latest Bitcoin transaction of an output script (hexadecimal)
    #[arg(long, value_name = "SCRIPT")]
    pub bitcoin_script: Option<String>,
    /// A Bitcoin transaction (hexadecimal, as block explorers print it)
    #[arg(long, value_name = "TXID")]
    pub bitcoin_transaction: Option<String>,
}
