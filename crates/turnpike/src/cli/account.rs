//! `turnpike account`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum, ValueHint, value_parser};
use wire::{AccountId, Command, TransactionId};

use super::common::{NodeArgs, PinArgs, PromiseArg, http_address};
use super::host::Host;
use crate::error::Error;

/// Options common to all operations.
#[derive(Args)]
pub struct OperationArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    /// Sign with this key; the node accepts unsigned operations from trusted addresses only
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,
    #[command(flatten)]
    pub network: PinArgs,
    /// Use this transaction id [default: a new one]; the node executes each id only once
    #[arg(long, value_name = "ID")]
    pub transaction: Option<TransactionId>,
    /// Ask for this promise [default: the node's own]
    #[arg(long, value_enum)]
    pub promise: Option<PromiseArg>,
}

/// Sponsor of a new account. Not needed if the account's own key signs from a trusted address.
#[derive(Args)]
pub struct SponsorArgs {
    /// Sign with this issuer's key
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "payer_key")]
    pub issuer_key: Option<PathBuf>,
    /// Sign with the key of the account that pays --deposit
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "deposit")]
    pub payer_key: Option<PathBuf>,
    /// Pay this deposit, at least the node's `ledger.deposit`; it is not refunded
    #[arg(long, value_name = "AMOUNT", requires = "payer_key")]
    pub deposit: Option<u64>,
}

/// Operations on accounts. An account is a number, or 32 hexadecimal digits.
#[derive(Subcommand)]
pub enum AccountCommand {
    /// Create an account
    ///
    /// An issuer, an account that pays a deposit, or a trusted address must vouch for an account with a key.
    Create {
        /// The account [default: the account of --key]
        account: Option<AccountId>,
        /// Create it in this asset, from and to which nothing else can be paid
        #[arg(long, value_name = "CODE", default_value_t = 0, hide_default_value = true)]
        asset: u32,
        #[command(flatten)]
        sponsor: SponsorArgs,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Issue an amount to an account
    Issue {
        /// The account that receives the amount
        account: AccountId,
        /// The amount
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
        /// The amount
        amount: u64,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Hold an amount of one account for another
    ///
    /// The receiver captures it, or releases it. After its expiry, only the payer can end the hold.
    Hold {
        /// The payer
        source: AccountId,
        /// The receiver
        destination: AccountId,
        /// The amount
        amount: u64,
        /// Let the hold expire after this number of seconds [default: never]
        #[arg(long, value_name = "SECONDS", conflicts_with = "expiry")]
        expires_in: Option<u32>,
        /// Let it expire at this time, in seconds since the Unix epoch: to repeat a command
        #[arg(long, value_name = "TIME")]
        expiry: Option<u32>,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// End a hold: pay an amount of it to the receiver, and return the rest
    Capture {
        #[command(flatten)]
        hold: HoldArgs,
        /// The amount
        amount: u64,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// End a hold for its receiver, and return the amount to the payer
    Release {
        #[command(flatten)]
        hold: HoldArgs,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// End an expired hold for its payer, who gets the amount back
    Reclaim {
        #[command(flatten)]
        hold: HoldArgs,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Freeze an account: it receives, but cannot pay
    ///
    /// An issuer signs for an account with a key. The node must allow it (`ledger.freezing`).
    Freeze {
        /// The account
        account: AccountId,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Let a frozen account pay again
    Unfreeze {
        /// The account
        account: AccountId,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Close an account that has no balance
    Close {
        /// The account [default: the account of --key]
        account: Option<AccountId>,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Read the balance of an account
    Refer {
        /// The account
        account: AccountId,
        /// Wait until the node has this block, so that the balance is at least as new
        #[arg(long, value_name = "HEIGHT")]
        at_height: Option<u64>,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// List accounts in blocks with their balances, in index order
    List {
        /// Start after this account, the last one of the previous list
        #[arg(long, value_name = "ACCOUNT")]
        after: Option<AccountId>,
        #[command(flatten)]
        list: ListArgs,
    },
    /// List the assets with the issued amounts, by code
    Assets {
        /// Start after this asset, the last one of the previous list
        #[arg(long, value_name = "CODE")]
        after: Option<u32>,
        #[command(flatten)]
        list: ListArgs,
    },
    /// List the transactions of an account in blocks, latest first
    History {
        /// List only transactions with these commands
        #[arg(long, value_name = "COMMAND", value_delimiter = ',', value_parser = kinds(), ignore_case = true)]
        kind: Vec<String>,
        #[command(flatten)]
        history: HistoryArgs,
    },
    /// List the open holds of an account in blocks, latest first
    Holds {
        #[command(flatten)]
        history: HistoryArgs,
    },
}

/// Options of lists out of an account's history.
#[derive(Args)]
pub struct HistoryArgs {
    /// The account
    pub account: AccountId,
    /// List only transactions with this other account
    #[arg(long, value_name = "ACCOUNT")]
    pub counterpart: Option<AccountId>,
    /// List only transactions in which the account has this role
    #[arg(long, value_enum)]
    pub role: Option<RoleArg>,
    /// List only transactions after this block or transaction, or since this Unix time
    #[arg(long, value_name = "HEIGHT[:POSITION]|@SECONDS")]
    pub after: Option<String>,
    /// List only transactions before this block, transaction or Unix time; to continue a list, its last line has it
    #[arg(long, value_name = "HEIGHT[:POSITION]|@SECONDS")]
    pub before: Option<String>,
    #[command(flatten)]
    pub list: ListArgs,
}

/// The names of the commands of transactions.
fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(Command::ALL.iter().filter(|command| command.is_executed()).map(|command| command.name()))
}

/// The role of an account in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// The account pays, or the transaction is about it alone
    Source,
    /// The account receives, or pays a deposit
    Destination,
}

impl RoleArg {
    /// The value of the parameter `role`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Destination => "destination",
        }
    }
}

/// A hold, as `turnpike account hold` prints it.
#[derive(Args)]
pub struct HoldArgs {
    /// The transaction id of the hold
    pub hold: TransactionId,
    /// The payer
    pub source: AccountId,
    /// The receiver
    pub destination: AccountId,
    /// The expiry of the hold, in seconds since the Unix epoch [default: never]
    #[arg(long, value_name = "TIME", default_value_t = 0, hide_default_value = true)]
    pub expiry: u32,
}

/// Options of lists. A list is not proved; `turnpike proof get` proves each transaction and balance.
#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    /// Fetch the list from this HTTP address of the node [default: the host of --node, port 7480] [env: TURNPIKE_HTTP]
    #[arg(long, value_name = "HOST[:PORT]")]
    pub http: Option<Host>,
    /// List at most this number of entries
    #[arg(long, default_value_t = 100, value_parser = value_parser!(u64).range(1..))]
    pub count: u64,
    /// List all entries
    #[arg(long, conflicts_with = "count")]
    pub all: bool,
}

impl ListArgs {
    /// The HTTP address given by the option or else by the environment; `None` if neither sets it.
    pub fn http(&self) -> Result<Option<Host>, Error> {
        http_address(self.http.as_ref())
    }
}
