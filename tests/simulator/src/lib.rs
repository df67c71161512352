//! Seeded simulator: clients and a node against a plain model, under everything that can go wrong.
//!
//! Hours of simulated time pass in seconds. The parts under test are the real ones: the client's window of requests with its
//! retries, the data path in its four stages, the ledger, the journal with its group commit, the block builder and the
//! chain store, the proof service. Simulated are what they stand on: the network, which loses, duplicates, delays and reorders
//! datagrams; the disk, which tears and loses what was not synced, fails and fills up; the clock; and the processes,
//! which die at any moment.
//!
//! A plain model executes the same operations in the same order, and it is checked all the time that
//!
//! * every operation comes to what the model says, so money is neither made nor lost;
//! * a transaction id is executed once, and every retry gets the first result;
//! * what a `durable` reply tells is in the journal, and stays there after any crash;
//! * after a crash the ledger is what the model is as of the last operation in the journal: what was only accepted is
//!   gone completely or not at all;
//! * settled transactions are those of the model in its order, and their proofs verify.
//!
//! Everything follows from the seed, so a failure can be run again.
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
