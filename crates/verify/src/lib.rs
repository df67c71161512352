//! Verification engines: hashes, signatures, proofs, proof of work.
//!
//! - [`sha256`]: tagged hashes and double hashes, many at once, for Merkle trees and header chains.
//! - [`secp256k1`]: ECDSA and BIP340 Schnorr signatures.
//! - [`bls12_381`]: pairings, BLS signatures, Groth16 proofs, multi-scalar multiplication.
//! - [`equihash`]: the proof of work of Zcash.
//! - [`vdf`]: delays that nobody can shorten, and their proofs.
//! - [`transfer`]: the digest that a signed operation's signature signs, and the account id of a key.
//! - [`RuleCode`]: the rules of all schemes by number, as the wire, C and Python use them.
//! - [`BatchVerifier`]: the common interface of all signature and proof-of-work schemes; [`WorkQueue`] and [`Pool`]:
//!   several cores.
//!
//! Every engine has one interface and several backends. A backend is only a kernel: which messages to take, how to pad
//! and what a verdict means is written once, above the kernels. The backend is chosen at run time, so a program built
//! for any machine is the fastest on this one.
//!
//! Backends agree on every verdict and every digest: choosing one changes the time only. Each rule of a scheme has a
//! fixed number, and a verdict names the first rule that is broken.
//!
//! ```
//! use turnpike_verify::sha256::{sha256d, sha256d_many};
//!
//! let headers = [[1_u8; 80], [2; 80], [3; 80]];
//! let mut digests = [[0_u8; 32]; 3];
//! sha256d_many(&headers, &mut digests);
//! assert_eq!(digests[1], sha256d(&headers[1]));
//! ```
//!
//! Start with [`BatchVerifier`] (`batch`), then one scheme, such as [`secp256k1`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod batch;
mod bisect;
pub mod bls12_381;
pub mod equihash;
mod lanes;
mod pool;
mod rule;
mod rule_code;
pub mod secp256k1;
pub mod sha256;
mod tags;
#[cfg(test)]
mod testing;
pub mod transfer;
pub mod vdf;
mod work;

pub use batch::BatchVerifier;
pub use pool::Pool;
pub use rule_code::RuleCode;
pub use work::WorkQueue;
