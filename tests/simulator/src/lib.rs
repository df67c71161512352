//! Seeded simulator: clients and a node against a plain model, under every kind of fault.
//!
//! Hours of simulated time pass in seconds. The parts under test are the real ones: the client's window of requests
//! with its retries, the data path in its four stages, the ledger, the journal with its group commit, the block builder
//! and the chain store, the proof service. The simulator replaces what they depend on: the network, which loses,
//! duplicates, delays and reorders datagrams; the disk, which tears and loses unsynced writes, fails and fills up; the
//! clock; and the processes, which die at any moment.
//!
//! A plain model executes the same operations in the same order. At all times, the simulator checks that
//!
//! * every operation has the model's outcome, so money is neither created nor lost;
//! * a transaction id is executed once, and every retry gets the first result;
//! * an operation with a `durable` reply is in the journal, and stays there after any crash;
//! * after a crash the ledger equals the model as of the last operation in the journal: operations that were only
//!   accepted are lost completely or not at all;
//! * settled transactions are those of the model in its order, and their proofs verify.
//!
//! Everything follows from the seed, so a failure can be reproduced.
#![allow(clippy::unwrap_used)]

mod backend;
mod client;
mod controller;
mod model;
mod network;
mod node;
mod schedule;
mod settled;
mod simulation;

pub use simulation::{Report, Settings, run};
