//! Delay functions, called as from C.
#![allow(clippy::unwrap_used)]

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use turnpike_verify_c::*;

const MESSAGE: &[u8] = b"message";
const SQUARINGS: u64 = 1000;

/// An odd number of 1,024 bits.
fn modulus() -> Vec<u8> {
    (0..128_u8).map(|at| at.wrapping_mul(37) | 0x81).collect()
}

unsafe extern "C" fn count(context: *mut c_void, squarings: u64) -> bool {
    // SAFETY: the test passes a pointer to this.
    let (calls, most) = unsafe { &mut *context.cast::<(u64, u64)>() };
    assert!(squarings < SQUARINGS);
    *calls += 1;
    *calls < *most
}

fn evaluate(modulus: &[u8], squarings: u64, most_calls: u64) -> (Status, Vec<u8>) {
    let mut proof = vec![0; turnpike_delay_proof_length(modulus.len(), squarings)];
    let mut calls = (0, most_calls);
    // SAFETY: the pointers are to slices, and to what the function expects.
    let status = unsafe {
        turnpike_delay_evaluate(
            modulus.as_ptr(),
            modulus.len(),
            MESSAGE.as_ptr(),
            MESSAGE.len(),
            squarings,
            Some(count),
            (&raw mut calls).cast(),
            proof.as_mut_ptr(),
        )
    };
    assert!(status != Status::Ok || calls.0 > 1);
    (status, proof)
}

fn verify(modulus: &[u8], message: &[u8], squarings: u64, proof: &[u8]) -> (Status, Vec<u8>) {
    let mut result = vec![1; modulus.len()];
    // SAFETY: the pointers are to slices.
    let status = unsafe {
        turnpike_verify_delay(
            modulus.as_ptr(),
            modulus.len(),
            message.as_ptr(),
            message.len(),
            squarings,
            proof.as_ptr(),
            proof.len(),
            result.as_mut_ptr(),
        )
    };
    (status, result)
}

#[test]
fn what_is_evaluated_verifies_and_nothing_else_does() {
    let modulus = modulus();
    let (status, proof) = evaluate(&modulus, SQUARINGS, u64::MAX);
    assert_eq!(status, Status::Ok);
    let (status, result) = verify(&modulus, MESSAGE, SQUARINGS, &proof);
    assert_eq!(status, Status::Ok);
    assert!(proof.windows(result.len()).any(|bytes| bytes == result));
    let zeros = (Status::Invalid, vec![0; modulus.len()]);
    assert_eq!(verify(&modulus, b"another", SQUARINGS, &proof), zeros);
    assert_eq!(verify(&modulus, MESSAGE, SQUARINGS + 1, &proof), zeros);
    assert_eq!(verify(&modulus, MESSAGE, SQUARINGS, &proof[1..]), zeros);
    assert_eq!(verify(&modulus, MESSAGE, SQUARINGS, &[]), zeros);
    for at in (0..proof.len()).step_by(50) {
        let mut proof = proof.clone();
        proof[at] ^= 1;
        assert_eq!(verify(&modulus, MESSAGE, SQUARINGS, &proof), zeros, "byte {at}");
    }
}

#[test]
fn an_evaluation_is_broken_off() {
    let (status, proof) = evaluate(&modulus(), SQUARINGS, 3);
    assert_eq!(status, Status::BrokenOff);
    assert!(proof.iter().all(|byte| *byte == 0));
}

#[test]
fn wrong_arguments_are_refused() {
    assert_eq!(turnpike_delay_proof_length(0, 1), 0);
    assert_eq!(turnpike_delay_proof_length(513, 1), 0);
    for (wrong, squarings) in [(vec![], 1), (vec![0, 3], 1), (vec![1, 2], 1), (vec![0x81; 513], 1), (modulus(), 0)] {
        assert_eq!(evaluate(&wrong, squarings, u64::MAX).0, Status::Argument, "{} bytes", wrong.len());
    }
    let modulus = modulus();
    // SAFETY: the modulus has that length, and the call rejects NULL.
    let status =
        unsafe { turnpike_delay_evaluate(modulus.as_ptr(), modulus.len(), null(), 1, 1, None, null_mut(), null_mut()) };
    assert_eq!(status, Status::Pointer);
    // SAFETY: the modulus has that length, and the call rejects NULL.
    let status =
        unsafe { turnpike_delay_evaluate(modulus.as_ptr(), modulus.len(), null(), 0, 1, None, null_mut(), null_mut()) };
    assert_eq!(status, Status::Pointer);
}
