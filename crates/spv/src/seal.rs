//! Seals: what shows that a header was made by whoever holds the chain's key.
//!
//! The genesis header names the key, and the network id is the genesis header's hash, so who knows the network id knows whose
//! seals to ask for. The version of a header tells what its seal is: in version 2 a BIP340 signature by that key, in version 3
//! nothing, as [certificates](crate::finality) vouch for its headers. A header's hash
//! covers its version, so nobody can have another kind of seal checked than was meant; and the hash of each header covers all
//! headers before it, so a seal vouches for them too.
use crate::hash::{Hash, seal_message};
use crate::header::{BlockHeader, HEADER_VERSION, ORDERED_VERSION};
use secp256k1::{Keypair, SECP256K1, XOnlyPublicKey, schnorr::Signature};
use std::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Size of a header with its seal.
pub const SEALED_HEADER_SIZE: usize = size_of::<SealedHeader>();

/// The seal of a header of version 2: a BIP340 signature.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct Seal(pub [u8; 64]);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Seal {
    /// What stands in place of a seal behind a header that has none.
    pub const NONE: Self = Self([0; 64]);
}

/// Who vouches for the headers of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// This key seals each.
    Key(ChainKey),
    /// The set of replicas of this hash: certificates vouch for headers, which have no seals.
    Replicas(Hash),
}

impl Authority {
    /// The version of the chain's headers.
    pub fn version(&self) -> u32 {
        match self {
            Self::Key(_) => HEADER_VERSION,
            Self::Replicas(_) => ORDERED_VERSION,
        }
    }

    /// The key that seals the headers, if one does.
    pub fn key(&self) -> Option<&ChainKey> {
        match self {
            Self::Key(key) => Some(key),
            Self::Replicas(_) => None,
        }
    }

    /// The 32 bytes by which a genesis header names it.
    pub fn to_bytes(self) -> [u8; 32] {
        match self {
            Self::Key(key) => key.to_bytes(),
            Self::Replicas(hash) => hash,
        }
    }

    /// Whether this is what belongs behind the header of this hash.
    pub fn has_sealed(&self, hash: &Hash, seal: &Seal) -> bool {
        match self {
            Self::Key(key) => key.has_sealed(hash, seal),
            Self::Replicas(_) => *seal == Seal::NONE,
        }
    }
}

/// A header and its seal, as they travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SealedHeader {
    /// The header.
    pub header: BlockHeader,
    /// Its seal; [`Seal::NONE`] where replicas order the chain.
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

/// The public key of a chain, as its genesis header names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainKey(XOnlyPublicKey);

impl ChainKey {
    /// The key of these 32 bytes, if they are the x coordinate of a point.
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        XOnlyPublicKey::from_byte_array(*bytes).ok().map(Self)
    }

    /// Its 32 bytes.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0.serialize()
    }

    /// The key as the library of curves has it.
    pub(crate) fn x_only(&self) -> &XOnlyPublicKey {
        &self.0
    }

    /// Whether a seal is this key's for the header of this hash.
    pub fn has_sealed(&self, hash: &Hash, seal: &Seal) -> bool {
        SECP256K1.verify_schnorr(&Signature::from_byte_array(seal.0), &seal_message(hash), &self.0).is_ok()
    }
}

/// How the seals of many headers are checked: whoever has a way that takes less time for many at once gives it.
pub trait CheckSeals {
    /// The position of the first that is not the key's seal of the header of its hash.
    fn first_forged(&mut self, key: &ChainKey, seals: &[(Hash, Seal)]) -> Option<usize>;
}

/// One after the other, by libsecp256k1.
#[derive(Clone, Copy, Debug)]
pub struct OneByOne;

impl CheckSeals for OneByOne {
    fn first_forged(&mut self, key: &ChainKey, seals: &[(Hash, Seal)]) -> Option<usize> {
        seals.iter().position(|(hash, seal)| !key.has_sealed(hash, seal))
    }
}

/// The secret key of a chain. Its text form shows the public key only.
#[derive(Clone)]
pub struct SealingKey(Keypair);

impl SealingKey {
    /// The key of these 32 bytes, unless they are 0 or not below the group's order.
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        Keypair::from_seckey_byte_array(SECP256K1, *bytes).ok().map(Self)
    }

    /// The public key.
    pub fn public(&self) -> ChainKey {
        ChainKey(self.0.x_only_public_key().0)
    }

    /// The key as the library of curves has it.
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

/// Two headers of one height that the same key sealed: evidence, which anybody can check, that the key's holder made two chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equivocation {
    /// The header that was there first.
    pub first: SealedHeader,
    /// The other one.
    pub second: SealedHeader,
}

impl Equivocation {
    /// Whether this shows what it says of a key.
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

    /// The signature is over a hash with a tag of its own, so no other signature of the key passes for a seal.
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
