//! BIP340 Schnorr signatures: [`Verifier`] for many, [`verify`] for one.

pub(super) mod batch;
pub(super) mod challenge;
mod signature;
pub(super) mod signed;

pub use signature::Signature;
pub use signed::Signed;

use super::{Backend, Rule, portable};
use crate::BatchVerifier;

/// Verifies one signature: [`Rule::KeyNotOnCurve`], [`Rule::NonceNotOnCurve`] or [`Rule::Mismatch`] if it is not good.
pub fn verify(item: &Signed<'_>) -> Result<(), Rule> {
    portable::schnorr::verify(item)
}

/// A batch of signatures.
#[derive(Debug)]
pub struct Verifier<'a> {
    backend: Backend,
    items: Vec<Signed<'a>>,
    verdicts: Vec<Result<(), Rule>>,
}

impl Default for Verifier<'_> {
    fn default() -> Self {
        Self { backend: Backend::fastest(), items: Vec::new(), verdicts: Vec::new() }
    }
}

impl Verifier<'_> {
    /// An empty batch for the given backend; `None` if it is not available.
    pub fn on(backend: Backend) -> Option<Self> {
        backend.is_available().then(|| Self { backend, ..Self::default() })
    }
}

impl<'a> BatchVerifier for Verifier<'a> {
    type Item = Signed<'a>;
    type Rule = Rule;

    fn push(&mut self, item: Signed<'a>) {
        self.items.push(item);
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn verify_each(&mut self) -> &[Result<(), Rule>] {
        self.verdicts.clear();
        self.backend.verify_schnorr(&self.items, &mut self.verdicts);
        self.items.clear();
        &self.verdicts
    }
}

#[cfg(test)]
mod tests;
