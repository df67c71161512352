//! A ledger so plain that it is right, to compare a node with.

use std::collections::HashMap;

use wire::{AccountId, Command, Operation, Status, TransactionId};

/// Balances and first results.
#[derive(Debug, Default)]
pub struct Model {
    balances: HashMap<AccountId, u64>,
    first: HashMap<(AccountId, TransactionId), (Operation, Status, u64)>,
}

impl Model {
    /// What an operation comes to.
    pub fn execute(&mut self, operation: &Operation) -> (Status, u64) {
        let balance = self.balances.get(&operation.source).copied();
        let held = balance.unwrap_or(0);
        match operation.check() {
            Status::Ok if operation.source.is_keyed() => return (Status::NotAuthorised, held),
            Status::Ok => {}
            status => return (status, held),
        }
        if operation.command() == Ok(Command::Refer) {
            return (if balance.is_some() { Status::Ok } else { Status::SourceUnknown }, held);
        }
        let key = (operation.source, operation.transaction);
        if let Some((first, status, value)) = self.first.get(&key) {
            return if first == operation { (*status, *value) } else { (Status::TransactionIdReused, held) };
        }
        let status = self.apply(operation, balance);
        let value = self.balances.get(&operation.source).copied().unwrap_or(0);
        self.first.insert(key, (*operation, status, value));
        (status, value)
    }

    fn apply(&mut self, operation: &Operation, balance: Option<u64>) -> Status {
        let amount = operation.amount();
        match (operation.command(), balance) {
            (Ok(Command::Create), Some(_)) => Status::AccountExists,
            (Ok(Command::Create), None) => {
                self.balances.insert(operation.source, 0);
                Status::Ok
            }
            (_, None) => Status::SourceUnknown,
            (Ok(Command::Issue), Some(balance)) => match balance.checked_add(amount) {
                Some(more) => {
                    self.balances.insert(operation.source, more);
                    Status::Ok
                }
                None => Status::Overflow,
            },
            (_, Some(balance)) => {
                let Some(&received) = self.balances.get(&operation.destination) else {
                    return Status::DestinationUnknown;
                };
                let Some(left) = balance.checked_sub(amount) else { return Status::InsufficientBalance };
                let Some(received) = received.checked_add(amount) else { return Status::Overflow };
                self.balances.insert(operation.source, left);
                self.balances.insert(operation.destination, received);
                Status::Ok
            }
        }
    }
}
