//! Groth16 proofs and verifying keys, as they are in files.

use verify::bls12_381::groth16::{Proof, VerifyingKey};
use wire::VerifyingKeyId;

use super::read;
use crate::error::Error;

/// A proof and its inputs, as they are in a file.
#[derive(Clone)]
pub struct ProofRecord {
    pub proof: [u8; Proof::LENGTH],
    pub inputs: Vec<[u8; 32]>,
}

/// A verifying key, and what a node calls it.
pub struct Key {
    pub key: VerifyingKey,
    pub id: Option<VerifyingKeyId>,
}

impl Key {
    /// A built-in key, by name, or the key in a file.
    pub fn find(name: &str) -> Result<Self, Error> {
        let id = VerifyingKeyId::ALL.iter().copied().find(|id| id.name() == name);
        let key = match id {
            Some(VerifyingKeyId::SaplingSpend) => VerifyingKey::sapling_spend().clone(),
            Some(VerifyingKeyId::SaplingOutput) => VerifyingKey::sapling_output().clone(),
            Some(VerifyingKeyId::Sprout) => VerifyingKey::sprout().clone(),
            None => VerifyingKey::parse(&read(name.as_ref())?)
                .map_err(|rule| Error::Input(format!("{name} is not a verifying key: {rule}")))?,
        };
        Ok(Self { key, id })
    }
}
