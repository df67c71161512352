//! Tags of BIP340's tagged SHA-256, one a purpose.
//!
//! Made by schema/generate.py of schema/protocol.toml; change that.

/// Tag of the message that a signed operation's signature covers.
pub const TRANSFER_TAG: &str = "turnpike/transfer";
/// Tag of the input of a delay.
pub const VDF_INPUT_TAG: &str = "turnpike/vdf/input";
/// Tag of the prime of a delay's proof.
pub const VDF_PRIME_TAG: &str = "turnpike/vdf/prime";
/// Tag of the bases of its primality test.
pub const VDF_BASE_TAG: &str = "turnpike/vdf/base";
