//! Replicas and changes of their set, for tests.
use super::{Approval, MemberAction, MemberChange, Reconfiguration, ReplicaSet};
use crate::hash::Hash;
use crate::seal::SealingKey;

pub const NETWORK: Hash = [9; 32];

fn key(number: u8) -> SealingKey {
    SealingKey::from_bytes(&[number; 32]).unwrap()
}

/// The keys 1 to `number`, and the set that they form.
pub fn replicas(number: u8) -> (Vec<SealingKey>, ReplicaSet) {
    let keys: Vec<_> = (1..=number).map(key).collect();
    let set = ReplicaSet::new(keys.iter().map(SealingKey::public).collect()).unwrap();
    (keys, set)
}

/// The addition of the replica with key `joining` at a place in generation 0.
pub fn added(place: u8, joining: u8) -> MemberChange {
    MemberChange {
        action: MemberAction::Add as u8,
        number: place,
        port: 8000.into(),
        generation: 0.into(),
        votes: key(joining).public().to_bytes(),
        identity: [joining; 32],
        address: std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets(),
    }
}

/// The removal of the replica with this number from generation 0.
pub fn removed(set: &ReplicaSet, number: u8) -> MemberChange {
    MemberChange {
        action: MemberAction::Remove as u8,
        number,
        port: 0.into(),
        generation: 0.into(),
        votes: set.keys()[usize::from(number)].to_bytes(),
        identity: [number + 1; 32],
        address: [0; 16],
    }
}

/// The change with the signatures of these replicas.
pub fn reconfigured(change: MemberChange, set: &ReplicaSet, keys: &[SealingKey], signers: &[u32]) -> Reconfiguration {
    reconfigured_in(&NETWORK, change, set, keys, signers)
}

/// The same in another network.
pub fn reconfigured_in(
    network: &Hash,
    change: MemberChange,
    set: &ReplicaSet,
    keys: &[SealingKey],
    signers: &[u32],
) -> Reconfiguration {
    let sign = |&replica: &u32| (replica, Approval::sign(change, network, set, &keys[replica as usize]).signature);
    Reconfiguration::new(change, signers.iter().map(sign).collect())
}
