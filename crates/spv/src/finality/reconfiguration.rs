//! Changes of the set of replicas that a quorum approved.
use super::approval::is_signed;
use super::change::{ChangeError, MEMBER_CHANGE_SIZE, MemberChange};
use super::error::CertificateError;
use super::replicas::ReplicaSet;
use super::signatures::{MAX_SIGNATURES_SIZE, Signatures};
use crate::authority::Seal;
use crate::hash::Hash;
use thiserror::Error;
use zerocopy::{FromBytes, IntoBytes};

/// Size of the longest reconfiguration.
pub const MAX_RECONFIGURATION_SIZE: usize = MEMBER_CHANGE_SIZE + MAX_SIGNATURES_SIZE;

/// Why a reconfiguration does not lead to the next set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReconfigurationError {
    /// It belongs to another generation.
    #[error(
        "the change is of the set of generation {found}, not {expected}: it is there in a wrong place, ask another node"
    )]
    Generation {
        /// The set's generation.
        expected: u32,
        /// The generation that it names.
        found: u32,
    },
    /// No quorum signed it.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The change cannot be made to this set.
    #[error(transparent)]
    Change(#[from] ChangeError),
}

/// A change with the signatures that make it valid: a certificate by the set that it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reconfiguration {
    /// The change.
    pub change: MemberChange,
    /// By replicas of the set before the change, under their numbers in it.
    approvals: Signatures,
}

impl Reconfiguration {
    /// A change with these approvals, in any order, under the signers' numbers in the set before it.
    ///
    /// # Panics
    /// If a replica's number is [`MAX_REPLICAS`](super::MAX_REPLICAS) or more, or occurs twice.
    pub fn new(change: MemberChange, approvals: Vec<(u32, Seal)>) -> Self {
        Self { change, approvals: Signatures::new(approvals) }
    }

    /// The replicas that signed, ascending.
    pub fn signers(&self) -> impl Iterator<Item = u32> {
        self.approvals.signers()
    }

    /// The encoding that is stored and sent.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.change.as_bytes().to_vec();
        self.approvals.encode_to(&mut bytes);
        bytes
    }

    /// Decodes what [`Reconfiguration::encode`] returned. A reconfiguration has exactly one encoding.
    pub fn decode(bytes: &[u8]) -> Result<Self, CertificateError> {
        match Self::decode_prefix(bytes)? {
            (reconfiguration, []) => Ok(reconfiguration),
            (_, rest) => Err(CertificateError::Length { expected: bytes.len() - rest.len(), found: bytes.len() }),
        }
    }

    /// Decodes one from the start of these bytes, and returns the rest.
    pub(super) fn decode_prefix(bytes: &[u8]) -> Result<(Self, &[u8]), CertificateError> {
        let (approvals, end) = Signatures::decode_at(MEMBER_CHANGE_SIZE, bytes)?;
        let length = CertificateError::Length { expected: end, found: bytes.len() };
        let (change, _) = MemberChange::read_from_prefix(bytes).map_err(|_| length)?;
        Ok((Self { change, approvals }, bytes.get(end..).ok_or(length)?))
    }

    /// Checks that a quorum of these replicas approved the change, and returns the next generation's set.
    ///
    /// `replicas` is the set of this generation in this network.
    pub fn verify(
        &self,
        network: &Hash,
        before: &ReplicaSet,
        generation: u32,
    ) -> Result<ReplicaSet, ReconfigurationError> {
        let found = self.change.generation.get();
        if found != generation {
            return Err(ReconfigurationError::Generation { expected: generation, found });
        }
        let message = self.change.hash(network, before);
        self.approvals.verify(before, |key, signature| is_signed(&message, key, signature))?;
        Ok(self.change.apply(before)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NETWORK, added, reconfigured, removed, replicas};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quorum_changes_the_set() {
        let (keys, set) = replicas(4);
        for signers in [&[0, 1, 2][..], &[3, 0, 2], &[0, 1, 2, 3]] {
            let reconfiguration = reconfigured(added(4, 5), &set, &keys, signers);
            assert_eq!(reconfiguration.verify(&NETWORK, &set, 0), Ok(replicas(5).1));
            assert_eq!(Reconfiguration::decode(&reconfiguration.encode()), Ok(reconfiguration));
        }
        let gone = reconfigured(removed(&set, 3), &set, &keys, &[0, 1, 2]);
        assert_eq!(gone.verify(&NETWORK, &set, 0), Ok(replicas(3).1));
    }

    #[test]
    fn nothing_less_does() {
        let (keys, set) = replicas(4);
        let change = added(4, 5);
        let verdict =
            |change, signers: &[u32]| reconfigured(change, &set, &keys, signers).verify(&NETWORK, &set, 0).unwrap_err();
        let quorum = CertificateError::Quorum { needed: 3, found: 2 };
        assert_eq!(verdict(change, &[0, 1]), quorum.into());
        let later = MemberChange { generation: 1.into(), ..change };
        let generation = ReconfigurationError::Generation { expected: 0, found: 1 };
        assert_eq!(verdict(later, &[0, 1, 2]), generation);
        // A quorum's signatures do not make an impossible change possible.
        assert_eq!(
            verdict(MemberChange { number: 9, ..change }, &[0, 1, 2]),
            ChangeError::Number { number: 9, replicas: 4 }.into()
        );
        let good = reconfigured(change, &set, &keys, &[0, 1, 2]);
        let signature = ReconfigurationError::from(CertificateError::Signature(0));
        assert_eq!(good.verify(&[8; 32], &set, 0), Err(signature));
        let of_three = ReplicaSet::new(set.keys()[..3].to_vec()).unwrap();
        assert_eq!(good.verify(&NETWORK, &of_three, 0), Err(signature));
        // The joining replica is not one of those who decide.
        let joining = reconfigured(change, &set, &replicas(5).0, &[0, 1, 4]);
        assert_eq!(joining.verify(&NETWORK, &set, 0), Err(CertificateError::NotAReplica(4).into()));
    }

    #[test]
    fn no_byte_can_be_changed() {
        let (keys, set) = replicas(4);
        let bytes = reconfigured(added(1, 5), &set, &keys, &[0, 1, 3]).encode();
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            let holds = Reconfiguration::decode(&changed).is_ok_and(|found| found.verify(&NETWORK, &set, 0).is_ok());
            assert!(!holds, "byte {place} does not matter");
        }
        for bytes in [&bytes[..bytes.len() - 1], &[&bytes[..], &[0]].concat(), &bytes[..50], &[]] {
            assert!(matches!(Reconfiguration::decode(bytes), Err(CertificateError::Length { .. })));
        }
    }

    proptest! {
        #[test]
        fn whatever_decodes_encodes_the_same(change: [u8; 88], signers in 0u8..16, rest in proptest::collection::vec(any::<u8>(), 256)) {
            let length = signers.count_ones() as usize * 64;
            let bytes = [&change[..], &u64::from(signers).to_be_bytes(), &rest[..length]].concat();
            let reconfiguration = Reconfiguration::decode(&bytes).unwrap();
            prop_assert_eq!(reconfiguration.signers().count(), signers.count_ones() as usize);
            prop_assert_eq!(reconfiguration.encode(), bytes);
        }
    }
}
