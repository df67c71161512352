//! Who vouches for the headers of a chain: a key, by sealing them, or a set of replicas.
//!
//! The genesis header names the authority, and the network id is the genesis header's hash, so the network id says
//! whose seals to require. A header's version names the kind of authority; the header's hash covers the
//! version, so nobody can have another kind of seal checked than was meant.
use crate::hash::{Hash, seal_message};
use secp256k1::{SECP256K1, XOnlyPublicKey, schnorr::Signature};
use std::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The version of headers on a sealed chain: each has a BIP340 signature by the chain's key.
pub const HEADER_VERSION: u32 = 2;
/// The version of headers on a chain that replicas order. They have no seal: a certificate of finality vouches for
/// them.
pub const ORDERED_VERSION: u32 = 3;
/// As [`HEADER_VERSION`], but the header states no index root of its own: it repeats the previous header's.
pub const HEADER_VERSION_WITHOUT_INDEX: u32 = 4;
/// As [`ORDERED_VERSION`], but the header states no index root of its own: it repeats the previous header's.
pub const ORDERED_VERSION_WITHOUT_INDEX: u32 = 5;

/// The seal of a header on a sealed chain: a BIP340 signature.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct Seal(pub [u8; 64]);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Seal {
    /// Takes the place of the seal after a header that has none.
    pub const NONE: Self = Self([0; 64]);
}

/// Who vouches for the headers of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// This key seals each header.
    Key(ChainKey),
    /// The set of replicas with this hash: its certificates vouch for headers, which have no seals.
    Replicas(Hash),
}

impl Authority {
    /// The version of a header on the chain that states an index root, or repeats the previous one.
    pub fn version(&self, states_index: bool) -> u32 {
        match (self, states_index) {
            (Self::Key(_), true) => HEADER_VERSION,
            (Self::Key(_), false) => HEADER_VERSION_WITHOUT_INDEX,
            (Self::Replicas(_), true) => ORDERED_VERSION,
            (Self::Replicas(_), false) => ORDERED_VERSION_WITHOUT_INDEX,
        }
    }

    /// Whether a header of the chain may have this version.
    pub(crate) fn knows_version(&self, version: u32) -> bool {
        [true, false].into_iter().any(|states_index| version == self.version(states_index))
    }

    /// The key that seals the headers; `None` if replicas order the chain.
    pub fn key(&self) -> Option<&ChainKey> {
        match self {
            Self::Key(key) => Some(key),
            Self::Replicas(_) => None,
        }
    }

    /// The 32 bytes that name the authority in a genesis header.
    pub fn to_bytes(self) -> [u8; 32] {
        match self {
            Self::Key(key) => key.to_bytes(),
            Self::Replicas(hash) => hash,
        }
    }

    /// Whether `seal` is what has to follow the header with this hash.
    pub fn has_sealed(&self, hash: &Hash, seal: &Seal) -> bool {
        match self {
            Self::Key(key) => key.has_sealed(hash, seal),
            Self::Replicas(_) => *seal == Seal::NONE,
        }
    }
}

/// The public key of a chain, as its genesis header names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainKey(pub(crate) XOnlyPublicKey);

impl ChainKey {
    /// The key with these 32 bytes, if they are the x coordinate of a point.
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        XOnlyPublicKey::from_byte_array(*bytes).ok().map(Self)
    }

    /// The key's 32 bytes.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0.serialize()
    }

    /// The key as a type of the secp256k1 library.
    pub(crate) fn x_only(&self) -> &XOnlyPublicKey {
        &self.0
    }

    /// Whether this key made the seal for the header with this hash.
    pub fn has_sealed(&self, hash: &Hash, seal: &Seal) -> bool {
        SECP256K1.verify_schnorr(&Signature::from_byte_array(seal.0), &seal_message(hash), &self.0).is_ok()
    }
}
