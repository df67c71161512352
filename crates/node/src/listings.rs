//! Lists for people, over HTTP as JSON: the accounts, and the transactions of one. They are not proved; the protocol
//! returns a proof of each transaction and each balance.

use chain::own::OwnReader;
use serde::{Deserialize, Serialize};
use spv::{IndexEntry, Locator};
use wire::{AccountId, Operation};

/// Default number of rows of a list.
const COUNT: usize = 100;
/// Maximum number of rows of a list: each transaction of a history takes three reads, and its thread answers nothing
/// else meanwhile.
pub const MOST: usize = 1000;

/// A part of the list of all accounts.
#[derive(Debug, Serialize, Deserialize)]
pub struct AccountList {
    /// Height of the block that it is as of.
    pub height: u64,
    /// The id of the network, in hexadecimal; nodes before 0.2 leave it out.
    #[serde(default)]
    pub network: Option<String>,
    /// The accounts, in the order of the index.
    pub accounts: Vec<Account>,
    /// Whether there are more after the last one.
    pub more: bool,
}

/// An account.
#[derive(Debug, Serialize, Deserialize)]
pub struct Account {
    /// Its id, 32 hexadecimal digits.
    pub account: String,
    /// Its balance.
    pub balance: u64,
    /// The same as a string: numbers of JavaScript are exact up to 2^53 only.
    #[serde(default)]
    pub balance_text: String,
    /// Height of the block with its latest transaction.
    pub latest_height: u32,
    /// Position of that in the block.
    pub latest_position: u32,
}

/// A part of an account's history.
#[derive(Debug, Serialize, Deserialize)]
pub struct History {
    /// Height of the last block.
    pub height: u64,
    /// The id of the network, in hexadecimal; nodes before 0.2 leave it out.
    #[serde(default)]
    pub network: Option<String>,
    /// The transactions, the latest first.
    pub transactions: Vec<Transaction>,
    /// Whether there are more before the last one.
    pub more: bool,
}

/// A transaction of a history.
#[derive(Debug, Serialize, Deserialize)]
pub struct Transaction {
    /// Height of its block.
    pub height: u32,
    /// Its position there.
    pub position: u32,
    /// The command.
    pub command: String,
    /// Its id.
    pub transaction: String,
    /// The source.
    pub source: String,
    /// The destination, or the payer of a deposit; zeros if none.
    pub destination: String,
    /// The amount.
    pub amount: u64,
    /// The same as a string: numbers of JavaScript are exact up to 2^53 only.
    #[serde(default)]
    pub amount_text: String,
}

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The path names no list.
    #[error("there is nothing at this path; / tells what there is")]
    NoSuchList,
    /// The request is not valid; the text has the reason.
    #[error("{0}")]
    BadRequest(String),
    /// The account has no transaction in a block.
    #[error("no transaction of account {0} is in a block")]
    NoSuchAccount(AccountId),
    /// The store cannot be read.
    #[error("the chain cannot be read: {0}")]
    Failed(#[from] chain::own::Error),
}

/// Answers out of the own chain.
#[derive(Debug)]
pub struct Listings(OwnReader);

/// The start and length of a list.
#[derive(Default)]
struct Range<'a> {
    after: Option<&'a str>,
    before: Option<&'a str>,
    count: Option<&'a str>,
}

impl Listings {
    /// Lists what `reader` reads.
    pub fn new(reader: OwnReader) -> Self {
        Self(reader)
    }

    /// The list that a path with its query names, as JSON.
    pub fn answer(&self, path: &str, query: &str) -> Result<String, Refusal> {
        let range = Range::parse(query)?;
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match parts[..] {
            ["accounts"] => {
                range.refuse(range.before, "before", "/accounts")?;
                Ok(json(&self.accounts(range.after, range.count()?)?))
            }
            ["accounts", account, "history"] => {
                range.refuse(range.after, "after", "a history")?;
                Ok(json(&self.history(parse_account(account)?, range.before, range.count()?)?))
            }
            _ => Err(Refusal::NoSuchList),
        }
    }

