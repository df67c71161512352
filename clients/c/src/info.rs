//! Properties and progress of a node. The safety requirements, the same for all functions, are at the beginning of
//! the header.
#![allow(clippy::missing_safety_doc, reason = "the texts are those of the header, which has it at its beginning")]

use std::ffi::c_char;

use spv::finality::Vouched;
use wire::InfoFrame;

use crate::error::run;
use crate::memory::{Buffer, Output, reference};
use crate::{Client, ClientStatus, Error};

/// Value of the replica's number in turnpike_finality if the node does not vote.
pub const TURNPIKE_NO_REPLICA: u8 = 255;

/// Properties and progress of a node.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Network id: the hash of the genesis header.
    pub network: [u8; 32],
    /// Hash of the last header of the node's own chain.
    pub tip_hash: [u8; 32],
    /// Its height.
    pub tip_height: u64,
    /// Height of the last Bitcoin header.
    pub bitcoin_height: u64,
    /// Number of accounts.
    pub accounts: u64,
    /// Number of operations in the journal that are synced to the disk.
    pub durable_sequence: u64,
    /// How long the node recognises repetitions, in milliseconds; 0 if it does not report that.
    pub retry_ms: u32,
    /// Longest frame that the node accepts, in bytes.
    pub max_frame: u32,
    /// The turnpike_promise of requests that name none.
    pub promise: u8,
    /// Whether the node serves Bitcoin.
    pub serves_bitcoin: bool,
    /// Whether the node answers reads only, because its storage failed.
    pub is_read_only: bool,
    /// Version of the node's program, zero-terminated.
    pub program: [c_char; 13],
}

impl From<&InfoFrame> for Info {
    fn from(info: &InfoFrame) -> Self {
        let mut program = [0; 13];
        for (to, from) in program.iter_mut().zip(info.program().bytes()) {
            *to = from as c_char;
        }
        Self {
            network: info.network,
            tip_hash: info.tip_hash,
            tip_height: info.tip_height.get(),
            bitcoin_height: info.bitcoin_height.get(),
            accounts: info.accounts.get(),
            durable_sequence: info.durable_sequence.get(),
            retry_ms: info.retry_milliseconds.get(),
            max_frame: info.max_datagram.get(),
            promise: info.promise,
            serves_bitcoin: info.serves_bitcoin(),
            is_read_only: info.reads_only(),
            program,
        }
    }
}

/// What a replica reports about the order of blocks. Nothing of it is verified; turnpike_chain_certify verifies the
/// certificate.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finality {
    /// Hash of the header of the last final block that the replica has executed.
    pub hash: [u8; 32],
    /// Its height.
    pub height: u64,
    /// The leader's view.
    pub view: u64,
    /// Generation of the set of replicas: the number of its changes.
    pub generation: u32,
    /// Number of the replica, or TURNPIKE_NO_REPLICA.
    pub replica: u8,
    /// Number of replicas.
    pub replicas: u8,
    /// Number of the leader, as far as the replica knows.
    pub leader: u8,
    /// Zero.
    pub reserved: u8,
}

/// Asks a node for its properties and progress.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_read_info(client: *const Client, info: *mut Info, error: *mut Error) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (client, output) = (reference(client)?, Output::required(info)?);
            output.set((&client.pool.read(client::Client::info)?).into());
            Ok(())
        })
    }
}

/// Waits until a node has executed up to a block of its own chain, and writes its info, which may be NULL. A node
/// that is asked afterwards over the same connection gives no older answers. TURNPIKE_BEHIND if it does not within
/// the timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_wait_for_height(
    client: *const Client,
    height: u64,
    info: *mut Info,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (client, output) = (reference(client)?, Output::optional(info)?);
            output.set((&client.pool.read(|client| client.wait_for_height(height))?).into());
            Ok(())
        })
    }
}

/// Asks a replica about the order of blocks, and for its newest certificate with the changes of the set that lead to
/// it: turnpike_chain_certify verifies these bytes. `length` is set to 0 if there is no certificate yet.
///
/// `certificate` has room for `capacity` bytes; TURNPIKE_BUFFER if these are too few, unless `capacity` is 0. Both
/// `finality` and `length` may be NULL. A node that is not a replica refuses with TURNPIKE_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_read_finality(
    client: *const Client,
    finality: *mut Finality,
    certificate: *mut u8,
    capacity: usize,
    length: *mut usize,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (client, output) = (reference(client)?, Output::optional(finality)?);
            let buffer = Buffer::new(certificate, capacity, length)?;
            let client::Finality { replica, replicas, leader, view, height, hash, generation, vouched } =
                client.pool.read(client::Client::finality)?;
            let replica = replica.unwrap_or(TURNPIKE_NO_REPLICA);
            output.set(Finality { hash, height, view, generation, replica, replicas, leader, reserved: 0 });
            buffer.set_if_wanted(&vouched.as_ref().map(Vouched::encode).unwrap_or_default())
        })
    }
}
