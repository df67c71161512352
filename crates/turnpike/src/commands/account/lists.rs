//! `turnpike account list`, `assets`, `history` and `holds`: lists that a node serves over HTTP.

use std::time::Duration;

use node::listings::{self, Account, AccountList, Asset, AssetList, History, Hold, HoldList, Transaction};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wire::AccountId;

use crate::cli::{HTTP_PORT, HistoryArgs, Host, ListArgs};
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
        let start: Vec<_> = after.iter().map(|account| ("after", account.clone())).collect();
        let list: AccountList = rows.get("/accounts", &start)?;
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
            tell_end(list.height, more, None, output);
            return Ok(());
        }
    }
}

/// Prints assets by their codes.
pub fn assets(after: Option<u32>, args: &ListArgs, output: Output) -> Result<(), Error> {
    let mut rows = Rows::new(args)?;
    let mut after = after;
    loop {
        let start: Vec<_> = after.iter().map(|asset| ("after", asset.to_string())).collect();
        let list: AssetList = rows.get("/assets", &start)?;
        rows.check_network(list.network.as_deref())?;
        if rows.is_first() {
            output.progress(format!("{:>10}  {:>39}", "asset", "issued"));
        }
        for asset in &list.assets {
            output.result(asset, |Asset { asset, issued }| format!("{asset:>10}  {issued:>39}"));
        }
        after = list.assets.last().map(|asset| asset.asset).or(after);
        if rows.is_last(list.assets.len(), list.more) {
            let more = after.filter(|_| list.more).map(|asset| format!("--after {asset}"));
            tell_end(list.height, more, None, output);
            return Ok(());
        }
    }
}

/// Prints an account's transactions, the latest first.
pub fn history(kinds: &[String], args: &HistoryArgs, output: Output) -> Result<(), Error> {
    let kind = (!kinds.is_empty()).then(|| ("kind", kinds.join(",")));
    list_history::<History, _>("history", kind, args, output, describe_transaction)
}

/// Prints an account's open holds, the latest first.
pub fn holds(args: &HistoryArgs, output: Output) -> Result<(), Error> {
    list_history::<HoldList, _>("holds", None, args, output, describe_hold)
}

/// A page of a list out of an account's history.
struct Page<R> {
    network: Option<String>,
    height: u64,
    rows: Vec<R>,
    /// If the history continues in pruned blocks: height of the first retained one.
    first_retained: Option<u64>,
    /// The cursor of the next page, if there may be one.
    next: Option<String>,
}

impl From<History> for Page<Transaction> {
    fn from(list: History) -> Self {
        let History { network, height, transactions, more, first_retained, next } = list;
        // Nodes before 0.2 have no cursor. Its place lets them refuse the next page; without it the list would seem to
        // end here.
        let last = || transactions.last().map(|last| format!("{}:{}", last.height, last.position));
        let next = next.or_else(last).filter(|_| more);
        Self { network, height, rows: transactions, first_retained, next }
    }
}

impl From<HoldList> for Page<Hold> {
    fn from(list: HoldList) -> Self {
        let HoldList { network, height, holds, first_retained, next, .. } = list;
        Self { network, height, rows: holds, first_retained, next }
    }
}

/// Prints a list out of an account's history. A page can be empty and still have more after it.
fn list_history<L: DeserializeOwned + Into<Page<R>>, R: Serialize>(
    name: &str,
    kind: Option<(&'static str, String)>,
    args: &HistoryArgs,
    output: Output,
    describe: fn(&R) -> String,
) -> Result<(), Error> {
    let mut rows = Rows::new(&args.list)?;
    let path = format!("/accounts/{}/{name}", args.account);
    let counterpart = args.counterpart.map(|account| ("counterpart", account.to_string()));
    let role = args.role.map(|role| ("role", role.name().to_owned()));
    let after = args.after.clone().map(|after| ("after", after));
    let before = args.before.clone().map(|before| ("before", before));
    let filters: Vec<_> = [kind, counterpart, role, after, before].into_iter().flatten().collect();
    let mut cursor = None;
    loop {
        let start = cursor.map(|cursor| ("cursor", cursor));
        let parameters: Vec<_> = filters.iter().cloned().chain(start).collect();
        let page = rows.get::<L>(&path, &parameters)?.into();
        rows.check_network(page.network.as_deref())?;
        for row in &page.rows {
            output.result(row, describe);
        }
        cursor = page.next;
        if rows.is_last(page.rows.len(), cursor.is_some()) {
            // It is the place of the last line, which is older than any --before.
            let more = cursor.map(|place| format!("--before {place}"));
            tell_end(page.height, more, page.first_retained, output);
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
    fn get<T: DeserializeOwned>(&mut self, path: &str, parameters: &[(&str, String)]) -> Result<T, Error> {
        self.parts += 1;
        let count = self.left.map_or(listings::MOST, |left| left.min(listings::MOST as u64) as usize);
        let url = format!("http://{}{path}", self.http);
        let failed = |error| {
            Error::Failed(format!(
                "cannot fetch the list from http://{}: {error}; set --http to the address of the node's metrics, which \
                 `turnpike serve` prints",
                self.http
            ))
        };
        let mut response = self
            .agent
            .get(url)
            .query("count", count.to_string())
            .query_pairs(parameters.iter().cloned())
            .call()
            .map_err(failed)?;
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
        "{}  {:>20}  {}:{}{}",
        account.account,
        thousands(account.balance),
        account.latest_height,
        account.latest_position,
        if account.asset == 0 { String::new() } else { format!("  asset {}", account.asset) }
    )
}

fn describe_transaction(transaction: &Transaction) -> String {
    let Transaction { height, position, command, transaction, source, destination, amount, .. } = transaction;
    let operation = OperationText { command, amount: *amount, source, destination, transaction };
    format!("{} at position {position} of block {height}{}", operation.title(), operation.lines("  "))
}

fn describe_hold(hold: &Hold) -> String {
    let Hold { hold: id, transaction, height, position, source, destination, amount, .. } = hold;
    let operation = OperationText { command: "HOLD", amount: *amount, source, destination, transaction };
    let expiry = match hold.expiry {
        Some(expiry) if hold.expired => format!("\n  {:<13}{expiry}, expired", "expiry"),
        Some(expiry) => format!("\n  {:<13}{expiry}", "expiry"),
        None => String::new(),
    };
    let place = format!("at position {position} of block {height}");
    format!("{} {place}{}{expiry}\n  {:<13}{id}", operation.title(), operation.lines("  "), "hold")
}

/// Prints the block of the list, and the option that continues it, or that older blocks are pruned.
fn tell_end(height: u64, more: Option<String>, first_retained: Option<u64>, output: Output) {
    let more = match (more, first_retained) {
        (Some(option), _) => format!("there is more: {option}"),
        (None, Some(first)) => format!("blocks before {} are pruned", thousands(first)),
        (None, None) => "end of list".into(),
    };
    output.progress(format!("as of block {}; {more}", thousands(height)));
}
