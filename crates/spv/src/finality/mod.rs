//! Finality: proof that a quorum of replicas ordered something, checkable without the engine that they ran.
//!
//! A set of n = 3f + 1 replicas ([`ReplicaSet`]) puts blocks in one order. A replica votes on the hash of a block's
//! header ([`OrderedHeader`]). A [`Certificate`] has the header and at least n - f votes that it is final. Any two such
//! quorums share an honest replica, and an honest replica signs only one final vote per view. So as long as at most f
//! replicas lie, no two certificates contradict each other. Votes are BIP340 signatures, as seals are: a vote
//! identifies its signer, and two contradicting votes are evidence ([`DoubleVote`]).
//!
//! The set changes by one member at a time ([`MemberChange`]); the set after n changes is generation n. A quorum of
//! each generation approves the change that ends it ([`Reconfiguration`]), so whoever trusts the founders can determine
//! the current set without trusting a node ([`Vouched`]).
mod approval;
mod certificate;
mod change;
mod error;
mod evidence;
mod reconfiguration;
mod replicas;
mod signatures;
#[cfg(test)]
pub(crate) mod testing;
mod vote;
mod vouched;

pub use approval::{APPROVAL_SIZE, Approval};
pub use certificate::{Certificate, MAX_CERTIFICATE_SIZE, ORDERED_HEADER_SIZE, OrderedHeader};
pub use change::{ChangeError, MEMBER_CHANGE_SIZE, MemberAction, MemberChange};
pub use error::CertificateError;
pub use evidence::{DoubleVote, EVIDENCE_SIZE, SignedVote};
pub use reconfiguration::{MAX_RECONFIGURATION_SIZE, Reconfiguration, ReconfigurationError};
pub use replicas::{MAX_REPLICAS, ReplicaSet, ReplicaSetError};
pub use vote::{Vote, VoteKind};
pub use vouched::{MAX_RECONFIGURATIONS, SuccessionError, Vouched, VouchedError};
