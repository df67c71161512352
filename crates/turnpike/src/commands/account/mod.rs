//! `turnpike account`: the commands of the ledger, and lists.

mod lists;

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use client::{Client, Options, Receipt, Signer, fresh_transaction_id};
use serde::Serialize;
use wire::{AccountId, Command, Operation, Promise, TransactionId};

use crate::cli::{AccountCommand, HoldArgs, OperationArgs, SponsorArgs};
use crate::commands::key;
use crate::error::Error;
use crate::output::{Output, thousands};

/// Microseconds from the Unix epoch to 2020: no id that this program made is older.
const EARLIEST_ID: u64 = 1_577_836_800_000_000;

/// Maximum lead of the clock that an id was generated with.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// The result of an operation.
#[derive(Serialize)]
struct Report {
    command: &'static str,
    account: String,
    transaction: String,
    status: &'static str,
    balance: u64,
    /// The balance as a string: numbers of JavaScript are exact up to 2^53 only.
    balance_text: String,
    /// When the hold expires, in seconds since the Unix epoch, if ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    expiry: Option<u32>,
    promise: &'static str,
}

/// Runs `turnpike account`.
pub fn run(command: &AccountCommand, output: Output) -> Result<(), Error> {
    match command {
        AccountCommand::Create { account, asset, sponsor, operation } => {
            let mut session = Session::open(operation)?;
            let account = session.account_or_own(*account)?;
            let create = session.create(account, sponsor)?.in_asset(*asset);
            session.execute("create", create, output)
        }
        AccountCommand::Issue { account, amount, operation } => {
            let mut session = Session::open(operation)?;
            session.execute("issue", Operation::issue(session.transaction, *account, *amount), output)
        }
        AccountCommand::Transfer { source, destination, amount, operation } => {
            let mut session = Session::open(operation)?;
            let transfer = Operation::transfer(session.transaction, *source, *destination, *amount);
            session.execute("transfer", transfer, output)
        }
        AccountCommand::Hold { source, destination, amount, expires_in, expiry, operation } => {
            let mut session = Session::open(operation)?;
            let expiry = expiry.or(expires_in.map(after)).unwrap_or(0);
            let hold = Operation::hold(session.transaction, *source, *destination, *amount, expiry);
            session.execute("hold", hold, output)
        }
        AccountCommand::Capture { hold, amount, operation } => {
            let capture = Operation::capture(&hold.operation(), *amount);
            Session::open_for_hold(hold, operation)?.execute("capture", capture, output)
        }
        AccountCommand::Release { hold, operation } => {
            let release = Operation::release(&hold.operation());
            Session::open_for_hold(hold, operation)?.execute("release", release, output)
        }
        AccountCommand::Reclaim { hold, operation } => {
            let reclaim = Operation::reclaim(&hold.operation());
            Session::open_for_hold(hold, operation)?.execute("reclaim", reclaim, output)
        }
        AccountCommand::Freeze { account, operation } => {
            let mut session = Session::open(operation)?;
            session.execute("freeze", Operation::freeze(session.transaction, *account), output)
        }
        AccountCommand::Unfreeze { account, operation } => {
            let mut session = Session::open(operation)?;
            session.execute("unfreeze", Operation::unfreeze(session.transaction, *account), output)
        }
        AccountCommand::Close { account, operation } => {
            let mut session = Session::open(operation)?;
            let account = session.account_or_own(*account)?;
            session.execute("close", Operation::close(session.transaction, account), output)
        }
        AccountCommand::Refer { account, at_height, operation } => {
            let mut session = Session::open(operation)?;
            if let Some(height) = at_height {
                session.client.wait_for_height(*height).map_err(Error::other)?;
            }
            session.execute("refer", Operation::refer(session.transaction, *account), output)
        }
        AccountCommand::List { after, list } => lists::accounts(*after, list, output),
        AccountCommand::Assets { after, list } => lists::assets(*after, list, output),
        AccountCommand::History { kind, history } => lists::history(kind, history, output),
        AccountCommand::Holds { history } => lists::holds(history, output),
    }
}

/// The time after a number of seconds from now, in seconds since the Unix epoch.
fn after(seconds: u32) -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    u32::try_from(now + u64::from(seconds)).unwrap_or(u32::MAX)
}

impl HoldArgs {
    /// The HOLD, whose amount is not known.
    fn operation(&self) -> Operation {
        Operation::hold(self.hold, self.source, self.destination, 0, self.expiry)
    }
}

/// A signer with the key of a file, for the network of the node, which must be `network` if given.
fn signer(client: &mut Client, file: &Path, network: Option<[u8; 32]>) -> Result<Signer, Error> {
    let secret = key::read(file)?;
    Ok(Signer::new(secret, client.check_network(network).map_err(Error::other)?))
}

