//! The portable backend: libsecp256k1.

use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use secp256k1::{Message, SECP256K1, XOnlyPublicKey};

use super::key::Y;
use super::{PublicKey, Rule, ecdsa, schnorr};

pub(super) fn verify_ecdsa(item: &ecdsa::Signed) -> Result<(), Rule> {
    let key = point(&item.key)?;
    // libsecp256k1 itself takes no high s.
    let compact = item.signature.normalised().compact();
    let signature = secp256k1::ecdsa::Signature::from_compact(&compact).map_err(|_| Rule::Range)?;
    SECP256K1.verify_ecdsa(Message::from_digest(item.digest), &signature, &key).map_err(|_| Rule::Mismatch)
}

pub(super) fn recover(item: &ecdsa::Recoverable) -> Result<PublicKey, Rule> {
    let nonce = item.nonce()?;
    x_only(&nonce.x).ok_or(Rule::NonceNotOnCurve)?;
    let id = RecoveryId::from_u8_masked(item.id.number());
    let signature = RecoverableSignature::from_compact(&item.signature.compact(), id).map_err(|_| Rule::Range)?;
    let key = SECP256K1.recover_ecdsa(Message::from_digest(item.digest), &signature).map_err(|_| Rule::NoKey)?;
    PublicKey::parse(&key.serialize())
}

pub(super) fn verify_schnorr(item: &schnorr::Signed<'_>) -> Result<(), Rule> {
    let key = x_only(&item.key.0).ok_or(Rule::KeyNotOnCurve)?;
    let signature = secp256k1::schnorr::Signature::from_byte_array(item.signature.bytes());
    SECP256K1.verify_schnorr(&signature, item.message, &key).map_err(|_| match x_only(&item.signature.r) {
        Some(_) => Rule::Mismatch,
        None => Rule::NonceNotOnCurve,
    })
}

/// Whether there is a point with this x.
pub(super) fn is_x(x: &[u8; 32]) -> bool {
    x_only(x).is_some()
}

fn x_only(x: &[u8; 32]) -> Option<XOnlyPublicKey> {
    XOnlyPublicKey::from_byte_array(*x).ok()
}

pub(super) fn point(key: &PublicKey) -> Result<secp256k1::PublicKey, Rule> {
    let parsed = match key.y {
        Y::Even | Y::Odd => secp256k1::PublicKey::from_byte_array_compressed(key.compressed()),
        Y::Number(y) => {
            let mut bytes = [4; 65];
            bytes[1..33].copy_from_slice(&key.x);
            bytes[33..].copy_from_slice(&y);
            secp256k1::PublicKey::from_byte_array_uncompressed(bytes)
        }
    };
    parsed.map_err(|_| Rule::KeyNotOnCurve)
}
