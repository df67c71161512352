//! The ledger: accounts, the four commands, idempotency, journal and block builder.
//!
//! [`Ledger`] executes operations. It is a deterministic state machine, so its state can be rebuilt from the journal of
//! its results ([`Recovery`]).
//!
//! - No retry executes an operation twice: [`retries`] remembers its result, for as long as that module states.
//! - A reply may promise durability only once [`journal`] has synced the operation.
//! - Blocks depend only on the journal, so a restart builds the same ones ([`builder`]).
//! - Only ISSUE creates money; all other operations preserve the sum of balances.
//!
//! Start with [`Ledger`] (`engine`), then [`journal`] and [`builder`]. [`ordered`] is the ledger of a replica,
//! [`state_sync`] transfers one.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod accounts;
pub mod builder;
mod engine;
mod error;
pub mod journal;
pub mod ordered;
mod past;
mod recent;
mod recovery;
pub mod retries;
mod secret;
mod snapshots;
pub mod state_sync;
#[cfg(test)]
mod testing;

pub use engine::{Executable, Ledger, Limits, Memory, Outlook, refuse_beyond};
pub use error::Error;
pub use recovery::{Recovery, recover, recover_within};
pub use retries::{CLOCK_TOLERANCE, Now};
pub use secret::Secret;
pub use snapshots::Snapshots;
