//! The portable backend: libsecp256k1.

pub(super) mod ecdsa;
pub(super) mod schnorr;

use secp256k1::XOnlyPublicKey;

use super::key::Y;
use super::{PublicKey, Rule};

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
