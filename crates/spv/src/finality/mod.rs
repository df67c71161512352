//! Finality: what shows that a quorum of replicas ordered something, checked without the engine that they ran.
//!
//! A set of n = 3f + 1 replicas ([`ReplicaSet`]) puts blocks in one order. What they vote on is the hash of a block's header
//! ([`OrderedHeader`]). A [`Certificate`] has the header and the votes of at least n - f of them that it is final. Any two such
//! quorums share an honest replica, and an honest replica signs one final vote of a view, so while at most f replicas lie no two
//! certificates contradict each other. Votes are BIP340 signatures, as seals are: each names who made it, so two that contradict
//! each other are evidence ([`DoubleVote`]).
//!
//! The set changes by one member at a time ([`MemberChange`]), and the set after n changes is that of generation n. A quorum of
//! each generation approves the change that ends it ([`Reconfiguration`]), so who trusts the founders needs to trust no node
//! to know the present set ([`Vouched`]).
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
