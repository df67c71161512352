//! Commands, executed on the store, with their replies.

pub mod ascii;
pub mod binary;
pub mod binary_reply;
mod compatible_stats;
pub mod login;
pub mod meta;
pub mod stats;
pub mod walk;
