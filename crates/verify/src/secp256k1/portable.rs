//! The portable backend: libsecp256k1.

use secp256k1::ecdsa::Signature;
use secp256k1::{Message, PublicKey, SECP256K1};

use super::{Rule, Signed};

/// Verifies an item whose encoding was checked.
pub(super) fn verify(item: &Signed) -> Result<(), Rule> {
    let signature = Signature::from_compact(&item.signature).map_err(|_| Rule::Range)?;
    let key = PublicKey::from_byte_array_compressed(item.key).map_err(|_| Rule::KeyNotOnCurve)?;
    let message = Message::from_digest(item.digest);
    SECP256K1.verify_ecdsa(message, &signature, &key).map_err(|_| Rule::Mismatch)
}

/// Verifies those items whose verdict is good so far.
pub(super) fn verify_each(items: &[Signed], verdicts: &mut [Result<(), Rule>]) {
    for (item, verdict) in items.iter().zip(verdicts) {
        if verdict.is_ok() {
            *verdict = verify(item);
        }
    }
}
