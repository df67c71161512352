//! The ledger: a deterministic state machine over the accounts and the memory of retries.
//!
//! Operations come in batches and are executed in order. Memory is slow and the order is fixed, so a batch is processed
//! in small groups, in three passes: hash and prefetch the lines of the tables, prefetch the entries that they point
//! to, execute.

use table::{EntryIndex, Hash, Region};
use wire::{AccountId, Command, Operation, SignedOperation, Status, U64};

use crate::{
    Error,
    accounts::Accounts,
    journal::Record,
    retries::{self, Fill, Known, Now, Recall, Retries},
    secret::Secret,
};

/// Capacity of a ledger. Its memory is reserved at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of accounts.
    pub accounts: usize,
    /// Limits of the memory of retries.
    pub retries: retries::Limits,
}

/// The memory of a ledger. If all of it lies in one arena, a kernel program can read balances and results.
#[derive(Debug)]
pub struct Memory {
    /// The table of accounts.
    pub accounts: Region,
    /// The window of unsigned operations.
    pub retries: retries::Memory,
}

impl Limits {
    /// Size in bytes of the parts of [`Memory`]: the accounts; header, index and ring of the memory of retries.
    pub fn memory(&self) -> Result<[usize; 4], Error> {
        let [header, index, ring] = retries::Memory::sizes(&self.retries);
        Ok([Accounts::memory(self.accounts)?, header, index, ring])
    }
}

/// An executable entry: an operation, or a signed one whose signature has been verified.
pub trait Executable {
    /// The operation.
    fn operation(&self) -> &Operation;
    /// The operation, to write its status.
    fn operation_mut(&mut self) -> &mut Operation;
    /// The signed timestamp, 0 if it is not signed.
    fn signed_at(&self) -> u64;
}

impl Executable for Operation {
    fn operation(&self) -> &Operation {
        self
    }

    fn operation_mut(&mut self) -> &mut Operation {
        self
    }

    fn signed_at(&self) -> u64 {
        0
    }
}

impl Executable for SignedOperation {
    fn operation(&self) -> &Operation {
        &self.operation
    }

    fn operation_mut(&mut self) -> &mut Operation {
        &mut self.operation
    }

    fn signed_at(&self) -> u64 {
        self.timestamp.get()
    }
}

/// Refuses entries after the first `room`, for which the journal has no room, except REFER.
pub fn refuse_beyond<E: Executable>(entries: &mut [E], room: usize, refusal: Status) {
    for entry in entries.iter_mut().skip(room) {
        let operation = entry.operation_mut();
        if operation.status.get() == 0 && operation.command().is_ok_and(Command::is_executed) {
            operation.status.set(refusal.code());
        }
    }
}

/// Number of operations to prefetch ahead: enough to hide memory latency, few enough for the lines to stay in the
/// first-level cache.
const GROUP: usize = 32;

/// The hashes of an operation: of its two accounts, and of its identity.
#[derive(Clone, Copy, Default)]
struct Hashes {
    source: Hash,
    destination: Hash,
    identity: u64,
}

/// The result of an operation, and whether it goes into the journal.
struct Outcome {
    status: Status,
    value: u64,
    fresh: bool,
}

/// A prediction of an operation's execution, as far as it is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// It would be recorded.
    Recorded,
    /// It leaves no trace: its first reply is remembered, or it is refused for good.
    Settled,
    /// It leaves no trace as long as the paying account does not exist.
    NoAccount,
}

/// The accounts and the memory of retries.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) accounts: Accounts,
    pub(crate) retries: Retries,
    /// Sequence of the last journalled operation.
    pub(crate) last_sequence: u64,
    /// Other replicas execute the same and must reach the same state.
    is_replica: bool,
}

impl Ledger {
    /// An empty ledger. Its first operation gets the sequence 1.
    pub fn new(limits: Limits, secret: Secret) -> Result<Self, Error> {
        Self::starting_at(limits, 1, secret, None)
    }

    /// An empty ledger in the given memory, which must be zeroed.
    pub fn within(memory: Memory, limits: Limits, secret: Secret) -> Result<Self, Error> {
        Self::starting_at(limits, 1, secret, Some(memory))
    }