/// Whether an id is a UUIDv7 of recent years, as this program generates and prints them. An operation repeated with
/// such an id is flagged as timed, like its first attempt, so that the node never executes it twice, however late it
/// arrives. Another id may have the form of a UUIDv7 by chance, but hardly such a time.
fn is_from_clock(transaction: TransactionId) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let latest = (now + CLOCK_DIFFERENCE).as_micros() as u64;
    transaction.is_timed() && (EARLIEST_ID..=latest).contains(&transaction.time())
}

/// The error of an operation, with its id and what to do.
fn failed(operation: &Operation, error: client::Error) -> Error {
    if operation.command() == Ok(Command::Refer) {
        return Error::other(error);
    }
    let transaction = operation.transaction;
    let advice = match &error {
        // The node refused it, or did not do it.
        _ if error.status().is_some_and(|status| !status.is_transient()) => String::new(),
        _ if operation.ends_hold() => "; repeat the command".to_owned(),
        _ if operation.expiry().is_some() => format!(
            "; to repeat the command, add --transaction {transaction} --expiry {} in place of --expires-in",
            operation.contract.get()
        ),
        _ => format!("; to repeat the command, add --transaction {transaction}"),
    };
    Error::Operation { transaction, advice, source: error }
}

/// A client, and what one operation needs.
struct Session {
    client: Client,
    signer: Option<Signer>,
    transaction: TransactionId,
    /// The transaction id was made by this program, now or for an earlier try, and carries the time.
    is_timed: bool,
    promise: Promise,
    /// The network that the node must belong to.
    pin: Option<[u8; 32]>,
}

impl Session {
    fn open(args: &OperationArgs) -> Result<Self, Error> {
        let promise = args.promise.map_or(Promise::Default, Promise::from);
        let (node, options) = args.node.endpoint()?;
        let options = Options { promise, ..options };
        let mut client = Client::connect(node, &options).map_err(Error::other)?;
        let pin = args.network.network_id;
        let signer = match &args.key {
            Some(file) => Some(signer(&mut client, file, pin)?),
            None => {
                if pin.is_some() {
                    client.check_network(pin).map_err(Error::other)?;
                }
                None
            }
        };
        let (transaction, is_timed) = match args.transaction {
            Some(transaction) => (transaction, is_from_clock(transaction)),
            None => (fresh_transaction_id().map_err(Error::other)?, true),
        };
        Ok(Self { client, signer, transaction, is_timed, promise, pin })
    }

    /// A session to end a hold. The operation has the id of the hold, which may be old.
    fn open_for_hold(hold: &HoldArgs, args: &OperationArgs) -> Result<Self, Error> {
        if args.transaction.is_some() {
            return Err(Error::Input("the end of a hold has the hold's transaction id; omit --transaction".into()));
        }
        Ok(Self { transaction: hold.hold, is_timed: false, ..Self::open(args)? })
    }

    /// The account that is named, or else the one that the key binds.
    fn account_or_own(&self, account: Option<AccountId>) -> Result<AccountId, Error> {
        account
            .or(self.signer.as_ref().map(Signer::account))
            .ok_or_else(|| Error::Input("name the account, or its key with --key".into()))
    }

    /// The CREATE of an account, to be signed by its sponsor.
    fn create(&mut self, account: AccountId, sponsor: &SponsorArgs) -> Result<Operation, Error> {
        let SponsorArgs { issuer_key, payer_key, deposit } = sponsor;
        if let Some(file) = issuer_key.as_deref().or(payer_key.as_deref()) {
            self.signer = Some(signer(&mut self.client, file, self.pin)?);
        }
        Ok(match (&self.signer, deposit) {
            (Some(payer), Some(deposit)) => Operation::create_for(self.transaction, account, payer.account(), *deposit),
            _ => Operation::create(self.transaction, account),
        })
    }

    fn execute(&mut self, command: &'static str, operation: Operation, output: Output) -> Result<(), Error> {
        let operation = if self.is_timed { operation.timed() } else { operation };
        let receipt = match &mut self.signer {
            Some(signer) => {
                let signed = signer.sign(operation, self.promise).map_err(Error::other)?;
                self.client.execute_signed(&signed)
            }
            None => self.client.execute(&operation),
        };
        let receipt = receipt.and_then(Receipt::success).map_err(|error| failed(&operation, error))?;
        let report = Report {
            command,
            account: receipt.source.to_string(),
            transaction: receipt.transaction.to_string(),
            status: receipt.status.name(),
            balance: receipt.value,
            balance_text: receipt.value.to_string(),
            expiry: operation.expiry(),
            promise: receipt.promise.name(),
        };
        output.result(&report, |report| {
            format!(
                "{} {}\naccount      {}\nbalance      {}\ntransaction  {}{}",
                report.command,
                report.promise,
                report.account,
                thousands(report.balance),
                report.transaction,
                report.expiry.map_or(String::new(), |expiry| format!("\nexpiry       {expiry}"))
            )
        });
        Ok(())
    }
}
