//! The functions. The safety requirements, the same for all of them, are at the beginning of the header.
#![allow(clippy::missing_safety_doc, reason = "the texts are those of the header, which has it at its beginning")]

use std::ffi::{CStr, c_char};

use shared::{Backend, Call, Error, Function, Scheme, Tag, Verifier, ZCASH_HEADER_LENGTH};

use crate::Status;
use crate::memory::{Items, reference, slice, slice_mut};

fn backend(number: u8) -> Result<Backend, Status> {
    Backend::ALL.into_iter().find(|backend| *backend as u8 == number).ok_or(Status::Argument)
}

fn scheme(number: u8) -> Result<Scheme, Status> {
    Scheme::ALL.into_iter().find(|scheme| *scheme as u8 == number).ok_or(Status::Argument)
}

/// Creates a verifier. `threads` includes the calling thread; 0 means one per processor. `backend` is a
/// turnpike_backend: TURNPIKE_BACKEND_FASTEST unless you have a reason to choose.
///
/// The caller owns the verifier: free it with turnpike_verifier_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verifier_new(threads: u32, backend: u8, verifier: *mut *mut Verifier) -> Status {
    Status::run(|| {
        if verifier.is_null() || !verifier.is_aligned() {
            return Err(Status::Pointer);
        }
        let made = Box::new(Verifier::new(threads as usize, self::backend(backend)?)?);
        // SAFETY: it was checked, and the rest is the caller's promise.
        unsafe { verifier.write(Box::into_raw(made)) };
        Ok(Status::Ok)
    })
}

/// Frees a verifier. No call may be using it, or use it afterwards. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verifier_free(verifier: *mut Verifier) {
    if !verifier.is_null() {
        // SAFETY: it was made from a box, and is the caller's only use of it.
        Status::run(|| unsafe {
            drop(Box::from_raw(verifier));
            Ok(Status::Ok)
        });
    }
}

/// Returns the number of a verifier's threads, including the calling one; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verifier_threads(verifier: *const Verifier) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { reference(verifier) }.map_or(0, |verifier| verifier.threads() as u32)
}

/// Writes the turnpike_backend that a verifier uses for a turnpike_scheme: never TURNPIKE_BACKEND_FASTEST.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verifier_backend(verifier: *const Verifier, scheme: u8, backend: *mut u8) -> Status {
    Status::run(|| {
        // SAFETY: the caller's promise.
        let (verifier, backend) = unsafe { (reference(verifier)?, slice_mut(backend, 1)?) };
        backend[0] = verifier.backend(self::scheme(scheme)?)? as u8;
        Ok(Status::Ok)
    })
}

/// Returns whether this processor supports a turnpike_backend for a turnpike_scheme.
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_backend_available(scheme: u8, backend: u8) -> bool {
    let available = || {
        let (scheme, backend) = (self::scheme(scheme)?, self::backend(backend)?);
        if backend.is_available(scheme) { Ok(Status::Ok) } else { Err(Status::Backend) }
    };
    Status::run(available) == Status::Ok
}

/// # Safety
///
/// That of the functions that call it.
unsafe fn hash(
    verifier: *const Verifier,
    function: impl FnOnce() -> Result<Function, Status>,
    messages: *const u8,
    length: usize,
    count: usize,
    digests: *mut u8,
) -> Status {
    Status::run(|| {
        let total = length.checked_mul(count).ok_or(Status::Length)?;
        // SAFETY: the caller's promise.
        let (verifier, messages) = unsafe { (reference(verifier)?, slice(messages, total)?) };
        // SAFETY: the caller's promise.
        let digests = unsafe { slice_mut(digests.cast::<[u8; 32]>(), count) }?;
        verifier.call().hash(&function()?, messages, length, digests)?;
        Ok(Status::Ok)
    })
}

/// SHA-256 of each of `count` contiguous messages of `length` bytes. A digest has 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_sha256(
    verifier: *const Verifier,
    messages: *const u8,
    length: usize,
    count: usize,
    digests: *mut u8,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { hash(verifier, || Ok(Function::Sha256), messages, length, count, digests) }
}

/// Like turnpike_sha256, but Bitcoin's hash: SHA-256 of SHA-256.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_sha256d(
    verifier: *const Verifier,
    messages: *const u8,
    length: usize,
    count: usize,
    digests: *mut u8,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { hash(verifier, || Ok(Function::Sha256d), messages, length, count, digests) }
}

/// Like turnpike_sha256, but BIP340's tagged hash. The tag is zero-terminated UTF-8 of any length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_tagged_sha256(
    verifier: *const Verifier,
    tag: *const c_char,
    messages: *const u8,
    length: usize,
    count: usize,
    digests: *mut u8,
) -> Status {
    let function = || {
        if tag.is_null() {
            return Err(Status::Pointer);
        }
        // SAFETY: the caller's promise.
        let tag = unsafe { CStr::from_ptr(tag) }.to_str().map_err(|_| Status::Argument)?;
        Ok(Function::Tagged(Tag::new(tag)))
    };
    // SAFETY: the caller's promise.
    unsafe { hash(verifier, function, messages, length, count, digests) }
}

