//! The hash definitions of the protocol: BIP340's tagged SHA-256, one tag a purpose, and the SipHash of account paths.
use sha2::{Digest, Sha256};
use siphasher::sip::SipHasher24;
use std::sync::LazyLock;

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// The hash that stands for nothing: an empty tree, a child that is not there.
pub const ZERO_HASH: Hash = [0; 32];

/// Tag of account ids that bind a public key.
pub const ACCOUNT_TAG: &str = "turnpike/account";
/// Tag of what a signed operation's signature is over.
pub const TRANSFER_TAG: &str = "turnpike/transfer";
/// Tag of block headers.
pub const HEADER_TAG: &str = "turnpike/header";
/// Tag of what a header's seal is over.
pub const SEAL_TAG: &str = "turnpike/seal";
/// Tag of the value that stands in for the previous hash in a genesis header.
pub const NETWORK_TAG: &str = "turnpike/network";
/// Tag of the leaves of the transaction tree.
pub const TRANSACTION_TAG: &str = "turnpike/transaction";
/// Tag of the inner nodes of the transaction tree.
pub const NODE_TAG: &str = "turnpike/node";
/// Tag of the leaves of the index.
pub const INDEX_LEAF_TAG: &str = "turnpike/index/leaf";
/// Tag of the inner nodes of the index.
pub const INDEX_NODE_TAG: &str = "turnpike/index/node";
/// Key of the SipHash-2-4 that gives an account its path in the index.
pub const PATH_KEY: &[u8; 16] = b"turnpike/index/p";

/// SHA-256 that has taken in a tag already, so that hashing a message costs its own blocks only.
pub struct TaggedHash(Sha256);

impl TaggedHash {
    /// Prepares the tagged hash of `tag`.
    pub fn new(tag: &str) -> Self {
        let digest = Sha256::digest(tag.as_bytes());
        Self(Sha256::new().chain_update(digest).chain_update(digest))
    }

    /// The tagged hash of the parts, one after the other.
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
prepared!(HEADER, HEADER_TAG);
prepared!(SEAL, SEAL_TAG);
prepared!(NETWORK, NETWORK_TAG);
prepared!(TRANSACTION, TRANSACTION_TAG);
prepared!(NODE, NODE_TAG);
prepared!(INDEX_LEAF, INDEX_LEAF_TAG);
prepared!(INDEX_NODE, INDEX_NODE_TAG);

/// The id of the keyed account of a compressed secp256k1 public key: the top bit, then 127 bits of the key's hash.
pub fn account_of_key(public_key: &[u8; 33]) -> [u8; 16] {
    let hash = ACCOUNT.hash(&[public_key]);
    let mut first = [0; 16];
    first.copy_from_slice(&hash[..16]);
    (u128::from_be_bytes(first) >> 1 | 1 << 127).to_be_bytes()
}

/// The hash of an encoded header.
pub fn header_hash(header: &[u8]) -> Hash {
    HEADER.hash(&[header])
}

/// What the seal of a header is a signature of.
pub fn seal_message(header_hash: &Hash) -> Hash {
    SEAL.hash(&[header_hash])
}

/// What a genesis header has in place of a previous hash.
pub fn network_seed(name: &str, random: &[u8; 16]) -> Hash {
    NETWORK.hash(&[name.as_bytes(), random])
}

/// The leaf of a transaction: an operation, or a signed operation.
pub fn transaction_leaf(transaction: &[u8]) -> Hash {
    TRANSACTION.hash(&[transaction])
}

/// An inner node of the transaction tree.
pub fn transaction_node(left: &Hash, right: &Hash) -> Hash {
    NODE.hash(&[left, right])
}

/// A leaf of the index from its encoded entries; a leaf of no entries is the empty subtree.
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
    fn keyed_accounts_have_the_top_bit() {
        let hash = ACCOUNT.hash(&[&[2; 33]]);
        let account = account_of_key(&[2; 33]);
        assert_eq!(account[0] >> 7, 1);
        assert_eq!(u128::from_be_bytes(account) << 1 >> 1, u128::from_be_bytes(hash[..16].try_into().unwrap()) >> 1);
    }

    #[test]
    fn path_is_siphash_2_4() {
        // The reference vector of SipHash-2-4 (key 00..0f, message 00..0e) guards against another member of the family.
        let key: [u8; 16] = std::array::from_fn(|i| i as u8);
        let message: [u8; 15] = std::array::from_fn(|i| i as u8);
        assert_eq!(SipHasher24::new_with_key(&key).hash(&message), 0xa129_ca61_49be_45e5);
    }
}
