//! The assets of accounts and holds, but asset 0, and how much of each asset is issued.

use std::collections::HashMap;

use table::{Config, Seed, Table};

use crate::{Error, balances::HashedId};

/// An account of another asset than 0, as in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AssetAccount {
    pub balance: u64,
    pub asset: u32,
    pub is_frozen: bool,
}

impl AssetAccount {
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let number = u128::from_ne_bytes(bytes);
        Self { balance: number as u64, asset: (number >> 64) as u32, is_frozen: number >> 96 != 0 }
    }

    /// In native byte order, as [balances](crate::accounts::Accounts) are.
    pub fn to_bytes(self) -> [u8; 16] {
        let asset = u128::from(self.asset) | u128::from(self.is_frozen) << 32;
        (u128::from(self.balance) | asset << 64).to_ne_bytes()
    }
}

/// The issued amount of an asset, and the sum of its balances and open holds modulo 2^64. The two must be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Total {
    issued: u128,
    sum: u64,
}

impl Total {
    fn is_balanced(&self) -> bool {
        self.issued as u64 == self.sum
    }
}

/// The assets of accounts and holds, by the [ids of their entries](chain::index::asset_id), and the totals.
#[derive(Debug)]
pub(crate) struct Assets {
    entries: Table<16, 8>,
    /// Of assets with an issued amount.
    totals: HashMap<u32, Total>,
    /// Number of totals that are not balanced.
    unbalanced: usize,
}

impl Assets {
    /// For at most `limit` accounts and `limit` holds.
    pub fn new(limit: usize, seed: Seed) -> Result<Self, Error> {
        let config = Config::new(2 * limit).seed(seed);
        let entries = Table::with_capacity(&config).map_err(|reason| Error::Memory { accounts: limit, reason })?;
        Ok(Self { entries, totals: HashMap::new(), unbalanced: 0 })
    }

    /// Whether no account and no hold has another asset than 0.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The asset that an entry states.
    pub fn get(&self, key: &HashedId) -> Option<u32> {
        let entry = self.entries.find(key.hash, &key.id.0)?;
        Some(u64::from_ne_bytes(self.entries.value(entry)) as u32)
    }

    /// Adds an entry that is not there. Fails if the table has no room.
    pub fn add(&mut self, key: &HashedId, asset: u32) -> Result<(), table::Full> {
        self.entries.insert_new(key.hash, &key.id.0, u64::from(asset).to_ne_bytes()).map(drop)
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &HashedId) {
        self.entries.remove_hashed(key.hash, &key.id.0).expect("the account or hold has an asset");
    }

    /// Adds to the issued amount of an asset.
    pub fn issue(&mut self, asset: u32, amount: u128) {
        self.update(asset, |total| total.issued += amount);
    }

    /// Replaces a balance, or the amount of a hold, in the sum of an asset. One that does not exist is 0.
    pub fn change(&mut self, asset: u32, before: u64, after: u64) {
        self.update(asset, |total| total.sum = total.sum.wrapping_add(after).wrapping_sub(before));
    }

    fn update(&mut self, asset: u32, update: impl FnOnce(&mut Total)) {
        debug_assert_ne!(asset, 0, "asset 0 is not counted here");
        let total = self.totals.entry(asset).or_default();
        self.unbalanced -= usize::from(!total.is_balanced());
        update(total);
        self.unbalanced += usize::from(!total.is_balanced());
        if *total == Total::default() {
            self.totals.remove(&asset);
        }
    }

    /// The issued amount of each asset, in no particular order.
    pub fn issued(&self) -> impl Iterator<Item = (u32, u128)> + '_ {
        self.totals.iter().map(|(asset, total)| (*asset, total.issued))
    }

    /// Panics if the balances of some asset do not add up to its issued amount.
    #[inline(always)]
    pub fn assert_conserved(&self) {
        assert!(
            self.unbalanced == 0,
            "the balances of {} assets do not add up to the issued amounts; keep the data directory and run \
             `turnpike check` on a copy",
            self.unbalanced
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_stored_as_they_are() {
        for (balance, asset, is_frozen) in [(0, 1, false), (u64::MAX, u32::MAX, true), (5, 840, true)] {
            let account = AssetAccount { balance, asset, is_frozen };
            assert_eq!(AssetAccount::from_bytes(account.to_bytes()), account);
        }
    }

    #[test]
    #[should_panic(expected = "the balances of 2 assets do not add up")]
    fn money_that_changes_its_asset_ends_the_batch() {
        let mut assets = Assets::new(4, Seed::from([1; 16])).unwrap();
        for asset in [7, 8] {
            assets.issue(asset, 10);
            assets.change(asset, 0, 10);
        }
        assets.assert_conserved();
        assets.change(7, 10, 4);
        assets.change(8, 10, 16);
        assets.assert_conserved();
    }
}
