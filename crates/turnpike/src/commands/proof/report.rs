//! What `turnpike proof` tells of what is proved.

use client::{ProvedBitcoin, ProvedTransaction};
use serde::Serialize;
use spv::bitcoin;
use wire::{AccountId, Operation};

use crate::against::Against;
use crate::hex;
use crate::operation_text::OperationText;
use crate::output::thousands;

/// What is proved of a transaction of the own chain.
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
    against: Against,
}

/// What is proved of an account.
#[derive(Serialize)]
pub struct BalanceReport {
    verified: bool,
    height: u64,
    account: String,
    exists: bool,
    balance: u64,
    latest_height: Option<u32>,
    latest_position: Option<u32>,
    against: Against,
}

/// What is proved of a Bitcoin transaction.
#[derive(Serialize)]
pub struct BitcoinReport {
    verified: bool,
    /// None where no headers were given.
    height: Option<u32>,
    block: String,
    position: u32,
    transaction: String,
}

impl TransactionReport {
    pub fn of(proved: &ProvedTransaction, against: Against) -> Self {
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
    pub fn new(account: AccountId, height: u64, entry: Option<spv::IndexEntry>, against: Against) -> Self {
        Self {
            verified: true,
            height,
            account: account.to_string(),
            exists: entry.is_some(),
            balance: entry.map_or(0, |entry| entry.balance.get()),
            latest_height: entry.map(|entry| entry.height.get()),
            latest_position: entry.map(|entry| entry.position.get()),
            against,
        }
    }

    pub fn describe(&self) -> String {
        let what = match (self.latest_height, self.latest_position) {
            (Some(height), Some(position)) => format!(
                "verified: account {} holds {} as of block {}\nlatest       position {position} of block {height}",
                self.account,
                thousands(self.balance),
                self.height
            ),
            _ => format!("verified: there is no account {} as of block {}", self.account, self.height),
        };
        what + &self.against.describe()
    }
}

impl BitcoinReport {
    pub fn of(proved: &ProvedBitcoin) -> Self {
        Self::new(Some(proved.height), &proved.block, proved.position, &proved.transaction)
    }

    pub fn new(height: Option<u32>, block: &[u8; 32], position: u32, transaction: &[u8; 32]) -> Self {
        Self {
            verified: true,
            height,
            block: bitcoin::display(block).to_string(),
            position,
            transaction: bitcoin::display(transaction).to_string(),
        }
    }

    pub fn describe(&self) -> String {
        let place = match self.height {
            Some(height) => format!("block {}", thousands(height.into())),
            None => "a block with proof of work, whose place in the chain was not checked (--headers does)".into(),
        };
        format!(
            "verified: transaction {} is at position {} of {place}\nblock        {}",
            self.transaction, self.position, self.block
        )
    }
}
