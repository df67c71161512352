//! Delay functions. The safety requirements, the same for all functions, are at the beginning of the header.
#![allow(clippy::missing_safety_doc, reason = "the texts are those of the header, which has it at its beginning")]

use std::ffi::c_void;
use std::ops::ControlFlow;

use shared::{Evaluated, Modulus};

use crate::Status;
use crate::memory::{slice, slice_mut};

/// Returns the length of a delay's proof in bytes, or 0 if no modulus has this length.
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_delay_proof_length(modulus_length: usize, squarings: u64) -> usize {
    if (1..=Modulus::MAX_BITS / 8).contains(&modulus_length) { Evaluated::bytes(modulus_length, squarings) } else { 0 }
}

/// Squares a message's hash `squarings` times modulo an odd number of up to 512 bytes, most significant byte first and
/// not zero. Writes the result with its proof: turnpike_delay_proof_length bytes, for turnpike_verify_delay.
///
/// `progress`, if it is not NULL, is called occasionally, by the calling thread, with `context` and the number of
/// squarings done; if it returns false, the function stops with TURNPIKE_STATUS_BROKEN_OFF and writes nothing. Uses one
/// more thread for part of the time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_delay_evaluate(
    modulus: *const u8,
    modulus_length: usize,
    message: *const u8,
    message_length: usize,
    squarings: u64,
    progress: Option<unsafe extern "C" fn(context: *mut c_void, squarings: u64) -> bool>,
    context: *mut c_void,
    proof: *mut u8,
) -> Status {
    Status::run(|| {
        // SAFETY: the caller's promise.
        let (modulus, message) = unsafe { (slice(modulus, modulus_length)?, slice(message, message_length)?) };
        let delay = shared::delay(modulus, message, squarings)?;
        // SAFETY: the caller's promise.
        let proof = unsafe { slice_mut(proof, turnpike_delay_proof_length(modulus_length, squarings)) }?;
        let go_on = |done| {
            // SAFETY: the caller's promise.
            let is_wanted = progress.is_none_or(|progress| unsafe { progress(context, done) });
            if is_wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let made = shared::evaluate_delay(&delay, go_on)?.ok_or(Status::BrokenOff)?;
        proof.copy_from_slice(&made);
        Ok(Status::Ok)
    })
}

/// Verifies in milliseconds that turnpike_delay_evaluate made a proof for the same modulus, message and number of
/// squarings. Writes the result, as long as the modulus: all zeros with TURNPIKE_STATUS_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verify_delay(
    modulus: *const u8,
    modulus_length: usize,
    message: *const u8,
    message_length: usize,
    squarings: u64,
    proof: *const u8,
    proof_length: usize,
    result: *mut u8,
) -> Status {
    Status::run(|| {
        // SAFETY: the caller's promise.
        let (modulus, message) = unsafe { (slice(modulus, modulus_length)?, slice(message, message_length)?) };
        // SAFETY: the caller's promise.
        let (proof, result) = unsafe { (slice(proof, proof_length)?, slice_mut(result, modulus_length)?) };
        result.fill(0);
        let delay = shared::delay(modulus, message, squarings)?;
        let Some(output) = shared::verify_delay(&delay, proof) else { return Ok(Status::Invalid) };
        result.copy_from_slice(&output);
        Ok(Status::Ok)
    })
}
