//! Why signatures of replicas vouch for nothing.
use thiserror::Error;

/// Why a certificate is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CertificateError {
    /// The bytes are no certificate.
    #[error("{found} bytes are no certificate of {expected}: it was cut off or damaged, ask another node")]
    Length {
        /// What the signers that it names make.
        expected: usize,
        /// The length found.
        found: usize,
    },
    /// Somebody signed who is no replica.
    #[error("the certificate names a replica {0} that is not in the set: it is of another set, or made up")]
    NotAReplica(u32),
    /// Too few signed.
    #[error("{found} replicas signed where {needed} are needed: what it says is not final")]
    Quorum {
        /// Votes of a quorum.
        needed: usize,
        /// Votes found.
        found: usize,
    },
    /// A signature is not that replica's for this block.
    #[error("the signature of replica {0} does not hold: the certificate is of another network, or made up")]
    Signature(u32),
}