/// Computes one level of a Bitcoin Merkle tree. `children` are `count` digests of 32 bytes, `parents` (count + 1) / 2:
/// each is the double hash of left and right; a missing right child is replaced by the left one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_merkle_parents(
    verifier: *const Verifier,
    children: *const u8,
    count: usize,
    parents: *mut u8,
) -> Status {
    Status::run(|| {
        // SAFETY: the caller's promise.
        let (verifier, children) = unsafe { (reference(verifier)?, slice(children.cast::<[u8; 32]>(), count)?) };
        // SAFETY: the caller's promise.
        let parents = unsafe { slice_mut(parents.cast::<[u8; 32]>(), count.div_ceil(2)) }?;
        verifier.call().merkle_parents(children, parents)?;
        Ok(Status::Ok)
    })
}

/// Computes the root, of 32 bytes, of the Bitcoin Merkle tree over `count` leaves of 32 bytes; `count` is at least 1.
///
/// Sets `ambiguous` to 1 if two adjacent nodes are equal, otherwise to 0. Reject a block for which it is 1: a shorter
/// list of transactions has the same root (CVE-2012-2459).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_merkle_root(
    verifier: *const Verifier,
    leaves: *const u8,
    count: usize,
    root: *mut u8,
    ambiguous: *mut u8,
) -> Status {
    Status::run(|| {
        // SAFETY: the caller's promise.
        let (verifier, leaves) = unsafe { (reference(verifier)?, slice(leaves.cast::<[u8; 32]>(), count)?) };
        // SAFETY: the caller's promise.
        let (root, ambiguous) = unsafe { (slice_mut(root, 32)?, slice_mut(ambiguous, 1)?) };
        let found = verifier.call().merkle_root(leaves)?;
        root.copy_from_slice(&found.hash);
        ambiguous[0] = found.ambiguous.into();
        Ok(Status::Ok)
    })
}

/// Verifies `count` Equihash solutions with parameters n and k. An input is a header up to and including the nonce; a
/// personalisation has 8 bytes ("ZcashPoW"). A solution whose length does not match the parameters breaks a rule.
///
/// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verify_equihash(
    verifier: *const Verifier,
    n: u32,
    k: u32,
    personalisation: *const u8,
    inputs: Items,
    solutions: Items,
    count: usize,
    codes: *mut u8,
) -> Status {
    Status::run(|| {
        // SAFETY: the caller's promise.
        let (verifier, codes) = unsafe { (reference(verifier)?, slice_mut(codes, count)?) };
        // SAFETY: the caller's promise.
        let personalisation = unsafe { reference(personalisation.cast::<[u8; 8]>()) }?;
        // SAFETY: the caller's promise.
        let (inputs, solutions) = unsafe { (inputs.get(count)?, solutions.get(count)?) };
        verifier.call().equihash((n as usize, k as usize), *personalisation, inputs, solutions, codes)?;
        Ok(Status::of_codes(codes))
    })
}

/// Verifies that `count` headers of Zcash, of 1487 bytes each, have the proof of work that their own targets require.
/// The caller must check that a target is the one that the chain requires.
///
/// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verify_zcash_headers(
    verifier: *const Verifier,
    headers: *const u8,
    count: usize,
    codes: *mut u8,
) -> Status {
    Status::run(|| {
        // SAFETY: the caller's promise.
        let (verifier, codes) = unsafe { (reference(verifier)?, slice_mut(codes, count)?) };
        let headers = Items::rows(headers, ZCASH_HEADER_LENGTH);
        // SAFETY: the caller's promise.
        verifier.call().zcash_headers(unsafe { headers.get(count) }?, codes)?;
        Ok(Status::of_codes(codes))
    })
}

/// Verifies `count` ECDSA signatures of digests of 32 bytes. `policy` is a turnpike_ecdsa_policy, the encoding of
/// signatures and keys.
///
/// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verify_ecdsa(
    verifier: *const Verifier,
    policy: u32,
    digests: *const u8,
    signatures: Items,
    keys: Items,
    count: usize,
    codes: *mut u8,
) -> Status {
    Status::run(|| {
        let policy = shared::policy(policy).ok_or(Status::Argument)?;
        // SAFETY: the caller's promise.
        let (verifier, codes) = unsafe { (reference(verifier)?, slice_mut(codes, count)?) };
        // SAFETY: the caller's promise.
        let digests = unsafe { slice(digests.cast::<[u8; 32]>(), count) }?;
        // SAFETY: the caller's promise.
        let (signatures, keys) = unsafe { (signatures.get(count)?, keys.get(count)?) };
        verifier.call().ecdsa(policy, digests, signatures, keys, codes)?;
        Ok(Status::of_codes(codes))
    })
}

