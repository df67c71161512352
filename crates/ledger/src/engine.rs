//! The ledger: a deterministic state machine over the accounts and the memory of retries.
//!
//! Operations come in batches and are executed in order. Memory is slow and the order is fixed, so a batch is processed
//! in small groups, in three passes: hash and prefetch the lines of the tables, prefetch the entries that they point
//! to, execute.

use std::collections::BTreeMap;

use table::{Hash, Region};
use wire::{AccountId, Command, Operation, SignedOperation, Status, U64};

use crate::{
    Error,
    accounts::{AccountEntry, Accounts},
    balances::{Balances, Changes, HashedId},
    holds,
    issuers::Issuers,
    journal::Record,
    lifecycle, linked,
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
pub trait Executable: AsRef<Operation> + AsMut<Operation> {
    /// The operation.
    fn operation(&self) -> &Operation {
        self.as_ref()
    }

    /// The operation, to write its status.
    fn operation_mut(&mut self) -> &mut Operation {
        self.as_mut()
    }

    /// The signed timestamp, 0 if it is not signed.
    fn signed_at(&self) -> u64;

    /// The key that signed it, unless it is not signed or is of the journal, where the issuers may have been others.
    fn key(&self) -> Option<&[u8; 33]>;
}

impl Executable for Operation {
    fn signed_at(&self) -> u64 {
        0
    }

    fn key(&self) -> Option<&[u8; 33]> {
        None
    }
}

impl Executable for SignedOperation {
    fn signed_at(&self) -> u64 {
        self.timestamp.get()
    }

    fn key(&self) -> Option<&[u8; 33]> {
        Some(&self.public_key)
    }
}

/// Refuses entries after the first `room`, for which the journal has no room, except REFER. A linked chain that ends
/// there is refused whole.
pub fn refuse_beyond<E: Executable>(entries: &mut [E], room: usize, refusal: Status) {
    let Some(cut) = entries.get(..room) else { return };
    let room = room - cut.iter().rev().take_while(|entry| entry.operation().is_linked()).count();
    for entry in entries.iter_mut().skip(room) {
        let operation = entry.operation_mut();
        if operation.status.get() == 0 && operation.command().is_ok_and(Command::is_executed) {
            operation.status.set(refusal.code());
        }
    }
}

/// Number of operations to prefetch ahead: enough to hide memory latency, few enough for the lines to stay in the
/// first-level cache.
pub(crate) const GROUP: usize = 32;

/// The hashes of an operation: of its two accounts and of its identity.
#[derive(Clone, Copy, Default)]
pub(crate) struct Hashes {
    pub source: Hash,
    pub destination: Hash,
    pub identity: u64,
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
    /// Whether accounts can be frozen, and unfrozen.
    allows_freezing: bool,
    /// The keys that may sign for assets; if `None`, any that the caller has admitted.
    pub(crate) issuers: Option<Issuers>,
    /// Memory for the changes of linked chains.
    pub(crate) changes: Changes,
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
        Ok(Self {
            accounts,
            retries,
            last_sequence: next_sequence - 1,
            is_replica: false,
            allows_freezing: false,
            issuers: None,
            changes: Changes::default(),
        })
    }

    /// Sets the source for replies to retries that only the journal holds in full.
    pub fn set_recall(&mut self, recall: impl Recall + 'static) {
        self.retries.set_recall(Box::new(recall));
    }

    /// From now on the ledger gives no reply that other replicas might give differently.
    pub(crate) fn be_replica(&mut self) {
        self.is_replica = true;
    }

    /// Sets whether new operations may freeze accounts, and unfreeze them; at first they may not.
    pub fn allow_freezing(&mut self, is_allowed: bool) {
        self.allows_freezing = is_allowed;
    }

    /// Sets the keys that may sign new ISSUE, FREEZE and UNFREEZE for accounts of each asset; at first any may.
    pub fn set_issuers(&mut self, issuers: Issuers) {
        self.issuers = Some(issuers);
    }

    /// Number of accounts.
    pub fn accounts(&self) -> usize {
        self.accounts.len()
    }

    /// Whether an account exists and is frozen.
    pub fn is_frozen(&self, account: &AccountId) -> bool {
        let found = self.accounts.find(self.accounts.hash(account), account);
        found.is_some_and(|entry| self.accounts.is_frozen(entry))
    }

    /// The asset of an account.
    pub fn asset(&self, account: &AccountId) -> Option<u32> {
        let entry = self.accounts.find(self.accounts.hash(account), account)?;
        Some(self.accounts.asset(entry))
    }

    /// The asset of an open hold, by its [id](spv::hash::hold_id).
    pub fn asset_of_hold(&self, hold: &AccountId) -> Option<u32> {
        self.held(hold)?;
        Some(self.accounts.asset_entry(&self.accounts.asset_key(hold)).unwrap_or(0))
    }

    /// Number of accounts of other assets than 0.
    pub fn of_assets(&self) -> usize {
        self.accounts.of_assets()
    }

    /// The issued amount of each asset, by its code; that of asset 0 is less paid deposits.
    pub fn issued_by_asset(&self) -> BTreeMap<u32, u128> {
        let mut issued = BTreeMap::from_iter(self.accounts.assets().issued());
        let of_others = issued.values().sum::<u128>();
        issued.insert(0, self.issued() - of_others);
        issued
    }

    /// Number of frozen accounts.
    pub fn frozen(&self) -> usize {
        self.accounts.frozen()
    }

    /// The amount of an open hold, by its [id](spv::hash::hold_id).
    pub fn held(&self, hold: &AccountId) -> Option<u64> {
        self.accounts.held(&HashedId { id: *hold, hash: self.accounts.hash(hold) })
    }

    /// Number of open holds.
    pub fn holds(&self) -> usize {
        self.accounts.holds()
    }

    /// The open holds and their amounts, in no particular order.
    pub fn iter_holds(&self) -> impl Iterator<Item = (AccountId, u64)> + '_ {
        self.accounts.iter_holds()
    }

    /// Sum of all issues minus paid deposits, which is the sum of all balances and open holds.
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

    /// Executes operations in order, each on its own, and each [linked chain](wire::linked) as a unit.
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
        let mut done = 0;
        while done < entries.len() {
            let (entries, values) = (&mut entries[done..], &mut values[done..]);
            let group_length = GROUP.min(entries.len());
            let group = &mut entries[..group_length];
            let (length, newly_recorded) = match group.iter().all(is_plain) {
                true => (group.len(), self.execute_plain(group, values, now, &mut record)),
                false => self.execute_mixed(entries, values, now, &mut record),
            };
            done += length;
            recorded += newly_recorded;
        }
        assert_eq!(self.last_sequence, first + recorded, "each sequence is recorded once");
        self.accounts.assert_conserved();
    }

    /// Executes a group of plain operations. Returns how many it recorded.
    #[inline(always)]
    fn execute_plain<E: Executable>(
        &mut self,
        group: &mut [E],
        values: &mut [u64],
        now: Now,
        record: &mut impl FnMut(&E, u64),
    ) -> u64 {
        let mut hashes = [Hashes::default(); GROUP];
        let hashes = &mut hashes[..group.len()];
        self.prefetch(group.iter().map(|entry| (entry.operation(), entry.signed_at() != 0)), hashes);
        let mut recorded = 0;
        for ((entry, value), hashes) in group.iter_mut().zip(values).zip(hashes) {
            recorded += u64::from(self.execute_single(entry, value, hashes, None, now, record));
        }
        recorded
    }

    /// Executes an operation that is not linked. Returns whether it recorded it.
    #[inline(always)]
    pub(crate) fn execute_single<E: Executable>(
        &mut self,
        entry: &mut E,
        value: &mut u64,
        hashes: &Hashes,
        hold: Option<&HashedId>,
        now: Now,
        record: &mut impl FnMut(&E, u64),
    ) -> bool {
        let outcome = self.execute_one(entry, hashes, hold, now);
        *value = outcome.value;
        entry.operation_mut().status.set(outcome.status.code());
        if outcome.fresh {
            record(entry, outcome.value);
        }
        outcome.fresh
    }

    /// Hashes operations, and prefetches their accounts and retries. With each comes whether it is signed.
    #[inline(always)]
    fn prefetch<'o>(&self, operations: impl Iterator<Item = (&'o Operation, bool)>, hashes: &mut [Hashes]) {
        for ((operation, is_signed), hashes) in operations.zip(&mut *hashes) {
            *hashes = self.hash(operation);
            self.prefetch_buckets(hashes, is_signed);
        }
        hashes.iter().for_each(|hashes| self.prefetch_entries(hashes));
    }

    #[inline(always)]
    pub(crate) fn prefetch_buckets(&self, hashes: &Hashes, is_signed: bool) {
        self.accounts.prefetch_bucket(hashes.source);
        self.accounts.prefetch_bucket(hashes.destination);
        self.retries.prefetch(hashes.identity, is_signed);
    }

    #[inline(always)]
    pub(crate) fn prefetch_entries(&self, hashes: &Hashes) {
        self.accounts.prefetch_entry(hashes.source);
        self.accounts.prefetch_entry(hashes.destination);
    }

    /// Prefetches the memory of the next [`GROUP`] operations of the journal.
    pub(crate) fn prefetch_records(&self, records: &[Record]) {
        let records = &records[..records.len().min(GROUP)];
        let mut hashes = [Hashes::default(); GROUP];
        // A record does not show whether it was signed; most are not.
        let operations = records.iter().map(|record| (&record.operation, false));
        self.prefetch(operations, &mut hashes[..records.len()]);
    }

    #[inline(always)]
    pub(crate) fn hash(&self, operation: &Operation) -> Hashes {
        Hashes {
            source: self.accounts.hash(&operation.source),
            destination: self.accounts.hash(&operation.destination),
            identity: self.retries.hash(operation),
        }
    }

    #[inline(always)]
    fn execute_one<E: Executable>(&mut self, entry: &E, hashes: &Hashes, hold: Option<&HashedId>, now: Now) -> Outcome {
        let (operation, signed_at) = (entry.operation(), entry.signed_at());
        let source = self.accounts.find(hashes.source, &operation.source);
        let balance = self.balance_of(source);
        let untraced = |status| Outcome { status, value: balance, fresh: false };
        let command = match self.check(operation, signed_at != 0) {
            Err(status) => return untraced(status),
            Ok(Command::Refer) if source.is_none() => return untraced(Status::SourceUnknown),
            Ok(Command::Refer) => return untraced(Status::Ok),
            Ok(command) => command,
        };
        match self.retries.known(hashes.identity, operation, signed_at, now) {
            Known::New => {}
            Known::Executed(status, value) => return Outcome { status, value, fresh: false },
            Known::Refused(status) => return untraced(status),
        }
        if signed_at != 0
            && let Some(status) = unknown_payer(&self.accounts, command, operation, source, hashes.destination)
        {
            return untraced(status);
        }
        if let Some(key) = entry.key()
            && command.is_of_issuer()
            && !is_issuer(self.issuers.as_ref(), &self.accounts, key, source)
        {
            return untraced(Status::NotIssuer);
        }
        let (status, value) = self.apply(command, operation, source, hashes, hold, Some(now.unix));
        if !leaves_trace(command, status) {
            return untraced(status);
        }
        self.remember(hashes.identity, operation, (status, value), signed_at, now.elapsed);
        Outcome { status, value, fresh: true }
    }

    /// Checks a new operation without its accounts.
    #[inline(always)]
    fn check(&self, operation: &Operation, is_signed: bool) -> Result<Command, Status> {
        match check(operation, is_signed) {
            Ok(command) if command.freezes() && !self.allows_freezing => Err(Status::FreezingDisabled),
            result => result,
        }
    }

    /// Predicts [`Self::execute`] without executing the operation, as if it were not linked. A full window of retries
    /// does not settle an operation: the window will have room again.
    pub fn outlook(&mut self, operation: &Operation, signed_at: u64, now: Now) -> Outlook {
        let command = match self.check(operation, signed_at != 0) {
            Err(_) | Ok(Command::Refer) => return Outlook::Settled,
            Ok(command) => command,
        };
        let hashes = self.hash(operation);
        match self.retries.known(hashes.identity, operation, signed_at, now) {
            Known::Executed(..) => return Outlook::Settled,
            Known::New | Known::Refused(_) => {}
        }
        let source = self.accounts.find(hashes.source, &operation.source);
        match unknown_payer(&self.accounts, command, operation, source, hashes.destination) {
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
            Ok(command) => self.apply(command, operation, source, &hashes, None, None),
            Err(status) => (status, 0),
        }
    }

    /// Applies a command. Returns the status and the source's balance after it.
    #[inline(always)]
    fn apply(
        &mut self,
        command: Command,
        operation: &Operation,
        source: Option<AccountEntry>,
        hashes: &Hashes,
        hold: Option<&HashedId>,
        time: Option<u64>,
    ) -> (Status, u64) {
        let result = apply(&mut self.accounts, command, operation, source, hashes, hold, time);
        if result.0 == Status::TableFull {
            self.assert_full(command);
        }
        result
    }

    /// Panics if this is a replica whose table has no place for an account or a hold below its limit. Where the table
    /// has room depends on the order in which it was filled, which a restart changes.
    #[cold]
    pub(crate) fn assert_full(&self, command: Command) {
        let is_full = if command == Command::Hold { self.accounts.is_full_of_holds() } else { self.accounts.is_full() };
        assert!(is_full || !self.is_replica, "the table has no place for an account or a hold below its limit");
    }

    #[inline(always)]
    pub(crate) fn balance_of(&self, account: Option<AccountEntry>) -> u64 {
        account.map_or(0, |entry| self.accounts.balance(entry))
    }
}

