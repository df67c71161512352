//! A certificate with the set of replicas that it is checked against, as they are kept and sent together.
use super::certificate::{Certificate, CertificateError};
use super::replicas::{ReplicaSet, ReplicaSetError};
use crate::seal::ChainKey;
use thiserror::Error;

/// Bytes of a replica's key.
const KEY: usize = 32;

/// Why bytes are nothing that replicas vouched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum VouchedError {
    /// The bytes end before the keys do.
    #[error("the replicas' keys are cut off: ask another node")]
    Short,
    /// One of the keys is none.
    #[error("the key of replica {0} is no public key: ask another node")]
    Key(usize),
    /// The keys are no set of replicas.
    #[error(transparent)]
    Set(#[from] ReplicaSetError),
    /// The certificate is none.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// A set of replicas, and a certificate of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vouched {
    /// The replicas. Whoever gave them may have made them up, until their hash was compared with that in genesis.
    pub replicas: ReplicaSet,
    /// The certificate.
    pub certificate: Certificate,
}

impl Vouched {
    /// What the keys of replicas, by number, and the bytes of a certificate are.
    pub fn parse(keys: &[[u8; KEY]], certificate: &[u8]) -> Result<Self, VouchedError> {
        let key = |(number, key)| ChainKey::from_bytes(key).ok_or(VouchedError::Key(number));
        let keys = keys.iter().enumerate().map(key).collect::<Result<_, _>>()?;
        Ok(Self { replicas: ReplicaSet::new(keys)?, certificate: Certificate::decode(certificate)? })
    }

    /// As it is kept: the number of replicas in a byte, their keys, the certificate.
    pub fn encode(&self) -> Vec<u8> {
        let keys = self.replicas.keys();
        let mut bytes = vec![keys.len() as u8];
        bytes.extend(keys.iter().flat_map(|key| key.to_bytes()));
        bytes.extend(self.certificate.encode());
        bytes
    }

    /// Reads what [`Vouched::encode`] made.
    pub fn decode(bytes: &[u8]) -> Result<Self, VouchedError> {
        let (&[count], rest) = bytes.split_first_chunk().ok_or(VouchedError::Short)?;
        let (keys, certificate) = rest.split_at_checked(usize::from(count) * KEY).ok_or(VouchedError::Short)?;
        Self::parse(keys.as_chunks().0, certificate)
    }
}
