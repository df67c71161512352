//! The accounts of a load.

use std::time::Duration;

use wire::{AccountId, BatchEntries, BatchFormat, Command, Operation, Promise, Reply, Status, TransactionId};

use crate::window::refusal;
use crate::{Completion, Error, Failure, Pipeline, random};

/// Maximum wait for replies per turn.
const TURN: Duration = Duration::from_secs(1);

/// Balances of consecutively numbered accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balances {
    first: u64,
    balances: Vec<u64>,
}

impl Balances {
    /// The balance of an account; `None` if it is not one of these.
    pub fn get(&self, account: AccountId) -> Option<u64> {
        self.balances.get(self.index(account)?).copied()
    }

    /// The total.
    pub fn total(&self) -> u128 {
        self.balances.iter().map(|&balance| u128::from(balance)).sum()
    }

    /// Applies an executed transfer, or a HOLD or its CAPTURE in full.
    pub fn apply(&mut self, operation: &Operation) {
        let amount = operation.amount();
        let is = |command| operation.command() == Ok(command);
        let paid = if is(Command::Capture) { 0 } else { amount };
        let received = if is(Command::Hold) { 0 } else { amount };
        // Replies come in any order, so a balance may be negative for a moment.
        for (account, change) in [(operation.source, paid.wrapping_neg()), (operation.destination, received)] {
            if let Some(balance) = self.index(account).and_then(|index| self.balances.get_mut(index)) {
                *balance = balance.wrapping_add(change);
            }
        }
    }

    fn index(&self, account: AccountId) -> Option<usize> {
        usize::try_from(account.to_u128().checked_sub(u128::from(self.first))?).ok()
    }

    fn account(&self, index: usize) -> AccountId {
        AccountId::from(u128::from(self.first) + index as u128)
    }
}

/// Creates the accounts `first..first + count` unless they exist, tops each up to `funds`, and returns the balances.
/// `progress` is called from time to time with the number of operations sent, two per account.
pub fn prepare(
    pipeline: &mut Pipeline,
    first: u64,
    count: u32,
    funds: u64,
    promise: Promise,
    mut progress: impl FnMut(u64),
) -> Result<Balances, Error> {
    let mut balances = Balances { first, balances: vec![0; count as usize] };
    let series = random()? >> 32 << 32;
    let id = |index: usize| TransactionId::from(series | index as u128);
    // The reply to a CREATE of an existing account has its balance.
    let create = |index, account| Some(Operation::create(id(index), account));
    each(pipeline, &mut balances, promise, &[Status::Ok, Status::AccountExists], create, &mut progress)?;
    let held = balances.clone();
    let issue = |index: usize, account| {
        let missing = funds.saturating_sub(held.balances[index]);
        // CREATE and ISSUE have the same source, so their ids must differ.
        (missing > 0).then(|| Operation::issue(TransactionId::from(id(index).to_u128() ^ 1 << 127), account, missing))
    };
    let issued = |sent| progress(u64::from(count) + sent);
    each(pipeline, &mut balances, promise, &[Status::Ok], issue, issued)?;
    Ok(balances)
}

/// Compares the node's balances with the expected ones, and returns the number of accounts that differ.
pub fn check(pipeline: &mut Pipeline, expected: &Balances) -> Result<u64, Error> {
    let mut found = expected.clone();
    found.balances.fill(0);
    let id = TransactionId::from(random()?);
    let refer = |_, account| Some(Operation::refer(id, account));
    each(pipeline, &mut found, Promise::Default, &[Status::Ok, Status::SourceUnknown], refer, |_| ())?;
    Ok(found.balances.iter().zip(&expected.balances).filter(|(found, expected)| found != expected).count() as u64)
}

/// Executes an operation for each account and takes the balances from the replies. A status other than `expected` is an
/// error.
fn each(
    pipeline: &mut Pipeline,
    balances: &mut Balances,
    promise: Promise,
    expected: &[Status],
    operation: impl Fn(usize, AccountId) -> Option<Operation>,
    mut progress: impl FnMut(u64),
) -> Result<(), Error> {
    let node = pipeline.node();
    pipeline.abandon();
    let mut next = 0;
    let mut failed = None;
    while failed.is_none() {
        while next < balances.balances.len() {
            let now = pipeline.now();
            let Some(draft) = pipeline.begin() else { break };
            let mut batch = draft.batch(BatchFormat::Operation, promise);
            while next < balances.balances.len()
                && operation(next, balances.account(next)).is_none_or(|operation| batch.push(&operation))
            {
                next += 1;
            }
            batch.submit(0, now, now);
        }
        progress(next as u64);
        if pipeline.window().in_flight() == 0 && next >= balances.balances.len() {
            return Ok(());
        }
        pipeline.turn(TURN, |completion| {
            if let Err(error) = take(&completion, node, balances, expected) {
                failed = Some(error);
            }
        })?;
    }
    failed.map_or(Ok(()), Err)
}

fn take(
    completion: &Completion<'_>,
    node: std::net::SocketAddr,
    balances: &mut Balances,
    expected: &[Status],
) -> Result<(), Error> {
    let reply = match &completion.reply {
        Ok(reply) => reply,
        // Preparation can be repeated with other ids: nothing is lost if some operations were executed.
        Err(Failure::NoReply) => return Err(Error::NoReply { node, waited: completion.latency, transaction: None }),
        Err(Failure::Refused(status)) => return Err(Error::Refused(*status)),
    };
    if let Some(status) = refusal(reply) {
        return Err(Error::Refused(status));
    }
    let Reply::Batch(batch) = reply else { return Err(Error::WrongReply) };
    let BatchEntries::Operation(entries) = batch.entries else { return Err(Error::WrongReply) };
    for entry in entries {
        let status = entry.status().map_err(|_| Error::WrongReply)?;
        if !expected.contains(&status) {
            let (transaction, source_account, value) = (entry.transaction, entry.source, entry.value());
            let command = entry.command().map_err(|_| Error::WrongReply)?;
            return Err(Error::Operation { command, transaction, source_account, status, value });
        }
        if let Some(balance) = balances.index(entry.source).and_then(|index| balances.balances.get_mut(index)) {
            *balance = entry.value();
        }
    }
    Ok(())
}
