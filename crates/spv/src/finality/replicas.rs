//! Who votes: the keys of the replicas.
use crate::authority::ChainKey;
use crate::hash::{Hash, replicas_hash};
use thiserror::Error;

/// The most replicas in a set: a certificate names its signers in the bits of one word.
pub const MAX_REPLICAS: usize = 64;

/// Why keys do not form a set of replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReplicaSetError {
    /// No replica, or more than [`MAX_REPLICAS`].
    #[error("{0} replicas: a set has 1 to {MAX_REPLICAS}, and bears one liar from 4 on")]
    Number(usize),
    /// The key with this number is not valid.
    #[error("the key of replica {0} is no public key: it was damaged, or made up")]
    Key(usize),
    /// Two replicas have the same key.
    #[error("replicas {0} and {1} have the same key: give each its own")]
    SameKey(usize, usize),
}

/// The keys of the replicas, in the order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaSet(Vec<ChainKey>);

impl ReplicaSet {
    /// The set of these keys, the first that of replica 0.
    pub fn new(keys: Vec<ChainKey>) -> Result<Self, ReplicaSetError> {
        if !(1..=MAX_REPLICAS).contains(&keys.len()) {
            return Err(ReplicaSetError::Number(keys.len()));
        }
        for (number, key) in keys.iter().enumerate() {
            if let Some(first) = keys[..number].iter().position(|other| other == key) {
                return Err(ReplicaSetError::SameKey(first, number));
            }
        }
        Ok(Self(keys))
    }

    /// The set of the keys with these bytes, as in a finality frame.
    pub fn from_bytes(keys: &[[u8; 32]]) -> Result<Self, ReplicaSetError> {
        let key = |(number, key)| ChainKey::from_bytes(key).ok_or(ReplicaSetError::Key(number));
        Self::new(keys.iter().enumerate().map(key).collect::<Result<_, _>>()?)
    }

    /// The keys, the first that of replica 0.
    pub fn keys(&self) -> &[ChainKey] {
        &self.0
    }

    /// How many replicas may lie or be absent without harm: f of n = 3f + 1.
    pub fn faults(&self) -> usize {
        (self.0.len() - 1) / 3
    }

    /// How many votes make something final: n - f.
    pub fn quorum(&self) -> usize {
        self.0.len() - self.faults()
    }

    /// The hash of the set's keys, which identifies the set.
    pub fn hash(&self) -> Hash {
        replicas_hash(&self.0.iter().flat_map(|key| key.to_bytes()).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::SealingKey;

    fn keys(number: usize) -> Vec<ChainKey> {
        (0..number).map(|i| SealingKey::from_bytes(&[i as u8 + 1; 32]).unwrap().public()).collect()
    }

    #[test]
    fn quorums_share_an_honest_replica() {
        for number in 1..=MAX_REPLICAS {
            let set = ReplicaSet::new(keys(number)).unwrap();
            let (faults, quorum) = (set.faults(), set.quorum());
            assert!(3 * faults < number, "{number} replicas cannot bear {faults}");
            assert!(2 * quorum - number > faults, "two quorums of {number} may share liars only");
            assert!(quorum <= number - faults, "no quorum of {number} without liars");
        }
        assert_eq!([1, 3, 4, 6, 7].map(|n| ReplicaSet::new(keys(n)).unwrap().quorum()), [1, 3, 3, 5, 5]);
    }

    #[test]
    fn keys_are_few_and_distinct() {
        assert_eq!(ReplicaSet::new(vec![]), Err(ReplicaSetError::Number(0)));
        assert_eq!(ReplicaSet::new(keys(65)), Err(ReplicaSetError::Number(65)));
        let twice = [keys(3), keys(2)].concat();
        assert_eq!(ReplicaSet::new(twice), Err(ReplicaSetError::SameKey(0, 3)));
    }

    #[test]
    fn a_set_is_read_from_the_bytes_of_its_keys() {
        let mut bytes: Vec<_> = keys(4).iter().map(|key| key.to_bytes()).collect();
        assert_eq!(ReplicaSet::from_bytes(&bytes), ReplicaSet::new(keys(4)));
        bytes[2] = [0; 32];
        assert_eq!(ReplicaSet::from_bytes(&bytes), Err(ReplicaSetError::Key(2)));
    }

    #[test]
    fn the_name_depends_on_each_key_and_the_order() {
        let mut turned = keys(4);
        turned.swap(1, 2);
        let [set, fewer, turned] = [keys(4), keys(3), turned].map(|keys| ReplicaSet::new(keys).unwrap().hash());
        assert!(set != fewer && set != turned);
    }
}
