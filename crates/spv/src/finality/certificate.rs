//! Certificates of finality.
use super::error::CertificateError;
use super::replicas::ReplicaSet;
use super::signatures::{MAX_SIGNATURES_SIZE, Signatures};
use super::vote::{Vote, VoteKind};
use crate::authority::Seal;
use crate::hash::{Hash, body_hash, ordered_hash};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, byteorder::big_endian::U64};

/// Size of an encoded [`OrderedHeader`].
pub const ORDERED_HEADER_SIZE: usize = size_of::<OrderedHeader>();
/// Size of the longest certificate.
pub const MAX_CERTIFICATE_SIZE: usize = FIXED_SIZE + MAX_SIGNATURES_SIZE;

/// The header of an ordered block: what its hash, and therefore each vote, covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct OrderedHeader {
    /// Place in the order; the first is 1.
    pub height: U64,
    /// Hash of the ordered block before it; the network id for the first.
    pub parent: Hash,
    /// What the replicas vouch for besides the order.
    ///
    /// A ledger's replicas put the hash of a header here: the last of the chain after they executed the blocks that
    /// were final.
    pub statement: Hash,
    /// Hash of the body.
    pub body: Hash,
}

const _: () = assert!(ORDERED_HEADER_SIZE == 104);

impl OrderedHeader {
    /// The header's hash, which identifies the block.
    pub fn hash(&self) -> Hash {
        ordered_hash(self.as_bytes())
    }

    /// Whether these bytes are the block's body.
    pub fn has_body(&self, body: &[u8]) -> bool {
        self.body == body_hash(body)
    }
}

/// What precedes the signatures in every certificate.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Fixed {
    header: OrderedHeader,
    epoch: U64,
    view: U64,
    parent_view: U64,
}

const FIXED_SIZE: usize = size_of::<Fixed>();
const _: () = assert!(FIXED_SIZE == 128);

/// A header with the votes that make it final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The header of the block.
    pub header: OrderedHeader,
    /// The number of the set of replicas.
    pub epoch: u64,
    /// The view of the votes.
    pub view: u64,
    /// The view of the block's parent.
    pub parent_view: u64,
    signatures: Signatures,
}

impl Certificate {
    /// A certificate of these votes, in any order.
    ///
    /// # Panics
    /// If a replica's number is [`MAX_REPLICAS`](super::MAX_REPLICAS) or more, or occurs twice.
    pub fn new(header: OrderedHeader, epoch: u64, view: u64, parent_view: u64, signatures: Vec<(u32, Seal)>) -> Self {
        Self { header, epoch, view, parent_view, signatures: Signatures::new(signatures) }
    }

    /// The replicas that signed, ascending.
    pub fn signers(&self) -> impl Iterator<Item = u32> {
        self.signatures.signers()
    }

    /// The numbers of the replicas that signed, ascending, with their signatures.
    pub fn signatures(&self) -> impl Iterator<Item = (u32, &Seal)> {
        self.signatures.iter()
    }

    /// The encoding that is stored and sent.
    pub fn encode(&self) -> Vec<u8> {
        let [epoch, view, parent_view] = [self.epoch, self.view, self.parent_view].map(U64::new);
        let mut bytes = Fixed { header: self.header, epoch, view, parent_view }.as_bytes().to_vec();
        self.signatures.encode_to(&mut bytes);
        bytes
    }

    /// Decodes what [`Certificate::encode`] returned. A certificate has exactly one encoding.
    pub fn decode(bytes: &[u8]) -> Result<Self, CertificateError> {
        let found = bytes.len();
        let (signatures, expected) = Signatures::decode_at(FIXED_SIZE, bytes)?;
        let length = CertificateError::Length { expected, found };
        let (fixed, _) = Fixed::read_from_prefix(bytes).map_err(|_| length)?;
        if found != expected {
            return Err(length);
        }
        let Fixed { header, epoch, view, parent_view } = fixed;
        Ok(Self { header, epoch: epoch.get(), view: view.get(), parent_view: parent_view.get(), signatures })
    }

