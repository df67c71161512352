//! The replicas of an epoch, and the keys of a replica.
use commonware_codec::{Copying, DecodeExt, Encode};
use commonware_cryptography::{Signer as _, ed25519};
use commonware_utils::ordered::Set;
use spv::finality::{Approval, MemberChange, ReplicaSet, ReplicaSetError};
use spv::hash::{REPLICA_IDENTITY_TAG, TaggedHash};
use spv::{ChainKey, Hash, SealingKey};
use thiserror::Error;

/// A replica's connection key: an Ed25519 public key.
pub type Identity = [u8; 32];

/// The name of a replica: its voting key and its connection key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaName {
    /// Verifies its votes.
    pub votes: ChainKey,
    /// Authenticates its connections.
    pub(crate) identity: ed25519::PublicKey,
}

impl ReplicaName {
    /// Decodes 64 bytes: the voting key, then the connection key.
    pub fn from_bytes(bytes: &[u8; 64]) -> Option<Self> {
        let (votes, identity) = bytes.split_at(32);
        let votes = ChainKey::from_bytes(votes.try_into().ok()?)?;
        Some(Self { votes, identity: ed25519::PublicKey::decode(Copying(identity)).ok()? })
    }

    /// Encodes 64 bytes: the voting key, then the connection key.
    pub fn to_bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&self.votes.to_bytes());
        bytes[32..].copy_from_slice(&self.identity.encode());
        bytes
    }

    /// Returns the replica's connection key.
    pub fn connections(&self) -> Identity {
        identity_bytes(&self.identity)
    }

    /// Returns the replica's connection key, in the runtime's type.
    pub fn identity(&self) -> &ed25519::PublicKey {
        &self.identity
    }
}

/// The bytes of a connection key.
pub(crate) fn identity_bytes(key: &ed25519::PublicKey) -> Identity {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(&key.encode());
    bytes
}

/// The secret key of a replica. Its `Debug` form shows only the public key.
#[derive(Clone, Debug)]
pub struct ReplicaKey(SealingKey, ed25519::PrivateKey);

impl ReplicaKey {
    /// Creates the key from 32 secret bytes, unless they are 0 or not below the group order. The connection key is
    /// derived from them by a separate hash, so that a replica has one secret to keep.
    pub fn from_bytes(secret: &[u8; 32]) -> Option<Self> {
        let identity = TaggedHash::new(REPLICA_IDENTITY_TAG).hash(&[secret]);
        Some(Self(SealingKey::from_bytes(secret)?, ed25519::PrivateKey::decode(Copying(&identity)).ok()?))
    }

    /// Returns the replica's public name.
    pub fn name(&self) -> ReplicaName {
        ReplicaName { votes: self.0.public(), identity: self.1.public_key() }
    }

    /// Signs an approval of a change of this network's set.
    pub fn approve(&self, change: MemberChange, network: &Hash, before: &ReplicaSet) -> Approval {
        Approval::sign(change, network, before, &self.0)
    }

    /// The connection key.
    pub fn connections(&self) -> &ed25519::PrivateKey {
        &self.1
    }

    pub(crate) fn votes(&self) -> &SealingKey {
        &self.0
    }
}

/// Why names do not form a committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CommitteeError {
    /// The voting keys do not form a set.
    #[error(transparent)]
    Votes(#[from] ReplicaSetError),
    /// Two replicas share a connection key.
    #[error("two replicas have the same connection key: generate one for each")]
    SameIdentity,
}

/// The replicas of an epoch, by number.
#[derive(Clone, Debug)]
pub struct Committee {
    identities: Set<ed25519::PublicKey>,
    replicas: ReplicaSet,
}

impl Committee {
    /// The committee of these replicas, in any order. Numbers follow the order of the connection keys, so that all who
    /// know the names agree on them.
    pub fn new(mut names: Vec<ReplicaName>) -> Result<Self, CommitteeError> {
        names.sort_by(|one, other| one.identity.cmp(&other.identity));
        let replicas = ReplicaSet::new(names.iter().map(|name| name.votes).collect())?;
        let identities = Set::from_iter_dedup(names.into_iter().map(|name| name.identity));
        if identities.len() != replicas.keys().len() {
            return Err(CommitteeError::SameIdentity);
        }
        Ok(Self { identities, replicas })
    }

    /// The voting keys, with which a client verifies certificates.
    pub fn replicas(&self) -> &ReplicaSet {
        &self.replicas
    }

    /// The connection keys, by number.
    pub fn identities(&self) -> &Set<ed25519::PublicKey> {
        &self.identities
    }

    /// The number of a replica.
    pub fn number(&self, name: &ReplicaName) -> Option<u32> {
        let number = self.identities.position(&name.identity)?;
        (self.replicas.keys()[number] == name.votes).then_some(number as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> ReplicaKey {
        ReplicaKey::from_bytes(&[byte; 32]).unwrap()
    }

    #[test]
    fn all_agree_on_the_numbers_whatever_order_they_have_the_names_in() {
        let names: Vec<_> = (1..=7).map(|byte| key(byte).name()).collect();
        let turned: Vec<_> = names.iter().rev().cloned().collect();
        let [one, other] = [names.clone(), turned].map(|names| Committee::new(names).unwrap());
        assert_eq!(one.replicas(), other.replicas());
        let mut numbers: Vec<_> = names.iter().map(|name| one.number(name).unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..7).collect::<Vec<_>>());
        assert_eq!(one.number(&key(8).name()), None);
        let mixed = ReplicaName { votes: names[0].votes, identity: names[1].identity.clone() };
        assert_eq!(one.number(&mixed), None);
    }

    #[test]
    fn names_are_distinct_and_travel() {
        let name = key(1).name();
        assert_eq!(ReplicaName::from_bytes(&name.to_bytes()), Some(name.clone()));
        assert!(matches!(Committee::new(vec![name.clone(), name.clone()]), Err(CommitteeError::Votes(_))));
        let mixed = ReplicaName { votes: key(2).name().votes, identity: name.identity.clone() };
        assert_eq!(Committee::new(vec![name, mixed]).unwrap_err(), CommitteeError::SameIdentity);
        assert!(ReplicaKey::from_bytes(&[0; 32]).is_none());
        assert!(!format!("{:?}", key(1)).contains("01010101"));
    }
}
