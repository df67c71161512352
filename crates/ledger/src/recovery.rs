//! Recovery of a ledger: balances as of some operation, then the journal.

use std::{panic::resume_unwind, sync::Arc, thread};

use chain::{
    index::Index,
    own::OwnChain,
    progress::{Progress, Stage},
};
use spv::IndexEntry;
use table::Hash;
use wire::{AccountId, Operation, Status, linked::LONGEST_CHAIN};

use crate::{
    Error,
    accounts::Accounts,
    balances::{Balances, HashedId},
    engine::{Executable, GROUP, Ledger, Limits, Memory},
    holds::is_taken,
    journal::{JournalBatch, JournalReader, JournalRecall, Log, Newest},
    recent,
    retries::{Now, Retries},
    secret::Secret,
};

/// Accounts between two advances of the progress: some milliseconds.
const REPORT: u64 = 1 << 16;

/// The clock of the memory of retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Time since the journal's first batch, continued by the time since the start.
    Own,
    /// Time ordered with the operations: the same on all replicas, whenever they were started.
    Ordered,
}

/// Recovers the ledger of a data directory: the accounts as of the tip of `chain`, then the later operations of the
/// journal.
///
/// Retries are recognised for all operations in the journal within the times of [`retries`](crate::retries). Time
/// during which the node was down does not count.
pub fn recover(limits: Limits, secret: Secret, chain: &OwnChain, log: &Arc<Log>) -> Result<Ledger, Error> {
    recover_within(None, limits, secret, chain, log)
}

/// Recovers a ledger as [`recover`] does, in `memory` if given, otherwise in its own memory.
pub fn recover_within(
    memory: Option<Memory>,
    limits: Limits,
    secret: Secret,
    chain: &OwnChain,
    log: &Arc<Log>,
) -> Result<Ledger, Error> {
    recover_by(Clock::Own, memory, limits, secret, chain, log, |_| {})
}

