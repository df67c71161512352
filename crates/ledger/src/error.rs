//! What can go wrong when a ledger is made or recovered.

use wire::{AccountId, Status};

/// Why a ledger cannot be made or recovered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No memory for the accounts.
    #[error("no room for {accounts} accounts: {reason}; lower `accounts` or add memory")]
    Memory {
        /// Configured number of accounts.
        accounts: usize,
        /// What the table said.
        reason: table::Error,
    },
    /// No memory for retries.
    #[error(
        "no room to remember {} operations and {} signed ones: {reason}; lower `retry_operations` or \
         `signed_operations`, or add memory",
        limits.operations, limits.signed
    )]
    RetryMemory {
        /// Configured limits.
        limits: crate::retries::Limits,
        /// What the table said.
        reason: table::Error,
    },
    /// There is no room for what the journal holds of the time that retries are recognised for.
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
    /// There are more accounts than configured.
    #[error("the ledger has more accounts than the configured {limit}; raise `accounts`")]
    TooManyAccounts {
        /// Configured number of accounts.
        limit: usize,
    },
    /// The same account twice where the accounts were read from.
    #[error(
        "account {0} is in the index snapshot twice: the snapshot is damaged; remove it, and it is rebuilt from blocks"
    )]
    AccountTwice(AccountId),
    /// What another replica gave as a block is not what its header tells.
    #[error("block {height} does not match its header: it was damaged in transit or is forged; ask another replica")]
    NotTheBlock {
        /// The height.
        height: u64,
    },
    /// The batches that another replica was to give are not all there.
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
    /// The balances are not worth what was issued.
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
    /// Executing the journal again gave something else than what was recorded.
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
