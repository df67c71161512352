//! The header of the own chain's blocks.
use crate::authority::{
    Authority, ChainKey, HEADER_VERSION, HEADER_VERSION_WITHOUT_INDEX, ORDERED_VERSION, ORDERED_VERSION_WITHOUT_INDEX,
};
use crate::hash::{Hash, ZERO_HASH, header_hash, network_seed};
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    byteorder::big_endian::{U32, U64},
};

/// Size of an encoded header.
pub const HEADER_SIZE: usize = 128;
/// The most transactions that a block may have.
pub const MAX_BLOCK_TRANSACTIONS: u32 = 1 << 20;

/// A header of the own chain, as it is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct BlockHeader {
    /// Says who vouches for the header, and whether it [states an index root](Self::states_index).
    pub version: U32,
    /// Number of transactions in the block.
    pub transactions: U32,
    /// Height; genesis is 0.
    pub height: U64,
    /// Microseconds since the Unix epoch.
    pub timestamp: U64,
    /// Number of accounts after the block.
    pub accounts: U64,
    /// Hash of the previous header; in genesis, the hash of the network's name and random bytes.
    pub previous: Hash,
    /// Root of the transaction tree; in genesis, the chain's key, or the hash of the set of replicas.
    pub transaction_root: Hash,
    /// Root of the index after the block, or after the last block before it that [states it](Self::states_index).
    pub index_root: Hash,
}

const _: () = assert!(size_of::<BlockHeader>() == HEADER_SIZE);

impl BlockHeader {
    /// The genesis header of a new network: no transactions, no accounts.
    pub fn genesis(network: &str, random: &[u8; 16], timestamp: u64, key: &ChainKey) -> Self {
        Self {
            version: HEADER_VERSION.into(),
            transactions: 0.into(),
            height: 0.into(),
            timestamp: timestamp.into(),
            accounts: 0.into(),
            previous: network_seed(network, random),
            transaction_root: key.to_bytes(),
            index_root: ZERO_HASH,
        }
    }

    /// The genesis header of a new network whose blocks are ordered by the set of replicas with [this
    /// hash](crate::finality::ReplicaSet::hash).
    pub fn genesis_of_replicas(network: &str, random: &[u8; 16], timestamp: u64, replicas: &Hash) -> Self {
        Self {
            version: ORDERED_VERSION.into(),
            transactions: 0.into(),
            height: 0.into(),
            timestamp: timestamp.into(),
            accounts: 0.into(),
            previous: network_seed(network, random),
            transaction_root: *replicas,
            index_root: ZERO_HASH,
        }
    }

    /// Who vouches for the chain that starts with this header, if it is a genesis header.
    pub fn authority(&self) -> Option<Authority> {
        match self.version.get() {
            HEADER_VERSION => self.chain_key().map(Authority::Key),
            ORDERED_VERSION => Some(Authority::Replicas(self.transaction_root)),
            _ => None,
        }
    }

    /// Whether `index_root` is the root of the index after this block. Otherwise it repeats the previous header's, and
    /// proofs of balances are against the header that stated it.
    pub fn states_index(&self) -> bool {
        !matches!(self.version.get(), HEADER_VERSION_WITHOUT_INDEX | ORDERED_VERSION_WITHOUT_INDEX)
    }

    /// The key that a genesis header of a sealed chain names.
    pub fn chain_key(&self) -> Option<ChainKey> {
        let names_key = self.version.get() == HEADER_VERSION;
        names_key.then(|| ChainKey::from_bytes(&self.transaction_root)).flatten()
    }

    /// The header's hash, which identifies the block; for genesis, the network id.
    pub fn hash(&self) -> Hash {
        header_hash(self.as_bytes())
    }
}

/// The depth of every leaf in a transaction tree of `transactions`: ceil(log2 n).
pub fn tree_depth(transactions: u32) -> u8 {
    match transactions {
        0 | 1 => 0,
        n => (32 - (n - 1).leading_zeros()) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::SealingKey;

    #[test]
    fn depth_is_the_logarithm_rounded_up() {
        assert_eq!([0, 1, 2, 3, 4, 5, 8, 9].map(tree_depth), [0, 0, 1, 2, 2, 3, 3, 4]);
        assert_eq!(tree_depth(MAX_BLOCK_TRANSACTIONS), 20);
        assert_eq!(tree_depth(u32::MAX), 32);
    }

    #[test]
    fn header_is_laid_out_as_the_protocol_says() {
        let key = SealingKey::from_bytes(&[1; 32]).unwrap().public();
        let mut header = BlockHeader::genesis("test", &[7; 16], 0x0102, &key);
        header.transactions = 3.into();
        header.height = 4.into();
        header.accounts = 5.into();
        header.index_root = [9; 32];
        let bytes = header.as_bytes();
        assert_eq!(bytes[..8], [0, 0, 0, 2, 0, 0, 0, 3]);
        assert_eq!((bytes[15], bytes[22], bytes[23], bytes[31]), (4, 1, 2, 5));
        assert_eq!(bytes[32..64], header.previous);
        assert_eq!(bytes[64..96], key.to_bytes());
        assert_eq!(bytes[96..], [9; 32]);
        assert_eq!(header.chain_key(), Some(key));
    }
}
