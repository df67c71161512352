//! A digest with its signature and key, ready to be verified.

use super::policy::Policy;
use super::signature::Signature;
use crate::secp256k1::{PublicKey, Rule};

/// A digest, and the signature and key that it is claimed to be signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The digest.
    pub digest: [u8; 32],
    /// The signature. Its s may be high: [`Policy`] or [`Signature::require_low_s`] decide whether that is allowed.
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
