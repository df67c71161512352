//! Seals, which show that the holder of the chain's key made a header.
//!
//! In version 2, a seal is a BIP340 signature by that key; headers of version 3 have none, as
//! [certificates](crate::finality) vouch for them. A header's hash covers all headers before it, and so does its seal.
use crate::authority::{ChainKey, Seal};
use crate::hash::{Hash, seal_message};
use crate::header::BlockHeader;
use secp256k1::{Keypair, SECP256K1};
use std::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Size of a header with its seal.
pub const SEALED_HEADER_SIZE: usize = size_of::<SealedHeader>();

/// A header and its seal, as they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SealedHeader {
    /// The header.
    pub header: BlockHeader,
    /// Its seal; [`Seal::NONE`] if replicas order the chain.
    pub seal: Seal,
}

const _: () = assert!(SEALED_HEADER_SIZE == 192);

impl SealedHeader {
    /// The header's hash.
    pub fn hash(&self) -> Hash {
        self.header.hash()
    }

    /// The header's height.
    pub fn height(&self) -> u64 {
        self.header.height.get()
    }
}

/// A way to check the seals of many headers; an implementation may be faster for many at once.
pub trait CheckSeals {
    /// The position of the first seal that is not the key's seal of the header with the hash beside it.
    fn first_forged(&mut self, key: &ChainKey, seals: &[(Hash, Seal)]) -> Option<usize>;
}

/// Checks one seal after the other, with libsecp256k1.
#[derive(Clone, Copy, Debug)]
pub struct OneByOne;

impl CheckSeals for OneByOne {
    fn first_forged(&mut self, key: &ChainKey, seals: &[(Hash, Seal)]) -> Option<usize> {
        seals.iter().position(|(hash, seal)| !key.has_sealed(hash, seal))
    }
}

/// The secret key of a chain. Its text form shows only the public key.
#[derive(Clone)]
pub struct SealingKey(Keypair);

impl SealingKey {
    /// The key with these 32 bytes, unless they are 0 or not below the group's order.
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        Keypair::from_seckey_byte_array(SECP256K1, *bytes).ok().map(Self)
    }

    /// The public key.
    pub fn public(&self) -> ChainKey {
        ChainKey(self.0.x_only_public_key().0)
    }

    /// The key as a type of the secp256k1 library.
    pub(crate) fn keypair(&self) -> &Keypair {
        &self.0
    }

    /// Seals a header. The same header always gets the same seal.
    pub fn seal(&self, header: &BlockHeader) -> SealedHeader {
        let signature = SECP256K1.sign_schnorr_no_aux_rand(&seal_message(&header.hash()), &self.0);
        SealedHeader { header: *header, seal: Seal(signature.to_byte_array()) }
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SealingKey").field(&self.public()).finish()
    }
}

/// Two headers of one height that the same key sealed: evidence, checkable by anybody, that the key's holder made two
/// chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equivocation {
    /// The header that was there first.
    pub first: SealedHeader,
    /// The other one.
    pub second: SealedHeader,
}

impl Equivocation {
    /// Whether this is evidence against the holder of `key`.
    pub fn holds(&self, key: &ChainKey) -> bool {
        let [first, second] = [&self.first, &self.second].map(|sealed| (sealed.height(), sealed.hash()));
        let sealed = [&self.first, &self.second].map(|sealed| key.has_sealed(&sealed.hash(), &sealed.seal));
        first.0 == second.0 && first.1 != second.1 && sealed == [true; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(key: u8) -> (SealingKey, SealedHeader) {
        let key = SealingKey::from_bytes(&[key; 32]).unwrap();
        let sealed = key.seal(&BlockHeader::genesis("test", &[7; 16], 5, &key.public()));
        (key, sealed)
    }

    #[test]
    fn a_seal_is_of_one_header_by_one_key() {
        let (key, mut sealed) = sealed(1);
        assert!(key.public().has_sealed(&sealed.hash(), &sealed.seal));
        assert_eq!(ChainKey::from_bytes(&key.public().to_bytes()), Some(key.public()));
        assert!(!self::sealed(2).0.public().has_sealed(&sealed.hash(), &sealed.seal));
        sealed.header.timestamp = 6.into();
        assert!(!key.public().has_sealed(&sealed.hash(), &sealed.seal));
        for byte in 0..64 {
            let mut other = self::sealed(1).1;
            other.seal.0[byte] ^= 1;
            assert!(!key.public().has_sealed(&other.hash(), &other.seal));
        }
        assert!(SealingKey::from_bytes(&[0; 32]).is_none() && SealingKey::from_bytes(&[255; 32]).is_none());
        assert!(ChainKey::from_bytes(&[255; 32]).is_none() && ChainKey::from_bytes(&[0; 32]).is_none());
        assert!(!format!("{:?}", SealingKey::from_bytes(&[1; 32]).unwrap()).contains("01010101"));
    }

    /// A seal signs a hash with a tag of its own, so no other signature of the key passes for one.
    #[test]
    fn a_signature_of_the_bare_hash_is_no_seal() {
        let (key, sealed) = sealed(1);
        let bare = SECP256K1.sign_schnorr_no_aux_rand(&sealed.hash(), &key.0);
        assert!(!key.public().has_sealed(&sealed.hash(), &Seal(bare.to_byte_array())));
    }

    #[test]
    fn two_sealed_headers_of_a_height_are_evidence() {
        let (key, first) = sealed(1);
        let second = key.seal(&BlockHeader { timestamp: 6.into(), ..first.header });
        let holds = |first, second| Equivocation { first, second }.holds(&key.public());
        assert!(holds(first, second));
        assert!(!holds(first, first));
        assert!(!holds(first, SealedHeader { seal: first.seal, ..second }));
        assert!(!holds(first, key.seal(&BlockHeader { height: 1.into(), ..second.header })));
        assert!(!Equivocation { first, second }.holds(&sealed(2).0.public()));
    }
}
