//! The protocol's hashes: BIP340's tagged SHA-256 with one tag per purpose, and the SipHash of account paths.
pub use crate::tags::*;
use sha2::{Digest, Sha256};
use siphasher::sip::SipHasher24;
use std::sync::LazyLock;

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// The hash of nothing: an empty tree, or an absent child.
pub const ZERO_HASH: Hash = [0; 32];

/// Key of the SipHash-2-4 that gives an account its path in the index.
pub const PATH_KEY: &[u8; 16] = b"turnpike/index/p";

/// A SHA-256 state that has already absorbed a tag, so that hashing a message costs only the message's own blocks.
pub struct TaggedHash(Sha256);

impl TaggedHash {
    /// Prepares the tagged hash for `tag`.
    pub fn new(tag: &str) -> Self {
        let digest = Sha256::digest(tag.as_bytes());
        Self(Sha256::new().chain_update(digest).chain_update(digest))
    }

    /// The tagged hash of the concatenated parts.
    pub fn hash(&self, parts: &[&[u8]]) -> Hash {
        let mut state = self.0.clone();
        for part in parts {
            state.update(part);
        }
        state.finalize().into()
    }
}

macro_rules! prepared {
    ($name:ident, $tag:ident) => {
        static $name: LazyLock<TaggedHash> = LazyLock::new(|| TaggedHash::new($tag));
    };
}
prepared!(ACCOUNT, ACCOUNT_TAG);
prepared!(LINKED, LINKED_TAG);
prepared!(HOLD, HOLD_TAG);
prepared!(ASSET, ASSET_TAG);
prepared!(HEADER, HEADER_TAG);
prepared!(SEAL, SEAL_TAG);
prepared!(REPLICAS, REPLICAS_TAG);
prepared!(ORDERED, ORDERED_TAG);
prepared!(BODY, BODY_TAG);
prepared!(RECENT_BATCH, RECENT_BATCH_TAG);
prepared!(RECENT, RECENT_TAG);
prepared!(STATE, STATE_TAG);
prepared!(VOTE, VOTE_TAG);
prepared!(MEMBER_CHANGE, MEMBER_CHANGE_TAG);
prepared!(NETWORK, NETWORK_TAG);
prepared!(TRANSACTION, TRANSACTION_TAG);
prepared!(NODE, NODE_TAG);
prepared!(INDEX_LEAF, INDEX_LEAF_TAG);
prepared!(INDEX_NODE, INDEX_NODE_TAG);

/// The hash from which the account id of a compressed secp256k1 public key is made.
pub fn account_hash(public_key: &[u8; 33]) -> Hash {
    ACCOUNT.hash(&[public_key])
}

/// The hash of a chain of signed linked operations, from which its transaction ids are made.
pub fn linked_hash(operations: impl Iterator<Item = impl AsRef<[u8]>>) -> Hash {
    let mut state = LINKED.0.clone();
    operations.for_each(|operation| state.update(operation));
    state.finalize().into()
}

/// The id of a hold in the index: of its payer, its receiver, its transaction id, and its expiry in seconds since the
/// Unix epoch, 0 for none.
pub fn hold_id(payer: &[u8; 16], receiver: &[u8; 16], transaction: &[u8; 16], expiry: u32) -> [u8; 16] {
    let hash = HOLD.hash(&[payer, receiver, transaction, &expiry.to_be_bytes()]);
    std::array::from_fn(|byte| hash[byte])
}

/// The id of the index entry with the asset of an account or a hold: a 0 bit, then the first 127 bits of the hash of
/// that one's id. So it is that of no keyed account.
pub fn asset_id(id: &[u8; 16]) -> [u8; 16] {
    let hash = ASSET.hash(&[id]);
    let number = u128::from_be_bytes(std::array::from_fn(|byte| hash[byte]));
    (number >> 1).to_be_bytes()
}

/// The hash of an encoded header.
pub fn header_hash(header: &[u8]) -> Hash {
    HEADER.hash(&[header])
}

/// The message that the seal of a header signs.
pub fn seal_message(header_hash: &Hash) -> Hash {
    SEAL.hash(&[header_hash])
}

/// The hash of a set of replicas: of their keys, in the order of their numbers.
pub fn replicas_hash(keys: &[u8]) -> Hash {
    REPLICAS.hash(&[keys])
}

/// The hash of the encoded header of an ordered block.
pub fn ordered_hash(header: &[u8]) -> Hash {
    ORDERED.hash(&[header])
}

/// The hash of a batch of operations from which retries are answered, and of the batches before it in its period.
pub fn recent_batch_hash(parts: &[&[u8]]) -> Hash {
    RECENT_BATCH.hash(parts)
}

/// The hash of all operations from which retries are answered: of the newest times before them and each period's hash.
pub fn recent_hash(periods: &[u8]) -> Hash {
    RECENT.hash(&[periods])
}

/// The hash of the state that a replica needs to continue and that no header of its chain covers.
///
/// It covers the operations from which retries are answered, and what is known about the sets of replicas.
pub fn state_hash(recent: &Hash, members: &[u8]) -> Hash {
    STATE.hash(&[recent, members])
}

/// The hash of the body of an ordered block.
pub fn body_hash(body: &[u8]) -> Hash {
    BODY.hash(&[body])
}

/// The message that a replica's vote signs.
pub fn vote_message(vote: &[u8]) -> Hash {
    VOTE.hash(&[vote])
}

/// The message that an approval signs: this change, to the set with this hash, in this network.
pub fn member_change_hash(network: &Hash, replicas: &Hash, change: &[u8]) -> Hash {
    MEMBER_CHANGE.hash(&[network, replicas, change])
}

/// The value in a genesis header's field for the previous hash.
pub fn network_seed(name: &str, random: &[u8; 16]) -> Hash {
    NETWORK.hash(&[name.as_bytes(), random])
}

/// The leaf of a transaction: an operation or a signed operation.
pub fn transaction_leaf(transaction: &[u8]) -> Hash {
    TRANSACTION.hash(&[transaction])
}

/// An inner node of the transaction tree.
pub fn transaction_node(left: &Hash, right: &Hash) -> Hash {
    NODE.hash(&[left, right])
}

/// A leaf of the index from its encoded entries. A leaf without entries is the empty subtree.
pub fn index_leaf(entries: &[u8]) -> Hash {
    if entries.is_empty() { ZERO_HASH } else { INDEX_LEAF.hash(&[entries]) }
}

/// An inner node of the index.
pub fn index_node(left: &Hash, right: &Hash) -> Hash {
    INDEX_NODE.hash(&[left, right])
}

/// The path of an account in the index, its first step in the most significant bit.
pub fn account_path(account: &[u8; 16]) -> u64 {
    SipHasher24::new_with_key(PATH_KEY).hash(account)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tagged_hash_is_that_of_bip340() {
        let tag = Sha256::digest(b"turnpike/node");
        let message = [tag.as_slice(), tag.as_slice(), &[1; 32], &[2; 32]].concat();
        assert_eq!(transaction_node(&[1; 32], &[2; 32]), <Hash>::from(Sha256::digest(message)));
    }

    #[test]
    fn path_is_siphash_2_4() {
        // The reference vector of SipHash-2-4 (key 00..0f, message 00..0e) rules out other members of the family.
        let key: [u8; 16] = std::array::from_fn(|i| i as u8);
        let message: [u8; 15] = std::array::from_fn(|i| i as u8);
        assert_eq!(SipHasher24::new_with_key(&key).hash(&message), 0xa129_ca61_49be_45e5);
    }
}
