//! The accounts: balances in the hash table, those of frozen accounts, of accounts of other assets and of open holds in
//! three others, and the total issued minus paid deposits.

use chain::index::{asset_id, hold_id};
use table::{Config, EntryIndex, Hash, Region, Seed, Table};
use wire::{AccountId, Operation};

use crate::{
    Error,
    assets::{AssetAccount, Assets},
    balances::HashedId,
};

/// Accounts by id. Balances are stored in native byte order: nobody outside this machine reads them.
#[derive(Debug)]
pub(crate) struct Accounts {
    table: Table<16, 8>,
    /// Accounts that are frozen. Not part of `table`, so no tier below the host finds them.
    frozen: Table<16, 8>,
    /// Accounts of other assets than 0, frozen ones too. No tier below the host finds them either.
    of_assets: Table<16, 16>,
    /// Amounts of open holds, by their ids in the index. Not part of `table`, in which tiers below the host find
    /// accounts that can spend their balances.
    holds: Table<16, 8>,
    /// The assets of `of_assets` and of their holds, and the issued amounts.
    assets: Assets,
    /// Maximum number of accounts, and of open holds.
    limit: usize,
    /// Of all assets.
    issued: u128,
    /// Sum of all balances and holds modulo 2^64, updated with each stored one: it must equal `issued`.
    sum: u64,
    /// Number of frozen accounts in `of_assets`.
    frozen_of_assets: usize,
}

/// The entry of an account.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AccountEntry {
    /// Of one of asset 0 that can spend its balance.
    Active(EntryIndex),
    /// Of a frozen one of asset 0.
    Frozen(EntryIndex),
    /// Of one of another asset.
    OfAsset(EntryIndex),
}

impl Accounts {
    /// Creates an empty table, in the given memory or in its own.
    pub fn new(limit: usize, seed: Seed, region: Option<Region>) -> Result<Self, Error> {
        let config = Config::new(limit).seed(seed);
        let too_large = |reason| Error::Memory { accounts: limit, reason };
        // They take memory only once they have entries.
        let frozen = Table::with_capacity(&config).map_err(too_large)?;
        let holds = Table::with_capacity(&config).map_err(too_large)?;
        let of_assets = Table::with_capacity(&config).map_err(too_large)?;
        let assets = Assets::new(limit, seed)?;
        let table = match region {
            Some(region) => Table::with_region(&config.near(), region),
            None => Table::with_capacity(&config),
        };
        let table = table.map_err(too_large)?;
        Ok(Self { table, frozen, of_assets, holds, assets, limit, issued: 0, sum: 0, frozen_of_assets: 0 })
    }

    /// Memory for `limit` accounts, in bytes.
    pub fn memory(limit: usize) -> Result<usize, Error> {
        Config::new(limit).memory::<16, 8>().map_err(|reason| Error::Memory { accounts: limit, reason })
    }

    pub fn len(&self) -> usize {
        self.table.len() + self.frozen.len() + self.of_assets.len()
    }

    /// Number of frozen accounts.
    pub fn frozen(&self) -> usize {
        self.frozen.len() + self.frozen_of_assets
    }

    /// Number of accounts of other assets than 0.
    pub fn of_assets(&self) -> usize {
        self.of_assets.len()
    }

    /// The assets, but asset 0.
    pub fn assets(&self) -> &Assets {
        &self.assets
    }

    /// Whether no account can be added. It depends on the configured number alone, not on where the table happens to
    /// have room.
    pub fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    pub fn issued(&self) -> u128 {
        self.issued
    }

    /// Hashes an id, for all tables: they have the same seed.
    #[inline(always)]
    pub fn hash(&self, id: &AccountId) -> Hash {
        self.table.hash(&id.0)
    }

    /// The key of the hold that an operation makes or ends.
    #[cold]
    pub fn hold_key(&self, operation: &Operation) -> HashedId {
        self.hashed(hold_id(operation))
    }

    /// The key of the asset of an account or a hold.
    #[cold]
    pub fn asset_key(&self, id: &AccountId) -> HashedId {
        self.hashed(asset_id(id))
    }

    fn hashed(&self, id: AccountId) -> HashedId {
        HashedId { id, hash: self.hash(&id) }
    }

    #[inline(always)]
    pub fn prefetch_bucket(&self, hash: Hash) {
        self.table.prefetch_bucket(hash);
        if !self.of_assets.is_empty() {
            self.of_assets.prefetch_bucket(hash);
        }
    }

    #[inline(always)]
    pub fn prefetch_entry(&self, hash: Hash) {
        self.table.prefetch_entry(hash);
        if !self.of_assets.is_empty() {
            self.of_assets.prefetch_entry(hash);
        }
    }

