//! The 80-byte header of a Bitcoin block.
use super::hash::sha256d;
use super::target::{Compact, TargetError};
use super::uint::U256;
use crate::hash::Hash;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, byteorder::little_endian::U32};

/// Size of an encoded header.
pub const HEADER_SIZE: usize = 80;

/// The header of a Bitcoin block, as it is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct BlockHeader {
    /// Version, a signed number: the rules require a minimum at some heights.
    pub version: U32,
    /// Hash of the previous header.
    pub previous: Hash,
    /// Root of the Merkle tree over the transactions.
    pub merkle_root: Hash,
    /// Seconds since the Unix epoch.
    pub time: U32,
    /// The target in compact form.
    pub bits: U32,
    /// What the miner varied until the hash was at or below the target.
    pub nonce: U32,
}

const _: () = assert!(size_of::<BlockHeader>() == HEADER_SIZE);

impl BlockHeader {
    /// Reads the header at the start of `bytes`, if there are enough of them.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Self::read_from_prefix(bytes).ok().map(|(header, _)| header)
    }

    /// The block's hash.
    pub fn hash(&self) -> Hash {
        sha256d(&[self.as_bytes()])
    }

    /// The target: the hash must be at or below it.
    pub fn target(&self) -> Result<U256, TargetError> {
        Compact(self.bits.get()).target()
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::display;
    use super::super::network::Network;
    use super::*;

    #[test]
    fn genesis_of_mainnet() {
        let genesis = Network::Mainnet.genesis();
        let hash = genesis.hash();
        assert_eq!(display(&hash).to_string(), "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f");
        assert_eq!(BlockHeader::parse(genesis.as_bytes()), Some(genesis));
        assert_eq!(BlockHeader::parse(&genesis.as_bytes()[..79]), None);
        assert!(U256::from_le_bytes(&hash) <= genesis.target().unwrap());
    }
}
