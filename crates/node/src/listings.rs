//! Lists for people, over HTTP as JSON: accounts, blocks, and the transactions of one. They are not proved: the
//! protocol has a proof of each transaction and each balance.

use chain::own::OwnReader;
use serde::{Deserialize, Serialize};
use spv::{IndexEntry, Locator, Seal, SealedHeader};
use wire::{AccountId, Operation, TransactionId};

use crate::text::hex;

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
    /// Whether it is not an account but an open hold: then the balance is the held amount, and the latest transaction
    /// its HOLD.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_hold: bool,
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

/// A transaction that its account named.
#[derive(Debug, Serialize, Deserialize)]
pub struct OneTransaction {
    /// Height of the last block.
    pub height: u64,
    /// The id of the network, in hexadecimal.
    pub network: Option<String>,
    /// The transaction.
    pub transaction: Transaction,
}

/// A part of the list of all blocks.
#[derive(Debug, Serialize, Deserialize)]
pub struct BlockList {
    /// Height of the last block.
    pub height: u64,
    /// The id of the network, in hexadecimal.
    pub network: Option<String>,
    /// The blocks, the latest first.
    pub blocks: Vec<Block>,
    /// Whether there are more before the last one.
    pub more: bool,
}

/// A block without its transactions.
#[derive(Debug, Serialize, Deserialize)]
pub struct Block {
    /// Its height.
    pub height: u64,
    /// Its hash.
    pub hash: String,
    /// The hash of the block before.
    pub parent: String,
    /// When it was made, in seconds since the Unix epoch.
    pub time: f64,
    /// Number of its transactions.
    pub transactions: u32,
    /// Whether the chain's key has sealed it; replicas certify blocks instead.
    pub sealed: bool,
}

/// A part of the transactions of a block.
#[derive(Debug, Serialize, Deserialize)]
pub struct BlockTransactions {
    /// Height of the last block.
    pub height: u64,
    /// The id of the network, in hexadecimal.
    pub network: Option<String>,
    /// The block.
    pub block: Block,
    /// Its transactions, in order.
    pub transactions: Vec<Transaction>,
    /// Whether there are more after the last one.
    pub more: bool,
}

/// A transaction of a history or a block.
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
    /// When the hold that it makes or ends expires, in seconds since the Unix epoch, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<u32>,
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
    /// The account has named no such transaction.
    #[error("no block has a transaction {0} of account {1}")]
    NoSuchTransaction(TransactionId, AccountId),
    /// The chain is shorter.
    #[error("there is no block {height}: the last one is {tip}")]
    NoSuchBlock {
        /// The height that was asked for.
        height: u64,
        /// Height of the last block.
        tip: u64,
    },
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
            ["accounts", account, "transactions", transaction] => {
                let transaction = transaction.parse().map_err(|_| {
                    Refusal::BadRequest(format!("{transaction} is no transaction's id: 32 hexadecimal digits"))
                })?;
                Ok(json(&self.transaction(parse_account(account)?, transaction)?))
            }
            ["blocks"] => {
                range.refuse(range.after, "after", "/blocks")?;
                Ok(json(&self.blocks(parse_number(range.before, "before")?, range.count()?)?))
            }
            ["blocks", height] => {
                range.refuse(range.before, "before", "a block")?;
                let height =
                    height.parse().map_err(|_| Refusal::BadRequest(format!("{height} is no block's height")))?;
                Ok(json(&self.block(height, parse_number(range.after, "after")?, range.count()?)?))
            }
            _ => Err(Refusal::NoSuchList),
        }
    }

    fn accounts(&self, after: Option<&str>, count: usize) -> Result<AccountList, Refusal> {
        let after = after.map(parse_account).transpose()?;
        let (height, entries) = self.0.accounts(after.as_ref(), count + 1);
        let accounts = entries.iter().take(count).map(Account::from).collect();
        Ok(AccountList { height, network: Some(self.network()), accounts, more: entries.len() > count })
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
        Ok(History { height, network: Some(self.network()), transactions, more: walk.next_place().is_some() })
    }

    fn transaction(&self, account: AccountId, transaction: TransactionId) -> Result<OneTransaction, Refusal> {
        let found = self.0.by_id(&transaction, &account)?.ok_or(Refusal::NoSuchTransaction(transaction, account))?;
        let at = Locator { height: found.height as u32, position: found.position };
        let transaction = Transaction::new(at, &found.operation);
        Ok(OneTransaction { height: found.tip_height, network: Some(self.network()), transaction })
    }

    fn blocks(&self, before: Option<u64>, count: usize) -> Result<BlockList, Refusal> {
        let height = self.0.tip().height();
        let end = before.unwrap_or(u64::MAX).min(height + 1);
        let first = end.saturating_sub(count as u64);
        let headers = self.0.headers(first, (end - first) as usize)?;
        let blocks = headers.iter().rev().map(Block::from).collect();
        Ok(BlockList { height, network: Some(self.network()), blocks, more: first > 0 })
    }

    fn block(&self, height: u64, after: Option<u64>, count: usize) -> Result<BlockTransactions, Refusal> {
        let tip = self.0.tip().height();
        let header = self.0.headers(height, 1)?.into_iter().next().ok_or(Refusal::NoSuchBlock { height, tip })?;
        let total = header.header.transactions.get();
        let first = after.map_or(0, |after| after.saturating_add(1)).min(total.into()) as u32;
        let end = first.saturating_add(count as u32).min(total);
        // A chain has fewer blocks than there are numbers of 32 bits.
        let row = |(position, operation): (u32, Operation)| {
            Transaction::new(Locator { height: height as u32, position }, &operation)
        };
        let transactions = (first..end).zip(self.0.operations(height, first..end)?).map(row).collect();
        Ok(BlockTransactions {
            height: tip,
            network: Some(self.network()),
            block: Block::from(&header),
            transactions,
            more: end < total,
        })
    }

    /// The network's id, in hexadecimal.
    pub fn network(&self) -> String {
        hex(&self.0.network_id())
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
            is_hold: entry.is_hold(),
        }
    }
}

impl From<&SealedHeader> for Block {
    fn from(sealed: &SealedHeader) -> Self {
        let header = &sealed.header;
        Self {
            height: header.height.get(),
            hash: hex(&header.hash()),
            parent: hex(&header.previous),
            time: header.timestamp.get() as f64 / 1e6,
            transactions: header.transactions.get(),
            sealed: sealed.seal != Seal::NONE,
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
            expiry: operation.expiry(),
        }
    }
}

fn parse_account(text: &str) -> Result<AccountId, Refusal> {
    text.parse().map_err(|_| Refusal::BadRequest(format!("{text} is no account: a number, or 32 hexadecimal digits")))
}

fn parse_number(text: Option<&str>, name: &str) -> Result<Option<u64>, Refusal> {
    let parse =
        |text: &str| text.parse().map_err(|_| Refusal::BadRequest(format!("{name} is {text}, but must be a number")));
    text.map(parse).transpose()
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
