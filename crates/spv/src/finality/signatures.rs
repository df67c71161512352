//! The replicas' signatures in a certificate.
use super::error::CertificateError;
use super::replicas::{MAX_REPLICAS, ReplicaSet};
use crate::authority::{ChainKey, Seal};

/// Bytes of the word whose bits name the signers.
const SIGNERS: usize = size_of::<u64>();
/// Bytes of the signatures of the largest set.
pub const MAX_SIGNATURES_SIZE: usize = SIGNERS + MAX_REPLICAS * size_of::<Seal>();

/// The numbers of the replicas that signed, ascending, and their signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signatures(Vec<(u32, Seal)>);

impl Signatures {
    /// Takes signatures in any order.
    ///
    /// # Panics
    /// If a replica's number is [`MAX_REPLICAS`] or more, or occurs twice.
    pub fn new(mut signatures: Vec<(u32, Seal)>) -> Self {
        signatures.sort_by_key(|(replica, _)| *replica);
        assert!(signatures.windows(2).all(|pair| pair[0].0 < pair[1].0), "each replica signs once");
        assert!(signatures.last().is_none_or(|(replica, _)| (*replica as usize) < MAX_REPLICAS), "no such replica");
        Self(signatures)
    }

    /// The replicas that signed, ascending.
    pub fn signers(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(replica, _)| *replica)
    }

    /// The numbers of the replicas that signed, ascending, with their signatures.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Seal)> {
        self.0.iter().map(|(replica, signature)| (*replica, signature))
    }

    /// Appends a word with one bit per signer, and the signatures.
    pub fn encode_to(&self, bytes: &mut Vec<u8>) {
        let signers: u64 = self.signers().fold(0, |signers, replica| signers | 1 << replica);
        bytes.extend(signers.to_be_bytes());
        bytes.extend(self.0.iter().flat_map(|(_, signature)| signature.0));
    }

    /// Decodes signatures from this place, and returns where they end. They have exactly one encoding.
    pub fn decode_at(place: usize, bytes: &[u8]) -> Result<(Self, usize), CertificateError> {
        let length = |expected| CertificateError::Length { expected, found: bytes.len() };
        let start = place + SIGNERS;
        let (word, rest) = bytes.get(place..).and_then(<[u8]>::split_first_chunk).ok_or(length(start))?;
        let mut signers = u64::from_be_bytes(*word);
        let size = signers.count_ones() as usize * size_of::<Seal>();
        let end = start + size;
        let mut signatures = Vec::with_capacity(signers.count_ones() as usize);
        for signature in rest.get(..size).ok_or(length(end))?.as_chunks().0 {
            signatures.push((signers.trailing_zeros(), Seal(*signature)));
            signers &= signers - 1;
        }
        Ok((Self(signatures), end))
    }

    /// Checks that a quorum of these replicas signed. `is_signature` tells whether a signature is a key's.
    pub fn verify(
        &self,
        replicas: &ReplicaSet,
        is_signature: impl Fn(&ChainKey, &Seal) -> bool,
    ) -> Result<(), CertificateError> {
        let (needed, found) = (replicas.quorum(), self.0.len());
        if found < needed {
            return Err(CertificateError::Quorum { needed, found });
        }
        for (replica, signature) in &self.0 {
            let key = replicas.keys().get(*replica as usize).ok_or(CertificateError::NotAReplica(*replica))?;
            if !is_signature(key, signature) {
                return Err(CertificateError::Signature(*replica));
            }
        }
        Ok(())
    }
}
