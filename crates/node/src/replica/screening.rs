//! Screening: nothing from untrusted senders is ordered that would leave no trace in the ledger.
//!
//! Each ordered operation takes disk on every replica. Anybody can sign for an account that does not exist, and
//! anybody can replay a signed operation. So a replica first looks up each frame in its executed state:
//!
//! - A frame of nothing but retries of executed operations gets the first results, which are final.
//! - A frame whose accounts do not exist is parked: another replica may have executed the CREATE already, or it is on
//!   its way. It is ordered once the CREATE is executed here: a replica that proposes both may have received them in
//!   the other order. After a grace its operations are refused with SOURCE_UNKNOWN, or DESTINATION_UNKNOWN for a
//!   deposit, exactly as execution would. A replica that cannot reach a quorum may lag: it answers NOT_FINAL, later, as
//!   for all frames not executed in time.
//! - A node that is not a member of the set orders nothing, and answers all other frames NOT_FINAL at once.
//! - Everything else is ordered, up to the rate of each account. A frame with one such operation is ordered whole, as
//!   its operations may depend on each other, and is charged whole.
//!
//! A replica that lags by more than the grace, though it reaches a quorum, may refuse an operation of an account that
//! exists. The refusal leaves no trace: sent again later, or to another replica, the same operation is executed.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use ledger::{Outlook, builder::Observer, ordered::OrderedLedger};
use nic::{
    Held,
    extractor::signed_operations,
    rate::{RateLimit, RateLimiter, Verdict},
};
use wire::{AccountId, Command, Operation, SignedOperation, Status, linked::chains};

use super::order_pool::{OrderPool, PATIENCE};

/// The grace, as a multiple of the wait for a leader. A proposal reaches the other replicas within one such wait, and
/// is final and executed after two more rounds of messages.
const GRACE: u32 = 3;
/// The longest grace: it leaves time to answer before a frame expires.
const LONGEST_GRACE: Duration = Duration::from_secs(4);

/// Maximum number of operations of parked frames, which are looked up again after each block in about a millisecond.
const MOST_PARKED: usize = 8192;

/// Burst of an account, in seconds of its rate.
const BURST_SECONDS: u32 = 10;

/// The least burst: more signed operations than fit a frame.
const LEAST_BURST: u32 = 512;

/// The outcome for a frame that is not parked.
pub enum Decision {
    /// Its operations are ordered.
    Order(Held, Vec<SignedOperation>),
    /// Executing it leaves no trace, and returns the first result.
    Answer(Held),
    /// It is refused.
    Refuse(Held, Status),
    /// Nothing is known of it in time.
    GiveUp(Held),
}

struct Parked {
    held: Held,
    since: Instant,
    operations: usize,
}

/// Decides which frames of untrusted senders are ordered.
pub struct Screening {
    limiter: Option<RateLimiter>,
    /// The longest time that a frame is parked while a quorum can be reached.
    grace: Duration,
    /// The oldest first.
    parked: VecDeque<Parked>,
    /// Operations of all parked frames.
    operations: usize,
}

/// A summary of the predicted results of a frame.
#[derive(Default)]
struct Summary {
    /// Accounts that pay for operations that would be recorded, and how many.
    payers: Vec<(AccountId, u32)>,
    /// Whether some would be recorded.
    is_recorded: bool,
    /// Accounts that do not exist.
    missing: Vec<AccountId>,
    /// Operations that would not be recorded.
    others: u32,
}

impl Summary {
    fn new<O: Observer>(signed: &[SignedOperation], ledger: &mut OrderedLedger<O>) -> Self {
        let mut summary = Self::default();
        for chain in chains(signed).filter(|chain| chain.iter().all(|signed| signed.operation.status.get() == 0)) {
            summary.add(chain, ledger);
        }
        summary
    }

    /// Adds an operation or a linked chain, which is recorded as a whole or not at all.
    fn add<O: Observer>(&mut self, chain: &[SignedOperation], ledger: &mut OrderedLedger<O>) {
        let outlooks = Vec::from_iter(chain.iter().map(|entry| ledger.outlook(entry)));
        let is_created_before = |position: usize, account| {
            chain[..position].iter().any(|entry| entry.operation.creates() && entry.operation.source == account)
        };
        let missing = (outlooks.iter().enumerate().filter(|(_, outlook)| **outlook == Outlook::NoAccount))
            .map(|(position, _)| (position, paying(&chain[position].operation)))
            .filter(|(position, account)| !is_created_before(*position, *account))
            .map(|(_, account)| account);
        let missing = Vec::from_iter(missing);
        if outlooks.contains(&Outlook::Settled) {
            self.others += chain.len() as u32;
        } else if missing.is_empty() {
            self.is_recorded = true;
            chain.iter().for_each(|entry| self.charge(payer(&entry.operation)));
        } else {
            self.others += chain.len() as u32;
            self.missing.extend(missing);
        }
    }

