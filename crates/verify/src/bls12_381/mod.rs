//! The curve BLS12-381: points, pairings, [`signature`]s, [`groth16`] proofs and multi-scalar multiplication.
//!
//! External data is parsed before anything else is done with it, and each fault of an encoding has its own rule
//! ([`Rule`]): a [`Point`] is always on its curve and in its subgroup, a [`Scalar`] always below the order. A
//! [`CurvePoint`] may be outside the subgroup and can only be added to others, as EIP-2537 requires.
//!
//! Signatures and proofs are verified in batches, by one product of pairings with random coefficients, drawn when all
//! items are known. If that fails, halving the batch finds the bad items.
//!
//! ```
//! use turnpike_verify::bls12_381::signature::{PROOF_OF_POSSESSION, SecretKey, Signed, Verifier};
//! use turnpike_verify::{BatchVerifier, bls12_381::Rule};
//!
//! let key = SecretKey::parse(&[1; 32])?;
//! let signature = key.sign(b"message", PROOF_OF_POSSESSION);
//! let mut verifier = Verifier::default();
//! verifier.push(Signed { message: b"message", key: key.public(), signature });
//! verifier.push(Signed { message: b"another", key: key.public(), signature });
//! assert_eq!(verifier.verify_all(), Err((1, Rule::SignatureMismatch)));
//! # Ok::<(), Rule>(())
//! ```

#[cfg(target_arch = "x86_64")]
mod adx;
mod backend;
mod coefficients;
mod digits;
pub mod eip2537;
mod encoding;
mod field;
pub mod groth16;
mod group;
mod hash;
mod lanes;
mod montgomery;
mod multiple;
mod pairing;
mod pippenger;
mod point;
mod portable;
#[doc(hidden)]
pub mod products;
mod rule;
pub mod signature;
mod windows;
mod words;

pub use backend::Backend;
pub use field::{Field, Fp, Fp2, Fp12, ORDER, PRIME, Scalar};
pub use group::{G1, G2, Group};
pub use hash::{encode_to_curve, hash_to_curve, map_to_curve};
pub use multiple::{multiply_and_add, multiply_each, multiply_each_on, multiply_short_and_add, multiply_short_each};
pub use pairing::{Pair, Product, is_product_one, miller_loop, multi_pairing, pairing, pairings};
pub use point::{CurvePoint, Point};
pub use rule::Rule;
pub use windows::{Addition, Windows};

#[cfg(test)]
mod tests;