    #[inline(always)]
    pub fn find(&self, hash: Hash, account: &AccountId) -> Option<AccountEntry> {
        match self.table.find(hash, &account.0) {
            Some(entry) => Some(AccountEntry::Active(entry)),
            None if self.frozen.is_empty() && self.of_assets.is_empty() => None,
            None => self.find_elsewhere(hash, account),
        }
    }

    #[cold]
    fn find_elsewhere(&self, hash: Hash, account: &AccountId) -> Option<AccountEntry> {
        let frozen = || self.frozen.find(hash, &account.0).map(AccountEntry::Frozen);
        self.of_assets.find(hash, &account.0).map(AccountEntry::OfAsset).or_else(frozen)
    }

    #[inline(always)]
    pub fn balance(&self, entry: AccountEntry) -> u64 {
        match entry {
            AccountEntry::Active(entry) => u64::from_ne_bytes(self.table.value(entry)),
            AccountEntry::Frozen(entry) => u64::from_ne_bytes(self.frozen.value(entry)),
            AccountEntry::OfAsset(entry) => self.of_asset(entry).balance,
        }
    }

    #[inline(always)]
    pub fn set_balance(&mut self, entry: AccountEntry, balance: u64) {
        self.sum = self.sum.wrapping_add(balance).wrapping_sub(self.balance(entry));
        match entry {
            AccountEntry::Active(entry) => self.table.set_value(entry, balance.to_ne_bytes()),
            AccountEntry::Frozen(entry) => self.frozen.set_value(entry, balance.to_ne_bytes()),
            AccountEntry::OfAsset(entry) => self.set_balance_of_asset(entry, balance),
        }
    }

    #[cold]
    fn of_asset(&self, entry: EntryIndex) -> AssetAccount {
        AssetAccount::from_bytes(self.of_assets.value(entry))
    }

    #[cold]
    fn set_balance_of_asset(&mut self, entry: EntryIndex, balance: u64) {
        let before = self.of_asset(entry);
        self.assets.change(before.asset, before.balance, balance);
        self.of_assets.set_value(entry, AssetAccount { balance, ..before }.to_bytes());
    }

    /// The asset of an account.
    #[inline(always)]
    pub fn asset(&self, entry: AccountEntry) -> u32 {
        match entry {
            AccountEntry::Active(_) | AccountEntry::Frozen(_) => 0,
            AccountEntry::OfAsset(entry) => self.of_asset(entry).asset,
        }
    }

    /// Whether an account is frozen.
    #[inline(always)]
    pub fn is_frozen(&self, entry: AccountEntry) -> bool {
        match entry {
            AccountEntry::Active(_) => false,
            AccountEntry::Frozen(_) => true,
            AccountEntry::OfAsset(entry) => self.of_asset(entry).is_frozen,
        }
    }

    /// Freezes an account, or ends that. Fails if the table has no room for it, and changes nothing then.
    pub fn set_frozen(&mut self, entry: AccountEntry, is_frozen: bool) -> Result<(), table::Full> {
        let (account, balance) = (self.account(entry), self.balance(entry).to_ne_bytes());
        let (from, to) = match (entry, is_frozen) {
            (AccountEntry::Active(_), true) => (&mut self.table, &mut self.frozen),
            (AccountEntry::Frozen(_), false) => (&mut self.frozen, &mut self.table),
            (AccountEntry::Active(_), false) | (AccountEntry::Frozen(_), true) => return Ok(()),
            (AccountEntry::OfAsset(entry), _) => {
                let before = self.of_asset(entry);
                self.frozen_of_assets -= usize::from(before.is_frozen);
                self.frozen_of_assets += usize::from(is_frozen);
                self.of_assets.set_value(entry, AssetAccount { is_frozen, ..before }.to_bytes());
                return Ok(());
            }
        };
        to.insert(&account.0, balance)?;
        from.remove(&account.0);
        Ok(())
    }

    /// Adds an account that does not exist yet. Fails if the table has no room.
    pub fn create(&mut self, account: &AccountId, asset: u32, balance: u64) -> Result<(), table::Full> {
        if asset == 0 {
            self.table.insert(&account.0, balance.to_ne_bytes())?;
        } else {
            let entry = AssetAccount { balance, asset, is_frozen: false };
            self.of_assets.insert(&account.0, entry.to_bytes())?;
            self.assets.change(asset, 0, balance);
            self.assets.issue(asset, balance.into());
        }
        self.issued += u128::from(balance);
        self.sum = self.sum.wrapping_add(balance);
        Ok(())
    }

    /// Removes an account that is not frozen and has a balance of 0.
    pub fn remove(&mut self, account: &AccountId) {
        let balance = match self.table.remove(&account.0) {
            Some(balance) => u64::from_ne_bytes(balance),
            None => self.remove_of_asset(account),
        };
        assert_eq!(balance, 0, "an account that is removed has no balance");
    }