    fn charge(&mut self, payer: Option<AccountId>) {
        let Some(payer) = payer else { return };
        match self.payers.iter_mut().find(|(account, _)| *account == payer) {
            Some((_, count)) => *count += 1,
            None => self.payers.push((payer, 1)),
        }
    }
}

/// The account that pays, if its operation is executed.
fn paying(operation: &Operation) -> AccountId {
    operation.signer()
}

/// The account that is charged for an operation. None if only issuers, whom the operator configured, may sign it.
fn payer(operation: &Operation) -> Option<AccountId> {
    match operation.command() {
        Ok(Command::Transfer | Command::Hold | Command::Capture | Command::Release | Command::Reclaim) => {
            Some(operation.signer())
        }
        Ok(Command::Close) => Some(operation.source),
        Ok(Command::Create | Command::Open | Command::Issue | Command::Refer | Command::Freeze | Command::Unfreeze)
        | Err(_) => operation.payer(),
    }
}

impl Screening {
    /// Limits accounts to `account_rate` operations a second, 0 for no limit. `patience` is the wait for a leader.
    pub fn new(account_rate: u32, patience: Duration) -> Self {
        let burst = account_rate.saturating_mul(BURST_SECONDS).max(LEAST_BURST);
        let limit = RateLimit { per_second: account_rate, burst, ..RateLimit::default() };
        let limiter = (account_rate > 0).then(|| RateLimiter::new(limit));
        let grace = (GRACE * patience).min(LONGEST_GRACE);
        Self { limiter, grace, parked: VecDeque::new(), operations: 0 }
    }

    /// Decides on a frame of signed operations that arrived at `since`, or parks it. `is_current` is true if this
    /// replica can reach a quorum.
    pub fn decide<O: Observer>(
        &mut self,
        mut held: Held,
        since: Instant,
        ledger: &mut OrderedLedger<O>,
        order_pool: &OrderPool,
        is_current: impl FnOnce() -> bool,
    ) -> Option<Decision> {
        let signed = signed_operations(&mut held)?.to_vec();
        let Summary { mut payers, is_recorded, missing, others } = Summary::new(&signed, ledger);
        if is_recorded {
            if let Some((_, count)) = payers.first_mut() {
                *count += others;
            }
            let passes = self.charge(&payers);
            return Some(if passes {
                Decision::Order(held, signed)
            } else {
                Decision::Refuse(held, Status::RateLimited)
            });
        }
        if missing.is_empty() {
            return Some(Decision::Answer(held));
        }
        // Nothing that it waits for lets this node order it: the order pool has the status.
        if !order_pool.is_member() {
            return Some(Decision::Order(held, signed));
        }
        let waited = since.elapsed();
        if waited >= self.grace && is_current() {
            return Some(Decision::Answer(held));
        }
        if waited >= PATIENCE {
            return Some(Decision::GiveUp(held));
        }
        if self.operations + signed.len() > MOST_PARKED {
            return Some(Decision::Refuse(held, Status::Busy));
        }
        self.operations += signed.len();
        self.parked.push_back(Parked { held, since, operations: signed.len() });
        None
    }

    /// Removes parked frames to decide again, the oldest first: all, or those that waited for the grace.
    pub fn take(&mut self, all: bool) -> Vec<(Held, Instant)> {
        let count = match all {
            true => self.parked.len(),
            false => self.parked.iter().take_while(|parked| parked.since.elapsed() >= self.grace).count(),
        };
        let taken = Vec::from_iter(self.parked.drain(..count));
        self.operations -= taken.iter().map(|parked| parked.operations).sum::<usize>();
        taken.into_iter().map(|parked| (parked.held, parked.since)).collect()
    }

    /// Charges accounts with numbers of operations; true if all are within their rates.
    fn charge(&mut self, payers: &[(AccountId, u32)]) -> bool {
        let Some(limiter) = &mut self.limiter else { return true };
        let now = Instant::now();
        payers.iter().all(|(account, count)| limiter.charge_key(key(account), *count, now) == Verdict::Pass)
    }
}

/// Of the hash of a key that an account's id is; 0 is the mark of unused buckets.
fn key(account: &AccountId) -> u64 {
    let [.., a, b, c, d, e, f, g, h] = account.0;
    u64::from_be_bytes([a, b, c, d, e, f, g, h]) | 1
}
