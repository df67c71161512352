//! Where what is in memory that programs in the kernel share: offsets in bytes.
//!
//! Made by schema/generate.py of schema/layouts.toml; change that.

#![allow(dead_code, reason = "the whole layout, whoever uses what of it")]

/// Words in a line of the index of retries: a cache line. Seven slots, and the largest number that did not
/// fit.
pub const LINE_WORDS: usize = 8;

/// Slots of a line.
pub const LINE_SLOTS: usize = 7;

/// The header of a window of retries.
pub mod window_header {
    /// Its length.
    pub const BYTES: usize = 128;
    /// The secret key of the hash function.
    pub const KEY: usize = 0;
    /// Lines of the index.
    pub const LINES: usize = 48;
    /// 2^`ring_bits` records are in the ring.
    pub const RING_BITS: usize = 52;
    /// Records with sequences from `written` to `begun`, exclusive, are being written.
    pub const BEGUN: usize = 56;
    /// See `begun`.
    pub const WRITTEN: usize = 64;
    /// Sequences before this one are forgotten.
    pub const FIRST: usize = 72;
}

/// A record of the journal: an operation as on the wire, with its status, then the value of its reply. All of it is big-endian.
pub mod record {
    /// Its length.
    pub const BYTES: usize = 72;
    /// Flags (8 bits), command (8), status (16), contract code (32).
    pub const HEAD: usize = 0;
    /// The transaction id.
    pub const TRANSACTION: usize = 8;
    /// The source's id.
    pub const SOURCE: usize = 24;
    /// The destination's id.
    pub const DESTINATION: usize = 40;
    /// The amount as requested.
    pub const AMOUNT: usize = 56;
    /// The value of the reply.
    pub const VALUE: usize = 64;
}
