//! The stores that are compared.

use crate::workload::{Key, Update, Value};

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
pub type Root = [u8; 32];

/// A provable key-value state.
pub trait Store {
    fn name(&self) -> &'static str;

    /// Takes the next batch, in the store's own types and order. Not measured: a program has its changes in these.
    async fn stage(&mut self, updates: &[Update]) -> Result<()>;

    /// Applies the staged batch, computes the new root, and returns it once a crash of the machine loses neither.
    async fn commit(&mut self) -> Result<Root>;

    /// Writes what a start would otherwise rebuild. Called after each batch of creations, and never while measuring.
    async fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    async fn root(&self) -> Result<Root>;

    /// Reads an entry, proves it, or its absence, and verifies the proof against the root with the store's own
    /// verifier. Returns whether it is as expected.
    async fn check(&mut self, key: &Key, expected: Option<&Value>) -> Result<bool>;

    /// Whether each commit computes a root.
    fn states_each_root(&self) -> bool {
        true
    }

    /// Whether [`check`](Self::check) works for keys that are absent.
    fn proves_absence(&self) -> bool;
}
