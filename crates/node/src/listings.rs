//! Lists for people, over HTTP as JSON: accounts, assets, blocks, and the transactions of one. They are not proved: the
//! protocol has a proof of each transaction and each balance.

mod parameters;

use chain::{
    index::{asset_id, hold_id},
    own::{Filter, OwnReader, Page, PageLimits, Role},
};
use serde::{Deserialize, Serialize};
use spv::{IndexEntry, Locator, Seal, SealedHeader};
use wire::{AccountId, Command, Operation, Status, TransactionId, holds::is_expired};

use crate::{admission::now, text::hex};
use parameters::Parameters;

/// Default number of rows of a list.
const COUNT: usize = 100;
/// Maximum number of rows of a list: each transaction of a history takes three reads, and its thread answers nothing
/// else meanwhile.
pub const MOST: usize = 1000;
/// Microseconds of a second.
const SECOND: u64 = 1_000_000;

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
    /// Whether the account is frozen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_frozen: bool,
    /// The code of its asset, unless that is 0.
    #[serde(default, skip_serializing_if = "is_asset_0")]
    pub asset: u32,
}

/// A part of the issued amounts by asset.
#[derive(Debug, Serialize, Deserialize)]
pub struct AssetList {
    /// Height of the block that they are as of.
    pub height: u64,
    /// The id of the network, in hexadecimal.
    pub network: Option<String>,
    /// The assets, by ascending code.
    pub assets: Vec<Asset>,
    /// Whether there are more after the last one.
    pub more: bool,
}

/// An asset.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asset {
    /// Its code.
    pub asset: u32,
    /// The issued amount, of asset 0 less the deposits that were paid: a string, since it may take 128 bits.
    pub issued: String,
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
    /// Whether there may be more. A page with a filter can be short, or empty, and still have more after it.
    pub more: bool,
    /// If the history continues in pruned blocks: height of the first retained one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_retained: Option<u64>,
    /// If there may be more: `cursor` of the next page. Nodes before 0.2 leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A part of an account's open holds.
#[derive(Debug, Serialize, Deserialize)]
pub struct HoldList {
    /// Height of the last block.
    pub height: u64,
    /// The id of the network, in hexadecimal.
    pub network: Option<String>,
    /// The holds, the latest first.
    pub holds: Vec<Hold>,
    /// Whether there may be more. A page can be short, or empty, and still have more after it.
    pub more: bool,
    /// If there may be more holds in pruned blocks: height of the first retained one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_retained: Option<u64>,
    /// If there may be more: `cursor` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An open hold.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hold {
    /// Its id in the index, 32 hexadecimal digits.
    pub hold: String,
    /// The transaction id of its HOLD, which the operation that ends it repeats.
    pub transaction: String,
    /// Height of the block with the HOLD.
    pub height: u32,
    /// Position of the HOLD in the block.
    pub position: u32,
    /// When the block was made, in seconds since the Unix epoch.
    pub time: f64,
    /// The payer.
    pub source: String,
    /// The receiver.
    pub destination: String,
    /// The held amount.
    pub amount: u64,
    /// The same as a string: numbers of JavaScript are exact up to 2^53 only.
    pub amount_text: String,
    /// When it expires, in seconds since the Unix epoch, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<u32>,
    /// Whether it is past its expiry, by the node's clock: then it can no longer be captured.
    pub expired: bool,
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
    /// Its result, `OK`: blocks contain only operations that succeeded.
    pub result: String,
    /// Its block.
    pub block: Block,
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
    /// When its block was made, in seconds since the Unix epoch; nodes before 0.2 leave it out.
    #[serde(default)]
    pub time: f64,
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
    /// The asset of the account that it opens, unless that is 0.
    #[serde(default, skip_serializing_if = "is_asset_0")]
    pub asset: u32,
}

