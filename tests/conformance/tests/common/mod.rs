//! What the tests of the NIC tier share.
#![allow(unused_imports)]

mod issuer;
mod namespaces;
mod replicas;
pub mod setting;

pub use namespaces::*;
