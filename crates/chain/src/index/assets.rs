//! The assets of accounts and holds, which have entries of their own.
//!
//! An account has its asset from the OPEN that creates it to the CLOSE that removes it, and a hold that of its payer.
//! The ledger moves nothing between accounts of different assets, so the index need not look at those of a transfer.
//! The audit does.
use super::paths::account_path;
use super::touches::{Role, Touch, Touches};
use super::{Effect, Index, asset_id};
use std::collections::HashMap;
use wire::{AccountId, Command, Operation};

/// The assets of accounts and holds, after some operations.
struct AssetView<'a> {
    index: &'a Index,
    /// Accounts and holds that the operations so far have created, with their assets, or `None` if they have removed
    /// them.
    changed: HashMap<AccountId, Option<u32>>,
}

impl AssetView<'_> {
    /// The asset of an account or a hold; 0 if it does not exist.
    fn get(&self, id: &AccountId) -> u32 {
        let before = || Some(self.stated(id));
        self.changed.get(id).copied().unwrap_or_else(before).unwrap_or(0)
    }

    fn stated(&self, id: &AccountId) -> u32 {
        self.index.get(&asset_id(id)).and_then(|entry| entry.asset()).unwrap_or(0)
    }

    /// Whether an account, if it exists, can receive an amount of an asset.
    fn may_receive(&self, account: &AccountId, amount: u64, asset: u32) -> bool {
        let before = || self.index.get(account).is_some_and(|entry| entry.is_account());
        let exists = || self.changed.get(account).map_or_else(before, Option::is_some);
        amount == 0 || self.get(account) == asset || !exists()
    }
}

impl Touches {
    /// Finds the assets that these operations add or remove, and those of the holds.
    pub(super) fn find_assets(&mut self, index: &Index, operations: &[Operation]) -> Result<(), (u32, Effect)> {
        let mut view = AssetView { index, changed: HashMap::new() };
        let mut holds = self.holds.iter_mut();
        for (number, operation) in (0..).zip(operations) {
            let mut touch = |id: &AccountId, role, asset: u32| {
                if asset == 0 {
                    return;
                }
                let account = asset_id(id);
                let path = account_path(&account);
                self.assets.push(Touch { path, account, amount: asset.into(), number, role, has_asset: false });
            };
            let hold = if operation.is_of_hold() { holds.next() } else { None };
            let source = &operation.source;
            let is_possible = match (operation.command(), hold) {
                (Ok(Command::Create | Command::Open), _) => {
                    view.changed.insert(*source, Some(operation.asset()));
                    touch(source, Role::AssetAdded, operation.asset());
                    // A deposit is paid in asset 0.
                    !index.checks_assets || operation.payer().is_none_or(|payer| view.get(&payer) == 0)
                }
                (Ok(Command::Close), _) => {
                    let asset = view.get(source);
                    view.changed.insert(*source, None);
                    touch(source, Role::AssetRemoved, asset);
                    true
                }
                (Ok(Command::Hold), Some(hold)) => {
                    hold.asset = view.get(source);
                    view.changed.insert(hold.id, Some(hold.asset));
                    touch(&hold.id, Role::AssetAdded, hold.asset);
                    !index.checks_assets || view.get(&operation.destination) == hold.asset
                }
                (_, Some(hold)) => {
                    hold.asset = view.get(&hold.id);
                    // An amount above the held one has been refused.
                    let (captured, rest) = (operation.amount(), hold.amount - operation.amount());
                    let is_possible = !index.checks_assets
                        || view.may_receive(&operation.destination, captured, hold.asset)
                            && view.may_receive(source, rest, hold.asset);
                    view.changed.insert(hold.id, None);
                    touch(&hold.id, Role::AssetRemoved, hold.asset);
                    if rest > 0 {
                        view.changed.insert(*source, Some(hold.asset));
                        touch(source, Role::AssetAdded, hold.asset);
                    }
                    is_possible
                }
                (Ok(Command::Transfer), _) if index.checks_assets => {
                    view.get(source) == view.get(&operation.destination)
                }
                _ => true,
            };
            if !is_possible {
                return Err((number, Effect::AssetMismatch));
            }
        }
        Ok(())
    }
}
