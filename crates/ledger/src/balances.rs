//! The balances that commands are applied to: the accounts themselves, or a draft of changes to them.

use table::{Full, Hash};
use wire::{AccountId, Operation, Status};

use crate::accounts::{AccountEntry, Accounts};

/// The id of an account, of a [hold](chain::index::hold_id) or of the [asset](chain::index::asset_id) of one, and its
/// hash in the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashedId {
    pub id: AccountId,
    pub hash: Hash,
}

/// Balances of accounts.
pub(crate) trait Balances {
    /// An account that was found. It is valid until the account is changed.
    type Entry: Copy;

    fn find(&self, hash: Hash, account: &AccountId) -> Option<Self::Entry>;
    fn balance(&self, entry: Self::Entry) -> u64;
    fn set_balance(&mut self, entry: Self::Entry, balance: u64);
    /// Whether no account can be added.
    fn is_full(&self) -> bool;
    /// Adds an account of an asset that does not exist, with a balance of 0.
    fn create(&mut self, account: &AccountId, asset: u32) -> Result<(), Full>;
    /// Whether an account that does not exist may be created in an asset. A linked chain that closes it may create it
    /// again in the same asset only.
    fn may_create(&self, account: &AccountId, asset: u32) -> bool;
    /// Whether some account or hold may be of another asset than 0.
    fn has_assets(&self) -> bool;
    /// The asset of an account.
    fn asset(&self, entry: Self::Entry) -> u32;
    /// The key of the asset of an account or a hold.
    fn asset_key(&self, id: &AccountId) -> HashedId;
    /// The asset that an entry of the index states, if there is one with this key.
    fn asset_entry(&self, key: &HashedId) -> Option<u32>;
    /// Adds the entry with the asset of an account or a hold.
    fn add_asset(&mut self, key: &HashedId, asset: u32) -> Result<(), Full>;
    /// Removes the entry with the asset of an account or a hold.
    fn remove_asset(&mut self, key: &HashedId);
    fn is_frozen(&self, entry: Self::Entry) -> bool;
    /// The balance of an account after it pays an amount, or the status if it cannot.
    #[inline(always)]
    fn after_payment(&self, entry: Self::Entry, amount: u64) -> Result<u64, Status> {
        if self.is_frozen(entry) {
            return Err(Status::AccountFrozen);
        }
        self.balance(entry).checked_sub(amount).ok_or(Status::InsufficientBalance)
    }
    /// Freezes an account, or ends that.
    fn set_frozen(&mut self, entry: Self::Entry, is_frozen: bool) -> Result<(), Full>;
    /// Removes an account that is not frozen and has a balance of 0.
    fn close(&mut self, entry: Self::Entry);
    /// The key of the hold that an operation makes or ends.
    fn hold_key(&self, operation: &Operation) -> HashedId;
    /// The amount of an open hold.
    fn held(&self, hold: &HashedId) -> Option<u64>;
    /// Whether no hold can be added.
    fn is_full_of_holds(&self) -> bool;
    /// Adds a hold of an asset that is not open.
    fn add_hold(&mut self, hold: &HashedId, amount: u64, asset: u32) -> Result<(), Full>;
    /// Removes an open hold of an asset.
    fn remove_hold(&mut self, hold: &HashedId, asset: u32);
    /// Adds an amount to the issued total of an asset.
    fn issue(&mut self, asset: u32, amount: u64);
    /// Subtracts a deposit from that of asset 0.
    fn withdraw(&mut self, amount: u64);
}

impl Balances for Accounts {
    type Entry = AccountEntry;

    #[inline(always)]
    fn find(&self, hash: Hash, account: &AccountId) -> Option<AccountEntry> {
        self.find(hash, account)
    }

    #[inline(always)]
    fn balance(&self, entry: AccountEntry) -> u64 {
        self.balance(entry)
    }

    #[inline(always)]
    fn set_balance(&mut self, entry: AccountEntry, balance: u64) {
        self.set_balance(entry, balance);
    }

    fn is_full(&self) -> bool {
        self.is_full()
    }

