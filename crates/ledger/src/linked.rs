//! Execution of [linked chains](wire::linked): all operations of a chain, or none.
//!
//! 1. If the chain is not well-formed, all of it is `LINKED_INVALID`. If there is no room to remember all of it, all of
//!    it is `BUSY`.
//! 2. If some are refused by their form, or were refused earlier, they keep their statuses, and all others get
//!    `LINKED_FAILED`.
//! 3. Look up each operation as if it were not linked. If every one is new, go on. Otherwise nothing is executed, and
//!    nothing leaves a trace: those that are remembered get their first results, those that are refused their statuses,
//!    and new ones `LINKED_FAILED`. So a chain that is repeated whole gets its first results. A name that the chain
//!    uses twice is `TRANSACTION_ID_REUSED`.
//! 4. Apply the operations to a [draft](Draft) in order, so that each sees the effects of those before it. If all
//!    succeed, make the changes of the draft.
//! 5. If one fails, it gets its status, all others get `LINKED_FAILED`, and no account changes. The values are the
//!    balances before the chain.
//! 6. Record all operations of the chain, unless the failed one would leave no trace on its own.

use chain::index::asset_id;
use wire::{
    AccountId, Command, Operation, Status,
    linked::{self, LONGEST_CHAIN, chain_length},
};

use crate::{
    Executable, Ledger, Now,
    balances::{Balances, Draft, HashedId},
    engine::{GROUP, Hashes, apply, check, is_issuer, leaves_trace, unknown_payer},
    issuers::Issuers,
    retries::Known,
};

/// The flags of operations that are not executed on their own.
pub(crate) const IN_CHAIN: u8 = Operation::LINKED | Operation::BOUND;

/// Why a chain fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Position of the failed operation.
    position: usize,
    status: Status,
    /// Whether the chain goes into the journal.
    is_recorded: bool,
}

/// Whether an operation starts a chain. A refused one starts none, since all of its chain was refused with it.
#[inline(always)]
pub(crate) fn starts_chain<E: Executable>(entry: &E) -> bool {
    entry.operation().flags & IN_CHAIN != 0 && entry.operation().status.get() == 0
}

/// What an operation looks up: by its hashes, and the hold that it makes or ends.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lookup {
    hashes: Hashes,
    hold: Option<HashedId>,
}

/// Length of the next group of entries, with the rest of a chain that starts in it. A chain that it cuts is too long to
/// be executed.
fn group_length<E: Executable>(entries: &[E]) -> usize {
    let (group, rest) = entries.split_at(GROUP.min(entries.len()));
    let is_cut = group.last().is_some_and(|entry| entry.operation().is_linked());
    group.len() + if is_cut { chain_length(rest).min(LONGEST_CHAIN - 1) } else { 0 }
}

impl Ledger {
    /// Executes a group at the start of `entries`, with chains and operations of holds. Returns how many entries it
    /// executed, fewer or more than the group if this cuts a chain, and how many it recorded.
    #[inline(never)]
    pub(crate) fn execute_mixed<E: Executable>(
        &mut self,
        entries: &mut [E],
        values: &mut [u64],
        now: Now,
        record: &mut impl FnMut(&E, u64),
    ) -> (usize, u64) {
        let mut lookups = [Lookup::default(); GROUP + LONGEST_CHAIN - 1];
        let lookups = &mut lookups[..group_length(entries)];
        self.prefetch_mixed(entries, lookups);
        let (mut done, mut recorded) = (0, 0);
        while done < lookups.len() {
            if !starts_chain(&entries[done]) {
                let (entry, value) = (&mut entries[done], &mut values[done]);
                let Lookup { hashes, hold } = &lookups[done];
                recorded += u64::from(self.execute_single(entry, value, hashes, hold.as_ref(), now, record));
                done += 1;
                continue;
            }
            let length = chain_length(&entries[done..]);
            let (chain, values) = (&mut entries[done..done + length], &mut values[done..done + length]);
            if !linked::is_well_formed(chain) {
                set_all(chain, Status::LinkedInvalid);
                self.read_balances(chain, values);
            } else if let Some(lookups) = lookups.get(done..done + length) {
                if self.execute_chain(chain, values, lookups, now) {
                    chain.iter().zip(values).for_each(|(entry, value)| record(entry, *value));
                    recorded += length as u64;
                }
            } else {
                // Refused operations of the same run came first, so the chain starts the next group.
                assert_ne!(done, 0, "a group has all of a well-formed chain at its start");
                break;
            }
            done += length;
        }
        (done, recorded)
    }

