//! What the signature of a signed operation covers.

use crate::{
    sha256::{Digest, Tag},
    tags::{FAST_ORDER_TAG, TRANSFER_TAG},
};

const TRANSFER: Tag = Tag::new(TRANSFER_TAG);
const FAST_ORDER: Tag = Tag::new(FAST_ORDER_TAG);

/// The length of a signed operation before its signature.
pub const SIGNED_LENGTH: usize = 120;

/// The digest that a transfer's signature signs: of the network id, and the signed operation up to its signature.
pub fn digest(network: &[u8; 32], signed: &[u8; SIGNED_LENGTH]) -> Digest {
    TRANSFER.hash_parts(&[network, signed])
}

/// [`digest`](digest()) for many operations at once.
///
/// # Panics
///
/// If the numbers of operations and digests differ.
pub fn digests(network: &[u8; 32], signed: &[&[u8; SIGNED_LENGTH]], digests: &mut [Digest]) {
    hash_all(&TRANSFER, network, signed, digests);
}

/// The hashes of orders of the fast path, which their signatures sign: of the network id, and each order up to its
/// signature.
///
/// # Panics
///
/// If the numbers of orders and digests differ.
pub fn fast_order_digests(network: &[u8; 32], signed: &[&[u8; SIGNED_LENGTH]], digests: &mut [Digest]) {
    hash_all(&FAST_ORDER, network, signed, digests);
}

fn hash_all(tag: &Tag, network: &[u8; 32], signed: &[&[u8; SIGNED_LENGTH]], digests: &mut [Digest]) {
    assert_eq!(signed.len(), digests.len(), "one digest for each operation");
    /// As many as the widest backend takes in two passes; their messages fit into the first-level cache.
    const AT_ONCE: usize = 64;
    let mut messages = [[0; 32 + SIGNED_LENGTH]; AT_ONCE];
    for (signed, digests) in signed.chunks(AT_ONCE).zip(digests.chunks_mut(AT_ONCE)) {
        for (message, signed) in messages.iter_mut().zip(signed) {
            message[..32].copy_from_slice(network);
            message[32..].copy_from_slice(*signed);
        }
        tag.hash_many(&messages[..signed.len()], digests);
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    fn tagged(name: &str, parts: &[&[u8]]) -> Digest {
        let tag = Sha256::digest(name);
        let start = Sha256::new().chain_update(tag).chain_update(tag);
        parts.iter().fold(start, |hash, part| hash.chain_update(part)).finalize().into()
    }

    #[test]
    fn digests_cover_the_network_and_the_operation() {
        let network = [7; 32];
        let operations: Vec<[u8; SIGNED_LENGTH]> = (0..130).map(|byte| [byte; SIGNED_LENGTH]).collect();
        let expected: Vec<Digest> =
            operations.iter().map(|operation| tagged("turnpike/transfer", &[&network, operation])).collect();
        for count in [0, 1, 63, 64, 65, 130] {
            let signed: Vec<&[u8; SIGNED_LENGTH]> = operations[..count].iter().collect();
            let mut many = vec![[0; 32]; count];
            digests(&network, &signed, &mut many);
            assert_eq!(many, expected[..count]);
            fast_order_digests(&network, &signed, &mut many);
            let of_order = |operation: &[u8; SIGNED_LENGTH]| tagged("turnpike/fast/order", &[&network, operation]);
            assert_eq!(many, Vec::from_iter(operations[..count].iter().map(of_order)));
        }
        assert_eq!(digest(&network, &operations[9]), expected[9]);
    }
}