    fn create(&mut self, account: &AccountId, asset: u32) -> Result<(), Full> {
        self.create(account, asset, 0)
    }

    fn may_create(&self, _: &AccountId, _: u32) -> bool {
        true
    }

    #[inline(always)]
    fn has_assets(&self) -> bool {
        !self.assets().is_empty()
    }

    #[inline(always)]
    fn asset(&self, entry: AccountEntry) -> u32 {
        self.asset(entry)
    }

    fn asset_key(&self, id: &AccountId) -> HashedId {
        self.asset_key(id)
    }

    fn asset_entry(&self, key: &HashedId) -> Option<u32> {
        self.asset_entry(key)
    }

    fn add_asset(&mut self, key: &HashedId, asset: u32) -> Result<(), Full> {
        self.add_asset(key, asset)
    }

    fn remove_asset(&mut self, key: &HashedId) {
        self.remove_asset(key);
    }

    #[inline(always)]
    fn is_frozen(&self, entry: AccountEntry) -> bool {
        self.is_frozen(entry)
    }

    fn set_frozen(&mut self, entry: AccountEntry, is_frozen: bool) -> Result<(), Full> {
        self.set_frozen(entry, is_frozen)
    }

    fn close(&mut self, entry: AccountEntry) {
        self.remove(&self.account(entry));
    }

    fn hold_key(&self, operation: &Operation) -> HashedId {
        self.hold_key(operation)
    }

    fn held(&self, hold: &HashedId) -> Option<u64> {
        self.held(hold)
    }

    fn is_full_of_holds(&self) -> bool {
        self.holds() >= self.limit()
    }

    fn add_hold(&mut self, hold: &HashedId, amount: u64, asset: u32) -> Result<(), Full> {
        self.add_hold(hold, amount, asset)
    }

    fn remove_hold(&mut self, hold: &HashedId, asset: u32) {
        self.remove_hold(hold, asset);
    }

    fn issue(&mut self, asset: u32, amount: u64) {
        self.issue(asset, amount.into());
    }

    fn withdraw(&mut self, amount: u64) {
        self.withdraw(amount.into());
    }
}

/// An account that a draft changes.
#[derive(Clone, Copy, Debug)]
struct Change {
    account: AccountId,
    /// Its entry in the table; `None` if the draft creates it.
    entry: Option<AccountEntry>,
    asset: u32,
    balance: u64,
    is_closed: bool,
}

/// A hold that a draft adds, or removes.
#[derive(Clone, Copy, Debug)]
struct HoldChange {
    hold: HashedId,
    amount: u64,
    asset: u32,
    is_added: bool,
}

impl HoldChange {
    fn apply(&self, accounts: &mut Accounts) -> Result<(), Full> {
        if self.is_added {
            return accounts.add_hold(&self.hold, self.amount, self.asset);
        }
        accounts.remove_hold(&self.hold, self.asset);
        Ok(())
    }

    /// Takes the change back, after those that followed it.
    fn revert(&self, accounts: &mut Accounts) {
        let opposite = Self { is_added: !self.is_added, ..*self };
        opposite.apply(accounts).expect("the hold was there before");
    }
}

/// The entry with the asset of an account or a hold, which a draft adds, or removes.
#[derive(Clone, Copy, Debug)]
struct AssetChange {
    key: HashedId,
    asset: u32,
    is_added: bool,
}

impl AssetChange {
    fn apply(&self, accounts: &mut Accounts) -> Result<(), Full> {
        if self.is_added {
            return accounts.add_asset(&self.key, self.asset);
        }
        accounts.remove_asset(&self.key);
        Ok(())
    }

    /// Takes the change back, after those that followed it.
    fn revert(&self, accounts: &mut Accounts) {
        let opposite = Self { is_added: !self.is_added, ..*self };
        opposite.apply(accounts).expect("the entry was there before");
    }
}

/// Changes to the accounts that are made together or not at all. Until then no reader of the table sees any of them:
/// the NIC tier reads it at any time, and must not answer with a balance that is taken back.
///
/// A draft changes few accounts, so it is searched from start to end.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    accounts: &'a Accounts,
    changes: Changes,
}