/// Whether a key may sign for the asset of an account, by the issuers if there are any.
#[cold]
pub(crate) fn is_issuer<B: Balances>(
    issuers: Option<&Issuers>,
    balances: &B,
    key: &[u8; 33],
    account: Option<B::Entry>,
) -> bool {
    let (Some(issuers), Some(account)) = (issuers, account) else { return true };
    issuers.contains(balances.asset(account), key)
}

/// The refusal of a signed operation whose paying account does not exist, if so. Anybody can sign for such an account,
/// so it must use neither memory nor disk. The end of a hold that is open can do without.
#[inline(always)]
pub(crate) fn unknown_payer<B: Balances>(
    balances: &B,
    command: Command,
    operation: &Operation,
    source: Option<B::Entry>,
    destination: Hash,
) -> Option<Status> {
    let refusal = missing_account(balances, command, operation, source, destination)?;
    let is_held = || balances.held(&balances.hold_key(operation)).is_some();
    (!command.ends_hold() || !is_held()).then_some(refusal)
}

#[inline(always)]
fn missing_account<B: Balances>(
    balances: &B,
    command: Command,
    operation: &Operation,
    source: Option<B::Entry>,
    destination: Hash,
) -> Option<Status> {
    match operation.payer() {
        Some(payer) => balances.find(destination, &payer).is_none().then_some(Status::DestinationUnknown),
        None if operation.signer() != operation.source => {
            balances.find(destination, &operation.destination).is_none().then_some(Status::DestinationUnknown)
        }
        None => (source.is_none() && !command.creates()).then_some(Status::SourceUnknown),
    }
}