    /// An empty ledger whose first operation gets the sequence `next_sequence`, in the given memory or in its own.
    pub(crate) fn starting_at(
        limits: Limits,
        next_sequence: u64,
        secret: Secret,
        memory: Option<Memory>,
    ) -> Result<Self, Error> {
        let (accounts, retries) = memory.map(|memory| (memory.accounts, memory.retries)).unzip();
        let retries = Retries::new(&limits.retries, next_sequence, &secret, retries);
        let retries = retries.map_err(|reason| Error::RetryMemory { limits: limits.retries, reason })?;
        let accounts = Accounts::new(limits.accounts, secret.seed(), accounts)?;
        Ok(Self { accounts, retries, last_sequence: next_sequence - 1, is_replica: false })
    }

    /// Sets the source for replies to retries that only the journal holds in full.
    pub fn set_recall(&mut self, recall: impl Recall + 'static) {
        self.retries.set_recall(Box::new(recall));
    }

    /// From now on the ledger gives no reply that other replicas might give differently.
    pub(crate) fn be_replica(&mut self) {
        self.is_replica = true;
    }

    /// Number of accounts.
    pub fn accounts(&self) -> usize {
        self.accounts.len()
    }

    /// Sum of all issues minus paid deposits, which is the sum of all balances.
    pub fn issued(&self) -> u128 {
        self.accounts.issued()
    }

    /// Sequence of the last journalled operation.
    pub fn last_sequence(&self) -> u64 {
        self.last_sequence
    }

    /// Unknown signed operations must be newer than this, in microseconds since the Unix epoch.
    pub fn signed_horizon(&self) -> u64 {
        self.retries.signed_horizon()
    }

    /// Returns the fill of the memory of retries, for unsigned and for signed operations.
    pub fn retries(&self, now: Now) -> [Fill; 2] {
        self.retries.fill(now)
    }

    /// The balance of an account.
    pub fn balance(&self, account: &AccountId) -> Option<u64> {
        let entry = self.accounts.find(self.accounts.hash(account), account)?;
        Some(self.accounts.balance(entry))
    }

