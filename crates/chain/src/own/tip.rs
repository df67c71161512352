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
    /// Height of the block whose index root the header has: this one, or the last one before it that
    /// [states it](BlockHeader::states_index).
    pub index_height: u64,
    /// The number of transactions in all blocks up to that one.
    pub index_transactions: u64,
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
    let mut stating = record;
    // Ends at genesis at the latest, whose header states the empty index.
    while !stating.header.states_index() && stating.header.height.get() > 0 {
        stating = store.record(stating.header.height.get() - 1)?;
    }
    Ok(Tip {
        header: record.header,
        hash: record.header.hash(),
        end_sequence: record.end_sequence.get(),
        transactions: record.transactions_after(),
        index_height: stating.header.height.get(),
        index_transactions: stating.transactions_after(),
        issued: record.issued.get(),
    })
}

/// The total issued after applying operations to a total of `before`: a deposit reduces it.
pub(super) fn issued(before: u128, operations: &[Operation]) -> u128 {
    operations.iter().fold(before, |issued, operation| match operation.command() {
        Ok(Command::Issue) => issued + u128::from(operation.amount()),
        // Not below zero: some account held it.
        Ok(Command::Create | Command::Open) => issued.saturating_sub(operation.amount().into()),
        Ok(Command::Transfer | Command::Refer)
        | Ok(Command::Hold | Command::Capture | Command::Release | Command::Reclaim)
        | Ok(Command::Freeze | Command::Unfreeze | Command::Close)
        | Err(_) => issued,
    })
}
