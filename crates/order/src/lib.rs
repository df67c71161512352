//! Byzantine fault tolerant ordering: replicas agree on one chain of blocks and certify it.
//!
//! - There are n = 3f + 1 replicas, of which at most f may lie or be offline.
//! - An [`Application`] on each replica proposes payloads and verifies those of others.
//! - The replicas agree on one chain of [`Block`]s. A block that is final stays final.
//! - Each replica delivers final blocks to its application in order of height, at least once. Each block either has its
//!   own [certificate](spv::finality::Certificate) or precedes one that has, through parent hashes. Anybody can verify
//!   a certificate without this crate.
//! - The set of replicas may change between [epochs](Config::epoch) of a fixed number of blocks, see [`Membership`].
//!
//! The engine is commonware's simplex, with its marshal for final blocks, behind this crate's own interface. Of its
//! types only those of the runtime and the network show, which a replica is [started](Replica::start) on. Those are
//! generic: tests use the deterministic runtime with a simulated network, programs use tokio with authenticated
//! connections.
//!
//! No two final blocks of one height differ as long as at most f replicas lie, however long messages take. Blocks
//! become final while a quorum of replicas is online and messages arrive in time.
//!
//! Start with [`Application`] (`application`) and [`Replica`] (`engine`); `delivery` passes final blocks on, `epochs`
//! changes the set.
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
mod ports;
mod scaled_clock;
// Tests run replicas on the deterministic runtime. For each runtime the whole engine is compiled, which takes minutes.
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