/// The changes of a draft.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    accounts: Vec<Change>,
    created: usize,
    /// In order: a hold may be added and removed again.
    holds: Vec<HoldChange>,
    /// In order, too.
    assets: Vec<AssetChange>,
    /// Asset and amount of each ISSUE.
    issued: Vec<(u32, u64)>,
    withdrawn: u128,
}

/// An account in a draft.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// It is as in the table.
    Unchanged(AccountEntry),
    /// The position of its change.
    Changed(usize),
}

impl<'a> Draft<'a> {
    /// A draft without changes. It uses the memory of `changes`.
    pub fn new(accounts: &'a Accounts, mut changes: Changes) -> Self {
        changes.clear();
        Self { accounts, changes }
    }

    /// Returns the changes.
    pub fn finish(self) -> Changes {
        self.changes
    }

    /// The change of an account, new if it is the first one.
    fn change(&mut self, entry: Entry) -> &mut Change {
        let changes = &mut self.changes.accounts;
        let position = match entry {
            Entry::Changed(position) => position,
            Entry::Unchanged(entry) => {
                let (account, asset) = (self.accounts.account(entry), self.accounts.asset(entry));
                let balance = self.accounts.balance(entry);
                changes.push(Change { account, entry: Some(entry), asset, balance, is_closed: false });
                changes.len() - 1
            }
        };
        &mut changes[position]
    }
}

impl Changes {
    fn clear(&mut self) {
        self.accounts.clear();
        self.holds.clear();
        self.assets.clear();
        self.issued.clear();
        (self.created, self.withdrawn) = (0, 0);
    }

    /// Makes the changes. If a table has no place for an account, a hold or an asset, makes none and returns its id.
    pub fn apply(&self, accounts: &mut Accounts) -> Result<(), AccountId> {
        let created = || self.accounts.iter().filter(|change| change.entry.is_none());
        for (number, change) in created().enumerate() {
            if accounts.create(&change.account, change.asset, 0).is_err() {
                created().take(number).for_each(|change| accounts.remove(&change.account));
                return Err(change.account);
            }
        }
        let take_back = |accounts: &mut Accounts, holds: &[HoldChange], assets: &[AssetChange]| {
            assets.iter().rev().for_each(|change| change.revert(accounts));
            holds.iter().rev().for_each(|change| change.revert(accounts));
            created().for_each(|change| accounts.remove(&change.account));
        };
        for (number, change) in self.holds.iter().enumerate() {
            if change.apply(accounts).is_err() {
                take_back(accounts, &self.holds[..number], &[]);
                return Err(change.hold.id);
            }
        }
        for (number, change) in self.assets.iter().enumerate() {
            if change.apply(accounts).is_err() {
                take_back(accounts, &self.holds, &self.assets[..number]);
                return Err(change.key.id);
            }
        }
        for &Change { account, entry, balance, is_closed, .. } in &self.accounts {
            let entry = entry.or_else(|| accounts.find(accounts.hash(&account), &account));
            accounts.set_balance(entry.expect("it was created above"), balance);
            if is_closed {
                accounts.remove(&account);
            }
        }
        self.issued.iter().for_each(|(asset, amount)| accounts.issue(*asset, (*amount).into()));
        accounts.withdraw(self.withdrawn);
        Ok(())
    }
}