/// The same with a clock; `watch` sees each batch that is read.
pub(crate) fn recover_by(
    clock: Clock,
    memory: Option<Memory>,
    limits: Limits,
    secret: Secret,
    chain: &OwnChain,
    log: &Arc<Log>,
    watch: impl FnMut(&JournalBatch<'_>) + Send,
) -> Result<Ledger, Error> {
    let mut ledger = replay(clock, memory, limits, secret, chain, log, watch)?.finish()?;
    ledger.set_recall(JournalRecall::new(log.clone()));
    Ok(ledger)
}

/// Replays all operations of the journal, and may go on with later ones.
pub(crate) fn replay(
    clock: Clock,
    memory: Option<Memory>,
    limits: Limits,
    secret: Secret,
    chain: &OwnChain,
    log: &Arc<Log>,
    mut watch: impl FnMut(&JournalBatch<'_>) + Send,
) -> Result<Recovery, Error> {
    let tip = chain.tip();
    let (back, settled) = match clock {
        Clock::Own => (limits.retries.retention.max(limits.retries.replay).as_micros() as u64, tip.end_sequence + 1),
        Clock::Ordered => (recent::reach(&limits.retries), tip.end_sequence),
    };
    let first = log.since(log.timestamp().saturating_sub(back), settled);
    let first = first.clamp(log.first_sequence().min(tip.end_sequence + 1), tip.end_sequence + 1);
    let mut recovery = Recovery::within(memory, limits, secret, tip.end_sequence, first)?;
    recovery.times.clock = clock;
    let progress = chain.progress();
    progress.expect(Stage::Operations, (log.durable() + 1).saturating_sub(first));
    // Operations that the balances include change only the memory of retries, so two threads share the work.
    let Recovery { ledger: Ledger { accounts, retries, last_sequence, .. }, limits, times, .. } = &mut recovery;
    let mut covered = Covered { retries, last_sequence, limits, times, covered: tip.end_sequence };
    let watching = &mut watch;
    thread::scope(|scope| {
        let remember = move || covered.remember(log, first, progress, watching);
        let remembering = thread::Builder::new().name("replay".into()).spawn_scoped(scope, remember);
        let remembering = remembering.map_err(|source| Error::Thread { source })?;
        let filled = chain.with_index(|index| fill(accounts, index, progress));
        let remembered = remembering.join().unwrap_or_else(|panic| resume_unwind(panic));
        filled.and(remembered)
    })?;
    let balances = recovery.ledger.issued();
    if balances != tip.issued {
        return Err(Error::Conservation { balances, issued: tip.issued });
    }
    let covered = recovery.ledger.last_sequence;
    if covered < log.durable() {
        recovery.replay_from(log.reader(covered + 1)?, progress, watch)?;
    }
    Ok(recovery)
}

/// Adds all accounts and open holds of the index.
fn fill(accounts: &mut Accounts, index: &Index, progress: &Progress) -> Result<(), Error> {
    progress.expect(Stage::Accounts, index.accounts());
    progress.begin(Stage::Accounts);
    // An account or a hold needs its asset, which may be anywhere in the index.
    if index.assets() > 0 {
        let assets = index.entries().filter(|entry| entry.asset().is_some());
        assets.into_iter().try_for_each(|entry| add(accounts, accounts.hash(&AccountId(entry.account)), entry))?;
    }
    let mut added = 0;
    let mut hashes = Vec::new();
    for entries in index.chunks() {
        hashes.clear();
        hashes.extend(entries.iter().map(|entry| accounts.hash(&AccountId(entry.account))));
        hashes.iter().for_each(|hash| accounts.prefetch_bucket(*hash));
        for (entry, hash) in entries.iter().zip(&hashes).filter(|(entry, _)| entry.asset().is_none()) {
            add(accounts, *hash, entry)?;
        }
        added += entries.len() as u64;
        if added >= REPORT {
            progress.advance(Stage::Accounts, std::mem::take(&mut added));
        }
    }
    progress.advance(Stage::Accounts, added);
    Ok(())
}

/// Adds an entry of the index: an asset, or an account or open hold whose asset has been added.
fn add(accounts: &mut Accounts, hash: Hash, entry: &IndexEntry) -> Result<(), Error> {
    let (id, amount) = (AccountId(entry.account), entry.balance.get());
    let key = HashedId { id, hash };
    if is_taken(accounts, &key) {
        return Err(Error::AccountTwice(id));
    }
    let limit = accounts.limit();
    let too_many = || Error::TooManyAccounts { limit };
    if let Some(asset) = entry.asset() {
        return accounts.add_asset(&key, asset).map_err(|_| too_many());
    }
    let asset = match entry.has_asset() {
        true => accounts.asset_entry(&accounts.asset_key(&id)).ok_or(Error::AssetUnknown(id))?,
        false => 0,
    };
    if entry.is_hold() {
        if accounts.is_full_of_holds() {
            return Err(too_many());
        }
        accounts.add_hold(&key, amount, asset).map_err(|_| too_many())?;
        accounts.issue(asset, amount.into());
        return Ok(());
    }
    if !entry.is_account() {
        return Err(Error::AssetUnknown(id));
    }
    if accounts.is_full() {
        return Err(too_many());
    }
    accounts.create(&id, asset, amount).map_err(|_| too_many())?;
    match accounts.find(hash, &id).filter(|_| entry.is_frozen()) {
        Some(account) => accounts.set_frozen(account, true).map_err(|_| too_many()),
        None => Ok(()),
    }
}

/// The time of the operations that are replayed.
#[derive(Debug)]
struct Times {
    clock: Clock,
    /// When the first batch was written; `None` before there is one.
    began: Option<u64>,
    /// The time since then, in microseconds.
    elapsed: u64,
}

impl Times {
    /// Advances to a batch.
    fn advance(&mut self, retries: &mut Retries, timestamp: u64, newest: Newest) {
        let began = *self.began.get_or_insert_with(|| {
            retries.raise_horizons(newest.ids.get(), newest.signed.get());
            timestamp
        });
        self.elapsed = match self.clock {
            Clock::Own => timestamp.saturating_sub(began),
            Clock::Ordered => timestamp,
        };
        retries.forget(Now { elapsed: self.elapsed, unix: timestamp });
    }
}

/// The part of a recovery that operations change which the balances include: they are only remembered.
struct Covered<'a> {
    retries: &'a mut Retries,
    last_sequence: &'a mut u64,
    limits: &'a Limits,
    times: &'a mut Times,
    covered: u64,
}

impl Covered<'_> {
    /// Remembers the operations of the journal from `first` to the last one that is covered.
    fn remember(
        &mut self,
        log: &Arc<Log>,
        first: u64,
        progress: &Progress,
        watch: &mut impl FnMut(&JournalBatch<'_>),
    ) -> Result<(), Error> {
        progress.begin(Stage::Operations);
        if first > self.covered {
            return Ok(());
        }
        let mut reader = log.reader(first)?;
        while *self.last_sequence < self.covered
            && let Some(batch) = reader.next()?
        {
            self.times.advance(self.retries, batch.timestamp, batch.newest);
            // The rest of a batch that the last block divides is replayed later, and is seen then.
            if batch.last_sequence() <= self.covered {
                watch(&batch);
            }
            let before = *self.last_sequence;
            let mut entries = batch.entries();
            let mut group = [(0, None); GROUP];
            loop {
                let mut count = 0;
                for (place, (record, signed)) in group.iter_mut().zip(&mut entries) {
                    let hash = self.retries.hash(&record.operation);
                    self.retries.prefetch(hash, signed.is_some());
                    *place = (hash, Some((record, signed.map_or(0, |signed| signed.signed_at()))));
                    count += 1;
                }
                for (hash, entry) in &group[..count] {
                    let Some((record, signed_at)) = entry else { break };
                    if *self.last_sequence == self.covered {
                        break;
                    }
                    if self.retries.is_overfull(*signed_at != 0) {
                        return Err(too_many(self.limits, *signed_at != 0));
                    }
                    *self.last_sequence += 1;
                    self.retries.push(*hash, *self.last_sequence, record, *signed_at, self.times.elapsed);
                }
                if count < GROUP {
                    break;
                }
            }
            progress.advance(Stage::Operations, *self.last_sequence - before);
        }
        Ok(())
    }
}

/// A ledger during recovery.
///
/// The balances come first ([`account`](Self::account)), then the operations of the journal
/// ([`operation`](Self::operation)), from as far back as retries must be recognised. Operations that the balances
/// include are only remembered; the others are executed again and must give the recorded result.
#[derive(Debug)]
pub struct Recovery {
    ledger: Ledger,
    limits: Limits,
    covered: u64,
    times: Times,
    /// The operations of a linked chain whose last one has not been read yet.
    chain: Vec<Replayed>,
}

/// An operation of the journal, with its recorded result.
#[derive(Clone, Copy, Debug)]
struct Replayed {
    /// The requested operation.
    operation: Operation,
    signed_at: u64,
    status: Status,
    value: u64,
}

impl AsRef<Operation> for Replayed {
    fn as_ref(&self) -> &Operation {
        &self.operation
    }
}

impl AsMut<Operation> for Replayed {
    fn as_mut(&mut self) -> &mut Operation {
        &mut self.operation
    }
}

impl Executable for Replayed {
    fn signed_at(&self) -> u64 {
        self.signed_at
    }

    fn key(&self) -> Option<&[u8; 33]> {
        None
    }
}

impl Recovery {
    /// Begins with balances that include all operations up to sequence `covered` (0 for none), and a journal that
    /// starts with sequence `first`.
    pub fn new(limits: Limits, secret: Secret, covered: u64, first: u64) -> Result<Self, Error> {
        Self::within(None, limits, secret, covered, first)
    }

    fn within(memory: Option<Memory>, limits: Limits, secret: Secret, covered: u64, first: u64) -> Result<Self, Error> {
        if first > covered + 1 {
            return Err(Error::Gap { covered, first });
        }
        let ledger = Ledger::starting_at(limits, first, secret, memory)?;
        let times = Times { clock: Clock::Own, began: None, elapsed: 0 };
        Ok(Self { ledger, limits, covered, times, chain: Vec::new() })
    }

    /// Sets the time of the next operations, in microseconds since the Unix epoch, and the newest times of those before
    /// them: if earlier ones are missing from the journal, their retries cannot be recognised.
    pub fn batch(&mut self, timestamp: u64, newest: Newest) {
        self.times.advance(&mut self.ledger.retries, timestamp, newest);
    }

    /// Adds an entry of the index: an account with its balance, an open hold with its amount, or an asset. That of an
    /// account or a hold must be added before it.
    pub fn entry(&mut self, entry: &IndexEntry) -> Result<(), Error> {
        let accounts = &mut self.ledger.accounts;
        add(accounts, accounts.hash(&AccountId(entry.account)), entry)
    }

    /// Replays all operations that a reader of the journal has.
    fn replay_from(
        &mut self,
        mut reader: JournalReader,
        progress: &Progress,
        mut watch: impl FnMut(&JournalBatch<'_>),
    ) -> Result<(), Error> {
        while let Some(batch) = reader.next()? {
            self.batch(batch.timestamp, batch.newest);
            watch(&batch);
            for (number, (record, signed)) in batch.entries().enumerate() {
                if number.is_multiple_of(GROUP) {
                    self.ledger.prefetch_records(&batch.records[number..]);
                }
                match signed {
                    Some(signed) => self.operation(&signed, record.value.get())?,
                    None => self.operation(&record.operation, record.value.get())?,
                }
            }
            progress.advance(Stage::Operations, batch.records.len() as u64);
        }
        Ok(())
    }

    /// The ledger so far.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Sequence of the next operation.
    pub fn next_sequence(&self) -> u64 {
        self.ledger.last_sequence + self.chain.len() as u64 + 1
    }

    /// Replays the next operation of the journal, with the status and value that it was answered with. A linked chain
    /// is replayed with its last operation.
    pub fn operation<E: Executable>(&mut self, entry: &E, value: u64) -> Result<(), Error> {
        let mut operation = *entry.operation();
        let status = Status::try_from(operation.status.get()).unwrap_or(Status::Malformed);
        operation.status.set(0);
        let replayed = Replayed { operation, signed_at: entry.signed_at(), status, value };
        if !operation.is_linked() && self.chain.is_empty() {
            return self.replay(std::slice::from_ref(&replayed));
        }
        self.chain.push(replayed);
        if !operation.is_linked() {
            let chain = std::mem::take(&mut self.chain);
            return self.replay(&chain);
        }
        if self.chain.len() >= LONGEST_CHAIN {
            return Err(Error::CutChain { sequence: self.next_sequence() - 1 });
        }
        Ok(())
    }

    /// Replays an operation, or a linked chain.
    fn replay(&mut self, chain: &[Replayed]) -> Result<(), Error> {
        // A full table was full then, whatever its configured size is now.
        let was_full = chain.iter().any(|entry| entry.status == Status::TableFull);
        if self.ledger.last_sequence + 1 > self.covered && !was_full {
            self.redo(chain)?;
        }
        for &Replayed { operation, signed_at, status, value } in chain {
            let is_signed = signed_at != 0;
            if self.ledger.retries.is_overfull(is_signed) {
                return Err(too_many(&self.limits, is_signed));
            }
            let identity = self.ledger.retries.hash(&operation);
            self.ledger.remember(identity, &operation, (status, value), signed_at, self.times.elapsed);
        }
        Ok(())
    }

    /// Executes an operation or a chain again, which must give the recorded results.
    fn redo(&mut self, chain: &[Replayed]) -> Result<(), Error> {
        let results = match chain {
            [single] => &mut [self.ledger.redo(&single.operation, single.signed_at)][..],
            chain => &mut self.ledger.redo_chain(chain),
        };
        for ((sequence, recorded), &mut (status, value)) in (self.ledger.last_sequence + 1..).zip(chain).zip(results) {
            if (status, value) == (recorded.status, recorded.value) {
                continue;
            }
            if status == Status::TableFull {
                return Err(Error::TooManyAccounts { limit: self.ledger.accounts.limit() });
            }
            let (recorded, recorded_value) = (recorded.status, recorded.value);
            return Err(Error::Diverged { sequence, recorded, recorded_value, status, value });
        }
        Ok(())
    }

    /// Returns the ledger, if the journal reached at least the operation of the balances.
    pub fn finish(self) -> Result<Ledger, Error> {
        let first = self.next_sequence();
        if !self.chain.is_empty() {
            return Err(Error::CutChain { sequence: first - 1 });
        }
        if first <= self.covered {
            return Err(Error::Gap { covered: self.covered, first });
        }
        let mut ledger = self.ledger;
        if self.times.clock == Clock::Own {
            ledger.retries.set_origin(self.times.elapsed);
        }
        ledger.accounts.assert_conserved();
        Ok(ledger)
    }
}

/// The error for more operations of a kind than fit.
fn too_many(limits: &Limits, is_signed: bool) -> Error {
    let limits = &limits.retries;
    let (capacity, time, key) = match is_signed {
        false => (limits.operations, limits.retention, "ledger.retry_operations"),
        true => (limits.signed, limits.replay, "ledger.signed_operations"),
    };
    Error::TooManyRetries { capacity, seconds: time.as_secs(), key }
}
