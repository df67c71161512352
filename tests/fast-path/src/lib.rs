//! A model of the fast path of `docs/fast-path.md`, explored state by state.
//!
//! [`FastPath`] has four replicas, one of them Byzantine, owners that equivocate, a network that loses, duplicates and
//! reorders, crashes that lose unsynced writes, unlocks that race certificates, and a change of the set. A [`Scenario`]
//! bounds it, so that [stateright](https://docs.rs/stateright) can visit every state. Each [`Defect`] leaves out a
//! rule; the tests show that the checker finds every defect, and no fault in the protocol itself. Start reading at
//! `model.rs`.
//!
//! ```
//! use stateright::{Checker as _, Model as _};
//! use turnpike_fast_path::{FastPath, Scenario};
//!
//! // Account 0 has 2 and signs two orders of its sequence 0.
//! let scenario = Scenario::new(&[2, 0, 0], &[(0, 0, 1, 2), (0, 0, 2, 2)]);
//! FastPath::new(scenario).checker().spawn_bfs().join().assert_properties();
//! ```

mod defect;
mod ledger;
mod model;
mod replica;
mod scenario;

pub use defect::Defect;
pub use ledger::{Entry, Ledger, Outcome, Report};
pub use model::{Action, FastPath, State};
pub use replica::Replica;
pub use scenario::{Order, OrderId, OrderSet, Scenario, Slot};

/// Replicas of a set: `3f + 1`.
pub const REPLICAS: usize = 3 * FAULTY + 1;
/// Replicas that may be Byzantine.
pub const FAULTY: usize = 1;
/// Votes of a certificate, and reports that settle a slot: `n - f`.
pub const QUORUM: usize = REPLICAS - FAULTY;
