//! Signatures on the curve secp256k1: [`ecdsa`] (SEC 1, as Bitcoin uses it) and [`schnorr`] (BIP340).
//!
//! A signature is checked in two stages, each with named rules ([`Rule`]):
//!
//! 1. **Parsing**, `ecdsa::Signed::parse` and `schnorr::Signed::parse`: from bytes to numbers in range. An
//!    [`ecdsa::Policy`] says which encodings are accepted. Parsing does no arithmetic, and everything parsed is well
//!    formed.
//! 2. **Verification**, in batches, [`ecdsa::Verifier`] and [`schnorr::Verifier`]: whether the key is a point of the
//!    curve, and the signature is the key's for the message. It runs on a [`Backend`], which knows nothing about
//!    encodings.
//!
//! ```
//! use turnpike_verify::BatchVerifier;
//! use turnpike_verify::secp256k1::{Rule, ecdsa};
//!
//! let (digest, signature, key) = ([1; 32], [0x30, 6, 2, 1, 1, 2, 1, 1], [2; 33]);
//! let mut verifier = ecdsa::Verifier::default();
//! verifier.push(ecdsa::Signed::parse(ecdsa::Policy::BITCOIN, digest, &signature, &key)?);
//! assert_eq!(verifier.verify_all(), Err((0, Rule::Mismatch)));
//! # Ok::<(), Rule>(())
//! ```

mod backend;
pub mod ecdsa;
mod key;
mod lanes;
mod number;
mod portable;
mod rule;
pub mod schnorr;

pub use backend::Backend;
pub use key::{PublicKey, XOnlyKey};
pub use rule::Rule;
