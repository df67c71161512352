//! Tags of BIP340's tagged SHA-256, one a purpose.
//!
//! Made by schema/generate.py of schema/protocol.toml; change that.

/// Tag of what a signed operation's signature is over.
pub const TRANSFER_TAG: &str = "turnpike/transfer";
/// Tag of what a delay's input is made of.
pub const VDF_INPUT_TAG: &str = "turnpike/vdf/input";
/// Tag of what the prime of a delay's proof is made of.
pub const VDF_PRIME_TAG: &str = "turnpike/vdf/prime";
/// Tag of what the bases of its primality test are made of.
pub const VDF_BASE_TAG: &str = "turnpike/vdf/base";
