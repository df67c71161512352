//! State sync: a replica that joins, or was away for too long, fetches the ledger of another one instead of all ordered
//! blocks.
//!
//! It starts from a checkpoint: a final ordered block, its *floor*, and a later one whose body states the ledger after
//! the floor. Two certificates cover them, so the rest needs no trust: the chain's blocks up to the stated header, and
//! the sets of replicas and the memory of retries, whose hash is stated. The new replica's engine begins on the floor.

mod fetch;
mod floor;
mod pages;
mod serve;

pub use fetch::{FetchError, Present, Progress, Source, fetch};
pub use floor::read as read_floor;
pub use serve::{Checkpoints, Refusal, Server};
