//! Where what is in memory that programs in the kernel share: offsets in bytes.
//!
//! Made by schema/generate.py of schema/layouts.toml; change that.

#![allow(dead_code, reason = "the whole layout, whoever uses what of it")]

/// Accounts that the writer pays into all the time.
pub const BUSY: usize = 16;

/// Kinds of requests: balances, new accounts, retries, proofs.
pub const KINDS: usize = 4;

/// Addresses that there are proofs of. Each block touches an eighth of them.
pub const ADDRESSES: u64 = 64;

/// An account's n-th ISSUE has this transaction id and n, so that a retry tells what the balance was.
pub const ISSUES: u32 = 0x5f5_e100;

/// What the program and the writer of the test tell each other.
pub mod storm {
    /// Its length.
    pub const BYTES: usize = 384;
    /// Number of the run.
    pub const TURN: usize = 0;
    /// Accounts that were added behind the busy ones.
    pub const ADDED: usize = 8;
    /// Height of the last block that was announced.
    pub const ANNOUNCED: usize = 16;
    /// Height of the one that is or was being announced.
    pub const ANNOUNCING: usize = 24;
    /// Of answers of each kind, those that are right.
    pub const RIGHT: usize = 32;
    /// Of answers of each kind, those that are not.
    pub const WRONG: usize = 64;
    /// Requests left to the host.
    pub const LEFT: usize = 96;
    /// Of this run: kept here while the program runs, which needs all of its stack itself.
    pub const KIND: usize = 104;
    /// Of this run: what an account holds at least.
    pub const LEAST: usize = 112;
    /// How much each account holds at least.
    pub const DONE: usize = 128;
    /// How much each account holds at most.
    pub const BEGUN: usize = 256;
}
