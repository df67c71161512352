//! The reports of `turnpike proof`.

use client::{ProvedBitcoin, ProvedTransaction};
use serde::Serialize;
use spv::bitcoin;
use wire::{AccountId, Operation};

use crate::against::Against;
use crate::hex;
use crate::operation_text::OperationText;
use crate::output::thousands;

/// The proof of a transaction of the own chain.
#[derive(Serialize)]
pub struct TransactionReport {
    verified: bool,
    height: u64,
    block: String,
    position: u32,
    command: String,
    transaction: String,
    source: String,
    destination: String,
    amount: u64,
    /// The same as a string: numbers of JavaScript are exact up to 2^53 only.
    amount_text: String,
    against: Against,
}

/// The proof of an account's balance.
#[derive(Serialize)]
pub struct BalanceReport {
    verified: bool,
    height: u64,
    account: String,
    exists: bool,
    balance: u64,
    /// The same as a string: numbers of JavaScript are exact up to 2^53 only.
    balance_text: String,
    is_frozen: bool,
    /// The asset of the account; `None` if it is another one than 0 that is not proved.
    asset: Option<u32>,
    latest_height: Option<u32>,
    latest_position: Option<u32>,
    against: Against,
}

/// The proof of a Bitcoin transaction.
#[derive(Serialize)]
pub struct BitcoinReport {
    verified: bool,
    /// `None` without headers.
    height: Option<u32>,
    block: String,
    position: u32,
    transaction: String,
    /// Number of transactions in the block, as the proof has it.
    transactions: u32,
    /// Whether the depth of the tree was checked, by that number or by the coinbase. With a wrong depth an inner node
    /// passes for a transaction (CVE-2017-12842).
    depth_checked: bool,
}

/// The tree of a proof: how many transactions it is said to have, and whether its depth was checked.
#[derive(Clone, Copy)]
pub struct Tree {
    pub transactions: u32,
    pub is_depth_checked: bool,
}

impl TransactionReport {
    pub fn from_proved(proved: &ProvedTransaction, against: Against) -> Self {
        Self::new(proved.height, &proved.block, proved.position, &proved.operation, against)
    }

    pub fn new(height: u64, block: &[u8; 32], position: u32, operation: &Operation, against: Against) -> Self {
        Self {
            verified: true,
            height,
            block: hex::encode(block),
            position,
            command: operation.command().map_or("unknown", wire::Command::name).into(),
            transaction: operation.transaction.to_string(),
            source: operation.source.to_string(),
            destination: operation.destination.to_string(),
            amount: operation.amount(),
            amount_text: operation.amount().to_string(),
            against,
        }
    }

    pub fn describe(&self) -> String {
        let Self { height, block, position, command, transaction, source, destination, amount, against, .. } = self;
        let operation = OperationText { command, amount: *amount, source, destination, transaction };
        format!(
            "verified: {} at position {position} of block {height}\nblock        {block}{}{}",
            operation.title(),
            operation.lines(""),
            against.describe()
        )
    }
}

impl BalanceReport {
    /// `asset` is the proved asset of an account that has another one than 0.
    pub fn new(
        account: AccountId,
        height: u64,
        entry: Option<spv::IndexEntry>,
        asset: Option<u32>,
        against: Against,
    ) -> Self {
        let balance = entry.map_or(0, |entry| entry.balance.get());
        Self {
            verified: true,
            height,
            account: account.to_string(),
            exists: entry.is_some(),
            balance,
            balance_text: balance.to_string(),
            is_frozen: entry.is_some_and(|entry| entry.is_frozen()),
            asset: if entry.is_some_and(|entry| entry.has_asset()) { asset } else { Some(0) },
            latest_height: entry.map(|entry| entry.latest().height),
            latest_position: entry.map(|entry| entry.latest().position),
            against,
        }
    }

    pub fn describe(&self) -> String {
        let what = match (self.latest_height, self.latest_position) {
            (Some(height), Some(position)) => format!(
                "verified: {}account {}{} holds {} as of block {}\nlatest       position {position} of block {height}",
                if self.is_frozen { "frozen " } else { "" },
                self.account,
                match self.asset {
                    Some(0) => String::new(),
                    Some(asset) => format!(" of asset {asset}"),
                    None => " of an asset that this proof does not name".to_owned(),
                },
                thousands(self.balance),
                self.height
            ),
            _ => format!("verified: account {} does not exist as of block {}", self.account, self.height),
        };
        what + &self.against.describe()
    }
}

impl BitcoinReport {
    pub fn from_proved(proved: &ProvedBitcoin) -> Self {
        // The client checks the depth by the coinbase in the reply.
        let tree = Tree { transactions: proved.transactions, is_depth_checked: true };
        Self::new(Some(proved.height), &proved.block, proved.position, &proved.transaction, tree)
    }

    pub fn new(height: Option<u32>, block: &[u8; 32], position: u32, transaction: &[u8; 32], tree: Tree) -> Self {
        Self {
            verified: true,
            height,
            block: bitcoin::display(block).to_string(),
            position,
            transaction: bitcoin::display(transaction).to_string(),
            transactions: tree.transactions,
            depth_checked: tree.is_depth_checked,
        }
    }

    pub fn describe(&self) -> String {
        let place = match self.height {
            Some(height) => format!("block {}", thousands(height.into())),
            None => "a block with proof of work, whose place in the chain was not checked (use --headers)".into(),
        };
        let unchecked = match self.depth_checked {
            true => String::new(),
            false => format!(
                "\nnot checked  the depth of the tree: unless the block has {} transactions, the hash may be an inner node \
                 (CVE-2017-12842); check it by --transactions or --coinbase",
                self.transactions
            ),
        };
        format!(
            "verified: transaction {} is at position {} of {place}\nblock        {}{unchecked}",
            self.transaction, self.position, self.block
        )
    }
}
