//! The challenge that a signature's number s answers: the hash of its r, the key and the message.

use super::signed::Signed;
use crate::sha256::Tag;

const CHALLENGE: Tag = Tag::new("BIP0340/challenge");

/// A signature and its challenge e, all big-endian.
#[derive(Clone, Copy, Debug)]
pub(in crate::secp256k1) struct Challenged {
    pub(in crate::secp256k1) r: [u8; 32],
    pub(in crate::secp256k1) s: [u8; 32],
    pub(in crate::secp256k1) key: [u8; 32],
    /// Not yet reduced modulo the order.
    pub(in crate::secp256k1) e: [u8; 32],
}

pub(super) fn challenge(items: &[Signed<'_>]) -> Vec<Challenged> {
    let length: usize = items.iter().map(|item| 64 + item.message.len()).sum();
    let mut bytes = Vec::with_capacity(length);
    for item in items {
        bytes.extend_from_slice(&item.signature.r);
        bytes.extend_from_slice(&item.key.0);
        bytes.extend_from_slice(item.message);
    }
    let mut rest = &bytes[..];
    let messages: Vec<&[u8]> =
        items.iter().map(|item| rest.split_off(..64 + item.message.len()).unwrap_or(&[])).collect();
    let mut digests = vec![[0; 32]; items.len()];
    CHALLENGE.hash_each(&messages, &mut digests);
    let challenged = |(item, e): (&Signed<'_>, [u8; 32])| {
        let (r, s) = (item.signature.r, item.signature.s);
        Challenged { r, s, key: item.key.0, e }
    };
    items.iter().zip(digests).map(challenged).collect()
}
