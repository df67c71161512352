//! ECDSA signatures, one at a time.

use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use secp256k1::{Message, SECP256K1};

use super::{point, x_only};
use crate::secp256k1::ecdsa::{recoverable::Recoverable, signed::Signed};
use crate::secp256k1::{PublicKey, Rule};

pub(in crate::secp256k1) fn verify(item: &Signed) -> Result<(), Rule> {
    let key = point(&item.key)?;
    // libsecp256k1 itself refuses a high s.
    let compact = item.signature.normalised().compact();
    let signature = secp256k1::ecdsa::Signature::from_compact(&compact).map_err(|_| Rule::Range)?;
    SECP256K1.verify_ecdsa(Message::from_digest(item.digest), &signature, &key).map_err(|_| Rule::Mismatch)
}

pub(in crate::secp256k1) fn recover(item: &Recoverable) -> Result<PublicKey, Rule> {
    let nonce = item.nonce()?;
    x_only(&nonce.x).ok_or(Rule::NonceNotOnCurve)?;
    let id = RecoveryId::from_u8_masked(item.id.number());
    let signature = RecoverableSignature::from_compact(&item.signature.compact(), id).map_err(|_| Rule::Range)?;
    let key = SECP256K1.recover_ecdsa(Message::from_digest(item.digest), &signature).map_err(|_| Rule::NoKey)?;
    PublicKey::parse(&key.serialize())
}
