//! Clients: open, close, free. The safety requirements, the same for all functions, are at the beginning of the
//! header.
#![allow(clippy::missing_safety_doc, reason = "the texts are those of the header, which has it at its beginning")]

use std::ffi::c_char;

use crate::error::run;
use crate::failure::Failure;
use crate::memory::{Output, reference, slice, text};
use crate::pool::Pool;
use crate::{ClientStatus, Error, Options};

/// A client of the ledger. Any number of threads may use it at once.
#[derive(Debug)]
pub struct Client {
    pub(crate) pool: Pool,
}

/// What a client counted since it was opened.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Number of requests that were repeated.
    pub retries: u64,
    /// How often a connection switched to another node.
    pub turns: u64,
}

/// Maximum number of nodes.
const MAX_NODES: usize = 1024;

/// Opens a client of a node, or of several replicas of one cluster: `count` strings HOST or HOST:PORT, for example
/// "127.0.0.1:7400" or "[::1]:7400". The default port is 7400. If a replica does not answer, its requests go to the
/// next one.
///
/// Resolves the names of nodes, but connects only when it is used. `options` may be NULL. TURNPIKE_ADDRESS if a node
/// cannot be resolved, TURNPIKE_ARGUMENT or TURNPIKE_LENGTH if an option is out of range.
///
/// The caller owns the client: free it with turnpike_client_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_client_open(
    nodes: *const *const c_char,
    count: usize,
    options: *const Options,
    client: *mut *mut Client,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let output = Output::required(client)?;
            output.set(std::ptr::null_mut());
            if count > MAX_NODES {
                let message = format!("{count} nodes are given, but {MAX_NODES} at most");
                return Err(Failure::argument(ClientStatus::TurnpikeLength, message));
            }
            let nodes: Result<Vec<&str>, Failure> = slice(nodes, count)?.iter().map(|node| text(*node)).collect();
            let settings = read_options(options)?.settings(&nodes?)?;
            output.set(Box::into_raw(Box::new(Client { pool: Pool::new(settings) })));
            Ok(())
        })
    }
}

/// # Safety
///
/// The pointer is NULL or to options of the size that they state, which nobody writes to until the call that has the
/// pointer returns.
unsafe fn read_options(options: *const Options) -> Result<Options, Failure> {
    /// No version of the options comes near it.
    const MOST: usize = 4096;
    if options.is_null() {
        return Ok(Options::default());
    }
    // SAFETY: the caller's promise: every version of the options begins with its size.
    let size = *unsafe { reference(options.cast::<u32>()) }? as usize;
    if size > MOST {
        let message = format!("options.size is {size}, but must be sizeof(turnpike_options)");
        return Err(Failure::argument(ClientStatus::TurnpikeLength, message));
    }
    // SAFETY: the caller's promise.
    Options::from_bytes(unsafe { slice(options.cast::<u8>(), size) }?)
}

/// Ends the client's calls, from any thread: those that wait for a connection or a reply return TURNPIKE_CLOSED
/// within 100 ms, and reads at their timeout at the latest. Later calls return TURNPIKE_CLOSED. Call it before other
/// threads are joined and the client is freed. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_client_close(client: *const Client) {
    if !client.is_null() {
        // SAFETY: the caller's promise.
        unsafe {
            run(std::ptr::null_mut(), || {
                reference(client)?.pool.close();
                Ok(())
            });
        }
    }
}

/// Frees a client and closes its connections. No call may be using it, or use it afterwards. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_client_free(client: *mut Client) {
    if !client.is_null() {
        // SAFETY: it was made from a box, and this is the caller's last use of it.
        unsafe {
            run(std::ptr::null_mut(), || {
                drop(Box::from_raw(client));
                Ok(())
            });
        }
    }
}

/// Writes what the client counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_client_counters(client: *const Client, counters: *mut Counters) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(std::ptr::null_mut(), || {
            let (client, output) = (reference(client)?, Output::required(counters)?);
            let (retries, turns) = client.pool.counters();
            output.set(Counters { retries, turns });
            Ok(())
        })
    }
}
