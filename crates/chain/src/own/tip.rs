//! The last block, and what is known of the chain with it.
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
    /// The last operation of the journal that is in a block.
    pub end_sequence: u64,
    /// The number of transactions in all blocks.
    pub transactions: u64,
    /// The sum of all amounts issued, less the deposits paid: what all accounts hold together.
    pub issued: u128,
}

impl Tip {
    /// Height of the block.
    pub fn height(&self) -> u64 {
        self.header.height.get()
    }
}

/// The tip as it was when the block of a height was the last.
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

/// What is issued after operations that were applied, if it was `before`: a deposit takes back what was issued.
pub(super) fn issued(before: u128, operations: &[Operation]) -> u128 {
    operations.iter().fold(before, |issued, operation| match operation.command() {
        Ok(Command::Issue) => issued + u128::from(operation.amount()),
        // Not below zero: some account held it.
        Ok(Command::Create) => issued.saturating_sub(operation.amount().into()),
        Ok(Command::Transfer | Command::Refer) | Err(_) => issued,
    })
}
