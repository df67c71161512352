//! BIP340 signatures, one at a time.

use secp256k1::SECP256K1;

use super::x_only;
use crate::secp256k1::Rule;
use crate::secp256k1::schnorr::signed::Signed;

pub(in crate::secp256k1) fn verify(item: &Signed<'_>) -> Result<(), Rule> {
    let key = x_only(&item.key.0).ok_or(Rule::KeyNotOnCurve)?;
    let signature = secp256k1::schnorr::Signature::from_byte_array(item.signature.bytes());
    SECP256K1.verify_schnorr(&signature, item.message, &key).map_err(|_| match x_only(&item.signature.r) {
        Some(_) => Rule::Mismatch,
        None => Rule::NonceNotOnCurve,
    })
}
