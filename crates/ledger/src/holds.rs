//! Execution of [holds](wire::holds).
//!
//! These functions are marked as cold: otherwise the compiler arranges the loop of transfers around them, which costs a
//! transfer a quarter of its time (`bench_engine`).

use table::Hash;
use wire::{Command, Operation, Status, holds::is_expired};

use crate::{
    balances::{Balances, HoldKey},
    engine::Hashes,
};

/// HOLD. `destination` is the hash of that account, `hold` the key of the hold if the caller has it. `time` is in
/// microseconds since the Unix epoch, `None` for an operation that was in time when it was recorded. Returns the
/// balance of the source after it.
#[cold]
pub(crate) fn hold<B: Balances>(
    balances: &mut B,
    operation: &Operation,
    source: Option<B::Entry>,
    destination: Hash,
    hold: Option<&HoldKey>,
    time: Option<u64>,
) -> Result<u64, Status> {
    let source = source.ok_or(Status::SourceUnknown)?;
    balances.find(destination, &operation.destination).ok_or(Status::DestinationUnknown)?;
    if time.is_some_and(|now| is_expired(operation.expiry(), now)) {
        return Err(Status::HoldExpired);
    }
    let hold = &hold.copied().unwrap_or_else(|| balances.hold_key(operation));
    if balances.held(hold).is_some() || balances.find(hold.hash, &hold.id).is_some() {
        return Err(Status::HoldExists);
    }
    let left = balances.after_payment(source, operation.amount())?;
    if balances.is_full_of_holds() {
        return Err(Status::TableFull);
    }
    balances.add_hold(hold, operation.amount()).map_err(|_| Status::TableFull)?;
    balances.set_balance(source, left);
    Ok(left)
}

/// CAPTURE, RELEASE or RECLAIM, with parameters as for [`hold`]. Returns the source's balance after it.
///
/// Payer and receiver may have closed their accounts since the HOLD. What the payer gets back opens its account again,
/// and it need not wait for the expiry if there is no receiver. So nobody can lock in the other's money.
#[cold]
pub(crate) fn end<B: Balances>(
    balances: &mut B,
    command: Command,
    operation: &Operation,
    source: Option<B::Entry>,
    hashes: &Hashes,
    hold: Option<&HoldKey>,
    time: Option<u64>,
) -> Result<u64, Status> {
    let hold = &hold.copied().unwrap_or_else(|| balances.hold_key(operation));
    let held = balances.held(hold).ok_or(Status::HoldUnknown)?;
    let receiver = balances.find(hashes.destination, &operation.destination);
    let expired = time.map(|now| is_expired(operation.expiry(), now));
    match (command, expired) {
        (Command::Capture, Some(true)) => return Err(Status::HoldExpired),
        (Command::Reclaim, Some(false)) if receiver.is_some() => return Err(Status::HoldNotExpired),
        _ => {}
    }
    // RELEASE and RECLAIM have the amount 0.
    let rest = held.checked_sub(operation.amount()).ok_or(Status::HoldExceeded)?;
    let left = source.map_or(0, |source| balances.balance(source)).checked_add(rest).ok_or(Status::Overflow)?;
    let received = match receiver {
        Some(receiver) => balances.balance(receiver).checked_add(operation.amount()).ok_or(Status::Overflow)?,
        None if command == Command::Capture => return Err(Status::DestinationUnknown),
        None => 0,
    };
    if source.is_none() && rest > 0 {
        if balances.is_full() {
            return Err(Status::TableFull);
        }
        balances.create(&operation.source).map_err(|_| Status::TableFull)?;
    }
    balances.remove_hold(hold);
    if let Some(receiver) = receiver {
        balances.set_balance(receiver, received);
    }
    let source = source.or_else(|| balances.find(hashes.source, &operation.source));
    if let Some(source) = source {
        balances.set_balance(source, left);
    }
    Ok(left)
}
