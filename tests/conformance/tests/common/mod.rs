//! What the tests of the NIC tier share.
#![allow(unused_imports)]

mod namespaces;
pub mod setting;

pub use namespaces::*;
