//! A signature whose key is to be recovered.

use super::policy::{HighS, Policy};
use super::signature::Signature;
use crate::secp256k1::number::{ORDER, PRIME_LESS_ORDER, add};
use crate::secp256k1::{PublicKey, Rule};

/// What a signature leaves open about the nonce's point: whether its y is odd (1), and whether its x is r + n instead
/// of r (2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecoveryId(u8);

impl RecoveryId {
    /// Parses a number from 0 to 3.
    pub fn parse(id: u8) -> Result<Self, Rule> {
        if id <= 3 { Ok(Self(id)) } else { Err(Rule::RecoveryId) }
    }

    /// The number.
    pub fn number(self) -> u8 {
        self.0
    }
}

/// A digest and its signature, whose key is to be recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recoverable {
    /// The digest.
    pub digest: [u8; 32],
    /// The signature.
    pub signature: Signature,
    /// Which of the points with this r is the nonce's.
    pub id: RecoveryId,
}

impl Recoverable {
    /// Parses a signature and a recovery id.
    ///
    /// If the policy replaces a high s, the id changes with it, so that the recovered key is that of the original
    /// signature.
    pub fn parse(policy: Policy, digest: [u8; 32], signature: &[u8], id: u8) -> Result<Self, Rule> {
        let signature = policy.decode(signature)?;
        let signature = if policy.high_s == HighS::Refuse { signature.require_low_s()? } else { signature };
        Ok(Self { digest, signature, id: RecoveryId::parse(id)? }.normalised())
    }

    /// The same with a low s. A negated s belongs to the negated nonce, which has the other y.
    fn normalised(self) -> Self {
        if self.signature.has_low_s() {
            return self;
        }
        Self { signature: self.signature.normalised(), id: RecoveryId(self.id.0 ^ 1), ..self }
    }

    /// The nonce's point.
    pub(in crate::secp256k1) fn nonce(&self) -> Result<PublicKey, Rule> {
        let r = self.signature.r;
        let x = match self.id.0 & 2 {
            0 => r,
            _ if r < PRIME_LESS_ORDER => add(&r, &ORDER),
            _ => return Err(Rule::RecoveryId),
        };
        Ok(PublicKey::from_x(x, self.id.0 & 1 == 1))
    }
}
