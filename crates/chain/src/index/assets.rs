//! The assets of accounts and holds, which have entries of their own.
//!
//! An account has its asset from the OPEN that creates it to the CLOSE that removes it, and a hold that of its payer.
//! The ledger moves nothing between accounts of different assets, so the index need not look at those of a transfer.
//! The audit does.
use super::paths::account_path;
use super::touches::{Role, Touch, Touches};
use super::{Effect, Index, asset_id};
use std::collections::{BTreeMap, HashMap};
use wire::{AccountId, Command, Operation};

/// The amount of each asset but 0 that was issued: the sum of its balances and open holds. Assets of which nothing was
/// issued are left out.
#[derive(Debug, Default)]
pub(super) struct Issued {
    /// As of the last committed block.
    committed: BTreeMap<u32, u128>,
    /// The sum of these.
    sum: u128,
    /// Amounts that the open block adds.
    open: BTreeMap<u32, u128>,
}

impl Issued {
    /// Adds what the open block has issued.
    pub(super) fn commit(&mut self) {
        while let Some((asset, amount)) = self.open.pop_first() {
            *self.committed.entry(asset).or_default() += amount;
            self.sum += amount;
        }
    }

    /// Forgets what the open block has issued.
    pub(super) fn undo(&mut self) {
        self.open.clear();
    }
}

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

impl Index {
    /// The amount of each asset but 0 that was issued, as of the last committed block. Assets of which nothing was
    /// issued are left out.
    pub fn issued_by_asset(&self) -> &BTreeMap<u32, u128> {
        &self.issued.committed
    }

    /// The sum of [`issued_by_asset`](Self::issued_by_asset).
    pub fn issued_of_assets(&self) -> u128 {
        self.issued.sum
    }

    /// The sum of all balances and open holds of each asset but 0, if it is not 0. Reads all entries.
    pub fn total_by_asset(&self) -> BTreeMap<u32, u128> {
        let mut totals = BTreeMap::new();
        if self.assets == 0 {
            return totals;
        }
        for entry in self.entries().filter(|entry| entry.has_asset() && entry.balance.get() > 0) {
            let stated = self.get(&asset_id(&AccountId(entry.account))).and_then(|entry| entry.asset());
            // The ledger refuses an index in which an entry lacks its asset.
            *totals.entry(stated.unwrap_or(0)).or_default() += u128::from(entry.balance.get());
        }
        totals
    }

    /// Counts what the operations of these touches issue.
    ///
    /// Call it once for each [`Touches`], after its operations were found possible. Not while catching up: then the
    /// balances include some of it.
    pub fn issue(&mut self, touches: &Touches) {
        if !self.is_catching_up {
            for (asset, amount) in &touches.issued {
                *self.issued.open.entry(*asset).or_default() += *amount;
            }
        }
    }

    /// Takes the issued amounts from the entries.
    pub(super) fn count_issued(&mut self) {
        let committed = self.total_by_asset();
        self.issued = Issued { sum: committed.values().sum(), committed, open: BTreeMap::new() };
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
                (Ok(Command::Issue), _) => {
                    let asset = view.get(source);
                    if asset != 0 {
                        *self.issued.entry(asset).or_default() += u128::from(operation.amount());
                    }
                    true
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
