//! Finality: what shows that a quorum of replicas ordered something, checked without the engine that they ran.
//!
//! A set of n = 3f + 1 replicas ([`ReplicaSet`]) puts blocks in one order. What they vote on is the hash of a block's header
//! ([`OrderedHeader`]). A [`Certificate`] has the header and the votes of at least n - f of them that it is final. Any two such
//! quorums share an honest replica, and an honest replica signs one final vote of a view, so while at most f replicas lie no two
//! certificates contradict each other. Votes are BIP340 signatures, as seals are: each names who made it, so two that contradict
//! each other are evidence ([`DoubleVote`]).
mod certificate;
mod evidence;
mod replicas;
mod vote;
mod vouched;

pub use certificate::{Certificate, CertificateError, MAX_CERTIFICATE_SIZE, ORDERED_HEADER_SIZE, OrderedHeader};
pub use evidence::{DoubleVote, EVIDENCE_SIZE, SignedVote};
pub use replicas::{MAX_REPLICAS, ReplicaSet, ReplicaSetError};
pub use vote::{Vote, VoteKind};
pub use vouched::{Vouched, VouchedError};
