//! Why signatures of replicas vouch for nothing.
use thiserror::Error;

/// Why a certificate is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CertificateError {
    /// The bytes do not have the length of a certificate.
    #[error("{found} bytes are no certificate of {expected}: it was cut off or damaged, ask another node")]
    Length {
        /// The length that its number of signers requires.
        expected: usize,
        /// The length found.
        found: usize,
    },
    /// A signer is not a replica.
    #[error("the certificate names a replica {0} that is not in the set: it is of another set, or made up")]
    NotAReplica(u32),
    /// Too few replicas signed.
    #[error("{found} replicas signed where {needed} are needed: what it says is not final")]
    Quorum {
        /// Votes of a quorum.
        needed: usize,
        /// Votes found.
        found: usize,
    },
    /// This replica's signature is not valid for the block.
    #[error("the signature of replica {0} does not hold: the certificate is of another network, or made up")]
    Signature(u32),
}