/// Whether an operation with this status is recorded. One that fails to end a hold is not: it can be repeated under the
/// same name.
#[inline(always)]
pub(crate) fn leaves_trace(command: Command, status: Status) -> bool {
    status == Status::Ok || status.is_journalled() && !command.ends_hold()
}

/// Whether an entry neither starts a chain nor is of a hold.
#[inline(always)]
fn is_plain<E: Executable>(entry: &E) -> bool {
    !linked::starts_chain(entry) && !entry.operation().is_of_hold()
}

/// Applies a command to balances. `hold` is the hold that it makes or ends, if the caller has computed its key. `time`
/// is in microseconds since the Unix epoch, `None` for an operation that was in time when it was recorded. Returns the
/// status and the source's balance after it.
#[inline(always)]
pub(crate) fn apply<B: Balances>(
    balances: &mut B,
    command: Command,
    operation: &Operation,
    source: Option<B::Entry>,
    hashes: &Hashes,
    hold: Option<&HashedId>,
    time: Option<u64>,
) -> (Status, u64) {
    let balance_of = |balances: &B| source.map_or(0, |entry| balances.balance(entry));
    let result = match command {
        Command::Create | Command::Open => lifecycle::create(balances, operation, source, hashes),
        Command::Issue => issue(balances, operation, source),
        Command::Transfer => transfer(balances, operation, source, hashes.destination),
        Command::Refer => Ok(balance_of(balances)),
        Command::Hold => holds::hold(balances, operation, source, hashes.destination, hold, time),
        Command::Capture | Command::Release | Command::Reclaim => {
            holds::end(balances, command, operation, source, hashes, hold, time)
        }
        Command::Freeze => lifecycle::set_frozen(balances, source, true),
        Command::Unfreeze => lifecycle::set_frozen(balances, source, false),
        Command::Close => lifecycle::close(balances, &operation.source, source),
    };
    match result {
        Ok(value) => (Status::Ok, value),
        Err(status) => (status, balance_of(balances)),
    }
}

