//! `turnpike account`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint, value_parser};
use wire::{AccountId, TransactionId};

use super::common::{DEFAULT_HTTP, NodeArgs, PinArgs, PromiseArg};

/// Options of every operation.
#[derive(Args)]
pub struct OperationArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    /// Sign with this key; without it the operation is unsigned, and the node must trust this address
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,
    #[command(flatten)]
    pub network: PinArgs,
    /// Transaction id; random if not given. Repeat an operation with its id and nothing is done twice
    #[arg(long, value_name = "ID")]
    pub transaction: Option<TransactionId>,
    /// Promise to ask for
    #[arg(long, value_enum)]
    pub promise: Option<PromiseArg>,
}

/// Who answers for a new account, if it is not its own key from a trusted address.
#[derive(Args)]
pub struct SponsorArgs {
    /// Sign with this key, an issuer's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "payer_key")]
    pub issuer_key: Option<PathBuf>,
    /// Sign with this key, whose account pays the deposit
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "deposit")]
    pub payer_key: Option<PathBuf>,
    /// How much it pays; it leaves circulation for good. Nodes take no less than their `ledger.deposit`
    #[arg(long, value_name = "AMOUNT", requires = "payer_key")]
    pub deposit: Option<u64>,
}

/// Operations on accounts. An account is a number, or 32 hexadecimal digits.
#[derive(Subcommand)]
pub enum AccountCommand {
    /// Create an account. For a keyed one somebody has to answer: an issuer, who pays a deposit, or the operator, who trusts this
    /// address
    Create {
        /// The account; with --key it may be left out: it is the key's
        account: Option<AccountId>,
        #[command(flatten)]
        sponsor: SponsorArgs,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Issue an amount to an account
    Issue {
        /// The account that receives
        account: AccountId,
        /// How much
        amount: u64,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Transfer an amount from one account to another
    Transfer {
        /// The sender
        source: AccountId,
        /// The receiver
        destination: AccountId,
        /// How much
        amount: u64,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Look up a balance
    Refer {
        /// The account
        account: AccountId,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// List the accounts that are in a block, with their balances. They have the order of the index, which is that of their hashes
    List {
        /// Go on after this account, the last of another list
        #[arg(long, value_name = "ACCOUNT")]
        after: Option<AccountId>,
        #[command(flatten)]
        list: ListArgs,
    },
    /// List the transactions of an account that are in a block, the latest first
    History {
        /// The account
        account: AccountId,
        /// Go on before this transaction, the last of another list
        #[arg(long, value_name = "HEIGHT:POSITION")]
        before: Option<String>,
        #[command(flatten)]
        list: ListArgs,
    },
}

/// Options of lists. What a list tells is the node's word; `turnpike proof get` proves each transaction and balance.
#[derive(Args)]
pub struct ListArgs {
    /// The node's HTTP address, where it serves metrics
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_HTTP)]
    pub http: SocketAddr,
    /// How many to list
    #[arg(long, default_value_t = 100, value_parser = value_parser!(u64).range(1..))]
    pub count: u64,
    /// List all
    #[arg(long, conflicts_with = "count")]
    pub all: bool,
}
