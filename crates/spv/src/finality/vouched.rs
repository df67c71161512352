//! A certificate together with what leads to the set of replicas that checks it, as they are stored and sent.
use super::certificate::Certificate;
use super::error::CertificateError;
use super::reconfiguration::{Reconfiguration, ReconfigurationError};
use super::replicas::{ReplicaSet, ReplicaSetError};
use crate::hash::Hash;
use thiserror::Error;

/// Bytes of a replica's key.
const KEY: usize = 32;
/// The most changes of a set that are followed. With every set at its largest, checking them takes a few seconds.
pub const MAX_RECONFIGURATIONS: usize = 4096;

/// Why bytes do not encode a [`Vouched`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum VouchedError {
    /// The bytes end before the keys or the number of changes.
    #[error("the replicas' keys are cut off: ask another node")]
    Short,
    /// There are more changes than are followed.
    #[error(
        "the set of replicas was changed {0} times, and {MAX_RECONFIGURATIONS} changes are followed: ask another node"
    )]
    Reconfigurations(usize),
    /// The keys do not form a set of replicas.
    #[error(transparent)]
    Set(#[from] ReplicaSetError),
    /// A certificate, the last one or that of a change, is malformed.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// Why the founding set does not lead to the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the set of replicas of generation {generation} has no successor: {error}")]
pub struct SuccessionError {
    /// The last generation that is valid.
    pub generation: u32,
    /// Why its change is not.
    pub error: ReconfigurationError,
}

/// The founding set of replicas, all changes to it, and a certificate of the set after them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vouched {
    /// The replicas of generation 0. Not trusted until their hash has been compared with the one in genesis.
    pub founders: ReplicaSet,
    /// The change of each generation before the current one: at most [`MAX_RECONFIGURATIONS`].
    pub reconfigurations: Vec<Reconfiguration>,
    /// The certificate.
    pub certificate: Certificate,
}

impl Vouched {
    /// The current set of replicas. Each set approved the next, so whoever trusts the founders can trust it.
    pub fn replicas(&self, network: &Hash) -> Result<ReplicaSet, SuccessionError> {
        let mut replicas = self.founders.clone();
        for (generation, reconfiguration) in (0..).zip(&self.reconfigurations) {
            let next = reconfiguration.verify(network, &replicas, generation);
            replicas = next.map_err(|error| SuccessionError { generation, error })?;
        }
        Ok(replicas)
    }

    /// The stored encoding: number of founders (1 byte), their keys, number of changes (2 bytes), the changes, the
    /// certificate.
    ///
    /// # Panics
    /// If there are more than [`MAX_RECONFIGURATIONS`] changes.
    pub fn encode(&self) -> Vec<u8> {
        let (keys, changes) = (self.founders.keys(), self.reconfigurations.len());
        assert!(changes <= MAX_RECONFIGURATIONS, "more changes than are followed");
        let mut bytes = vec![keys.len() as u8];
        bytes.extend(keys.iter().flat_map(|key| key.to_bytes()));
        bytes.extend((changes as u16).to_be_bytes());
        bytes.extend(self.reconfigurations.iter().flat_map(Reconfiguration::encode));
        bytes.extend(self.certificate.encode());
        bytes
    }

    /// Decodes what [`Vouched::encode`] returned.
    pub fn decode(bytes: &[u8]) -> Result<Self, VouchedError> {
        let (&[count], rest) = bytes.split_first_chunk().ok_or(VouchedError::Short)?;
        let (keys, rest) = rest.split_at_checked(usize::from(count) * KEY).ok_or(VouchedError::Short)?;
        let (changes, mut rest) = rest.split_first_chunk().ok_or(VouchedError::Short)?;
        let changes = usize::from(u16::from_be_bytes(*changes));
        if changes > MAX_RECONFIGURATIONS {
            return Err(VouchedError::Reconfigurations(changes));
        }
        let founders = ReplicaSet::from_bytes(keys.as_chunks().0)?;
        let mut reconfigurations = Vec::new();
        for _ in 0..changes {
            let (reconfiguration, behind) = Reconfiguration::decode_prefix(rest)?;
            reconfigurations.push(reconfiguration);
            rest = behind;
        }
        Ok(Self { founders, reconfigurations, certificate: Certificate::decode(rest)? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NETWORK, added, reconfigured, removed, replicas};
    use super::*;
    use crate::finality::{MemberChange, OrderedHeader};
    use proptest::prelude::*;

    fn certificate() -> Certificate {
        let header = OrderedHeader { height: 7.into(), parent: [1; 32], statement: [2; 32], body: [3; 32] };
        Certificate::new(header, 0, 5, 4, vec![])
    }

    /// Four replicas that became five and then, without the first, four again.
    fn vouched() -> Vouched {
        let (keys, founders) = replicas(5);
        let four = replicas(4).1;
        let gone = MemberChange { generation: 1.into(), ..removed(&founders, 0) };
        let reconfigurations = vec![
            reconfigured(added(4, 5), &four, &keys, &[0, 1, 2]),
            reconfigured(gone, &founders, &keys, &[1, 2, 3, 4]),
        ];
        Vouched { founders: four, reconfigurations, certificate: certificate() }
    }

    #[test]
    fn the_founders_lead_to_the_present_set() {
        let vouched = vouched();
        let expected = ReplicaSet::new(replicas(5).1.keys()[1..].to_vec()).unwrap();
        assert_eq!(vouched.replicas(&NETWORK), Ok(expected));
        assert_eq!(Vouched::decode(&vouched.encode()), Ok(vouched));
    }

    #[test]
    fn the_generation_that_fails_is_told() {
        let mut vouched = vouched();
        let generation = |vouched: &Vouched| vouched.replicas(&NETWORK).unwrap_err().generation;
        assert_eq!(vouched.replicas(&[8; 32]).unwrap_err().generation, 0);
        vouched.reconfigurations.swap(0, 1);
        assert_eq!(generation(&vouched), 0);
        vouched.reconfigurations.swap(0, 1);
        let last = vouched.reconfigurations[1].clone();
        vouched.reconfigurations.push(last);
        assert_eq!(generation(&vouched), 2);
        // A change approved by the set before the last.
        let (keys, set) = replicas(5);
        let old = MemberChange { generation: 2.into(), ..removed(&set, 1) };
        vouched.reconfigurations[2] = reconfigured(old, &set, &keys, &[0, 1, 2, 3]);
        assert_eq!(generation(&vouched), 2);
        vouched.reconfigurations.remove(0);
        assert_eq!(generation(&vouched), 0);
    }

    #[test]
    fn what_is_kept_is_bounded_and_whole() {
        let bytes = vouched().encode();
        for length in 0..bytes.len() {
            assert!(Vouched::decode(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(Vouched::decode(&[&bytes[..], &[0]].concat()).is_err());
        let mut many = bytes;
        many[1 + 4 * KEY..][..2].copy_from_slice(&4097_u16.to_be_bytes());
        assert_eq!(Vouched::decode(&many), Err(VouchedError::Reconfigurations(4097)));
        let mut none = vouched();
        none.reconfigurations.clear();
        assert_eq!(Vouched::decode(&none.encode()), Ok(none));
    }

    proptest! {
        #[test]
        fn whatever_decodes_encodes_the_same(place in 0usize..1000, byte: u8) {
            let mut bytes = vouched().encode();
            let place = place % bytes.len();
            bytes[place] = byte;
            if let Ok(vouched) = Vouched::decode(&bytes) {
                prop_assert_eq!(vouched.encode(), bytes);
            }
        }
    }
}