    /// As [`Self::prefetch`], with the holds.
    fn prefetch_mixed<E: Executable>(&self, entries: &[E], lookups: &mut [Lookup]) {
        for (entry, lookup) in entries.iter().zip(&mut *lookups) {
            *lookup = self.lookup(entry.operation());
            self.prefetch_buckets(&lookup.hashes, entry.signed_at() != 0);
            lookup.hold.iter().for_each(|hold| self.accounts.prefetch_hold_buckets(hold));
        }
        for lookup in lookups {
            self.prefetch_entries(&lookup.hashes);
            lookup.hold.iter().for_each(|hold| self.accounts.prefetch_hold_entry(hold));
        }
    }

    fn lookup(&self, operation: &Operation) -> Lookup {
        let hold = operation.is_of_hold().then(|| self.accounts.hold_key(operation));
        Lookup { hashes: self.hash(operation), hold }
    }

    /// Sets the values of operations that are not executed.
    fn read_balances<E: Executable>(&self, entries: &[E], values: &mut [u64]) {
        for (entry, value) in entries.iter().zip(values) {
            *value = self.balance(&entry.operation().source).unwrap_or(0);
        }
    }

    /// Executes a well-formed chain. Sets the status of each operation, and the values. Returns whether it goes into
    /// the journal.
    fn execute_chain<E: Executable>(
        &mut self,
        chain: &mut [E],
        values: &mut [u64],
        lookups: &[Lookup],
        now: Now,
    ) -> bool {
        if self.is_old(chain, values, lookups, now) {
            return false;
        }
        let is_signed = chain.iter().any(|entry| entry.signed_at() != 0);
        if !self.retries.has_room(is_signed, chain.len()) {
            set_all(chain, Status::Busy);
            self.read_balances(chain, values);
            return false;
        }
        let result = self.apply_chain(chain, values, lookups, Some(now.unix));
        if let Err(Failure { position, status, .. }) = result {
            set_all(chain, Status::LinkedFailed);
            chain[position].operation_mut().status.set(status.code());
            self.read_balances(chain, values);
        }
        let is_recorded = result.is_ok() || result.is_err_and(|failure| failure.is_recorded);
        if is_recorded {
            for ((entry, lookup), &value) in chain.iter().zip(lookups).zip(&*values) {
                let status = entry.operation().status().unwrap_or(Status::Malformed);
                let requested = Operation { status: 0.into(), ..*entry.operation() };
                self.remember(lookup.hashes.identity, &requested, (status, value), entry.signed_at(), now.elapsed);
            }
        }
        is_recorded
    }

    /// Whether some operation of a chain is not new, so that nothing is executed. Then sets all statuses and values.
    fn is_old<E: Executable>(&mut self, chain: &mut [E], values: &mut [u64], lookups: &[Lookup], now: Now) -> bool {
        let mut known = [Known::New; LONGEST_CHAIN];
        for (entry, known) in chain.iter().zip(&mut known) {
            if let Err(status) = check(entry.operation(), entry.signed_at() != 0) {
                *known = Known::Refused(status);
            }
        }
        let is_refused = known.iter().any(|known| *known != Known::New);
        for position in 0..if is_refused { 0 } else { chain.len() } {
            let (operation, identity) = (chain[position].operation(), lookups[position].hashes.identity);
            let is_same = |(before, lookup): (&E, &Lookup)| {
                lookup.hashes.identity == identity && before.operation().name() == operation.name()
            };
            known[position] = match chain[..position].iter().zip(lookups).any(is_same) {
                true => Known::Refused(Status::TransactionIdReused),
                false => self.retries.known(identity, operation, chain[position].signed_at(), now),
            };
        }
        let known = &known[..chain.len()];
        if known.iter().all(|known| *known == Known::New) {
            return false;
        }
        for ((entry, value), known) in chain.iter_mut().zip(values).zip(known) {
            let balance = || self.balance(&entry.operation().source).unwrap_or(0);
            let (status, reply) = match *known {
                Known::New => (Status::LinkedFailed, balance()),
                Known::Refused(status) => (status, balance()),
                Known::Executed(status, first) => (status, first),
            };
            *value = reply;
            entry.operation_mut().status.set(status.code());
        }
        true
    }

