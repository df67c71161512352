//! A plain model of the ledger: maps and no cleverness.

use std::collections::HashMap;

use wire::{AccountId, Command, Operation, Status, TransactionId};

type Identity = (AccountId, TransactionId);

/// What was done under an identity.
struct Done {
    content: (u8, AccountId, u64, u32),
    status: Status,
    value: u64,
}

/// The model. It forgets nothing.
pub struct Model {
    pub balances: HashMap<AccountId, u64>,
    pub issued: u128,
    done: HashMap<Identity, Done>,
    accounts: usize,
}

impl Model {
    pub fn new(accounts: usize) -> Self {
        Self { balances: HashMap::new(), issued: 0, done: HashMap::new(), accounts }
    }

    /// Status, value, and whether it is to be journalled.
    pub fn execute(&mut self, operation: &Operation, is_signed: bool) -> (Status, u64, bool) {
        let value = self.balances.get(&operation.source).copied().unwrap_or(0);
        if operation.status.get() != 0 {
            return (operation.status().unwrap_or(Status::Malformed), value, false);
        }
        let command = match operation.command() {
            Ok(command) => command,
            Err(status) => return (status, value, false),
        };
        let amount = operation.amount.get();
        let pays = is_signed && command == Command::Create && !operation.destination.is_zero();
        let refused = match command {
            Command::Create if pays && amount == 0 => Status::ZeroAmount,
            Command::Create if pays && operation.source == operation.destination => Status::SelfTransfer,
            Command::Create if pays => Status::Ok,
            Command::Create | Command::Refer if amount != 0 || !operation.destination.is_zero() => Status::Malformed,
            Command::Issue if !operation.destination.is_zero() => Status::Malformed,
            Command::Issue | Command::Transfer if amount == 0 => Status::ZeroAmount,
            Command::Transfer if operation.source == operation.destination => Status::SelfTransfer,
            Command::Refer if !self.balances.contains_key(&operation.source) => Status::SourceUnknown,
            _ => Status::Ok,
        };
        if refused != Status::Ok || command == Command::Refer {
            return (refused, value, false);
        }
        // Who pays names the operation.
        let (namer, other) = match pays {
            true => (operation.destination, operation.source),
            false => (operation.source, operation.destination),
        };
        let identity = (namer, operation.transaction);
        let content = (operation.command, other, amount, operation.contract.get());
        if let Some(done) = self.done.get(&identity) {
            return match done.content == content {
                true => (done.status, done.value, false),
                false => (Status::TransactionIdReused, value, false),
            };
        }
        if is_signed && command != Command::Create && !self.balances.contains_key(&operation.source) {
            return (Status::SourceUnknown, 0, false);
        }
        if pays && !self.balances.contains_key(&operation.destination) {
            return (Status::DestinationUnknown, value, false);
        }
        let (status, value) = self.apply(command, operation, value);
        self.done.insert(identity, Done { content, status, value });
        (status, value, true)
    }

    fn apply(&mut self, command: Command, operation: &Operation, balance: u64) -> (Status, u64) {
        let (source, destination, amount) = (operation.source, operation.destination, operation.amount.get());
        let exists = self.balances.contains_key(&source);
        match command {
            Command::Create if exists => (Status::AccountExists, balance),
            Command::Create if self.balances.len() == self.accounts => (Status::TableFull, 0),
            Command::Create if !destination.is_zero() => match self.balances.get(&destination).copied() {
                None => (Status::DestinationUnknown, 0),
                Some(held) if held < amount => (Status::InsufficientBalance, 0),
                Some(held) => {
                    self.balances.insert(source, 0);
                    self.balances.insert(destination, held - amount);
                    self.issued -= u128::from(amount);
                    (Status::Ok, 0)
                }
            },
            Command::Create => {
                self.balances.insert(source, 0);
                (Status::Ok, 0)
            }
            _ if !exists => (Status::SourceUnknown, 0),
            Command::Issue => match balance.checked_add(amount) {
                None => (Status::Overflow, balance),
                Some(sum) => {
                    self.balances.insert(source, sum);
                    self.issued += u128::from(amount);
                    (Status::Ok, sum)
                }
            },
            _ => match self.balances.get(&destination).copied() {
                None => (Status::DestinationUnknown, balance),
                Some(_) if balance < amount => (Status::InsufficientBalance, balance),
                Some(held) if held.checked_add(amount).is_none() => (Status::Overflow, balance),
                Some(held) => {
                    self.balances.insert(source, balance - amount);
                    self.balances.insert(destination, held + amount);
                    (Status::Ok, balance - amount)
                }
            },
        }
    }
}

/// An id from a small number.
pub fn account(number: u64) -> AccountId {
    AccountId::from(u128::from(number))
}

/// An id from a small number.
pub fn transaction(number: u64) -> TransactionId {
    TransactionId::from(u128::from(number))
}
