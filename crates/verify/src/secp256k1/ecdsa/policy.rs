use super::signature::Signature;
use crate::secp256k1::{PublicKey, Rule};

/// Which encodings of signatures and keys a chain accepts at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// How signatures are encoded.
    pub encoding: Encoding,
    /// The treatment of a signature whose s is above half the order.
    pub high_s: HighS,
    /// Whether keys may be in the hybrid form.
    pub hybrid_keys: bool,
}

/// An encoding of signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Strict DER, see [`Signature::from_der`].
    Der,
    /// The old, lax DER, see [`Signature::from_der_lax`].
    LaxDer,
    /// 64 bytes, see [`Signature::from_compact`].
    Compact,
}

/// The treatment of a signature with a high s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HighS {
    /// It breaks [`Rule::HighS`].
    Refuse,
    /// It is replaced by the one with a low s.
    Normalise,
}

impl Policy {
    /// Bitcoin's consensus before BIP66.
    pub const BITCOIN_LAX: Self = Self { encoding: Encoding::LaxDer, ..Self::BITCOIN };
    /// Bitcoin's consensus since BIP66, block 363,725.
    pub const BITCOIN: Self = Self { encoding: Encoding::Der, high_s: HighS::Normalise, hybrid_keys: true };
    /// What Bitcoin's nodes relay: its consensus, and the flags LOW_S and STRICTENC.
    pub const BITCOIN_RELAY: Self = Self { encoding: Encoding::Der, high_s: HighS::Refuse, hybrid_keys: false };
    /// Compact signatures with a low s, as in the protocol's own operations and many other chains.
    pub const COMPACT: Self = Self { encoding: Encoding::Compact, high_s: HighS::Refuse, hybrid_keys: false };

    /// Parses a signature.
    ///
    /// If a key is to be recovered from it, use [`Recoverable::parse`](super::Recoverable::parse), as a low s needs
    /// another recovery id.
    pub fn signature(&self, bytes: &[u8]) -> Result<Signature, Rule> {
        let signature = self.decode(bytes)?;
        match self.high_s {
            HighS::Refuse => signature.require_low_s(),
            HighS::Normalise => Ok(signature.normalised()),
        }
    }

    /// The signature as it is encoded, whatever its s.
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<Signature, Rule> {
        match self.encoding {
            Encoding::Der => Signature::from_der(bytes),
            Encoding::LaxDer => Signature::from_der_lax(bytes),
            Encoding::Compact => Signature::from_compact(bytes),
        }
    }

    /// Parses a key.
    pub fn key(&self, bytes: &[u8]) -> Result<PublicKey, Rule> {
        if !self.hybrid_keys && matches!(bytes, [6 | 7, ..]) && bytes.len() == 65 {
            return Err(Rule::KeyHybrid);
        }
        PublicKey::parse(bytes)
    }
}
