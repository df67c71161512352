//! Helpers that several tests use.

use wire::{AccountId, Operation, TransactionId};

/// A transfer between small ids.
pub fn transfer(id: u64, source: u64, destination: u64, amount: u64) -> Operation {
    Operation::transfer(transaction(id), account(source), account(destination), amount)
}

/// A small account id.
pub fn account(id: u64) -> AccountId {
    AccountId::from(u128::from(id))
}

/// A small transaction id.
pub fn transaction(id: u64) -> TransactionId {
    TransactionId::from(u128::from(id))
}
