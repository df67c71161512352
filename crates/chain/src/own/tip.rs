//! The last block, and totals of the chain up to it.
use super::error::Error;
use super::store::Store;
use spv::{BlockHeader, Hash};
use wire::{Command, Operation};

/// The last block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Its header.
    pub header: BlockHeader,
    /// The header's hash.
    pub hash: Hash,
    /// The last operation of the journal covered by a block.
    pub end_sequence: u64,
    /// The number of transactions in all blocks.
    pub transactions: u64,
    /// The total issued minus paid deposits, which is the sum of all balances.
    pub issued: u128,
}

impl Tip {
    /// Height of the block.
    pub fn height(&self) -> u64 {
        self.header.height.get()
    }
}

/// The tip as of the block at a height.
pub(super) fn tip_at(store: &Store, height: u64) -> Result<Tip, Error> {
    let record = store.record(height)?;
    Ok(Tip {
        header: record.header,
        hash: record.header.hash(),
        end_sequence: record.end_sequence.get(),
        transactions: record.transactions_before.get() + u64::from(record.transactions()),
        issued: record.issued.get(),
    })
}

/// The total issued after applying operations to a total of `before`: a deposit reduces it.
pub(super) fn issued(before: u128, operations: &[Operation]) -> u128 {
    operations.iter().fold(before, |issued, operation| match operation.command() {
        Ok(Command::Issue) => issued + u128::from(operation.amount()),
        // Not below zero: some account held it.
        Ok(Command::Create) => issued.saturating_sub(operation.amount().into()),
        Ok(Command::Transfer | Command::Refer) | Err(_) => issued,
    })
}
