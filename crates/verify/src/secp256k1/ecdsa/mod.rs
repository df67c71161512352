//! ECDSA signatures: [`Policy`] and [`Signature`] for encodings, [`Verifier`] for many signatures, [`verify`] for one,
//! [`recover_each`] for the keys that signatures were made with.

mod der;
mod policy;
pub(super) mod recoverable;
mod recovery;
mod signature;
pub(super) mod signed;

pub use policy::{Encoding, HighS, Policy};
pub use recoverable::{Recoverable, RecoveryId};
pub use recovery::{recover, recover_each, recover_each_on};
pub use signature::Signature;
pub use signed::Signed;

use super::{Backend, Rule, portable};
use crate::BatchVerifier;

/// Verifies one signature: [`Rule::KeyNotOnCurve`] or [`Rule::Mismatch`] if it is not good.
pub fn verify(item: &Signed) -> Result<(), Rule> {
    portable::ecdsa::verify(item)
}

/// A batch of signatures.
#[derive(Debug)]
pub struct Verifier {
    backend: Backend,
    items: Vec<Signed>,
    verdicts: Vec<Result<(), Rule>>,
}

impl Default for Verifier {
    fn default() -> Self {
        Self { backend: Backend::fastest(), items: Vec::new(), verdicts: Vec::new() }
    }
}

impl Verifier {
    /// An empty batch for the given backend; `None` if it is not available.
    pub fn on(backend: Backend) -> Option<Self> {
        backend.is_available().then(|| Self { backend, ..Self::default() })
    }
}

impl BatchVerifier for Verifier {
    type Item = Signed;
    type Rule = Rule;

    fn push(&mut self, item: Signed) {
        self.items.push(item);
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn verify_each(&mut self) -> &[Result<(), Rule>] {
        self.verdicts.clear();
        self.backend.verify_ecdsa(&self.items, &mut self.verdicts);
        self.items.clear();
        &self.verdicts
    }
}

#[cfg(test)]
mod tests;
