//! Execution of [holds](wire::holds).
//!
//! These functions are marked as cold: otherwise the compiler arranges the loop of transfers around them, which costs a
//! transfer a quarter of its time (`bench_engine`).

use table::Hash;
use wire::{Command, Operation, Status, holds::is_expired};

use crate::{
    balances::{Balances, HashedId},
    engine::{Hashes, same_asset},
    lifecycle,
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
    hold: Option<&HashedId>,
    time: Option<u64>,
) -> Result<u64, Status> {
    let source = source.ok_or(Status::SourceUnknown)?;
    let destination = balances.find(destination, &operation.destination).ok_or(Status::DestinationUnknown)?;
    same_asset(balances, source, destination)?;
    if time.is_some_and(|now| is_expired(operation.expiry(), now)) {
        return Err(Status::HoldExpired);
    }
    let hold = &hold.copied().unwrap_or_else(|| balances.hold_key(operation));
    if is_taken(balances, hold) {
        return Err(Status::HoldExists);
    }
    let asset = balances.asset(source);
    let asset_key = (asset != 0).then(|| balances.asset_key(&hold.id));
    if asset_key.is_some_and(|key| is_taken(balances, &key)) {
        return Err(Status::HoldExists);
    }
    let left = balances.after_payment(source, operation.amount())?;
    if balances.is_full_of_holds() {
        return Err(Status::TableFull);
    }
    if let Some(key) = &asset_key {
        balances.add_asset(key, asset).map_err(|_| Status::TableFull)?;
    }
    if balances.add_hold(hold, operation.amount(), asset).is_err() {
        asset_key.iter().for_each(|key| balances.remove_asset(key));
        return Err(Status::TableFull);
    }
    balances.set_balance(source, left);
    Ok(left)
}

/// Whether the index has an entry with this id: of an account, of an open hold, or of the asset of one.
#[cold]
pub(crate) fn is_taken<B: Balances>(balances: &B, key: &HashedId) -> bool {
    let HashedId { id, hash } = key;
    balances.find(*hash, id).is_some() || balances.held(key).is_some() || balances.asset_entry(key).is_some()
}

/// CAPTURE, RELEASE or RECLAIM, with parameters as for [`hold`]. Returns the source's balance after it.
///
/// Payer and receiver may have closed their accounts since the HOLD. What the payer gets back opens its account again,
/// and it need not wait for the expiry if there is no receiver. So nobody can lock in the other's money. If an account
/// was opened in another asset since, it gets nothing, but a receiver can still capture all of the hold, or release it.
#[cold]
pub(crate) fn end<B: Balances>(
    balances: &mut B,
    command: Command,
    operation: &Operation,
    source: Option<B::Entry>,
    hashes: &Hashes,
    hold: Option<&HashedId>,
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
    let asset_key = balances.has_assets().then(|| balances.asset_key(&hold.id));
    let asset_key = asset_key.and_then(|key| Some((key, balances.asset_entry(&key)?)));
    let asset = asset_key.map_or(0, |(_, asset)| asset);
    let is_of_another = |account: Option<B::Entry>| account.is_some_and(|entry| balances.asset(entry) != asset);
    if rest > 0 && is_of_another(source) || operation.amount() > 0 && is_of_another(receiver) {
        return Err(Status::AssetMismatch);
    }
    let left = source.map_or(0, |source| balances.balance(source)).checked_add(rest).ok_or(Status::Overflow)?;
    let received = match receiver {
        Some(receiver) => balances.balance(receiver).checked_add(operation.amount()).ok_or(Status::Overflow)?,
        None if command == Command::Capture => return Err(Status::DestinationUnknown),
        None => 0,
    };
    if source.is_none() && rest > 0 {
        // A trusted sender may have given the id of the closed account to the asset of another one.
        if is_taken(balances, &HashedId { id: operation.source, hash: hashes.source }) {
            return Err(Status::AccountExists);
        }
        lifecycle::add(balances, &operation.source, asset)?;
    }
    balances.remove_hold(hold, asset);
    asset_key.iter().for_each(|(key, _)| balances.remove_asset(key));
    if let Some(receiver) = receiver {
        balances.set_balance(receiver, received);
    }
    let source = source.or_else(|| balances.find(hashes.source, &operation.source));
    if let Some(source) = source {
        balances.set_balance(source, left);
    }
    Ok(left)
}
