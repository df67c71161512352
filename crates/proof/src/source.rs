//! The interface of every source of proofs.

use std::error::Error;

use wire::{ProofRequest, Query, Status};
use zerocopy::FromZeros;

/// A chain's store, as the proof service uses it.
pub trait Source: Send + Sync {
    /// Appends the body of a reply, all that follows its first 48 bytes, to `body`, which is empty.
    ///
    /// All of it must be true as of one tip, which its first 40 bytes name.
    fn prove(&self, query: Query, key: &[u8; 32], body: &mut Vec<u8>) -> Result<(), Refusal>;
}

/// Why there is no proof.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no such account, transaction or block.
    #[error("there is no such account, transaction or block")]
    NotFound,
    /// The block has a shape for which a proof would be ambiguous.
    #[error("a proof in this block would be ambiguous")]
    NotProvable,
    /// The chain has no such query.
    #[error("the chain does not answer this query")]
    NoSuchQuery,
    /// Bits of the key that must be zero are set.
    #[error("the key is malformed")]
    Malformed,
    /// The block with the transaction is pruned.
    #[error("the block with the transaction is pruned")]
    Pruned,
    /// The store failed.
    #[error("the store cannot be read: {0}")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

impl Refusal {
    /// The status that the client receives.
    pub fn status(&self) -> Status {
        match self {
            Self::NotFound => Status::NotFound,
            Self::NotProvable => Status::NotProvable,
            Self::NoSuchQuery => Status::UnknownCommand,
            Self::Malformed => Status::Malformed,
            Self::Pruned => Status::Pruned,
            Self::Failed(_) => Status::StorageFailed,
        }
    }
}

/// A request with this key, to read the key's parts from.
pub(crate) fn request_of(key: &[u8; 32]) -> ProofRequest {
    ProofRequest { key: *key, ..ProofRequest::new_zeroed() }
}

/// Appends a reply's fixed part without its first 48 bytes.
pub(crate) fn behind_request(fixed: &[u8], body: &mut Vec<u8>) {
    body.extend_from_slice(fixed.get(ProofRequest::LENGTH..).unwrap_or_default());
}

pub(crate) fn malformed(_: Status) -> Refusal {
    Refusal::Malformed
}

pub(crate) fn failed(error: impl Error + Send + Sync + 'static) -> Refusal {
    Refusal::Failed(Box::new(error))
}