    #[cold]
    fn remove_of_asset(&mut self, account: &AccountId) -> u64 {
        let removed = self.of_assets.remove(&account.0).expect("the account exists and is not frozen");
        let AssetAccount { balance, is_frozen, .. } = AssetAccount::from_bytes(removed);
        assert!(!is_frozen, "an account that is removed is not frozen");
        balance
    }

    /// The asset that an entry states, of an account or a hold.
    pub fn asset_entry(&self, key: &HashedId) -> Option<u32> {
        if self.assets.is_empty() { None } else { self.assets.get(key) }
    }

    /// Adds the entry with the asset of an account or a hold. Fails if the table has no room.
    pub fn add_asset(&mut self, key: &HashedId, asset: u32) -> Result<(), table::Full> {
        self.assets.add(key, asset)
    }

    /// Removes the entry with the asset of an account or a hold.
    pub fn remove_asset(&mut self, key: &HashedId) {
        self.assets.remove(key);
    }

    /// Number of open holds.
    pub fn holds(&self) -> usize {
        self.holds.len()
    }

    /// Prefetches what making or ending a hold looks up: the hold, and whether an account has its id.
    #[cold]
    pub fn prefetch_hold_buckets(&self, hold: &HashedId) {
        self.holds.prefetch_bucket(hold.hash);
        self.table.prefetch_bucket(hold.hash);
    }

    #[cold]
    pub fn prefetch_hold_entry(&self, hold: &HashedId) {
        self.holds.prefetch_entry(hold.hash);
    }

    /// The amount of an open hold.
    pub fn held(&self, hold: &HashedId) -> Option<u64> {
        if self.holds.is_empty() {
            return None;
        }
        let entry = self.holds.find(hold.hash, &hold.id.0)?;
        Some(u64::from_ne_bytes(self.holds.value(entry)))
    }

    /// Adds a hold that is not open. Fails if the table has no room.
    pub fn add_hold(&mut self, hold: &HashedId, amount: u64, asset: u32) -> Result<(), table::Full> {
        self.holds.insert_new(hold.hash, &hold.id.0, amount.to_ne_bytes())?;
        self.sum = self.sum.wrapping_add(amount);
        if asset != 0 {
            self.assets.change(asset, 0, amount);
        }
        Ok(())
    }

    /// Removes an open hold of an asset.
    pub fn remove_hold(&mut self, hold: &HashedId, asset: u32) {
        let (_, amount) = self.holds.remove_hashed(hold.hash, &hold.id.0).expect("the hold is open");
        let amount = u64::from_ne_bytes(amount);
        self.sum = self.sum.wrapping_sub(amount);
        if asset != 0 {
            self.assets.change(asset, amount, 0);
        }
    }

    /// The open holds and their amounts, in no particular order.
    pub fn iter_holds(&self) -> impl Iterator<Item = (AccountId, u64)> + '_ {
        self.holds.iter().map(|(_, key, value)| (AccountId(key), u64::from_ne_bytes(value)))
    }

    /// The account of an entry.
    pub fn account(&self, entry: AccountEntry) -> AccountId {
        AccountId(match entry {
            AccountEntry::Active(entry) => self.table.key(entry),
            AccountEntry::Frozen(entry) => self.frozen.key(entry),
            AccountEntry::OfAsset(entry) => self.of_assets.key(entry),
        })
    }

    /// Panics if the balances do not add up to the issued amount. A node that then sends no further reply loses
    /// nobody's money.
    pub fn assert_conserved(&self) {
        let issued = self.issued as u64;
        assert!(
            self.sum == issued,
            "the balances add up to {}, but {issued} was issued (modulo 2^64); keep the data directory \
             and run `turnpike check` on a copy",
            self.sum
        );
        self.assets.assert_conserved();
    }

    /// Adds an amount to the issued total of an asset.
    pub fn issue(&mut self, asset: u32, amount: u128) {
        self.issued += amount;
        if asset != 0 {
            self.assets.issue(asset, amount);
        }
    }

    /// Subtracts deposits, which were part of balances of asset 0 and now belong to none.
    pub fn withdraw(&mut self, amount: u128) {
        self.issued -= amount;
    }

    pub fn iter(&self) -> impl Iterator<Item = (AccountId, u64)> + '_ {
        let of_asset_0 = self.table.iter().chain(self.frozen.iter());
        let of_asset_0 = of_asset_0.map(|(_, key, value)| (AccountId(key), u64::from_ne_bytes(value)));
        of_asset_0.chain(self.iter_of_assets().map(|(account, AssetAccount { balance, .. })| (account, balance)))
    }

    /// The accounts of other assets than 0, in no particular order.
    pub fn iter_of_assets(&self) -> impl Iterator<Item = (AccountId, AssetAccount)> + '_ {
        self.of_assets.iter().map(|(_, key, value)| (AccountId(key), AssetAccount::from_bytes(value)))
    }
}
