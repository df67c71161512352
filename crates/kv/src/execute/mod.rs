//! Commands, executed on the store, with their replies.

pub mod ascii;
pub mod binary;
pub mod binary_reply;
pub mod meta;
pub mod stats;
pub mod walk;
