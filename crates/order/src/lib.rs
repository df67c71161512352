//! Blocks that are final: Byzantine fault tolerant replicas put payloads in one order and certify it.
//!
//! An [`Application`] on each of n = 3f + 1 replicas proposes payloads and judges those of others. The replicas agree on one
//! chain of [`Block`]s, while at most f of them lie or are away, and give each block that is final to their application, in order,
//! with a [certificate](spv::finality::Certificate) that anybody can check without this crate.
//!
//! The engine is commonware's simplex, with its marshal for what is final. It stands behind this crate's own interface: nothing
//! outside knows its types but those of the runtime and the network that a replica is [started](Replica::start) on. Those are
//! generic: the deterministic runtime with a simulated network in tests, tokio's with authenticated connections in a program.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod application;
mod block;
mod committee;
mod delivery;
mod engine;
mod epoch;
mod epochs;
mod evidence;
mod greeting;
mod keeper;
mod lane;
mod limits;
mod member;
mod membership;
#[cfg(not(test))]
mod monotonic;
pub mod network;
mod pace;
mod patient;
mod ports;
// Tests run replicas on the deterministic runtime. Each runtime has the whole engine compiled for it, which takes minutes.
#[cfg(not(test))]
mod process;
mod rest;
mod scheme;
mod status;
#[cfg(test)]
mod tests;
mod timing;
#[cfg(not(test))]
mod transport;
mod vote_files;
mod with_clock;

pub use application::{Answer, Application, Final, Refusal};
pub use block::{Block, Payload};
pub use committee::{Committee, CommitteeError, Identity, ReplicaKey, ReplicaName};
pub use engine::{BODY_LIMIT, Channels, Config, Replica, StartError, channel, message_limit};
pub use epoch::{ends_epoch, epoch_of};
pub use evidence::{Evidence, RefusedProposal};
pub use member::{Member, ParseMemberError};
pub use membership::{ApprovalError, Membership};
pub use ports::free_addresses;
#[cfg(not(test))]
pub use process::{Outbox, Peers, Process, ProcessError, Site};
pub use status::{Status, StatusSnapshot};
pub use timing::Timing;
#[cfg(not(test))]
pub use transport::{Transport, UnknownTransport};
pub use vote_files::{NEWEST, VoteError, VoteFiles, remove_caches};
