//! Recovery of a ledger: balances as of some operation, then the journal.

use std::sync::Arc;

use chain::{
    index::Index,
    own::OwnChain,
    progress::{Progress, Stage},
};
use wire::{AccountId, Operation, Status, linked::LONGEST_CHAIN};

use crate::{
    Error,
    engine::{Executable, Ledger, Limits, Memory},
    journal::{JournalBatch, JournalRecall, Log, Newest},
    recent,
    retries::Now,
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
    mut watch: impl FnMut(&JournalBatch<'_>),
) -> Result<Ledger, Error> {
    let tip = chain.tip();
    let (back, settled) = match clock {
        Clock::Own => (limits.retries.retention.max(limits.retries.replay).as_micros() as u64, tip.end_sequence + 1),
        Clock::Ordered => (recent::reach(&limits.retries), tip.end_sequence),
    };
    let first = log.since(log.timestamp().saturating_sub(back), settled);
    let first = first.clamp(log.first_sequence().min(tip.end_sequence + 1), tip.end_sequence + 1);
    let mut recovery = Recovery::within(memory, limits, secret, tip.end_sequence, first)?;
    recovery.clock = clock;
    let progress = chain.progress();
    chain.with_index(|index| fill(&mut recovery, index, progress))?;
    let balances = recovery.ledger.issued();
    if balances != tip.issued {
        return Err(Error::Conservation { balances, issued: tip.issued });
    }
    progress.expect(Stage::Operations, (log.durable() + 1).saturating_sub(first));
    progress.begin(Stage::Operations);
    let mut reader = log.reader(first)?;
    while let Some(batch) = reader.next()? {
        progress.advance(Stage::Operations, batch.records.len() as u64);
        recovery.batch(batch.timestamp, batch.newest);
        watch(&batch);
        for (record, signed) in batch.entries() {
            match signed {
                Some(signed) => recovery.operation(&signed, record.value.get())?,
                None => recovery.operation(&record.operation, record.value.get())?,
            }
        }
    }
    let mut ledger = recovery.finish()?;
    ledger.set_recall(JournalRecall::new(log.clone()));
    Ok(ledger)
}

/// Adds all accounts of the index.
fn fill(recovery: &mut Recovery, index: &Index, progress: &Progress) -> Result<(), Error> {
    progress.expect(Stage::Accounts, index.accounts());
    progress.begin(Stage::Accounts);
    let mut added = 0;
    for entries in index.chunks() {
        entries.iter().try_for_each(|entry| recovery.account(&AccountId(entry.account), entry.balance.get()))?;
        added += entries.len() as u64;
        if added >= REPORT {
            progress.advance(Stage::Accounts, std::mem::take(&mut added));
        }
    }
    progress.advance(Stage::Accounts, added);
    Ok(())
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
    clock: Clock,
    /// When the first batch was written; `None` before there is one.
    began: Option<u64>,
    /// The time since then, in microseconds.
    elapsed: u64,
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
        Ok(Self { ledger, limits, covered, clock: Clock::Own, began: None, elapsed: 0, chain: Vec::new() })
    }

    /// Sets the time of the next operations, in microseconds since the Unix epoch, and the newest times of those before
    /// them: if earlier ones are missing from the journal, their retries cannot be recognised.
    pub fn batch(&mut self, timestamp: u64, newest: Newest) {
        let began = *self.began.get_or_insert_with(|| {
            self.ledger.retries.raise_horizons(newest.ids.get(), newest.signed.get());
            timestamp
        });
        self.elapsed = match self.clock {
            Clock::Own => timestamp.saturating_sub(began),
            Clock::Ordered => timestamp,
        };
        self.ledger.retries.forget(Now { elapsed: self.elapsed, unix: timestamp });
    }

    /// Adds an account with its balance.
    pub fn account(&mut self, account: &AccountId, balance: u64) -> Result<(), Error> {
        let accounts = &mut self.ledger.accounts;
        if accounts.find(accounts.hash(account), account).is_some() {
            return Err(Error::AccountTwice(*account));
        }
        let too_many = Error::TooManyAccounts { limit: accounts.limit() };
        if accounts.is_full() {
            return Err(too_many);
        }
        accounts.create(account, balance).map_err(|_| too_many)
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
                return Err(self.too_many(is_signed));
            }
            let identity = self.ledger.retries.hash(&operation);
            self.ledger.remember(identity, &operation, (status, value), signed_at, self.elapsed);
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
        if self.clock == Clock::Own {
            ledger.retries.set_origin(self.elapsed);
        }
        ledger.accounts.assert_conserved();
        Ok(ledger)
    }

    fn too_many(&self, is_signed: bool) -> Error {
        let limits = &self.limits.retries;
        let (capacity, time, key) = match is_signed {
            false => (limits.operations, limits.retention, "ledger.retry_operations"),
            true => (limits.signed, limits.replay, "ledger.signed_operations"),
        };
        Error::TooManyRetries { capacity, seconds: time.as_secs(), key }
    }
}