    /// All accounts and their balances, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (AccountId, u64)> + '_ {
        self.accounts.iter()
    }

    /// Executes operations in order, each on its own.
    ///
    /// It writes a status into each operation, leaves its amount as requested, and puts the value of its reply into
    /// `values`. An operation that already has a status was refused earlier: it is not executed, but gets its value.
    /// New operations whose status belongs in the journal are passed to `record` in the order of their sequences. If
    /// there is no room to remember an operation for its retry, it is `BUSY`.
    ///
    /// A reply, even to a retry or a REFER, may depend on every operation recorded so far: it is durable once the
    /// journal is, up to [`last_sequence`](Self::last_sequence).
    ///
    /// # Panics
    ///
    /// If the balances do not add up, or a sequence was not recorded: no reply may be sent then.
    pub fn execute<E: Executable>(
        &mut self,
        entries: &mut [E],
        values: &mut [u64],
        now: Now,
        mut record: impl FnMut(&E, u64),
    ) {
        assert_eq!(entries.len(), values.len(), "a value for each entry");
        let first = self.last_sequence;
        let mut recorded = 0;
        self.retries.forget(now);
        let mut hashes = [Hashes::default(); GROUP];
        for (entries, values) in entries.chunks_mut(GROUP).zip(values.chunks_mut(GROUP)) {
            for (entry, hashes) in entries.iter().zip(&mut hashes) {
                *hashes = self.hash(entry.operation());
                self.accounts.prefetch_bucket(hashes.source);
                self.accounts.prefetch_bucket(hashes.destination);
                self.retries.prefetch(hashes.identity, entry.signed_at() != 0);
            }
            for hashes in &hashes[..entries.len()] {
                self.accounts.prefetch_entry(hashes.source);
                self.accounts.prefetch_entry(hashes.destination);
            }
            for ((entry, value), hashes) in entries.iter_mut().zip(values).zip(&hashes) {
                let outcome = self.execute_one(entry.operation(), entry.signed_at(), hashes, now);
                *value = outcome.value;
                entry.operation_mut().status.set(outcome.status.code());
                if outcome.fresh {
                    record(entry, outcome.value);
                    recorded += 1;
                }
            }
        }
        assert_eq!(self.last_sequence, first + recorded, "each sequence is recorded once");
        self.accounts.assert_conserved();
    }

    #[inline(always)]
    fn hash(&self, operation: &Operation) -> Hashes {
        Hashes {
            source: self.accounts.hash(&operation.source),
            destination: self.accounts.hash(&operation.destination),
            identity: self.retries.hash(operation),
        }
    }

    #[inline(always)]
    fn execute_one(&mut self, operation: &Operation, signed_at: u64, hashes: &Hashes, now: Now) -> Outcome {
        let source = self.accounts.find(hashes.source, &operation.source);
        let balance = self.balance_of(source);
        let untraced = |status| Outcome { status, value: balance, fresh: false };
        let command = match check(operation, signed_at != 0) {
            Err(status) => return untraced(status),
            Ok(Command::Refer) if source.is_none() => return untraced(Status::SourceUnknown),
            Ok(Command::Refer) => return untraced(Status::Ok),
            Ok(command @ (Command::Create | Command::Issue | Command::Transfer)) => command,
        };
        match self.retries.known(hashes.identity, operation, signed_at, now) {
            Known::New => {}
            Known::Executed(status, value) => return Outcome { status, value, fresh: false },
            Known::Refused(status) => return untraced(status),
        }
        if signed_at != 0
            && let Some(status) = self.unknown_payer(command, operation, source, hashes.destination)
        {
            return untraced(status);
        }
        let (status, value) = self.apply(command, operation, source, hashes.destination);
        self.remember(hashes.identity, operation, (status, value), signed_at, now.elapsed);
        Outcome { status, value, fresh: true }
    }

    /// The refusal of a signed operation whose paying account does not exist, if so. Anybody can sign for such an
    /// account, so it must use neither memory nor disk.
    #[inline(always)]
    fn unknown_payer(
        &self,
        command: Command,
        operation: &Operation,
        source: Option<EntryIndex>,
        destination: Hash,
    ) -> Option<Status> {
        match operation.payer() {
            Some(payer) => self.accounts.find(destination, &payer).is_none().then_some(Status::DestinationUnknown),
            None => (source.is_none() && command != Command::Create).then_some(Status::SourceUnknown),
        }
    }

    /// Predicts [`Self::execute`] without executing the operation. A full window of retries does not settle an
    /// operation: the window will have room again.
    pub fn outlook(&mut self, operation: &Operation, signed_at: u64, now: Now) -> Outlook {
        let command = match check(operation, signed_at != 0) {
            Err(_) | Ok(Command::Refer) => return Outlook::Settled,
            Ok(command @ (Command::Create | Command::Issue | Command::Transfer)) => command,
        };
        let hashes = self.hash(operation);
        match self.retries.known(hashes.identity, operation, signed_at, now) {
            Known::Executed(..) => return Outlook::Settled,
            Known::New | Known::Refused(_) => {}
        }
        let source = self.accounts.find(hashes.source, &operation.source);
        match self.unknown_payer(command, operation, source, hashes.destination) {
            Some(_) if signed_at != 0 => Outlook::NoAccount,
            _ => Outlook::Recorded,
        }
    }

    /// Assigns the next sequence to an operation and remembers it for its retry.
    #[inline(always)]
    pub(crate) fn remember(
        &mut self,
        identity: u64,
        operation: &Operation,
        (status, value): (Status, u64),
        signed_at: u64,
        elapsed: u64,
    ) {
        self.last_sequence += 1;
        let operation = Operation { status: status.code().into(), ..*operation };
        let record = Record { operation, value: U64::new(value) };
        self.retries.push(identity, self.last_sequence, &record, signed_at, elapsed);
    }

    /// Executes an operation of the journal again, without the memory of retries. Returns its status and value.
    pub(crate) fn redo(&mut self, operation: &Operation, signed_at: u64) -> (Status, u64) {
        let hashes = self.hash(operation);
        let source = self.accounts.find(hashes.source, &operation.source);
        match check(operation, signed_at != 0) {
            Ok(command) => self.apply(command, operation, source, hashes.destination),
            Err(status) => (status, 0),
        }
    }

    /// Applies a command. Returns the status and the source's balance after it.
    #[inline(always)]
    fn apply(
        &mut self,
        command: Command,
        operation: &Operation,
        source: Option<EntryIndex>,
        destination: Hash,
    ) -> (Status, u64) {
        let result = match command {
            Command::Create => self.create(operation, source, destination),
            Command::Issue => self.issue(operation, source),
            Command::Transfer => self.transfer(operation, source, destination),
            Command::Refer => Ok(self.balance_of(source)),
        };
        match result {
            Ok(value) => (Status::Ok, value),
            Err(status) => (status, self.balance_of(source)),
        }
    }

    #[inline(always)]
    fn balance_of(&self, account: Option<EntryIndex>) -> u64 {
        account.map_or(0, |entry| self.accounts.balance(entry))
    }

    fn create(&mut self, operation: &Operation, source: Option<EntryIndex>, payer: Hash) -> Result<u64, Status> {
        if source.is_some() {
            return Err(Status::AccountExists);
        }
        if self.accounts.is_full() {
            return Err(Status::TableFull);
        }
        let left = match operation.payer() {
            None => None,
            Some(account) => {
                let payer = self.accounts.find(payer, &account).ok_or(Status::DestinationUnknown)?;
                let balance = self.accounts.balance(payer);
                Some((payer, balance.checked_sub(operation.amount()).ok_or(Status::InsufficientBalance)?))
            }
        };
        let created = self.accounts.create(&operation.source, 0);
        // Where the table has room depends on the order in which accounts were inserted, which a restart changes.
        assert!(created.is_ok() || !self.is_replica, "the table has no place for an account below its limit");
        created.map_err(|_| Status::TableFull)?;
        if let Some((payer, left)) = left {
            self.accounts.set_balance(payer, left);
            self.accounts.withdraw(operation.amount());
        }
        Ok(0)
    }

    fn issue(&mut self, operation: &Operation, source: Option<EntryIndex>) -> Result<u64, Status> {
        let amount = operation.amount.get();
        let source = source.ok_or(Status::SourceUnknown)?;
        let balance = self.accounts.balance(source).checked_add(amount).ok_or(Status::Overflow)?;
        self.accounts.set_balance(source, balance);
        self.accounts.issue(amount);
        Ok(balance)
    }

    #[inline(always)]
    fn transfer(&mut self, operation: &Operation, source: Option<EntryIndex>, hash: Hash) -> Result<u64, Status> {
        let amount = operation.amount.get();
        let source = source.ok_or(Status::SourceUnknown)?;
        let destination = self.accounts.find(hash, &operation.destination).ok_or(Status::DestinationUnknown)?;
        let left = self.accounts.balance(source).checked_sub(amount).ok_or(Status::InsufficientBalance)?;
        let received = self.accounts.balance(destination).checked_add(amount).ok_or(Status::Overflow)?;
        self.accounts.set_balance(source, left);
        self.accounts.set_balance(destination, received);
        Ok(left)
    }
}

