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
//! [`state_sync`] transfers one, and [`followed`] is a copy that follows another node.
//!
//! ```
//! use std::time::Duration;
//! use turnpike_ledger::{Ledger, Limits, Now, Secret, retries};
//! use wire::{AccountId, Operation, Status, TransactionId};
//!
//! let day = Duration::from_secs(86_400);
//! let retries = retries::Limits { operations: 1024, retention: day, signed: 1024, replay: day };
//! let mut ledger = Ledger::new(Limits { accounts: 1000, retries }, Secret::from_seed([7; 16]))?;
//! let (from, to) = (AccountId::from(1_u32), AccountId::from(2_u32));
//! let id = |number: u32| TransactionId::from(number);
//! let mut operations = [
//!     Operation::create(id(1), from),
//!     Operation::create(id(2), to),
//!     Operation::issue(id(3), from, 100),
//!     Operation::transfer(id(4), from, to, 30),
//!     // A retry: it gets the first result, and moves nothing.
//!     Operation::transfer(id(4), from, to, 30),
//! ];
//! let (mut values, mut recorded) = ([0; 5], 0);
//! ledger.execute(&mut operations, &mut values, Now { elapsed: 0, unix: 0 }, |_, _| recorded += 1);
//! assert!(operations.iter().all(|operation| operation.status() == Ok(Status::Ok)));
//! assert_eq!((values, recorded), ([0, 0, 100, 70, 70], 4));
//! # Ok::<(), turnpike_ledger::Error>(())
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod accounts;
mod assets;
mod balances;
pub mod builder;
mod engine;
mod error;
pub mod followed;
mod holds;
mod issuers;
pub mod journal;
mod lifecycle;
mod linked;
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
pub use issuers::Issuers;
pub use recovery::{Recovery, recover, recover_within};
pub use retries::{CLOCK_TOLERANCE, Now};
pub use secret::Secret;
pub use snapshots::Snapshots;
