//! The accounts: balances in the hash table, frozen accounts and open holds in two others, and the total issued minus
//! paid deposits.

use chain::index::hold_id;
use table::{Config, EntryIndex, Hash, Region, Seed, Table};
use wire::{AccountId, Operation};

use crate::{Error, balances::HoldKey};

/// Accounts by id. Balances are stored in native byte order: nobody outside this machine reads them.
#[derive(Debug)]
pub(crate) struct Accounts {
    table: Table<16, 8>,
    /// Accounts that are frozen. Not part of `table`, so no tier below the host finds them.
    frozen: Table<16, 8>,
    /// Amounts of open holds, by their ids in the index. Not part of `table`, in which tiers below the host find
    /// accounts that can spend their balances.
    holds: Table<16, 8>,
    /// Maximum number of accounts, and of open holds.
    limit: usize,
    issued: u128,
    /// Sum of all balances and holds modulo 2^64, updated with each stored one: it must equal `issued`.
    sum: u64,
}

/// The entry of an account.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AccountEntry {
    /// Of one that can spend its balance.
    Active(EntryIndex),
    /// Of a frozen one.
    Frozen(EntryIndex),
}

impl Accounts {
    /// Creates an empty table, in the given memory or in its own.
    pub fn new(limit: usize, seed: Seed, region: Option<Region>) -> Result<Self, Error> {
        let config = Config::new(limit).seed(seed);
        let too_large = |reason| Error::Memory { accounts: limit, reason };
        // They take memory only once they have entries.
        let frozen = Table::with_capacity(&config).map_err(too_large)?;
        let holds = Table::with_capacity(&config).map_err(too_large)?;
        let table = match region {
            Some(region) => Table::with_region(&config.near(), region),
            None => Table::with_capacity(&config),
        };
        Ok(Self { table: table.map_err(too_large)?, frozen, holds, limit, issued: 0, sum: 0 })
    }

    /// Memory for `limit` accounts, in bytes.
    pub fn memory(limit: usize) -> Result<usize, Error> {
        Config::new(limit).memory::<16, 8>().map_err(|reason| Error::Memory { accounts: limit, reason })
    }

    pub fn len(&self) -> usize {
        self.table.len() + self.frozen.len()
    }

    /// Number of frozen accounts.
    pub fn frozen(&self) -> usize {
        self.frozen.len()
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
    pub fn hold_key(&self, operation: &Operation) -> HoldKey {
        let id = hold_id(operation);
        HoldKey { id, hash: self.hash(&id) }
    }

    #[inline(always)]
    pub fn prefetch_bucket(&self, hash: Hash) {
        self.table.prefetch_bucket(hash);
    }

    #[inline(always)]
    pub fn prefetch_entry(&self, hash: Hash) {
        self.table.prefetch_entry(hash);
    }

    #[inline(always)]
    pub fn find(&self, hash: Hash, account: &AccountId) -> Option<AccountEntry> {
        match self.table.find(hash, &account.0) {
            Some(entry) => Some(AccountEntry::Active(entry)),
            None if self.frozen.is_empty() => None,
            None => self.find_frozen(hash, account),
        }
    }

    #[cold]
    fn find_frozen(&self, hash: Hash, account: &AccountId) -> Option<AccountEntry> {
        self.frozen.find(hash, &account.0).map(AccountEntry::Frozen)
    }

    #[inline(always)]
    pub fn balance(&self, entry: AccountEntry) -> u64 {
        u64::from_ne_bytes(match entry {
            AccountEntry::Active(entry) => self.table.value(entry),
            AccountEntry::Frozen(entry) => self.frozen.value(entry),
        })
    }

    #[inline(always)]
    pub fn set_balance(&mut self, entry: AccountEntry, balance: u64) {
        self.sum = self.sum.wrapping_add(balance).wrapping_sub(self.balance(entry));
        match entry {
            AccountEntry::Active(entry) => self.table.set_value(entry, balance.to_ne_bytes()),
            AccountEntry::Frozen(entry) => self.frozen.set_value(entry, balance.to_ne_bytes()),
        }
    }

    /// Freezes an account, or ends that. Fails if the table has no room for it, and changes nothing then.
    pub fn set_frozen(&mut self, entry: AccountEntry, is_frozen: bool) -> Result<(), table::Full> {
        let (account, balance) = (self.account(entry), self.balance(entry).to_ne_bytes());
        let (from, to) = match (entry, is_frozen) {
            (AccountEntry::Active(_), true) => (&mut self.table, &mut self.frozen),
            (AccountEntry::Frozen(_), false) => (&mut self.frozen, &mut self.table),
            (AccountEntry::Active(_), false) | (AccountEntry::Frozen(_), true) => return Ok(()),
        };
        to.insert(&account.0, balance)?;
        from.remove(&account.0);
        Ok(())
    }

    /// Adds an account that does not exist yet. Fails if the table has no room.
    pub fn create(&mut self, account: &AccountId, balance: u64) -> Result<(), table::Full> {
        self.table.insert(&account.0, balance.to_ne_bytes())?;
        self.issued += u128::from(balance);
        self.sum = self.sum.wrapping_add(balance);
        Ok(())
    }

    /// Removes an account that is not frozen and has a balance of 0.
    pub fn remove(&mut self, account: &AccountId) {
        let balance = self.table.remove(&account.0);
        assert_eq!(balance, Some([0; 8]), "an account that is removed has no balance");
    }

    /// Number of open holds.
    pub fn holds(&self) -> usize {
        self.holds.len()
    }

    /// Prefetches what making or ending a hold looks up: the hold, and whether an account has its id.
    #[cold]
    pub fn prefetch_hold_buckets(&self, hold: &HoldKey) {
        self.holds.prefetch_bucket(hold.hash);
        self.table.prefetch_bucket(hold.hash);
    }

    #[cold]
    pub fn prefetch_hold_entry(&self, hold: &HoldKey) {
        self.holds.prefetch_entry(hold.hash);
    }

    /// The amount of an open hold.
    pub fn held(&self, hold: &HoldKey) -> Option<u64> {
        if self.holds.is_empty() {
            return None;
        }
        let entry = self.holds.find(hold.hash, &hold.id.0)?;
        Some(u64::from_ne_bytes(self.holds.value(entry)))
    }

    /// Adds a hold that is not open. Fails if the table has no room.
    pub fn add_hold(&mut self, hold: &HoldKey, amount: u64) -> Result<(), table::Full> {
        self.holds.insert_new(hold.hash, &hold.id.0, amount.to_ne_bytes())?;
        self.sum = self.sum.wrapping_add(amount);
        Ok(())
    }

    /// Removes an open hold.
    pub fn remove_hold(&mut self, hold: &HoldKey) {
        let (_, amount) = self.holds.remove_hashed(hold.hash, &hold.id.0).expect("the hold is open");
        self.sum = self.sum.wrapping_sub(u64::from_ne_bytes(amount));
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
    }

    /// Adds an amount to the issued total.
    pub fn issue(&mut self, amount: u128) {
        self.issued += amount;
    }

    /// Subtracts deposits, which were part of balances and now belong to none.
    pub fn withdraw(&mut self, amount: u128) {
        self.issued -= amount;
    }

    pub fn iter(&self) -> impl Iterator<Item = (AccountId, u64)> + '_ {
        self.table.iter().chain(self.frozen.iter()).map(|(_, key, value)| (AccountId(key), u64::from_ne_bytes(value)))
    }
}
