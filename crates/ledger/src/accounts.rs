//! The accounts: balances in the hash table, open holds in another, and the total issued minus paid deposits.

use chain::index::hold_id;
use table::{Config, EntryIndex, Hash, Region, Seed, Table};
use wire::{AccountId, Operation};

use crate::{Error, balances::HoldKey};

/// Accounts by id. Balances are stored in native byte order: nobody outside this machine reads them.
#[derive(Debug)]
pub(crate) struct Accounts {
    table: Table<16, 8>,
    /// Amounts of open holds, by their ids in the index. Not part of `table`, in which tiers below the host find
    /// accounts that can spend their balances.
    holds: Table<16, 8>,
    /// Maximum number of accounts, and of open holds.
    limit: usize,
    issued: u128,
    /// Sum of all balances and holds modulo 2^64, updated with each stored one: it must equal `issued`.
    sum: u64,
}

impl Accounts {
    /// Creates an empty table, in the given memory or in its own.
    pub fn new(limit: usize, seed: Seed, region: Option<Region>) -> Result<Self, Error> {
        let config = Config::new(limit).seed(seed);
        let too_large = |reason| Error::Memory { accounts: limit, reason };
        // It takes memory only once there are holds.
        let holds = Table::with_capacity(&config).map_err(too_large)?;
        let table = match region {
            Some(region) => Table::with_region(&config.near(), region),
            None => Table::with_capacity(&config),
        };
        Ok(Self { table: table.map_err(too_large)?, holds, limit, issued: 0, sum: 0 })
    }

    /// Memory for `limit` accounts, in bytes.
    pub fn memory(limit: usize) -> Result<usize, Error> {
        Config::new(limit).memory::<16, 8>().map_err(|reason| Error::Memory { accounts: limit, reason })
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no account can be added. It depends on the configured number alone, not on where the table happens to
    /// have room.
    pub fn is_full(&self) -> bool {
        self.table.len() >= self.limit
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    pub fn issued(&self) -> u128 {
        self.issued
    }

    /// Hashes an id, for both tables: they have the same seed.
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
    pub fn find(&self, hash: Hash, account: &AccountId) -> Option<EntryIndex> {
        self.table.find(hash, &account.0)
    }

    #[inline(always)]
    pub fn balance(&self, entry: EntryIndex) -> u64 {
        u64::from_ne_bytes(self.table.value(entry))
    }

    #[inline(always)]
    pub fn set_balance(&mut self, entry: EntryIndex, balance: u64) {
        self.sum = self.sum.wrapping_add(balance).wrapping_sub(self.balance(entry));
        self.table.set_value(entry, balance.to_ne_bytes());
    }

    /// Adds an account that does not exist yet. Fails if the table has no room.
    pub fn create(&mut self, account: &AccountId, balance: u64) -> Result<(), table::Full> {
        self.table.insert(&account.0, balance.to_ne_bytes())?;
        self.issued += u128::from(balance);
        self.sum = self.sum.wrapping_add(balance);
        Ok(())
    }

    /// Removes an account with a balance of 0.
    pub fn remove(&mut self, account: &AccountId) {
        self.table.remove(&account.0);
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
    pub fn account(&self, entry: EntryIndex) -> AccountId {
        AccountId(self.table.key(entry))
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
        self.table.iter().map(|(_, key, value)| (AccountId(key), u64::from_ne_bytes(value)))
    }
}
