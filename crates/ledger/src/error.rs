//! Errors of creating or recovering a ledger.

use wire::{AccountId, Status};

/// Why a ledger cannot be created or recovered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not enough memory for the accounts.
    #[error("no room for {accounts} accounts: {reason}; lower `accounts` or add memory")]
    Memory {
        /// Configured number of accounts.
        accounts: usize,
        /// The table's error.
        reason: table::Error,
    },
    /// Not enough memory for retries.
    #[error(
        "no room to remember {} operations and {} signed ones: {reason}; lower `retry_operations` or \
         `signed_operations`, or add memory",
        limits.operations, limits.signed
    )]
    RetryMemory {
        /// Configured limits.
        limits: crate::retries::Limits,
        /// The table's error.
        reason: table::Error,
    },
    /// The journal holds more operations than fit, from the time in which retries must be recognised.
    #[error(
        "the journal has more than {capacity} operations of the last {seconds} s, which must all be remembered for \
         retries; raise `{key}`"
    )]
    TooManyRetries {
        /// The configured number of operations.
        capacity: usize,
        /// The configured time.
        seconds: u64,
        /// The key of the configuration.
        key: &'static str,
    },
    /// The system starts no thread.
    #[error("cannot start a thread to replay the journal: {source}; raise the limit of tasks")]
    Thread {
        /// The system's error.
        source: std::io::Error,
    },
    /// There are more accounts than configured.
    #[error("the ledger has more accounts than the configured {limit}; raise `accounts`")]
    TooManyAccounts {
        /// Configured number of accounts.
        limit: usize,
    },
    /// An account occurs twice in the source of the balances.
    #[error(
        "account {0} is in the index snapshot twice: the snapshot is damaged; remove it, and it is rebuilt from blocks"
    )]
    AccountTwice(AccountId),
    /// An account or a hold has an asset, but the index has no entry that states it.
    #[error(
        "the index snapshot has no asset of account {0}: the snapshot is damaged; remove it, and it is rebuilt from blocks"
    )]
    AssetUnknown(AccountId),
    /// A block from another replica does not match its header.
    #[error("block {height} does not match its header: it was damaged in transit or is forged; ask another replica")]
    NotTheBlock {
        /// The height.
        height: u64,
    },
    /// Batches from another replica are missing.
    #[error("the operations of block {height} were pruned from the journal: request a newer block")]
    NotRecent {
        /// The height.
        height: u64,
    },
    /// Operations are missing between the balances and the journal.
    #[error("the balances are as of operation {covered}, but the journal begins with {first}: a segment is missing")]
    Gap {
        /// Last operation that the balances include.
        covered: u64,
        /// First operation in the journal.
        first: u64,
    },
    /// A replica's journal is not one block ahead of its chain.
    #[error(
        "the chain ends with operation {covered} and the journal with {last}, which is more than one ordered block: \
         this is not a replica's data directory, or its parts were copied at different times"
    )]
    Unsettled {
        /// The last operation in the chain.
        covered: u64,
        /// The last operation in the journal.
        last: u64,
    },
    /// The balances do not add up to the issued amount.
    #[error(
        "the balances add up to {balances}, not to the {issued} issued less deposits: the index is damaged; run \
         `turnpike check`"
    )]
    Conservation {
        /// Sum of the balances.
        balances: u128,
        /// Sum of what was issued, less the deposits.
        issued: u128,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] crate::journal::Error),
    /// The chain cannot be read or written.
    #[error(transparent)]
    Chain(#[from] chain::own::Error),
    /// A linked chain of the journal lacks operations.
    #[error(
        "operation {sequence} of the journal is in a linked chain that is cut off: a journal holds whole chains, so it \
         was damaged; restore the data directory from a copy"
    )]
    CutChain {
        /// The sequence of its last operation that was read.
        sequence: u64,
    },
    /// The operations of a followed node are not those of its next block.
    #[error("the operations that the followed node sent are not those of its block {height}, which its key sealed")]
    NotOfBlock {
        /// The height.
        height: u64,
    },
    /// The block that a followed node sealed has another header than its operations lead to.
    #[error("the followed node's header of block {height} is not the one that its operations lead to")]
    OtherHeader {
        /// The height.
        height: u64,
    },
    /// A followed node sent an operation that no journal has.
    #[error("the followed node sent operation {sequence} with a status or a time that its journal cannot have")]
    NotOfJournal {
        /// Its sequence.
        sequence: u64,
    },
    /// Executing the journal again gave another result than the recorded one.
    #[error(
        "operation {sequence} was recorded as {recorded} with value {recorded_value}, but replays as {status} with \
         value {value}: the journal does not belong to these balances"
    )]
    Diverged {
        /// Its sequence.
        sequence: u64,
        /// Status in the journal.
        recorded: Status,
        /// Value in the journal.
        recorded_value: u64,
        /// Status now.
        status: Status,
        /// Value now.
        value: u64,
    },
}

impl Error {
    /// Whether operations, their results and blocks contradict each other.
    pub fn is_contradiction(&self) -> bool {
        matches!(
            self,
            Self::NotOfBlock { .. }
                | Self::OtherHeader { .. }
                | Self::NotOfJournal { .. }
                | Self::Diverged { .. }
                | Self::CutChain { .. }
        )
    }
}
