//! Helpers that several tests use.
#![allow(dead_code)]

use wire::{AccountId, Operation, Promise, SignedOperation, TransactionId};

/// The operation as if it were signed: the ledger does not check signatures.
pub fn signed(operation: &Operation) -> SignedOperation {
    SignedOperation::unsigned(*operation, 1, 0, Promise::Durable, [3; 33])
}

/// An id from a small number.
pub fn account(number: u64) -> AccountId {
    AccountId::from(u128::from(number))
}

/// An id from a small number.
pub fn transaction(number: u64) -> TransactionId {
    TransactionId::from(u128::from(number))
}
