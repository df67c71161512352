//! BIP340 Schnorr signatures: [`Verifier`] for many, [`verify`] for one.

pub(super) mod batch;

pub(super) use batch::Challenged;

use super::number::{ORDER, PRIME};
use super::{Backend, Rule, XOnlyKey, portable};
use crate::BatchVerifier;

/// A Schnorr signature: r below the field's prime, s below the order of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    pub(super) r: [u8; 32],
    pub(super) s: [u8; 32],
}

impl Signature {
    /// From r ‖ s, each 32 bytes, big-endian.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rule> {
        let ([r, s], []) = bytes.as_chunks() else { return Err(Rule::SignatureLength) };
        if *r < PRIME && *s < ORDER { Ok(Self { r: *r, s: *s }) } else { Err(Rule::Range) }
    }

    /// r ‖ s, each 32 bytes, big-endian.
    pub fn bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&self.r);
        bytes[32..].copy_from_slice(&self.s);
        bytes
    }
}

/// A message, and the signature and the key that it is claimed to be signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed<'a> {
    /// The message: a digest of 32 bytes in Bitcoin, of any length in BIP340.
    pub message: &'a [u8],
    /// The signature.
    pub signature: Signature,
    /// The public key.
    pub key: XOnlyKey,
}

impl<'a> Signed<'a> {
    /// Parses a signature and a key.
    pub fn parse(message: &'a [u8], signature: &[u8], key: &[u8]) -> Result<Self, Rule> {
        Ok(Self { message, signature: Signature::parse(signature)?, key: XOnlyKey::parse(key)? })
    }
}

/// Verifies one signature: [`Rule::KeyNotOnCurve`], [`Rule::NonceNotOnCurve`] or [`Rule::Mismatch`] if it is not good.
pub fn verify(item: &Signed<'_>) -> Result<(), Rule> {
    portable::verify_schnorr(item)
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
    /// An empty batch for a backend of the caller's choice; none if it is not available.
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
