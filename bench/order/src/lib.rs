//! Replicas as processes: one that orders bodies which it makes itself, and a cluster of them that is looked at from outside.
#![allow(missing_docs)]

pub mod cluster;
pub mod replica;
mod votes_only;
