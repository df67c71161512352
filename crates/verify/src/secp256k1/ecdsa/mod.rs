//! ECDSA signatures: [`Policy`] and [`Signature`] for the encodings, [`Verifier`] for many signatures, [`verify`] for one;
//! [`recover_each`] for the keys that signatures were made with.

mod der;
mod policy;
mod recovery;
mod signature;

pub use policy::{Encoding, HighS, Policy};
pub use recovery::{Recoverable, RecoveryId, recover, recover_each, recover_each_on};
pub use signature::Signature;

use super::{Backend, PublicKey, Rule, portable};
use crate::BatchVerifier;

/// A digest, and the signature and the key that it is claimed to be signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The digest.
    pub digest: [u8; 32],
    /// The signature. Its s may be high: whether that is allowed is for [`Policy`] or [`Signature::require_low_s`] to say.
    pub signature: Signature,
    /// The public key.
    pub key: PublicKey,
}

impl Signed {
    /// Parses a signature and a key.
    pub fn parse(policy: Policy, digest: [u8; 32], signature: &[u8], key: &[u8]) -> Result<Self, Rule> {
        Ok(Self { digest, signature: policy.signature(signature)?, key: policy.key(key)? })
    }
}

/// Verifies one signature: [`Rule::KeyNotOnCurve`] or [`Rule::Mismatch`] if it is not good.
pub fn verify(item: &Signed) -> Result<(), Rule> {
    portable::verify_ecdsa(item)
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
    /// An empty batch for a backend of the caller's choice; none if it is not available.
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