    fn accounts(&self, after: Option<&str>, count: usize) -> Result<AccountList, Refusal> {
        let after = after.map(parse_account).transpose()?;
        let (height, entries) = self.0.accounts(after.as_ref(), count + 1);
        let accounts = entries.iter().take(count).map(Account::from).collect();
        Ok(AccountList { height, network: self.network(), accounts, more: entries.len() > count })
    }

    fn history(&self, account: AccountId, before: Option<&str>, count: usize) -> Result<History, Refusal> {
        let height = self.0.tip().height();
        let mut walk = match before.map(parse_locator).transpose()? {
            Some(at) => self.0.history_before(&account, at)?.ok_or_else(|| {
                Refusal::BadRequest(format!("{}:{} is no transaction of account {account}", at.height, at.position))
            })?,
            None => self.0.history(&account)?,
        };
        let step = |(at, operation): (Locator, Operation)| Transaction::new(at, &operation);
        let transactions: Vec<_> = walk.by_ref().take(count).map(|found| found.map(step)).collect::<Result<_, _>>()?;
        if transactions.is_empty() && before.is_none() {
            return Err(Refusal::NoSuchAccount(account));
        }
        Ok(History { height, network: self.network(), transactions, more: walk.is_unfinished() })
    }

    fn network(&self) -> Option<String> {
        Some(self.0.network_id().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl<'a> Range<'a> {
    fn parse(query: &'a str) -> Result<Self, Refusal> {
        let mut range = Self::default();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let field = match name {
                "after" => &mut range.after,
                "before" => &mut range.before,
                "count" => &mut range.count,
                _ => return Err(Refusal::BadRequest(format!("there is no parameter {name}: after, before or count"))),
            };
            *field = Some(value);
        }
        Ok(range)
    }

    fn refuse(&self, value: Option<&str>, name: &str, list: &str) -> Result<(), Refusal> {
        let refusal = || Refusal::BadRequest(format!("{list} takes no `{name}`"));
        if value.is_none() { Ok(()) } else { Err(refusal()) }
    }

    fn count(&self) -> Result<usize, Refusal> {
        let Some(text) = self.count else { return Ok(COUNT) };
        let count = text.parse().ok().filter(|count| (1..=MOST).contains(count));
        count.ok_or_else(|| Refusal::BadRequest(format!("count is {text}, but must be from 1 to {MOST}")))
    }
}

impl From<&IndexEntry> for Account {
    fn from(entry: &IndexEntry) -> Self {
        let latest = entry.latest();
        Self {
            account: AccountId(entry.account).to_string(),
            balance: entry.balance.get(),
            balance_text: entry.balance.get().to_string(),
            latest_height: latest.height,
            latest_position: latest.position,
        }
    }
}

impl Transaction {
    fn new(at: Locator, operation: &Operation) -> Self {
        Self {
            height: at.height,
            position: at.position,
            command: operation.command().map_or("unknown", wire::Command::name).into(),
            transaction: operation.transaction.to_string(),
            source: operation.source.to_string(),
            destination: operation.destination.to_string(),
            amount: operation.amount(),
            amount_text: operation.amount().to_string(),
        }
    }
}

fn parse_account(text: &str) -> Result<AccountId, Refusal> {
    text.parse().map_err(|_| Refusal::BadRequest(format!("{text} is no account: a number, or 32 hexadecimal digits")))
}

fn parse_locator(text: &str) -> Result<Locator, Refusal> {
    let parts = text.split_once(':');
    let parsed =
        parts.and_then(|(height, at)| Some(Locator { height: height.parse().ok()?, position: at.parse().ok()? }));
    parsed.ok_or_else(|| Refusal::BadRequest(format!("{text} is no place of a transaction: HEIGHT:POSITION")))
}

fn json(list: &impl Serialize) -> String {
    // These have no maps, and so no keys that could not be written.
    serde_json::to_string(list).unwrap_or_default() + "\n"
}
