//! Signing operations. The safety requirements, the same for all functions, are at the beginning of the header.
#![allow(clippy::missing_safety_doc, reason = "the texts are those of the header, which has it at its beginning")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use secp256k1::SecretKey;
use wire::{Promise, SignedOperation};
use zerocopy::IntoBytes;

use crate::error::run;
use crate::failure::Failure;
use crate::id::FreshIds;
use crate::memory::{Output, bytes, reference, slice_mut};
use crate::options::promise;
use crate::{ClientStatus, Error, Id, Operation};

/// Signs the operations of one key on one network. Any number of threads may use it at once.
#[derive(Debug)]
pub struct Signer {
    signer: client::Signer,
    nonce: AtomicU32,
}

/// A signed operation as it is sent, 184 bytes. To repeat it, send the same bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The signed operation of the protocol.
    pub bytes: [u8; 184],
}

impl Signed {
    pub(crate) fn to_wire(self) -> SignedOperation {
        zerocopy::transmute!(self.bytes)
    }
}

/// Creates a signer of a secret key, 32 bytes, for a network, whose id of 32 bytes turnpike_info names. Signatures
/// (ECDSA on secp256k1, deterministic, low s) are invalid on other networks. TURNPIKE_ARGUMENT if the key is zero or
/// not below the order of the group.
///
/// The caller owns the signer: free it with turnpike_signer_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_signer_new(
    secret: *const u8,
    network: *const u8,
    signer: *mut *mut Signer,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let output = Output::required(signer)?;
            output.set(std::ptr::null_mut());
            let (secret, network) = (bytes::<32>(secret)?, bytes::<32>(network)?);
            let secret = SecretKey::from_byte_array(secret).map_err(|_| {
                let message = "a secret key is a number from 1 to below the order of secp256k1".into();
                Failure::argument(ClientStatus::TurnpikeArgument, message)
            })?;
            let signer = client::Signer::new(secret, network);
            output.set(Box::into_raw(Box::new(Signer { signer, nonce: AtomicU32::new(0) })));
            Ok(())
        })
    }
}

/// Frees a signer. No call may be using it, or use it afterwards. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_signer_free(signer: *mut Signer) {
    if !signer.is_null() {
        // SAFETY: it was made from a box, and this is the caller's last use of it.
        unsafe {
            run(std::ptr::null_mut(), || {
                drop(Box::from_raw(signer));
                Ok(())
            });
        }
    }
}

/// Writes the account that the key is bound to, and the compressed public key of 33 bytes. Either may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_signer_account(
    signer: *const Signer,
    account: *mut Id,
    key: *mut u8,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(std::ptr::null_mut(), || {
            let Signer { signer, .. } = reference(signer)?;
            let (account, key) = (Output::optional(account)?, Output::optional(key.cast::<[u8; 33]>())?);
            account.set(Id { bytes: signer.account().0 });
            key.set(*signer.public_key());
            Ok(())
        })
    }
}

/// Signs an operation as of now, for a turnpike_promise: TURNPIKE_PROMISE_DEFAULT is the node's own. If the operation
/// has no transaction id, a new one is written to it.
///
/// After the node's replay window a repetition gets TURNPIKE_STALE_TIMESTAMP, and is never executed again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_sign(
    signer: *const Signer,
    operation: *mut Operation,
    promise: u8,
    signed: *mut Signed,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (signer, output) = (reference(signer)?, Output::required(signed)?);
            let operations = slice_mut(operation, 1)?;
            let promise = self::promise(promise)?;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| client::Error::Clock)?;
            let timestamp = u64::try_from(now.as_micros()).map_err(|_| client::Error::Clock)?;
            for operation in operations {
                operation.prepare(&mut FreshIds::new()?)?;
                let nonce = signer.nonce.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
                output.set(sign_at(signer, operation, promise, timestamp, nonce));
            }
            Ok(())
        })
    }
}

/// Signs an operation as of a time in microseconds since the Unix epoch. `nonce` distinguishes operations signed
/// within one microsecond. Otherwise like turnpike_sign, but the operation must have a transaction id
/// (TURNPIKE_ARGUMENT).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_sign_at(
    signer: *const Signer,
    operation: *const Operation,
    promise: u8,
    timestamp: u64,
    nonce: u32,
    signed: *mut Signed,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (signer, output) = (reference(signer)?, Output::required(signed)?);
            let (operation, promise) = (reference(operation)?, self::promise(promise)?);
            if operation.transaction.is_zero() || operation.reserved != 0 {
                let message = "the operation has no transaction id, or its reserved field is not zero".into();
                return Err(Failure::argument(ClientStatus::TurnpikeArgument, message));
            }
            output.set(sign_at(signer, operation, promise, timestamp, nonce));
            Ok(())
        })
    }
}

fn sign_at(signer: &Signer, operation: &Operation, promise: Promise, timestamp: u64, nonce: u32) -> Signed {
    let signed = signer.signer.sign_at(operation.to_wire(), timestamp, nonce, promise);
    let mut bytes = [0; 184];
    bytes.copy_from_slice(signed.as_bytes());
    Signed { bytes }
}
