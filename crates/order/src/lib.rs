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
//!
//! # Specification
//!
//! `docs/order.md` has the rules by which a block becomes final. A replica adds these.
//!
//! State:
//!
//! - `processed`, durable: the height up to which the application has returned from [`Application::finalized`].
//! - Final blocks and certificates by height, durable. Those more than [`Config::keep`] heights below the start of the
//!   epoch are pruned when the epoch begins.
//! - Votes, one file per epoch and view, durable: a vote is synced before it is sent.
//! - Committees of up to four recent epochs, in memory: [`Application::committee`] returns them.
//!
//! Rules:
//!
//! - On start: raise `processed` to the height of [`Config::floor`], if any. The epoch is that of height
//!   `processed + 1`. Ask for the committees of this epoch and of the previous one. Begin on the last block of the
//!   previous epoch if it is stored. Otherwise begin on the floor, if it is that block or a block of this epoch.
//!   Otherwise fail with [`StartError::Anchor`].
//! - On a request to propose: call [`Application::propose`] with the parent and all blocks above the delivered height.
//!   `None` skips the turn.
//! - On a request to vote: call [`Application::verify`]. `Ok` allows `notarize`. A [`Refusal`] is permanent, and
//!   becomes evidence once the leader's vote for the block is known. While the future is pending there is no vote.
//! - On each final block, in order of height: call [`Application::finalized`]. When it has returned, publish height and
//!   certificate in the [`Status`], end the epoch if this is its last block, and acknowledge the block. At most 16
//!   blocks wait for their acknowledgement.
//! - On two votes of a replica that contradict each other, or a refused block with its leader's vote: check the
//!   signatures, write and sync the [`Evidence`], then call [`Application::accused`]. At most 1,024 pieces are stored;
//!   findings beyond a queue of 1,024 are dropped, so the engine never waits for the disk here.
//!
//! A crash
//!
//! - before an acknowledgement is durable: the block is delivered again after the restart;
//! - after a vote is synced and before it is sent: the vote binds the replica, whether or not anybody has received it;
//! - around the end of an epoch: the restart begins in either epoch, and the votes of both are there, since those of an
//!   epoch are removed when the second epoch after it begins;
//! - while evidence is written: the truncated piece is skipped when evidence is read.
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
