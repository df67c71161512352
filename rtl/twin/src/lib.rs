//! C interface of the ledger, with which RTL testbenches execute every operation in both. `twin.hpp` declares it.
//!
//! The RTL evicts the oldest operation when it needs its place, whereas the ledger evicts by time. So the twin counts
//! in front of the ledger: an operation whose name is not among the last ones gets a transaction id that was never
//! used.

mod coprocessor;
mod eip2537;
mod multiples;
mod random;
mod signatures;
mod table;
mod verification;
mod verify_frame;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use ledger::{Ledger, Limits, Now, Secret, retries};
use wire::{CompactFrame, Status, TransactionId, U32};
use zerocopy::FromBytes;

/// Source and transaction id of a compact frame.
type Name = (U32, U32);

/// A ledger, and the names of the last remembered operations with their transaction ids in the ledger.
#[derive(Debug)]
pub struct Twin {
    ledger: Ledger,
    window: usize,
    known: HashMap<Name, TransactionId>,
    order: VecDeque<Name>,
    /// Number of operations remembered so far.
    remembered: u64,
}

impl Twin {
    fn new(accounts: usize, window: usize) -> Option<Self> {
        // A microsecond per remembered operation, for twice the requested number.
        let retention = Duration::from_micros(2 * window as u64);
        let retries = retries::Limits { retention, ..retries::Limits::with_operations(4 * window) };
        let ledger = Ledger::new(Limits { accounts, retries }, Secret::default()).ok()?;
        Some(Self { ledger, window, known: HashMap::new(), order: VecDeque::new(), remembered: 0 })
    }

    /// Executes a well-formed frame. Returns the status and value of the reply.
    fn execute(&mut self, frame: &CompactFrame) -> (Status, u64) {
        let name = (frame.source, frame.transaction);
        let fresh = TransactionId::from(u128::from(self.remembered + 1) << 32 | u128::from(frame.transaction.get()));
        let mut operation = frame.to_operation();
        operation.transaction = self.known.get(&name).copied().unwrap_or(fresh);
        let now = Now { elapsed: self.remembered, unix: 0 };
        let (mut operations, mut values, mut is_remembered) = ([operation], [0], false);
        self.ledger.execute(&mut operations, &mut values, now, |_, _| is_remembered = true);
        if is_remembered {
            self.remembered += 1;
            self.known.insert(name, fresh);
            self.order.push_back(name);
            if self.order.len() > self.window
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
        }
        (operations[0].status().unwrap_or(Status::Malformed), values[0])
    }
}

/// Creates a ledger for `accounts` accounts and a window of `window` operations; null on failure.
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_ledger_new(accounts: usize, window: usize) -> *mut Twin {
    Twin::new(accounts, window).map_or(std::ptr::null_mut(), |twin| Box::into_raw(Box::new(twin)))
}

/// Executes a compact frame, 22 bytes, and overwrites it with its reply. Returns the value in full.
///
/// # Safety
///
/// `twin` comes from [`turnpike_ledger_new`] and is used by one thread; `frame` has 22 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_ledger_execute(twin: *mut Twin, frame: *mut u8) -> u64 {
    // SAFETY: the caller's promise.
    let (twin, bytes) = unsafe { (&mut *twin, std::slice::from_raw_parts_mut(frame, CompactFrame::LENGTH)) };
    let Ok(frame) = CompactFrame::mut_from_bytes(bytes) else { return 0 };
    // A frame that its form alone refuses does not reach the ledger, see docs/protocol.md.
    let status = frame.check();
    if status != Status::Ok {
        frame.set_reply(status, 0);
        return 0;
    }
    let (status, value) = twin.execute(frame);
    frame.set_reply(status, value);
    value
}

/// Returns the number of operations remembered so far.
///
/// # Safety
///
/// `twin` comes from [`turnpike_ledger_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_ledger_remembered(twin: *const Twin) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { &*twin }.remembered
}

/// Frees a ledger.
///
/// # Safety
///
/// `twin` comes from [`turnpike_ledger_new`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_ledger_free(twin: *mut Twin) {
    if !twin.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(twin) });
    }
}
