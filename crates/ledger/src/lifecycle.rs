//! Execution of CREATE, OPEN, FREEZE, UNFREEZE and CLOSE.
//!
//! Most of these functions are marked as cold for the same reason as those of [holds](crate::holds).

use wire::{AccountId, Operation, Status};

use crate::{
    balances::{Balances, HashedId},
    engine::Hashes,
    holds::is_taken,
};

/// CREATE, or OPEN. A deposit is paid in asset 0. Returns the balance of the new account.
pub(crate) fn create<B: Balances>(
    balances: &mut B,
    operation: &Operation,
    source: Option<B::Entry>,
    hashes: &Hashes,
) -> Result<u64, Status> {
    let key = HashedId { id: operation.source, hash: hashes.source };
    if source.is_some() || balances.held(&key).is_some() || balances.asset_entry(&key).is_some() {
        return Err(Status::AccountExists);
    }
    let left = match operation.payer() {
        _ if balances.is_full() => return Err(Status::TableFull),
        None => None,
        Some(account) => {
            let payer = balances.find(hashes.destination, &account).ok_or(Status::DestinationUnknown)?;
            if balances.asset(payer) != 0 {
                return Err(Status::AssetMismatch);
            }
            Some((payer, balances.after_payment(payer, operation.amount())?))
        }
    };
    add(balances, &operation.source, operation.asset())?;
    if let Some((payer, left)) = left {
        balances.set_balance(payer, left);
        balances.withdraw(operation.amount());
    }
    Ok(0)
}

/// Adds an account that does not exist, in an asset.
pub(crate) fn add<B: Balances>(balances: &mut B, account: &AccountId, asset: u32) -> Result<(), Status> {
    if balances.is_full() {
        return Err(Status::TableFull);
    }
    if !balances.may_create(account, asset) {
        return Err(Status::AssetMismatch);
    }
    if asset != 0 {
        return add_of_asset(balances, account, asset);
    }
    balances.create(account, 0).map_err(|_| Status::TableFull)
}

#[cold]
fn add_of_asset<B: Balances>(balances: &mut B, account: &AccountId, asset: u32) -> Result<(), Status> {
    let key = balances.asset_key(account);
    if is_taken(balances, &key) {
        return Err(Status::AccountExists);
    }
    balances.add_asset(&key, asset).map_err(|_| Status::TableFull)?;
    if balances.create(account, asset).is_err() {
        balances.remove_asset(&key);
        return Err(Status::TableFull);
    }
    Ok(())
}

/// FREEZE, or UNFREEZE. Returns the account's balance.
#[cold]
pub(crate) fn set_frozen<B: Balances>(
    balances: &mut B,
    account: Option<B::Entry>,
    is_frozen: bool,
) -> Result<u64, Status> {
    let account = account.ok_or(Status::SourceUnknown)?;
    if balances.is_frozen(account) == is_frozen {
        return Err(if is_frozen { Status::AccountFrozen } else { Status::AccountNotFrozen });
    }
    let balance = balances.balance(account);
    balances.set_frozen(account, is_frozen).map_err(|_| Status::TableFull)?;
    Ok(balance)
}

/// CLOSE. The account has no balance after it.
#[cold]
pub(crate) fn close<B: Balances>(balances: &mut B, id: &AccountId, account: Option<B::Entry>) -> Result<u64, Status> {
    let account = account.ok_or(Status::SourceUnknown)?;
    if balances.is_frozen(account) {
        return Err(Status::AccountFrozen);
    }
    if balances.balance(account) > 0 {
        return Err(Status::AccountNotEmpty);
    }
    if balances.asset(account) != 0 {
        let key = balances.asset_key(id);
        balances.remove_asset(&key);
    }
    balances.close(account);
    Ok(0)
}