/// Checks an operation without its accounts. Returns its command, or the status that it is refused with.
#[inline(always)]
fn check(operation: &Operation, is_signed: bool) -> Result<Command, Status> {
    if operation.status.get() != 0 {
        return Err(operation.status().unwrap_or(Status::Malformed));
    }
    let status = if is_signed { operation.check_signed() } else { operation.check() };
    match status {
        Status::Ok => operation.command(),
        status => Err(status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{account, transaction, transfer};

    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(
            Limits { accounts: 10, retries: retries::Limits::with_operations(1 << 10) },
            Secret::from_seed([7; 16]),
        )
        .unwrap();
        execute(&mut ledger, Operation::create(transaction(1), account(1)));
        execute(&mut ledger, Operation::create(transaction(2), account(2)));
        execute(&mut ledger, Operation::issue(transaction(3), account(1), 1000));
        ledger
    }

    fn execute(ledger: &mut Ledger, operation: Operation) {
        ledger.execute(&mut [operation], &mut [0], Now::default(), |_, _| ());
    }

    #[test]
    #[should_panic(expected = "add up to 1001, but 1000 was issued")]
    fn money_from_nowhere_ends_the_batch() {
        let mut ledger = ledger();
        let entry = ledger.accounts.find(ledger.accounts.hash(&account(2)), &account(2)).unwrap();
        ledger.accounts.set_balance(entry, 1);
        execute(&mut ledger, transfer(4, 1, 2, 10));
    }

    #[test]
    #[should_panic(expected = "add up to 1000, but 1001 was issued")]
    fn money_that_nobody_has_ends_the_batch() {
        let mut ledger = ledger();
        ledger.accounts.issue(1);
        execute(&mut ledger, transfer(4, 1, 2, 10));
    }
}
