//! How a ledger comes back: balances as of some operation, then the journal.

use std::{sync::Arc, time::Duration};

use chain::own::OwnChain;
use wire::{AccountId, Status};

use crate::{
    Error,
    engine::{Executable, Ledger, Limits, Memory},
    journal::Log,
    secret::Secret,
};

/// How far ahead of the node's clock the timestamp of a signed operation may be. Clocks that follow NTP are closer than
/// this; with more, a client whose clock is ahead could move the horizon past what others sign.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(2);

/// The ledger of a data directory: the accounts as of the tip of `chain`, and the operations of the journal since. Retries
/// are recognised of all that the journal still holds, as far as the window reaches.
pub fn recover(limits: Limits, secret: Secret, chain: &OwnChain, log: &Arc<Log>) -> Result<Ledger, Error> {
    recover_within(None, limits, secret, chain, log)
}

/// As [`recover`]; the ledger lies in `memory` if there is any, else in memory of its own.
pub fn recover_within(
    memory: Option<Memory>,
    limits: Limits,
    secret: Secret,
    chain: &OwnChain,
    log: &Arc<Log>,
) -> Result<Ledger, Error> {
    let tip = chain.tip();
    let window = (log.durable() + 1).saturating_sub(limits.window as u64);
    let first = log.first_sequence().max(window).min(tip.end_sequence + 1);
    let mut recovery = Recovery::within(memory, limits, secret, tip.end_sequence, first)?;
    chain.with_index(|index| {
        let mut entries = index.entries();
        entries.try_for_each(|entry| recovery.account(&AccountId(entry.account), entry.balance.get()))
    })?;
    let balances = recovery.ledger.issued();
    if balances != tip.issued {
        return Err(Error::Conservation { balances, issued: tip.issued });
    }
    let mut reader = log.reader(first)?;
    while let Some(batch) = reader.next()? {
        if batch.first_sequence == first {
            recovery.begins_at(batch.timestamp);
        }
        let mut signed = batch.signed().peekable();
        for (at, record) in batch.records.iter().enumerate() {
            match signed.next_if(|(position, _)| *position == at) {
                Some((_, signed)) => recovery.operation(&signed, record.value.get())?,
                None => recovery.operation(&record.operation, record.value.get())?,
            }
        }
    }
    recovery.finish()
}

/// A ledger on its way back.
///
/// The balances come first ([`account`](Self::account)), then the operations of the journal
/// ([`operation`](Self::operation)), beginning as far back as retries are to be recognised: those that the balances
/// already include are only remembered, the others are executed again and have to give what was recorded.
#[derive(Debug)]
pub struct Recovery {
    ledger: Ledger,
    covered: u64,
}

impl Recovery {
    /// Begins with balances that include all operations up to sequence `covered` (0 for none), and a journal whose
    /// first operation to be given has the sequence `first`.
    pub fn new(limits: Limits, secret: Secret, covered: u64, first: u64) -> Result<Self, Error> {
        Self::within(None, limits, secret, covered, first)
    }

    fn within(memory: Option<Memory>, limits: Limits, secret: Secret, covered: u64, first: u64) -> Result<Self, Error> {
        if first > covered + 1 {
            return Err(Error::Gap { covered, first });
        }
        Ok(Self { ledger: Ledger::starting_at(limits, first, secret, memory)?, covered })
    }

    /// Tells when the first operation to be given was written, in microseconds since the Unix epoch. What was signed
    /// before that may be missing from what the journal still holds, so that retries of it cannot be recognised.
    pub fn begins_at(&mut self, timestamp: u64) {
        if self.next_sequence() > 1 {
            self.ledger.window.raise_horizon(timestamp.saturating_add(CLOCK_TOLERANCE.as_micros() as u64));
        }
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

    /// The sequence of the operation to be given next.
    pub fn next_sequence(&self) -> u64 {
        self.ledger.window.next_sequence()
    }

    /// Gives the next operation of the journal, with the status and value that it was answered with.
    pub fn operation<E: Executable>(&mut self, entry: &E, value: u64) -> Result<(), Error> {
        let sequence = self.next_sequence();
        let mut operation = *entry.operation();
        let recorded = Status::try_from(operation.status.get()).unwrap_or(Status::Malformed);
        operation.status.set(0);
        // The window would take an operation for a retry of its own, and nothing in the journal is one.
        let hash = self.ledger.window.hash(&operation.source, &operation.transaction);
        if sequence > self.covered && recorded != Status::TableFull {
            let (status, value_now) = self.ledger.execute_again(&operation);
            if (status, value_now) != (recorded, value) {
                if status == Status::TableFull {
                    return Err(Error::TooManyAccounts { limit: self.ledger.accounts.limit() });
                }
                return Err(Error::Diverged { sequence, recorded, recorded_value: value, status, value: value_now });
            }
        }
        // A full table is what it was then, whatever its configured size is now.
        self.ledger.window.push(hash, &operation, (recorded, value), entry.signed_at());
        Ok(())
    }

    /// The ledger, if the journal went on to at least where the balances are.
    pub fn finish(self) -> Result<Ledger, Error> {
        let first = self.next_sequence();
        if first <= self.covered {
            return Err(Error::Gap { covered: self.covered, first });
        }
        Ok(self.ledger)
    }
}
