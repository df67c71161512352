//! One signer's approval of a change.
use super::change::MemberChange;
use super::replicas::ReplicaSet;
use crate::authority::{ChainKey, Seal};
use crate::hash::Hash;
use crate::seal::SealingKey;
use secp256k1::{SECP256K1, schnorr::Signature};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Size of an encoded [`Approval`].
pub const APPROVAL_SIZE: usize = size_of::<Approval>();

/// A change of the set of replicas, with the signature of a replica that approves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Approval {
    /// The change.
    pub change: MemberChange,
    /// The vote key of the replica that signed: a member, or the one that joins.
    pub signer: [u8; 32],
    /// Its signature of the change's hash.
    pub signature: Seal,
}

const _: () = assert!(APPROVAL_SIZE == 184);

impl Approval {
    /// Signs a change of this set in this network. The same change always gets the same signature.
    pub fn sign(change: MemberChange, network: &Hash, before: &ReplicaSet, key: &SealingKey) -> Self {
        let message = change.hash(network, before);
        let signature = SECP256K1.sign_schnorr_no_aux_rand(&message, key.keypair());
        Self { change, signer: key.public().to_bytes(), signature: Seal(signature.to_byte_array()) }
    }

    /// Whether the signature is the signer's, for the change of this set in this network.
    ///
    /// The caller checks whether the signer may decide on it.
    pub fn holds(&self, network: &Hash, before: &ReplicaSet) -> bool {
        let message = self.change.hash(network, before);
        ChainKey::from_bytes(&self.signer).is_some_and(|key| is_signed(&message, &key, &self.signature))
    }
}

/// Whether `signature` is this key's, for a change with this hash.
pub(super) fn is_signed(change: &Hash, key: &ChainKey, signature: &Seal) -> bool {
    SECP256K1.verify_schnorr(&Signature::from_byte_array(signature.0), change, key.x_only()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NETWORK, added, replicas};
    use super::*;

    #[test]
    fn an_approval_is_of_one_change_of_one_set_in_one_network() {
        let (keys, set) = replicas(4);
        let approval = Approval::sign(added(4, 5), &NETWORK, &set, &keys[1]);
        assert!(approval.holds(&NETWORK, &set));
        assert!(!approval.holds(&[8; 32], &set) && !approval.holds(&NETWORK, &replicas(5).1));
        let bytes: [u8; APPROVAL_SIZE] = approval.as_bytes().try_into().unwrap();
        for place in 0..bytes.len() {
            let mut changed = bytes;
            changed[place] ^= 1;
            assert!(!Approval::read_from_bytes(&changed).unwrap().holds(&NETWORK, &set), "byte {place}");
        }
        // An approval does not pass for a seal: the tags differ.
        let hash = approval.change.hash(&NETWORK, &set);
        assert!(!keys[1].public().has_sealed(&hash, &approval.signature));
    }
}
