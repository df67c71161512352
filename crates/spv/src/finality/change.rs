//! Changes of the set of replicas, one member each.
use super::replicas::{ReplicaSet, ReplicaSetError};
use crate::authority::ChainKey;
use crate::hash::{Hash, member_change_hash};
use thiserror::Error;
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Size of an encoded [`MemberChange`].
pub const MEMBER_CHANGE_SIZE: usize = size_of::<MemberChange>();

/// What a change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MemberAction {
    /// A replica joins.
    Add = 1,
    /// A replica leaves.
    Remove = 2,
}

impl MemberAction {
    /// The action with this code.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Add, Self::Remove].into_iter().find(|action| *action as u8 == code)
    }
}

/// Why a change cannot be made to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// The action is neither an addition nor a removal.
    #[error("a change of members has action {0}, which this program does not know: update it")]
    Action(u8),
    /// The vote key is not valid.
    #[error("the change names a key of votes that is no public key: copy it again from the replica's own node")]
    Key,
    /// The number is not in the set; for an addition, it is beyond the set's end.
    #[error("the change names place {number}, but the set has {replicas} replicas: make it of the present set")]
    Number {
        /// The number named.
        number: u8,
        /// Number of replicas before the change.
        replicas: usize,
    },
    /// The replica with this number has another key.
    #[error("replica {0} has another key than the one to be removed: make the change of the present set")]
    OtherKey(u8),
    /// A removal has an address or a port.
    #[error("a removal has an address or a port: leave them zero")]
    Address,
    /// The keys after the change do not form a set: too few, too many, or one twice.
    #[error("the set after the change: {0}")]
    Set(#[from] ReplicaSetError),
}

/// A change of the set of replicas, as it is hashed and sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct MemberChange {
    /// Code of a [`MemberAction`].
    pub action: u8,
    /// For an addition, the new replica's number in the set after it; for a removal, the replica's number in the set
    /// before.
    pub number: u8,
    /// The port of the new replica's connections; 0 in a removal.
    pub port: U16,
    /// Generation of the set that it changes.
    pub generation: U32,
    /// The replica's vote key.
    pub votes: [u8; 32],
    /// The replica's connection key, an Ed25519 key. Checked when a connection is made, not here.
    pub identity: [u8; 32],
    /// The new replica's IPv6 address, or its IPv4 address mapped to one; zero in a removal.
    pub address: [u8; 16],
}

const _: () = assert!(MEMBER_CHANGE_SIZE == 88);

impl MemberChange {
    /// What the change does.
    pub fn action(&self) -> Result<MemberAction, ChangeError> {
        MemberAction::from_code(self.action).ok_or(ChangeError::Action(self.action))
    }

    /// The set after the change.
    ///
    /// The caller checks that `before` is the set of the [generation](Self::generation) that the change names.
    pub fn apply(&self, before: &ReplicaSet) -> Result<ReplicaSet, ChangeError> {
        let action = self.action()?;
        let key = ChainKey::from_bytes(&self.votes).ok_or(ChangeError::Key)?;
        let mut keys = before.keys().to_vec();
        let number = usize::from(self.number);
        let out_of_place = ChangeError::Number { number: self.number, replicas: keys.len() };
        match action {
            MemberAction::Add if number > keys.len() => return Err(out_of_place),
            MemberAction::Add => keys.insert(number, key),
            MemberAction::Remove if self.port.get() != 0 || self.address != [0; 16] => {
                return Err(ChangeError::Address);
            }
            MemberAction::Remove => match keys.get(number) {
                None => return Err(out_of_place),
                Some(found) if *found != key => return Err(ChangeError::OtherKey(self.number)),
                Some(_) => drop(keys.remove(number)),
            },
        }
        Ok(ReplicaSet::new(keys)?)
    }

    /// The hash that approvals sign. It covers the network and the set before the change.
    pub fn hash(&self, network: &Hash, before: &ReplicaSet) -> Hash {
        member_change_hash(network, &before.hash(), self.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{added, removed, replicas};
    use super::*;
    use crate::finality::MAX_REPLICAS;
    use proptest::prelude::*;

    #[test]
    fn a_change_is_laid_out_as_the_protocol_says() {
        let change = MemberChange { generation: 0x0102_0304.into(), ..added(2, 5) };
        let key = replicas(5).1.keys()[4].to_bytes();
        let mapped = [&[0; 10][..], &[255, 255, 127, 0, 0, 1]].concat();
        let expected = [&[1, 2, 0x1f, 0x40, 1, 2, 3, 4][..], &key, &[5; 32], &mapped].concat();
        assert_eq!(change.as_bytes(), expected);
        assert_eq!([0, 1, 2, 3].map(|code| MemberAction::from_code(code).is_some()), [false, true, true, false]);
    }

    #[test]
    fn what_cannot_be_changed_is_told() {
        let (_, set) = replicas(4);
        let (add, remove) = (added(4, 5), removed(&set, 3));
        let cases = [
            (MemberChange { action: 0, ..add }, ChangeError::Action(0)),
            (MemberChange { action: 3, ..add }, ChangeError::Action(3)),
            (MemberChange { votes: [0; 32], ..add }, ChangeError::Key),
            (MemberChange { votes: [255; 32], ..remove }, ChangeError::Key),
            (MemberChange { number: 5, ..add }, ChangeError::Number { number: 5, replicas: 4 }),
            (MemberChange { number: 4, ..remove }, ChangeError::Number { number: 4, replicas: 4 }),
            (added(0, 3), ChangeError::Set(ReplicaSetError::SameKey(0, 3))),
            (MemberChange { number: 2, ..remove }, ChangeError::OtherKey(2)),
            (MemberChange { votes: add.votes, ..remove }, ChangeError::OtherKey(3)),
            (MemberChange { port: 1.into(), ..remove }, ChangeError::Address),
            (MemberChange { address: [1; 16], ..remove }, ChangeError::Address),
        ];
        for (change, error) in cases {
            assert_eq!(change.apply(&set), Err(error));
        }
    }

    #[test]
    fn a_set_neither_vanishes_nor_outgrows_a_certificate() {
        let (_, one) = replicas(1);
        assert_eq!(removed(&one, 0).apply(&one), Err(ChangeError::Set(ReplicaSetError::Number(0))));
        let (_, full) = replicas(MAX_REPLICAS as u8);
        assert_eq!(added(0, 99).apply(&full), Err(ChangeError::Set(ReplicaSetError::Number(65))));
        assert_eq!(removed(&full, 63).apply(&full).unwrap(), replicas(63).1);
    }

    proptest! {
        /// Removing what an addition inserted restores the set, with the other replicas in the same order.
        #[test]
        fn additions_are_taken_back_by_removals(size in 1u8..20, place in 0u8..20) {
            let (_, before) = replicas(size);
            let place = place % (size + 1);
            let after = added(place, 77).apply(&before).unwrap();
            prop_assert_eq!(after.keys().len(), usize::from(size) + 1);
            prop_assert_eq!(removed(&after, place).apply(&after).unwrap(), before);
        }
    }
}
