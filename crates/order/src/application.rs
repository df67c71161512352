//! What is ordered, and by whom it is judged.
use crate::block::{Block, Payload};
use crate::committee::{Committee, Identity};
use crate::evidence::Evidence;
use bytes::Bytes;
use spv::finality::Certificate;
use std::future::Future;
use std::pin::Pin;
use thiserror::Error;

/// Why a proposal is refused, for good.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// A block that is final.
#[derive(Clone, Debug)]
pub struct Final {
    /// The block.
    pub block: Block,
    /// The votes that made it final. A block that became final with a later one has none of its own: the later block's
    /// certificate vouches for it through the hashes of parents.
    pub certificate: Option<Certificate>,
}

/// What an application comes to in its time.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a replica orders: it proposes payloads, judges those of others and takes what is final.
///
/// Each future may be dropped before it is ready, where the engine has no need of it any more. It must not hold up others.
pub trait Application: Send + Sync + 'static {
    /// A payload to put behind `parent`, or nothing to let the turn pass. `pending` are the blocks that are not final yet, the
    /// parent first; none where the parent is final. Where there is nothing to order, wait: half of [`crate::Timing::leader`]
    /// is a good time to propose an empty body after, as the view ends at its whole.
    fn propose(&self, parent: Block, pending: Vec<Block>) -> Answer<'_, Option<Payload>>;

    /// Whether a block is right behind its parent. All honest replicas have to come to the same answer: what may change with
    /// time (a clock, something not seen yet) is waited for, not refused. `pending` is as in [`Self::propose`].
    fn verify(&self, block: Block, pending: Vec<Block>) -> Answer<'_, Result<(), Refusal>>;

    /// Whether nothing is to be ordered, as far as is known here: the engine's waits take longer then, and no view ends
    /// only because nothing is proposed. It is asked often, and answers at once. By default there always is something.
    fn is_idle(&self) -> bool {
        false
    }

    /// Takes the next block that is final: each in order of heights, at least once. After a restart some come again, from the
    /// first whose call had not returned. What has to last is durable when it returns.
    fn finalized(&self, block: Final) -> Answer<'_, ()>;

    /// The replicas of an epoch. It is asked for once the application has all blocks of the epochs before, on which it may
    /// depend; after a restart again, that of the epoch before as well. All honest replicas have to come to the same.
    fn committee(&self, epoch: u64) -> Committee;

    /// Another replica sent a message by its [`crate::Outbox`]. It is not to hold up others; what finds no room is dropped.
    fn heard(&self, _replica: &Identity, _message: Bytes) {}

    /// A replica was found lying. The evidence is kept on disk already; by default nothing more happens.
    fn accused(&self, _evidence: &Evidence) {}
}
