//! Where what is in memory that programs in the kernel share: offsets in bytes.
//!
//! Made by schema/generate.py of schema/layouts.toml; change that.

#![allow(dead_code, reason = "the whole layout, whoever uses what of it")]

/// Accounts that the writer pays into continuously.
pub const BUSY: usize = 16;

/// Kinds of requests: balances, new accounts, retries, proofs.
pub const KINDS: usize = 4;

/// Addresses with proofs. Each block touches an eighth of them.
pub const ADDRESSES: u64 = 64;

/// An account's n-th ISSUE has this transaction id plus n, so that a retry reveals the balance at that time.
pub const ISSUES: u32 = 0x5f5_e100;

/// Shared state of the program and the writer of the test.
pub mod storm {
    /// Its length.
    pub const BYTES: usize = 384;
    /// Number of the run.
    pub const TURN: usize = 0;
    /// Accounts added after the busy ones.
    pub const ADDED: usize = 8;
    /// Height of the last announced block.
    pub const ANNOUNCED: usize = 16;
    /// Height of the block that is being announced, or was last.
    pub const ANNOUNCING: usize = 24;
    /// Right replies of each kind.
    pub const RIGHT: usize = 32;
    /// Wrong replies of each kind.
    pub const WRONG: usize = 64;
    /// Requests left to the host.
    pub const LEFT: usize = 96;
    /// Kind of this run: kept here because the program needs all of its stack.
    pub const KIND: usize = 104;
    /// Minimum balance of an account in this run.
    pub const LEAST: usize = 112;
    /// Minimum balance of each account.
    pub const DONE: usize = 128;
    /// Maximum balance of each account.
    pub const BEGUN: usize = 256;
}
