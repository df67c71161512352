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
    /// Verify a proof that was written to a file: one of `proof get --out`, or Bitcoin Core's gettxoutproof output
    Verify {
        /// The proof
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Headers to verify against, as `turnpike headers` writes them; without them a gettxoutproof is only checked
        /// in itself
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        headers: Option<PathBuf>,
        /// Height of the first of the headers, where that is not the genesis block and is trusted
        #[arg(long, value_name = "HEIGHT", requires = "headers")]
        first_height: Option<u32>,
        #[command(flatten)]
        network: PinArgs,
    },
}

/// What to fetch a proof of.
#[derive(Args)]
pub struct ProofGetArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    #[command(flatten)]
    pub subject: ProofSubject,
    /// The source account of --transaction
    #[arg(long, value_name = "ACCOUNT", requires = "transaction")]
    pub source: Option<AccountId>,
    /// Wait until it is in a block, so many seconds at most
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "30", value_parser = seconds)]
    #[arg(conflicts_with_all = ["bitcoin_script", "bitcoin_transaction"])]
    pub wait: Option<Duration>,
    /// Only where replicas order the chain: prove that it is final by a certificate that a quorum of them signed
    #[arg(long = "final", conflicts_with_all = ["bitcoin_script", "bitcoin_transaction"])]
    pub is_final: bool,
    #[command(flatten)]
    pub pin: PinArgs,
    /// Where the node has other headers than those kept here, sealed as well, take its headers, and tell what they replace
    #[arg(long, requires = "headers")]
    pub accept_reorganisation: bool,
    /// The Bitcoin network
    #[arg(long, value_enum, default_value_t = NetworkArg::Mainnet)]
    pub network: NetworkArg,
    /// Write the proof here
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Keep the headers here, so that only new ones are fetched the next time, and the chain stays the one trusted first
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