/// Recovers the keys, of 33 bytes, that made `count` ECDSA signatures of digests of 32 bytes. `policy` is a
/// turnpike_ecdsa_policy. Each of `count` ids is from 0 to 3: plus 1 if the y of the nonce's point is odd, plus 2 if
/// its x is r + n. If the policy replaces a high s, the id is adjusted with it: the key is that of the original
/// signature.
///
/// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks; the key of an invalid item
/// is all zeros.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_recover_ecdsa(
    verifier: *const Verifier,
    policy: u32,
    digests: *const u8,
    signatures: Items,
    ids: *const u8,
    count: usize,
    keys: *mut u8,
    codes: *mut u8,
) -> Status {
    Status::run(|| {
        let policy = shared::policy(policy).ok_or(Status::Argument)?;
        // SAFETY: the caller's promise.
        let (verifier, codes) = unsafe { (reference(verifier)?, slice_mut(codes, count)?) };
        // SAFETY: the caller's promise.
        let (digests, ids) = unsafe { (slice(digests.cast::<[u8; 32]>(), count)?, slice(ids, count)?) };
        // SAFETY: the caller's promise.
        let (signatures, keys) = unsafe { (signatures.get(count)?, slice_mut(keys.cast::<[u8; 33]>(), count)?) };
        verifier.call().recover_ecdsa(policy, digests, signatures, ids, keys, codes)?;
        Ok(Status::of_codes(codes))
    })
}

/// # Safety
///
/// That of the functions that call it.
unsafe fn verify_signed(
    verify: impl FnOnce(
        &mut Call<'_>,
        shared::Items<'_>,
        shared::Items<'_>,
        shared::Items<'_>,
        &mut [u8],
    ) -> Result<(), Error>,
    verifier: *const Verifier,
    messages: Items,
    signatures: Items,
    keys: Items,
    count: usize,
    codes: *mut u8,
) -> Status {
    Status::run(|| {
        // SAFETY: the caller's promise.
        let (verifier, codes) = unsafe { (reference(verifier)?, slice_mut(codes, count)?) };
        // SAFETY: the caller's promise.
        let (messages, signatures) = unsafe { (messages.get(count)?, signatures.get(count)?) };
        // SAFETY: the caller's promise.
        verify(&mut verifier.call(), messages, signatures, unsafe { keys.get(count) }?, codes)?;
        Ok(Status::of_codes(codes))
    })
}

/// Verifies `count` BIP340 Schnorr signatures, of 64 bytes, of messages of any length with keys of 32 bytes.
///
/// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verify_schnorr(
    verifier: *const Verifier,
    messages: Items,
    signatures: *const u8,
    keys: *const u8,
    count: usize,
    codes: *mut u8,
) -> Status {
    let (signatures, keys) = (Items::rows(signatures, 64), Items::rows(keys, 32));
    // SAFETY: the caller's promise.
    unsafe {
        verify_signed(
            |call, messages, signatures, keys, codes| call.schnorr(messages, signatures, keys, codes),
            verifier,
            messages,
            signatures,
            keys,
            count,
            codes,
        )
    }
}

/// Verifies `count` BLS signatures on BLS12-381, of 96 bytes, of messages of any length with keys of 48 bytes: as in
/// Ethereum, with the tag of proofs of possession.
///
/// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verify_bls(
    verifier: *const Verifier,
    messages: Items,
    signatures: *const u8,
    keys: *const u8,
    count: usize,
    codes: *mut u8,
) -> Status {
    let (signatures, keys) = (Items::rows(signatures, 96), Items::rows(keys, 48));
    // SAFETY: the caller's promise.
    unsafe {
        verify_signed(
            |call, messages, signatures, keys, codes| call.bls(messages, signatures, keys, codes),
            verifier,
            messages,
            signatures,
            keys,
            count,
            codes,
        )
    }
}

/// Verifies `count` Groth16 proofs on BLS12-381, of 192 bytes. `key` is a verifying key in bellman's encoding, of
/// `key_length` bytes. An item of `inputs` has the public inputs of a proof, 32 little-endian bytes each.
///
/// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verify_groth16(
    verifier: *const Verifier,
    key: *const u8,
    key_length: usize,
    proofs: *const u8,
    inputs: Items,
    count: usize,
    codes: *mut u8,
) -> Status {
    Status::run(|| {
        // SAFETY: the caller's promise.
        let (verifier, codes) = unsafe { (reference(verifier)?, slice_mut(codes, count)?) };
        // SAFETY: the caller's promise.
        let (key, proofs) = unsafe { (slice(key, key_length)?, Items::rows(proofs, 192).get(count)?) };
        // SAFETY: the caller's promise.
        verifier.call().groth16(key, proofs, unsafe { inputs.get(count) }?, codes)?;
        Ok(Status::of_codes(codes))
    })
}

/// Verifies that `count` products of pairings on BLS12-381 are one. An item has at least one pair of points in the
/// encoding of EIP-2537, 384 bytes each.
///
/// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verify_pairings(
    verifier: *const Verifier,
    products: Items,
    count: usize,
    codes: *mut u8,
) -> Status {
    Status::run(|| {
        // SAFETY: the caller's promise.
        let (verifier, codes) = unsafe { (reference(verifier)?, slice_mut(codes, count)?) };
        // SAFETY: the caller's promise.
        verifier.call().pairings(unsafe { products.get(count) }?, codes)?;
        Ok(Status::of_codes(codes))
    })
}