    /// Executes a chain of the journal again, without the memory of retries. Returns the statuses and values.
    pub(crate) fn redo_chain<E: Executable>(&mut self, chain: &[E]) -> Vec<(Status, u64)> {
        let lookups = Vec::from_iter(chain.iter().map(|entry| self.lookup(entry.operation())));
        let mut values = vec![0; chain.len()];
        let failure = self.apply_chain(chain, &mut values, &lookups, None).err();
        let result = |(position, entry): (usize, &E)| match failure {
            None => (Status::Ok, values[position]),
            Some(failure) => {
                let status = if position == failure.position { failure.status } else { Status::LinkedFailed };
                (status, self.balance(&entry.operation().source).unwrap_or(0))
            }
        };
        chain.iter().enumerate().map(result).collect()
    }

    /// Applies a chain to the accounts, and sets the values; or changes nothing if an operation fails.
    pub(crate) fn apply_chain<E: Executable>(
        &mut self,
        chain: &[E],
        values: &mut [u64],
        lookups: &[Lookup],
        time: Option<u64>,
    ) -> Result<(), Failure> {
        let mut draft = Draft::new(&self.accounts, std::mem::take(&mut self.changes));
        let mut failure = None;
        for (position, ((entry, value), lookup)) in chain.iter().zip(values).zip(lookups).enumerate() {
            let (status, result, is_recorded) = draft_one(&mut draft, self.issuers.as_ref(), entry, lookup, time);
            *value = result;
            if status != Status::Ok {
                failure = Some(Failure { position, status, is_recorded });
                break;
            }
        }
        self.changes = draft.finish();
        if let Some(failure) = failure {
            return Err(failure);
        }
        self.changes.apply(&mut self.accounts).map_err(|refused| {
            // The id of an account or a hold, or of its asset.
            let is_refused = |id: AccountId| id == refused || asset_id(&id) == refused;
            let adds = |(entry, lookup): (&E, &Lookup)| match entry.operation().command() {
                Ok(Command::Create | Command::Open) => is_refused(entry.operation().source),
                Ok(Command::Hold) => lookup.hold.is_some_and(|hold| is_refused(hold.id)),
                _ => false,
            };
            let position = chain.iter().zip(lookups).position(adds).unwrap_or(0);
            self.assert_full(chain[position].operation().command().unwrap_or(Command::Create));
            Failure { position, status: Status::TableFull, is_recorded: true }
        })
    }
}

/// Applies an operation to a draft, at a time as for [`apply`]. Returns the status, the value, and whether a failure is
/// recorded.
fn draft_one<E: Executable>(
    draft: &mut Draft<'_>,
    issuers: Option<&Issuers>,
    entry: &E,
    Lookup { hashes, hold }: &Lookup,
    time: Option<u64>,
) -> (Status, u64, bool) {
    let operation = entry.operation();
    let source = draft.find(hashes.source, &operation.source);
    let command = match check(&Operation { status: 0.into(), ..*operation }, entry.signed_at() != 0) {
        Ok(command) => command,
        Err(status) => return (status, 0, false),
    };
    if entry.signed_at() != 0
        && let Some(status) = unknown_payer(draft, command, operation, source, hashes.destination)
    {
        return (status, 0, false);
    }
    if let Some(key) = entry.key()
        && command.is_of_issuer()
        && !is_issuer(issuers, draft, key, source)
    {
        return (Status::NotIssuer, 0, false);
    }
    let (status, value) = apply(draft, command, operation, source, hashes, hold.as_ref(), time);
    (status, value, leaves_trace(command, status))
}

fn set_all<E: Executable>(chain: &mut [E], status: Status) {
    chain.iter_mut().for_each(|entry| entry.operation_mut().status.set(status.code()));
}
