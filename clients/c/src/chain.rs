//! Chains of verified headers. The safety requirements, the same for all functions, are at the beginning of the
//! header.
#![allow(clippy::missing_safety_doc, reason = "the texts are those of the header, which has it at its beginning")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use spv::HeaderChain;
use spv::finality::Vouched;

use crate::error::run;
use crate::failure::Failure;
use crate::memory::{Buffer, Output, bytes, reference, slice};
use crate::{Client, ClientStatus, Error};

/// A chain of verified headers, from genesis on: all that a light client stores. One thread at a time works with it;
/// others wait.
#[derive(Debug)]
pub struct Chain {
    headers: Mutex<HeaderChain>,
}

/// The state of a chain.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainState {
    /// Network id: the hash of the genesis header.
    pub network: [u8; 32],
    /// Hash of the last header.
    pub tip_hash: [u8; 32],
    /// Its height.
    pub height: u64,
    /// Height up to which the chain's key sealed the headers, or a certificate of the replicas makes them final:
    /// proofs are for blocks up to here.
    pub trusted_height: u64,
    /// Whether replicas order the chain; otherwise a key seals it.
    pub is_ordered: bool,
    /// Zero.
    pub reserved: [u8; 7],
}

impl Chain {
    fn into_pointer(headers: HeaderChain) -> *mut Self {
        Box::into_raw(Box::new(Self { headers: Mutex::new(headers) }))
    }

    /// The headers. A call that panics leaves a valid chain, because headers are verified before they are appended.
    pub(crate) fn lock(&self) -> MutexGuard<'_, HeaderChain> {
        self.headers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the chain of the node's network, with its genesis header. `network` is the network id, 32 bytes, that the
/// caller trusts; the node's headers are all checked against it. If it is NULL, the node's own is believed: whoever
/// answers may have invented a network. TURNPIKE_WRONG_NETWORK if the node is of another one.
///
/// The caller owns the chain: free it with turnpike_chain_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_chain_open(
    client: *const Client,
    network: *const u8,
    chain: *mut *mut Chain,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (client, output) = (reference(client)?, Output::required(chain)?);
            output.set(std::ptr::null_mut());
            let network = if network.is_null() { None } else { Some(bytes::<32>(network)?) };
            output.set(Chain::into_pointer(client.pool.read(|client| client.open_chain(network))?));
            Ok(())
        })
    }
}

/// Restores a chain from the bytes of turnpike_chain_save, or of a file of `turnpike headers`, for the network id
/// that the caller trusts, 32 bytes. Verifies every link, and the seal of the last header or the certificate, which
/// cover all headers; so the bytes need not be trusted. TURNPIKE_LENGTH if they are cut off.
///
/// The caller owns the chain: free it with turnpike_chain_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_chain_restore(
    network: *const u8,
    saved: *const u8,
    length: usize,
    chain: *mut *mut Chain,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let output = Output::required(chain)?;
            output.set(std::ptr::null_mut());
            let (network, saved) = (bytes::<32>(network)?, slice(saved, length)?);
            output.set(Chain::into_pointer(restore(&network, saved)?));
            Ok(())
        })
    }
}

fn restore(network: &[u8; 32], saved: &[u8]) -> Result<HeaderChain, Failure> {
    let (headers, rest) = HeaderChain::split(saved).ok_or_else(|| {
        let message = "the saved headers are cut off; synchronise them again".into();
        Failure::new(ClientStatus::TurnpikeLength, message)
    })?;
    let mut chain = HeaderChain::restore(network, headers)?;
    if !rest.is_empty() {
        let vouched = Vouched::decode(rest).map_err(client::Error::from)?;
        chain.certify(&vouched)?;
    }
    chain.forget_unvouched();
    Ok(chain)
}

/// Writes the headers and the certificate, to store them: the format of files of `turnpike headers`, 192 bytes per
/// header. `length` is set to the needed length; TURNPIKE_BUFFER if `capacity` is less.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_chain_save(
    chain: *const Chain,
    saved: *mut u8,
    capacity: usize,
    length: *mut usize,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (chain, buffer) = (reference(chain)?, Buffer::new(saved, capacity, length)?);
            buffer.set(&chain.lock().encode())
        })
    }
}

/// Frees a chain. No call may be using it, or use it afterwards. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_chain_free(chain: *mut Chain) {
    if !chain.is_null() {
        // SAFETY: it was made from a box, and this is the caller's last use of it.
        unsafe {
            run(std::ptr::null_mut(), || {
                drop(Box::from_raw(chain));
                Ok(())
            });
        }
    }
}

/// Writes the state of a chain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_chain_read(chain: *const Chain, state: *mut ChainState) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(std::ptr::null_mut(), || {
            let (chain, output) = (reference(chain)?.lock(), Output::required(state)?);
            output.set(ChainState {
                network: *chain.network_id(),
                tip_hash: *chain.tip_hash(),
                height: chain.height(),
                trusted_height: chain.trusted(),
                is_ordered: chain.key().is_none(),
                reserved: [0; 7],
            });
            Ok(())
        })
    }
}

/// Fetches the headers that the chain lacks, at most 2^20 per call, verifies them, and writes their number, which may
/// be NULL. On a chain that replicas order these are the headers that a certificate makes final.
///
/// Known headers are never replaced: TURNPIKE_FORK if the node has others that the chain's key sealed as well.
/// TURNPIKE_INVALID_HEADER or TURNPIKE_INVALID_CERTIFICATE if something does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_chain_sync(
    client: *const Client,
    chain: *const Chain,
    added: *mut u64,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (client, chain, output) = (reference(client)?, reference(chain)?, Output::optional(added)?);
            output.set(client.pool.read(|client| client.sync_headers(&mut chain.lock()))?);
            Ok(())
        })
    }
}

/// Verifies a certificate of turnpike_read_finality, which makes headers of the chain final, and writes the height of
/// the last of them, which may be NULL. TURNPIKE_INVALID_CERTIFICATE if it does not hold, or is for a header that the
/// chain lacks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_chain_certify(
    chain: *const Chain,
    certificate: *const u8,
    length: usize,
    height: *mut u64,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (chain, certificate) = (reference(chain)?, slice(certificate, length)?);
            let output = Output::optional(height)?;
            let vouched = Vouched::decode(certificate).map_err(client::Error::from)?;
            output.set(chain.lock().certify(&vouched)?);
            Ok(())
        })
    }
}
