//! The model of the pairing coprocessor behind a C interface. `coprocessor.hpp` declares it.

use std::{slice, str};

use coproc::{Machine, Program, RunState, Slot, assemble};

/// Creates a machine with zeroed memories, about to execute its first instruction. Free it with
/// `turnpike_coprocessor_free`.
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_coprocessor_new() -> *mut Machine {
    Box::into_raw(Box::new(Machine::new(&Program::default())))
}

/// # Safety
///
/// The machine comes from `turnpike_coprocessor_new`, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_coprocessor_free(machine: *mut Machine) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(machine) });
}

/// Assembles a program and replaces both memories. Returns false if the text is not a valid program.
///
/// # Safety
///
/// The machine comes from `turnpike_coprocessor_new`; the text has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_coprocessor_assemble(machine: *mut Machine, text: *const u8, length: usize) -> bool {
    // SAFETY: the caller's promise.
    let (machine, text) = unsafe { (&mut *machine, slice::from_raw_parts(text, length)) };
    let Some(program) = str::from_utf8(text).ok().and_then(|text| assemble(text).ok()) else { return false };
    *machine = Machine::new(&program);
    true
}

/// Returns a pointer to the 8 bytes of an instruction.
///
/// # Safety
///
/// The machine comes from `turnpike_coprocessor_new`; the address is below 1,024. Nothing else uses the machine while
/// the pointer is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_coprocessor_instruction(machine: *mut Machine, address: usize) -> *mut [u8; 8] {
    // SAFETY: the caller's promise.
    unsafe { &raw mut (*machine).instruction_memory()[address] }
}

/// Returns a pointer to the 48 bytes of a slot.
///
/// # Safety
///
/// The machine comes from `turnpike_coprocessor_new`; the address is below 1,024. Nothing else uses the machine while
/// the pointer is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_coprocessor_slot(machine: *mut Machine, address: usize) -> *mut Slot {
    // SAFETY: the caller's promise.
    unsafe { &raw mut (*machine).data_memory()[address] }
}

/// Starts the machine at an instruction.
///
/// # Safety
///
/// The machine comes from `turnpike_coprocessor_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_coprocessor_start(machine: *mut Machine, counter: u16) {
    // SAFETY: the caller's promise.
    unsafe { (*machine).start(counter) }
}

/// Executes an instruction, if the machine is running. Writes the interrupt that it sent, if any, and returns its
/// length, at most 592 bytes.
///
/// # Safety
///
/// The machine comes from `turnpike_coprocessor_new`; the message has room for 592 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_coprocessor_step(machine: *mut Machine, message: *mut u8) -> usize {
    // SAFETY: the caller's promise.
    let Some(interrupt) = (unsafe { (*machine).step() }) else { return 0 };
    let bytes = interrupt.message();
    // SAFETY: the caller's promise; a message has 16 bytes and 48 for each of at most 12 slots.
    unsafe { message.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    bytes.len()
}

/// Returns the program counter (bits 0 to 15) and the status (from bit 16) as the host reads them.
///
/// # Safety
///
/// The machine comes from `turnpike_coprocessor_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_coprocessor_state(machine: *const Machine) -> u32 {
    // SAFETY: the caller's promise.
    let machine = unsafe { &*machine };
    let status = match machine.state() {
        RunState::Waiting => 0,
        RunState::Running => 1,
        RunState::Faulted(fault) => 2 | (fault as u32) << 8,
    };
    u32::from(machine.counter()) | status << 16
}
