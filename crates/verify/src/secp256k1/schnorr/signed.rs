//! A message with its signature and key, ready to be verified.

use super::signature::Signature;
use crate::secp256k1::{Rule, XOnlyKey};

/// A message, and the signature and key that it is claimed to be signed with.
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
