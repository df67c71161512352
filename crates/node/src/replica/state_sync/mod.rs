//! State sync: how a replica that joins, or was away for too long, gets the ledger from another one instead of all
//! ordered blocks.
//!
//! It goes on from a checkpoint: an ordered block that is final, its *floor*, and a later one whose body states what
//! the ledger came to with the floor. Two certificates cover that, so nothing of what follows is trusted: the chain's
//! blocks up to the header that is stated, and the sets of replicas and the operations that retries are answered from,
//! whose hash is. The new replica's engine begins on the floor.

mod fetch;
mod floor;
mod pages;
mod serve;

pub use fetch::{FetchError, Present, Progress, Source, fetch};
pub use floor::read as read_floor;
pub use serve::{Checkpoints, Refusal, Server};