impl Balances for Draft<'_> {
    type Entry = Entry;

    fn find(&self, hash: Hash, account: &AccountId) -> Option<Entry> {
        match self.changes.accounts.iter().position(|change| change.account == *account) {
            Some(position) if self.changes.accounts[position].is_closed => None,
            Some(position) => Some(Entry::Changed(position)),
            None => self.accounts.find(hash, account).map(Entry::Unchanged),
        }
    }

    fn balance(&self, entry: Entry) -> u64 {
        match entry {
            Entry::Unchanged(entry) => self.accounts.balance(entry),
            Entry::Changed(position) => self.changes.accounts[position].balance,
        }
    }

    fn set_balance(&mut self, entry: Entry, balance: u64) {
        self.change(entry).balance = balance;
    }

    /// The place of an account that the draft closes is free after the draft.
    fn is_full(&self) -> bool {
        self.accounts.len() + self.changes.created >= self.accounts.limit()
    }

    fn create(&mut self, account: &AccountId, asset: u32) -> Result<(), Full> {
        self.changes.created += 1;
        match self.changes.accounts.iter_mut().find(|change| change.account == *account) {
            // One that the draft closes keeps its entry, and so its asset.
            Some(change) => change.is_closed = false,
            None => {
                let change = Change { account: *account, entry: None, asset, balance: 0, is_closed: false };
                self.changes.accounts.push(change);
            }
        }
        Ok(())
    }

    fn may_create(&self, account: &AccountId, asset: u32) -> bool {
        let before = self.changes.accounts.iter().find(|change| change.account == *account);
        before.is_none_or(|change| change.asset == asset)
    }

    fn has_assets(&self) -> bool {
        !self.accounts.assets().is_empty() || !self.changes.assets.is_empty()
    }

    fn asset(&self, entry: Entry) -> u32 {
        match entry {
            Entry::Unchanged(entry) => self.accounts.asset(entry),
            Entry::Changed(position) => self.changes.accounts[position].asset,
        }
    }

    fn asset_key(&self, id: &AccountId) -> HashedId {
        self.accounts.asset_key(id)
    }

    fn asset_entry(&self, key: &HashedId) -> Option<u32> {
        match self.changes.assets.iter().rev().find(|change| change.key.id == key.id) {
            Some(change) => change.is_added.then_some(change.asset),
            None => self.accounts.asset_entry(key),
        }
    }

    fn add_asset(&mut self, key: &HashedId, asset: u32) -> Result<(), Full> {
        self.changes.assets.push(AssetChange { key: *key, asset, is_added: true });
        Ok(())
    }

    fn remove_asset(&mut self, key: &HashedId) {
        let asset = self.asset_entry(key).expect("the account or hold has an asset");
        self.changes.assets.push(AssetChange { key: *key, asset, is_added: false });
    }

    fn is_frozen(&self, entry: Entry) -> bool {
        let entry = match entry {
            Entry::Unchanged(entry) => Some(entry),
            Entry::Changed(position) => self.changes.accounts[position].entry,
        };
        entry.is_some_and(|entry| self.accounts.is_frozen(entry))
    }

    fn set_frozen(&mut self, _: Entry, _: bool) -> Result<(), Full> {
        unreachable!("a chain has no FREEZE and no UNFREEZE")
    }

    fn close(&mut self, entry: Entry) {
        self.change(entry).is_closed = true;
    }

    fn hold_key(&self, operation: &Operation) -> HashedId {
        self.accounts.hold_key(operation)
    }

    fn held(&self, hold: &HashedId) -> Option<u64> {
        match self.changes.holds.iter().rev().find(|change| change.hold.id == hold.id) {
            Some(change) => change.is_added.then_some(change.amount),
            None => self.accounts.held(hold),
        }
    }

    fn is_full_of_holds(&self) -> bool {
        let holds = &self.changes.holds;
        let added = holds.iter().filter(|change| change.is_added).count();
        self.accounts.holds() + added >= self.accounts.limit() + (holds.len() - added)
    }

    fn add_hold(&mut self, hold: &HashedId, amount: u64, asset: u32) -> Result<(), Full> {
        self.changes.holds.push(HoldChange { hold: *hold, amount, asset, is_added: true });
        Ok(())
    }

    fn remove_hold(&mut self, hold: &HashedId, asset: u32) {
        let amount = self.held(hold).expect("the hold is open");
        self.changes.holds.push(HoldChange { hold: *hold, amount, asset, is_added: false });
    }

    fn issue(&mut self, asset: u32, amount: u64) {
        self.changes.issued.push((asset, amount));
    }

    fn withdraw(&mut self, amount: u64) {
        self.changes.withdrawn += u128::from(amount);
    }
}
