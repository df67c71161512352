//! `turnpike account list` and `turnpike account history`: lists that a node serves over HTTP.

use std::time::Duration;

use node::listings::{self, Account, AccountList, History, Transaction};
use serde::de::DeserializeOwned;
use wire::AccountId;

use crate::cli::{HTTP_PORT, Host, ListArgs};
use crate::error::Error;
use crate::hex;
use crate::http;
use crate::operation_text::OperationText;
use crate::output::{Output, thousands};

/// Timeout of a part of a list: twice the time that the node keeps a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// Prints accounts in the order of the index.
pub fn accounts(after: Option<AccountId>, args: &ListArgs, output: Output) -> Result<(), Error> {
    let mut rows = Rows::new(args)?;
    let mut after = after.map(|account| account.to_string());
    loop {
        let start = after.iter().map(|account| format!("&after={account}"));
        let list: AccountList = rows.get("/accounts", start)?;
        rows.check_network(list.network.as_deref())?;
        if rows.is_first() {
            output.progress(format!("{:<32}  {:>20}  latest transaction", "account", "balance"));
        }
        for account in &list.accounts {
            output.result(account, describe_account);
        }
        after = list.accounts.last().map(|account| account.account.clone()).or(after);
        if rows.is_last(list.accounts.len(), list.more) {
            let more = after.filter(|_| list.more).map(|account| format!("--after {account}"));
            tell_end(list.height, more, output);
            return Ok(());
        }
    }
}

/// Prints an account's transactions, the latest first.
pub fn history(account: AccountId, before: Option<&str>, args: &ListArgs, output: Output) -> Result<(), Error> {
    let mut rows = Rows::new(args)?;
    let mut before = before.map(str::to_owned);
    loop {
        let start = before.iter().map(|place| format!("&before={place}"));
        let list: History = rows.get(&format!("/accounts/{account}/history"), start)?;
        rows.check_network(list.network.as_deref())?;
        for transaction in &list.transactions {
            output.result(transaction, describe_transaction);
        }
        before = list.transactions.last().map(|last| format!("{}:{}", last.height, last.position)).or(before);
        if rows.is_last(list.transactions.len(), list.more) {
            let more = before.filter(|_| list.more).map(|place| format!("--before {place}"));
            tell_end(list.height, more, output);
            return Ok(());
        }
    }
}

/// The rest of a list to fetch.
struct Rows {
    http: Host,
    /// The network of the node, if it was requested: the HTTP server must be of the same.
    network: Option<String>,
    agent: ureq::Agent,
    /// None if all are wanted.
    left: Option<u64>,
    parts: u32,
}

impl Rows {
    fn new(args: &ListArgs) -> Result<Self, Error> {
        let (http, network) = match args.http()? {
            Some(http) => (http.or_port(HTTP_PORT), None),
            None => {
                let info = args.node.connect()?.info().map_err(Error::other)?;
                (args.node.node.with_port(HTTP_PORT), Some(hex::encode(&info.network)))
            }
        };
        Ok(Self { http, network, agent: http::agent(PATIENCE), left: (!args.all).then_some(args.count), parts: 0 })
    }

    /// Refuses a list of another node that happens to have the HTTP port.
    fn check_network(&self, found: Option<&str>) -> Result<(), Error> {
        match (&self.network, found) {
            (Some(network), Some(found)) if network != found => Err(Error::Failed(format!(
                "http://{} is of network {found}, but the node is of network {network}; set --http to the address of \
                 the node's metrics, which `turnpike serve` prints",
                self.http
            ))),
            _ => Ok(()),
        }
    }

    /// The next part.
    fn get<T: DeserializeOwned>(&mut self, path: &str, start: impl Iterator<Item = String>) -> Result<T, Error> {
        self.parts += 1;
        let count = self.left.map_or(listings::MOST, |left| left.min(listings::MOST as u64) as usize);
        let url = format!("http://{}{path}?count={count}{}", self.http, start.collect::<String>());
        let failed = |error| {
            Error::Failed(format!(
                "cannot fetch the list from http://{}: {error}; set --http to the address of the node's metrics, which \
                 `turnpike serve` prints",
                self.http
            ))
        };
        let mut response = self.agent.get(url).call().map_err(failed)?;
        let body = response.body_mut().read_to_string().map_err(failed)?;
        if !response.status().is_success() {
            return Err(Error::Failed(body.trim().to_owned()));
        }
        let list = serde_json::from_str(&body);
        list.map_err(|error| Error::Failed(format!("{} returned an invalid list: {error}", self.http)))
    }

    fn is_first(&self) -> bool {
        self.parts == 1
    }

    /// Whether nothing remains to fetch after a part of `count` rows.
    fn is_last(&mut self, count: usize, more: bool) -> bool {
        self.left = self.left.map(|left| left.saturating_sub(count as u64));
        !more || self.left == Some(0)
    }
}

fn describe_account(account: &Account) -> String {
    format!(
        "{}  {:>20}  {}:{}",
        account.account,
        thousands(account.balance),
        account.latest_height,
        account.latest_position
    )
}

fn describe_transaction(transaction: &Transaction) -> String {
    let Transaction { height, position, command, transaction, source, destination, amount, .. } = transaction;
    let operation = OperationText { command, amount: *amount, source, destination, transaction };
    format!("{} at position {position} of block {height}{}", operation.title(), operation.lines("  "))
}

/// Prints the block of the list, and the option that continues it.
fn tell_end(height: u64, more: Option<String>, output: Output) {
    let more = more.map_or_else(|| "end of list".into(), |option| format!("there is more: {option}"));
    output.progress(format!("as of block {}; {more}", thousands(height)));
}