fn is_asset_0(asset: &u32) -> bool {
    *asset == 0
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

impl Listings {
    /// Lists what `reader` reads.
    pub fn new(reader: OwnReader) -> Self {
        Self(reader)
    }

    /// The list that a path with its query names, as JSON.
    pub fn answer(&self, path: &str, query: &str) -> Result<String, Refusal> {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match parts[..] {
            ["accounts"] => {
                let parameters = Parameters::parse(query, "/accounts", &["after", "count"])?;
                Ok(json(&self.accounts(parameters.get("after"), count(&parameters)?)?))
            }
            ["accounts", account, "history"] => {
                let names = ["kind", "role", "counterpart", "after", "before", "cursor", "count"];
                let parameters = Parameters::parse(query, "a history", &names)?;
                Ok(json(&self.history(parse_account(account)?, &parameters)?))
            }
            ["accounts", account, "holds"] => {
                let names = ["role", "counterpart", "after", "before", "cursor", "count"];
                let parameters = Parameters::parse(query, "a list of holds", &names)?;
                Ok(json(&self.holds(parse_account(account)?, &parameters)?))
            }
            ["accounts", account, "transactions", transaction] => {
                Parameters::parse(query, "a transaction", &[])?;
                let transaction = transaction.parse().map_err(|_| {
                    Refusal::BadRequest(format!("{transaction} is no transaction's id: 32 hexadecimal digits"))
                })?;
                Ok(json(&self.transaction(parse_account(account)?, transaction)?))
            }
            ["assets"] => {
                let parameters = Parameters::parse(query, "/assets", &["after", "count"])?;
                let after = parameters.parsed("after", "an asset's code")?;
                Ok(json(&self.assets(after, count(&parameters)?)))
            }
            ["blocks"] => {
                let parameters = Parameters::parse(query, "/blocks", &["before", "count"])?;
                Ok(json(&self.blocks(parameters.parsed("before", "a number")?, count(&parameters)?)?))
            }
            ["blocks", height] => {
                let parameters = Parameters::parse(query, "a block", &["after", "count"])?;
                let height =
                    height.parse().map_err(|_| Refusal::BadRequest(format!("{height} is no block's height")))?;
                Ok(json(&self.block(height, parameters.parsed("after", "a number")?, count(&parameters)?)?))
            }
            _ => Err(Refusal::NoSuchList),
        }
    }

    fn accounts(&self, after: Option<&str>, count: usize) -> Result<AccountList, Refusal> {
        let after = after.map(parse_account).transpose()?;
        let (mut accounts, mut after) = (Vec::new(), after);
        // Entries of assets are left out, so a page may take several parts of the index.
        let height = loop {
            let (height, entries) = self.0.accounts(after.as_ref(), count + 1);
            let of_accounts = entries.iter().filter(|entry| entry.asset().is_none());
            for entry in of_accounts.take(count + 1 - accounts.len()) {
                accounts.push(Account { asset: self.asset(entry)?, ..Account::from(entry) });
            }
            after = entries.last().map(|entry| AccountId(entry.account));
            if accounts.len() > count || entries.len() <= count {
                break height;
            }
        };
        let more = accounts.len() > count;
        accounts.truncate(count);
        Ok(AccountList { height, network: Some(self.network()), accounts, more })
    }

    fn assets(&self, after: Option<u32>, count: usize) -> AssetList {
        // No code follows the last one.
        let (first, count) = match after.map_or(Some(0), |after| after.checked_add(1)) {
            Some(first) => (first, count),
            None => (u32::MAX, 0),
        };
        let page = self.0.issued(first, count);
        let assets = page.amounts.iter().map(|(asset, issued)| Asset { asset: *asset, issued: issued.to_string() });
        let more = count > 0 && page.next.is_some();
        AssetList { height: page.height, network: Some(self.network()), assets: assets.collect(), more }
    }

    /// The asset of an account or a hold; 0 as well if it has been closed since.
    fn asset(&self, entry: &IndexEntry) -> Result<u32, Refusal> {
        if !entry.has_asset() {
            return Ok(0);
        }
        let stated = self.0.account(&asset_id(&AccountId(entry.account)))?;
        Ok(stated.and_then(|entry| entry.asset()).unwrap_or(0))
    }

    fn history(&self, account: AccountId, parameters: &Parameters) -> Result<History, Refusal> {
        let commands = parameters.get("kind").map(parse_commands).transpose()?.unwrap_or_default();
        let (page, times) = self.page(account, parameters, Filter { commands, ..Filter::default() })?;
        let rows = page.transactions.iter().zip(&times);
        let transactions = rows.map(|((at, operation), time)| Transaction::new(*at, *time, operation)).collect();
        Ok(History {
            height: page.height,
            network: Some(self.network()),
            transactions,
            more: page.next.is_some(),
            first_retained: page.first_retained,
            next: page.next.map(format_locator),
        })
    }

    /// The open holds of an account, as payer or receiver. The index finds a hold by its id, so they are looked for in
    /// the account's history.
    fn holds(&self, account: AccountId, parameters: &Parameters) -> Result<HoldList, Refusal> {
        let filter = Filter { commands: vec![Command::Hold], is_open_hold: true, ..Filter::default() };
        let (page, times) = self.page(account, parameters, filter)?;
        let now = now();
        let rows = page.transactions.iter().zip(&times);
        let holds = rows.map(|((at, operation), time)| Hold::new(*at, *time, operation, now)).collect();
        Ok(HoldList {
            height: page.height,
            network: Some(self.network()),
            holds,
            more: page.next.is_some(),
            first_retained: page.first_retained,
            next: page.next.map(format_locator),
        })
    }

    /// A page of an account's history, and the times of its transactions. The parameters complete the filter.
    fn page(&self, account: AccountId, parameters: &Parameters, filter: Filter) -> Result<(Page, Vec<u64>), Refusal> {
        let mut filter = Filter {
            counterpart: parameters.get("counterpart").map(parse_account).transpose()?,
            role: parameters.get("role").map(parse_role).transpose()?,
            ..filter
        };
        // A cursor does not replace `before`: it can be newer, if all that was examined so far is.
        let mut start = parameters.get("cursor").map(parse_locator).transpose()?;
        match parameters.get("before").map(|text| Bound::parse("before", text)).transpose()? {
            Some(Bound::Transaction(at)) => {
                filter.places.end = at;
                start = start.or(Some(at));
            }
            Some(Bound::Block(height)) => filter.places.end = Filter::start_of(height),
            Some(Bound::Time(time)) => filter.times.end = time,
            None => {}
        }
        match parameters.get("after").map(|text| Bound::parse("after", text)).transpose()? {
            Some(Bound::Transaction(at)) => {
                filter.places.start = Locator { position: at.position.saturating_add(1), ..at };
            }
            Some(Bound::Block(height)) => filter.places.start = Filter::start_of(height.saturating_add(1)),
            Some(Bound::Time(time)) => filter.times.start = time,
            None => {}
        }
        let limits = PageLimits { rows: count(parameters)?, examined: MOST };
        let Some(page) = self.0.page(&account, &filter, start, limits)? else {
            let at = start.map_or_else(String::new, format_locator);
            return Err(Refusal::BadRequest(format!("{at} is no transaction of account {account}")));
        };
        if page.transactions.is_empty() && start.is_none() && self.0.account(&account)?.is_none() {
            return Err(Refusal::NoSuchAccount(account));
        }
        let times = page.transactions.iter().map(|(at, _)| self.0.time(at.height.into())).collect::<Result<_, _>>()?;
        Ok((page, times))
    }

    fn transaction(&self, account: AccountId, transaction: TransactionId) -> Result<OneTransaction, Refusal> {
        let found = self.0.by_id(&transaction, &account)?.ok_or(Refusal::NoSuchTransaction(transaction, account))?;
        let header = self.0.headers(found.height, 1)?.into_iter().next();
        let tip = found.tip_height;
        let header = header.ok_or(Refusal::NoSuchBlock { height: found.height, tip })?;
        let at = Locator { height: found.height as u32, position: found.position };
        Ok(OneTransaction {
            height: tip,
            network: Some(self.network()),
            transaction: Transaction::new(at, header.header.timestamp.get(), &found.operation),
            result: Status::Ok.name().into(),
            block: Block::from(&header),
        })
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
            let at = Locator { height: height as u32, position };
            Transaction::new(at, header.header.timestamp.get(), &operation)
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

/// An end of a range of transactions.
enum Bound {
    /// The transaction at a place.
    Transaction(Locator),
    /// All transactions of the block at a height.
    Block(u64),
    /// A time, in microseconds since the Unix epoch.
    Time(u64),
}

impl Bound {
    fn parse(name: &str, text: &str) -> Result<Self, Refusal> {
        let bound = if let Some(seconds) = text.strip_prefix('@') {
            seconds.parse::<u64>().ok().map(|seconds| Self::Time(seconds.saturating_mul(SECOND)))
        } else if text.contains(':') {
            locator(text).map(Self::Transaction)
        } else {
            text.parse().ok().map(Self::Block)
        };
        bound.ok_or_else(|| {
            Refusal::BadRequest(format!(
                "`{name}` is {text}, but must be HEIGHT:POSITION of a transaction, a block's HEIGHT, or @SECONDS since the \
                 Unix epoch"
            ))
        })
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
            is_frozen: entry.is_frozen(),
            asset: 0,
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
            time: seconds(header.timestamp.get()),
            transactions: header.transactions.get(),
            sealed: sealed.seal != Seal::NONE,
        }
    }
}

impl Transaction {
    /// The transaction at a place of a block that was made at `time`, in microseconds since the Unix epoch.
    fn new(at: Locator, time: u64, operation: &Operation) -> Self {
        Self {
            height: at.height,
            position: at.position,
            time: seconds(time),
            command: operation.command().map_or("unknown", wire::Command::name).into(),
            transaction: operation.transaction.to_string(),
            source: operation.source.to_string(),
            destination: operation.destination.to_string(),
            amount: operation.amount(),
            amount_text: operation.amount().to_string(),
            expiry: operation.expiry(),
            asset: operation.asset(),
        }
    }
}

impl Hold {
    /// The hold that the HOLD at a place makes; both times are in microseconds since the Unix epoch.
    fn new(at: Locator, time: u64, operation: &Operation, now: u64) -> Self {
        Self {
            hold: hold_id(operation).to_string(),
            transaction: operation.transaction.to_string(),
            height: at.height,
            position: at.position,
            time: seconds(time),
            source: operation.source.to_string(),
            destination: operation.destination.to_string(),
            amount: operation.amount(),
            amount_text: operation.amount().to_string(),
            expiry: operation.expiry(),
            expired: is_expired(operation.expiry(), now),
        }
    }
}

fn parse_account(text: &str) -> Result<AccountId, Refusal> {
    text.parse().map_err(|_| Refusal::BadRequest(format!("{text} is no account: a number, or 32 hexadecimal digits")))
}

fn parse_role(text: &str) -> Result<Role, Refusal> {
    match text {
        "source" => Ok(Role::Source),
        "destination" => Ok(Role::Destination),
        _ => Err(Refusal::BadRequest(format!("`role` is {text}, but must be source or destination"))),
    }
}

/// Commands by their names, in any case, separated by commas.
fn parse_commands(text: &str) -> Result<Vec<Command>, Refusal> {
    let executed = || Command::ALL.iter().filter(|command| command.is_executed());
    let parse = |name: &str| {
        executed().copied().find(|command| command.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            let names: Vec<_> = executed().map(|command| command.name()).collect();
            Refusal::BadRequest(format!("{name} is no `kind` of transaction: {}", names.join(", ")))
        })
    };
    text.split(',').map(parse).collect()
}

fn count(parameters: &Parameters) -> Result<usize, Refusal> {
    let what = format!("from 1 to {MOST}");
    match parameters.parsed("count", &what)? {
        Some(0) => Err(Refusal::BadRequest(format!("`count` is 0, but must be {what}"))),
        Some(count) if count > MOST => Err(Refusal::BadRequest(format!("`count` is {count}, but must be {what}"))),
        count => Ok(count.unwrap_or(COUNT)),
    }
}

fn locator(text: &str) -> Option<Locator> {
    let (height, position) = text.split_once(':')?;
    Some(Locator { height: height.parse().ok()?, position: position.parse().ok()? })
}

fn parse_locator(text: &str) -> Result<Locator, Refusal> {
    locator(text).ok_or_else(|| Refusal::BadRequest(format!("`cursor` is {text}, but must be HEIGHT:POSITION")))
}

fn format_locator(at: Locator) -> String {
    format!("{}:{}", at.height, at.position)
}

/// Microseconds as seconds.
fn seconds(microseconds: u64) -> f64 {
    microseconds as f64 / SECOND as f64
}

fn json(list: &impl Serialize) -> String {
    // These have no maps, and so no keys that could not be written.
    serde_json::to_string(list).unwrap_or_default() + "\n"
}