    /// Checks that a quorum of these replicas voted for the header as final in this network.
    pub fn verify(&self, network: &Hash, replicas: &ReplicaSet) -> Result<(), CertificateError> {
        let block = self.header.hash();
        let vote = Vote::for_block(VoteKind::Finalize, *network, self.epoch, self.view, self.parent_view, block);
        self.signatures.verify(replicas, |key, signature| vote.signed_by(key, signature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::SealingKey;
    use proptest::prelude::*;

    const NETWORK: Hash = [9; 32];

    fn replicas(number: u8) -> (Vec<SealingKey>, ReplicaSet) {
        let keys: Vec<_> = (1..=number).map(|byte| SealingKey::from_bytes(&[byte; 32]).unwrap()).collect();
        let set = ReplicaSet::new(keys.iter().map(SealingKey::public).collect()).unwrap();
        (keys, set)
    }

    fn certificate(keys: &[SealingKey], signers: &[u32]) -> Certificate {
        let header = OrderedHeader { height: 7.into(), parent: [1; 32], statement: [2; 32], body: body_hash(b"body") };
        let vote = Vote::for_block(VoteKind::Finalize, NETWORK, 0, 5, 4, header.hash());
        let signatures = signers.iter().map(|&replica| (replica, vote.sign(&keys[replica as usize]))).collect();
        Certificate::new(header, 0, 5, 4, signatures)
    }

    #[test]
    fn a_quorum_makes_it_final() {
        let (keys, set) = replicas(4);
        for signers in [&[0, 1, 2][..], &[3, 0, 2], &[0, 1, 2, 3]] {
            let certificate = certificate(&keys, signers);
            certificate.verify(&NETWORK, &set).unwrap();
            assert_eq!(Certificate::decode(&certificate.encode()), Ok(certificate));
        }
        let few = certificate(&keys, &[1, 3]);
        assert_eq!(few.verify(&NETWORK, &set), Err(CertificateError::Quorum { needed: 3, found: 2 }));
        assert!(certificate(&keys, &[0]).header.has_body(b"body"));
    }

    #[test]
    fn a_certificate_is_of_one_network_and_one_set() {
        let (keys, set) = replicas(7);
        let of_four = ReplicaSet::new(set.keys()[..4].to_vec()).unwrap();
        let certificate = certificate(&keys, &[0, 2, 3, 4, 6]);
        certificate.verify(&NETWORK, &set).unwrap();
        assert_eq!(certificate.verify(&[8; 32], &set), Err(CertificateError::Signature(0)));
        assert_eq!(certificate.verify(&NETWORK, &of_four), Err(CertificateError::NotAReplica(4)));
    }

    #[test]
    fn no_byte_can_be_changed() {
        let (keys, set) = replicas(4);
        let bytes = certificate(&keys, &[0, 1, 3]).encode();
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            let holds = Certificate::decode(&changed).is_ok_and(|found| found.verify(&NETWORK, &set).is_ok());
            assert!(!holds, "byte {place} does not matter");
        }
    }

    /// Votes of another kind do not count, whoever collects them: a notarized block is not final.
    #[test]
    fn notarizing_votes_make_nothing_final() {
        let (keys, set) = replicas(4);
        let header = certificate(&keys, &[0]).header;
        let vote = Vote::for_block(VoteKind::Notarize, NETWORK, 0, 5, 4, header.hash());
        let signatures = (0..4).map(|replica| (replica, vote.sign(&keys[replica as usize]))).collect();
        let certificate = Certificate::new(header, 0, 5, 4, signatures);
        assert_eq!(certificate.verify(&NETWORK, &set), Err(CertificateError::Signature(0)));
    }

    proptest! {
        #[test]
        fn whatever_decodes_encodes_the_same(bytes in proptest::collection::vec(any::<u8>(), 0..500), signers in 0u8..16) {
            let mut bytes = bytes;
            if bytes.len() >= FIXED_SIZE + 8 {
                bytes[128..136].copy_from_slice(&u64::from(signers).to_be_bytes());
                bytes.truncate(FIXED_SIZE + 8 + signers.count_ones() as usize * 64);
            }
            if let Ok(certificate) = Certificate::decode(&bytes) {
                prop_assert_eq!(certificate.encode(), bytes);
            }
        }
    }
}
