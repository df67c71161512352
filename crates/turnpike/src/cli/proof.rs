//! `turnpike proof`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use wire::{AccountId, TransactionId};

use super::common::{NetworkArg, NodeArgs, PinArgs, seconds};

/// Proofs.
#[derive(Subcommand)]
pub enum ProofCommand {
    /// Fetch a proof, and verify it against headers synchronised from the node
    Get(Box<ProofGetArgs>),
    /// Verify a proof in a file written by `proof get --out` or printed by Bitcoin Core's gettxoutproof
    Verify(ProofVerifyArgs),
}

/// Options of `proof verify`.
#[derive(Args)]
pub struct ProofVerifyArgs {
    /// The proof
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Verify against these headers, written by `turnpike headers`; optional for a gettxoutproof
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub headers: Option<PathBuf>,
    /// Trust that the first header is at this height; required unless it is the genesis block
    #[arg(long, value_name = "HEIGHT", requires = "headers")]
    pub first_height: Option<u32>,
    /// Require this number of transactions in the block of a gettxoutproof
    #[arg(long, value_name = "COUNT")]
    pub transactions: Option<u32>,
    /// Check the tree depth of a gettxoutproof by this coinbase transaction, which the proof must include; binary, or
    /// hexadecimal as Bitcoin Core's getrawtransaction prints it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub coinbase: Option<PathBuf>,
    #[command(flatten)]
    pub network: PinArgs,
}

/// Options of `proof get`.
#[derive(Args)]
pub struct ProofGetArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    #[command(flatten)]
    pub subject: ProofSubject,
    /// Name the source account of --transaction
    #[arg(long, value_name = "ACCOUNT", requires = "transaction")]
    pub source: Option<AccountId>,
    /// Wait at most this long until the subject is in a block
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "30", value_parser = seconds)]
    #[arg(conflicts_with_all = ["bitcoin_script", "bitcoin_transaction"])]
    pub wait: Option<Duration>,
    /// Require a certificate of finality, signed by a quorum of replicas
    #[arg(long = "final", conflicts_with_all = ["bitcoin_script", "bitcoin_transaction"])]
    pub is_final: bool,
    #[command(flatten)]
    pub pin: PinArgs,
    /// Accept other sealed headers in place of those in --headers, and report the replaced headers
    #[arg(long, requires = "headers")]
    pub accept_reorganisation: bool,
    /// Use this Bitcoin network
    #[arg(long, value_enum, default_value_t = NetworkArg::Mainnet)]
    pub network: NetworkArg,
    /// Write the proof to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Keep headers in this file: the next run fetches only new headers of the same chain
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub headers: Option<PathBuf>,
}

/// The subject of a proof: exactly one of these.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct ProofSubject {
    /// Prove the latest transaction in a block of this account of the node's own chain
    #[arg(long, value_name = "ACCOUNT")]
    pub latest: Option<AccountId>,
    /// Prove the balance and latest transaction of this account, or that it does not exist
    #[arg(long, value_name = "ACCOUNT")]
    pub balance: Option<AccountId>,
    /// Prove the transaction of the node's own chain with this id and --source
    #[arg(long, value_name = "ID")]
    pub transaction: Option<TransactionId>,
    /// Prove the transaction of the node's own chain at this height and position
    #[arg(long, value_name = "HEIGHT:POSITION")]
    pub locator: Option<String>,
    /// Prove the latest Bitcoin transaction of this output script (hexadecimal)
    #[arg(long, value_name = "SCRIPT")]
    pub bitcoin_script: Option<String>,
    /// Prove this Bitcoin transaction (hexadecimal, as block explorers print it)
    #[arg(long, value_name = "TXID")]
    pub bitcoin_transaction: Option<String>,
}
