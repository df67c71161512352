//! `turnpike account`: the four commands.

use client::{Client, Options, Receipt, Signer, fresh_transaction_id};
use serde::Serialize;
use wire::{AccountId, Operation, Promise, TransactionId};

use crate::cli::{AccountCommand, OperationArgs};
use crate::commands::key;
use crate::error::Error;
use crate::output::{Output, thousands};

/// What an operation prints.
#[derive(Serialize)]
struct Report {
    command: &'static str,
    account: String,
    transaction: String,
    status: &'static str,
    balance: u64,
    promise: &'static str,
}

/// Runs `turnpike account`.
pub fn run(command: &AccountCommand, output: Output) -> Result<(), Error> {
    match command {
        AccountCommand::Create { account, operation } => {
            let mut session = Session::open(operation)?;
            let account = session.account_to_create(*account)?;
            session.execute("create", Operation::create(session.transaction, account), output)
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
        AccountCommand::Refer { account, operation } => {
            let mut session = Session::open(operation)?;
            session.execute("refer", Operation::refer(session.transaction, *account), output)
        }
    }
}

/// A client, and what one operation needs.
struct Session {
    client: Client,
    signer: Option<Signer>,
    transaction: TransactionId,
    /// The transaction id was made here, and carries the time.
    is_timed: bool,
    promise: Promise,
}

impl Session {
    fn open(args: &OperationArgs) -> Result<Self, Error> {
        let promise = args.promise.map_or(Promise::Default, Promise::from);
        let options = Options { promise, ..args.node.options() };
        let mut client = Client::connect(args.node.node, &options).map_err(Error::other)?;
        let secret = args.key.as_deref().map(key::read).transpose()?;
        let mut network = args.network.network_id;
        if network.is_some() || secret.is_some() {
            network = Some(client.check_network(network).map_err(Error::other)?);
        }
        let signer = secret.zip(network).map(|(secret, network)| Signer::new(secret, network));
        let (transaction, is_timed) = match args.transaction {
            Some(transaction) => (transaction, false),
            None => (fresh_transaction_id().map_err(Error::other)?, true),
        };
        Ok(Self { client, signer, transaction, is_timed, promise })
    }

    /// The account that is named, or else the one that the key binds.
    fn account_to_create(&self, account: Option<AccountId>) -> Result<AccountId, Error> {
        account
            .or(self.signer.as_ref().map(Signer::account))
            .ok_or_else(|| Error::Input("name the account to create, or a key with --key".into()))
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
        let receipt = receipt.and_then(Receipt::success).map_err(Error::other)?;
        let report = Report {
            command,
            account: receipt.source.to_string(),
            transaction: receipt.transaction.to_string(),
            status: receipt.status.name(),
            balance: receipt.value,
            promise: receipt.promise.name(),
        };
        output.result(&report, |report| {
            format!(
                "{} {}\naccount      {}\nbalance      {}\ntransaction  {}",
                report.command,
                report.promise,
                report.account,
                thousands(report.balance),
                report.transaction
            )
        });
        Ok(())
    }
}
