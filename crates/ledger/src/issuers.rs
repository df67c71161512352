//! The keys that may sign for an asset.

use std::collections::HashMap;

/// The issuers of each asset. Replicas execute the same, so all of them need the same issuers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issuers(HashMap<[u8; 33], Vec<u32>>);

impl Issuers {
    /// Lets a key sign for an asset.
    pub fn add(&mut self, asset: u32, key: [u8; 33]) {
        self.0.entry(key).or_default().push(asset);
    }

    /// Whether a key may sign for an asset.
    pub fn contains(&self, asset: u32, key: &[u8; 33]) -> bool {
        self.0.get(key).is_some_and(|assets| assets.contains(&asset))
    }

    /// Whether a key may sign for some asset.
    pub fn contains_key(&self, key: &[u8; 33]) -> bool {
        self.0.contains_key(key)
    }
}
