//! The interface between the engine and the application that it orders payloads for.
use crate::block::{Block, Payload};
use crate::committee::{Committee, Identity};
use crate::evidence::Evidence;
use bytes::Bytes;
use spv::finality::Certificate;
use std::future::Future;
use std::pin::Pin;
use thiserror::Error;

/// A permanent refusal of a proposal, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// A final block.
#[derive(Clone, Debug)]
pub struct Final {
    /// The block.
    pub block: Block,
    /// The votes that made it final. `None` if the block became final with a later one: that one's certificate vouches
    /// for it through the parent hashes.
    pub certificate: Option<Certificate>,
}

/// A boxed future that resolves to the application's answer.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A replica's state machine: it proposes payloads, verifies those of others and applies final blocks.
///
/// The engine may drop a future before it is ready, if it no longer needs the answer. No future may block its thread.
pub trait Application: Send + Sync + 'static {
    /// Returns a payload to append to `parent`, or `None` to skip the turn.
    ///
    /// `pending` holds the blocks that are not final yet, `parent` first; it is empty if `parent` is final. If there is
    /// nothing to order, wait. Propose an empty body after half of [`crate::Timing::leader`], since the view ends after
    /// the whole.
    fn propose(&self, parent: Block, pending: Vec<Block>) -> Answer<'_, Option<Payload>>;

    /// Verifies that a block is valid after its parent.
    ///
    /// All honest replicas must return the same answer. If it depends on something that changes with time (a clock,
    /// data not received yet), wait instead of refusing. `pending` is as in [`Self::propose`].
    fn verify(&self, block: Block, pending: Vec<Block>) -> Answer<'_, Result<(), Refusal>>;

    /// Returns whether there is nothing to order, as far as this replica knows. The engine then waits longer, and does
    /// not end a view only because nothing is proposed. The engine calls it often; it must return at once. The default
    /// is `false`.
    fn is_idle(&self) -> bool {
        false
    }

    /// Applies the next final block.
    ///
    /// Blocks come in order of height, each at least once: after a restart the engine repeats those whose call had not
    /// returned. Make the block's effects durable before returning.
    fn finalized(&self, block: Final) -> Answer<'_, ()>;

    /// Returns the replicas of an epoch.
    ///
    /// The engine asks once the application has all blocks of earlier epochs, on which the answer may depend; after a
    /// restart it asks again, also for the previous epoch. All honest replicas must return the same set.
    fn committee(&self, epoch: u64) -> Committee;

    /// Receives a message that another replica sent with its [`crate::Outbox`]. It must not block; drop messages that
    /// do not fit.
    fn received(&self, _replica: &Identity, _message: Bytes) {}

    /// Reports that a replica lied. The evidence is already on disk; the default does nothing more.
    fn accused(&self, _evidence: &Evidence) {}
}
