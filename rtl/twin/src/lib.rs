//! The ledger behind a C interface, so that a testbench of the RTL executes every operation in both. `twin.hpp` declares it.

use ledger::{Ledger, Limits, Now, Secret, retries};
use wire::{CompactFrame, Status};
use zerocopy::FromBytes;

/// A ledger for `accounts` accounts and that remembers `window` operations; null if it cannot be made.
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_ledger_new(accounts: usize, window: usize) -> *mut Ledger {
    match Ledger::new(Limits { accounts, retries: retries::Limits::of(window) }, Secret::default()) {
        Ok(ledger) => Box::into_raw(Box::new(ledger)),
        Err(_) => std::ptr::null_mut(),
    }
}

/// Executes a compact frame, 22 bytes, and writes its reply over it. Gives the value in full.
///
/// # Safety
///
/// `ledger` comes from [`turnpike_ledger_new`] and is used by one thread; `frame` has 22 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_ledger_execute(ledger: *mut Ledger, frame: *mut u8) -> u64 {
    // SAFETY: the caller's promise.
    let (ledger, bytes) = unsafe { (&mut *ledger, std::slice::from_raw_parts_mut(frame, CompactFrame::LENGTH)) };
    let Ok(frame) = CompactFrame::mut_from_bytes(bytes) else { return 0 };
    // What its form alone refuses does not reach the ledger, see docs/protocol.md.
    let status = frame.check();
    if status != Status::Ok {
        frame.set_reply(status, 0);
        return 0;
    }
    let (mut operations, mut values) = ([frame.to_operation()], [0]);
    ledger.execute(&mut operations, &mut values, Now::default(), |_, _| {});
    frame.set_reply(operations[0].status().unwrap_or(Status::Malformed), values[0]);
    values[0]
}

/// Ends a ledger.
///
/// # Safety
///
/// `ledger` comes from [`turnpike_ledger_new`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_ledger_free(ledger: *mut Ledger) {
    if !ledger.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(ledger) });
    }
}
