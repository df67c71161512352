//! C interface of the verification engines, for the testbenches of `rtl/verify`. `verification.hpp` declares it.
//!
//! Verdicts are the result masks of verify frames: 0, or the bit of the first broken rule.

use std::slice;

use verify::RuleCode;
use verify::equihash::{Header, HeaderRule, Parameters, Solution, verify};
use verify::sha256::{Digest, sha256d, sha256d_nodes};
use verify::vdf::Modulus;

pub fn mask(verdict: Result<(), RuleCode>) -> u64 {
    verdict.map_or_else(RuleCode::mask, |()| 0)
}

/// Writes the double hash of a message: 32 bytes.
///
/// # Safety
///
/// `message` has `length` bytes, `digest` 32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_sha256d(message: *const u8, length: usize, digest: *mut Digest) {
    // SAFETY: the caller's promise.
    unsafe { digest.write(sha256d(slice::from_raw_parts(message, length))) }
}

/// Writes the root of a Bitcoin Merkle tree of at least one leaf. Returns whether two adjacent nodes are equal
/// (CVE-2012-2459).
///
/// # Safety
///
/// There are `count` leaves, and room for the root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_merkle_root(leaves: *const Digest, count: usize, root: *mut Digest) -> bool {
    // SAFETY: the caller's promise.
    let (found, is_repeated) = merkle_root(unsafe { slice::from_raw_parts(leaves, count) });
    // SAFETY: the caller's promise.
    unsafe { root.write(found) };
    is_repeated
}

/// Root of at least one leaf, and whether two adjacent nodes are equal.
pub fn merkle_root(leaves: &[Digest]) -> (Digest, bool) {
    let mut level = leaves.to_vec();
    let mut is_repeated = false;
    while level.len() > 1 {
        is_repeated |= level.as_chunks::<2>().0.iter().any(|[left, right]| left == right);
        let mut above = vec![Digest::default(); level.len().div_ceil(2)];
        sha256d_nodes(&level, &mut above);
        level = above;
    }
    (level[0], is_repeated)
}

/// Verdict on a header; with `solution_only` its hash is not compared with its target. 0xff...ff if the parameters are
/// unsupported.
///
/// # Safety
///
/// `personalisation` has 8 bytes, `header` has `length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_equihash_header(
    n: usize,
    k: usize,
    personalisation: *const [u8; 8],
    header: *const u8,
    length: usize,
    solution_only: bool,
) -> u64 {
    // SAFETY: the caller's promise.
    let (personalisation, bytes) = unsafe { (*personalisation, slice::from_raw_parts(header, length)) };
    equihash_header(n, k, personalisation, bytes, solution_only)
}

/// Verdict on a block header.
pub fn equihash_header(n: usize, k: usize, personalisation: [u8; 8], bytes: &[u8], solution_only: bool) -> u64 {
    let Some(parameters) = Parameters::new(n, k, personalisation) else { return u64::MAX };
    let Some(header) = Header::first_of(bytes).filter(|found| found.bytes().len() == bytes.len()) else {
        return HeaderRule::SolutionLength.code().mask();
    };
    mask(if solution_only {
        verify(&parameters, &header.solution()).map_err(|rule| rule.code())
    } else {
        header.verify_with(&parameters).map_err(|rule| rule.code())
    })
}

/// Verdict on a solution for an input of any length. 0xff...ff if the parameters are unsupported.
///
/// # Safety
///
/// `personalisation` has 8 bytes; `input` and `indices` have the given lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_equihash_solution(
    n: usize,
    k: usize,
    personalisation: *const [u8; 8],
    input: *const u8,
    input_length: usize,
    indices: *const u8,
    indices_length: usize,
) -> u64 {
    // SAFETY: the caller's promise.
    let (personalisation, input, indices) = unsafe {
        let indices = slice::from_raw_parts(indices, indices_length);
        (*personalisation, slice::from_raw_parts(input, input_length), indices)
    };
    let Some(parameters) = Parameters::new(n, k, personalisation) else { return u64::MAX };
    mask(verify(&parameters, &Solution { input, indices }).map_err(|rule| rule.code()))
}

/// Squares a number `times` times modulo another one, both big-endian and of `length` bytes, in place. Returns false if
/// they are not a modulus and a number below it.
///
/// # Safety
///
/// `modulus` and `number` have `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_square(modulus: *const u8, number: *mut u8, length: usize, times: u64) -> bool {
    // SAFETY: the caller's promise.
    let (modulus, bytes) =
        unsafe { (slice::from_raw_parts(modulus, length), slice::from_raw_parts_mut(number, length)) };
    let Ok(modulus) = Modulus::new(modulus) else { return false };
    let Ok(mut number) = modulus.number(bytes) else { return false };
    modulus.square(&mut number, times);
    bytes.copy_from_slice(&modulus.write(&number));
    true
}