fn issue<B: Balances>(balances: &mut B, operation: &Operation, source: Option<B::Entry>) -> Result<u64, Status> {
    let amount = operation.amount.get();
    let source = source.ok_or(Status::SourceUnknown)?;
    let balance = balances.balance(source).checked_add(amount).ok_or(Status::Overflow)?;
    balances.set_balance(source, balance);
    balances.issue(balances.asset(source), amount);
    Ok(balance)
}

#[inline(always)]
fn transfer<B: Balances>(
    balances: &mut B,
    operation: &Operation,
    source: Option<B::Entry>,
    hash: Hash,
) -> Result<u64, Status> {
    let amount = operation.amount.get();
    let source = source.ok_or(Status::SourceUnknown)?;
    let destination = balances.find(hash, &operation.destination).ok_or(Status::DestinationUnknown)?;
    if balances.has_assets() {
        same_asset(balances, source, destination)?;
    }
    let left = balances.after_payment(source, amount)?;
    let received = balances.balance(destination).checked_add(amount).ok_or(Status::Overflow)?;
    balances.set_balance(source, left);
    balances.set_balance(destination, received);
    Ok(left)
}

/// Refuses two accounts of different assets.
#[cold]
pub(crate) fn same_asset<B: Balances>(balances: &B, one: B::Entry, other: B::Entry) -> Result<(), Status> {
    if balances.asset(one) == balances.asset(other) { Ok(()) } else { Err(Status::AssetMismatch) }
}

/// Checks an operation without its accounts. Returns its command, or the status that it is refused with.
#[inline(always)]
pub(crate) fn check(operation: &Operation, is_signed: bool) -> Result<Command, Status> {
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
        ledger.accounts.issue(0, 1);
        execute(&mut ledger, transfer(4, 1, 2, 10));
    }
}
