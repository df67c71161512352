//! Execution of FREEZE, UNFREEZE and CLOSE.
//!
//! These functions are marked as cold for the same reason as those of [holds](crate::holds).

use wire::Status;

use crate::balances::Balances;

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
pub(crate) fn close<B: Balances>(balances: &mut B, account: Option<B::Entry>) -> Result<u64, Status> {
    let account = account.ok_or(Status::SourceUnknown)?;
    if balances.is_frozen(account) {
        return Err(Status::AccountFrozen);
    }
    if balances.balance(account) > 0 {
        return Err(Status::AccountNotEmpty);
    }
    balances.close(account);
    Ok(0)
}
