//! The ledger as testbenches use it: evicts by the number of operations, like the RTL.

use turnpike_twin::{
    turnpike_ledger_execute as execute, turnpike_ledger_free as free, turnpike_ledger_new as new,
    turnpike_ledger_remembered as remembered,
};
use wire::{Command, CompactFrame, Status};
use zerocopy::IntoBytes;

const WINDOW: u32 = 16;

#[test]
fn an_operation_is_executed_again_once_a_window_has_come_behind_it() {
    let twin = new(4, WINDOW as usize);
    assert!(!twin.is_null());
    let ask = |command, transaction, amount| {
        let mut frame = CompactFrame::new(command, transaction, 1, 0, amount);
        // SAFETY: the twin exists until `free`, and the frame is complete.
        let value = unsafe { execute(twin, frame.as_mut_bytes().as_mut_ptr()) };
        assert_eq!(frame.status.get(), Status::Ok.code());
        value
    };
    ask(Command::Create, 100, 0);
    let issue = |transaction| ask(Command::Issue, transaction, 10);
    let first = issue(1);
    assert_eq!(issue(1), first, "a retry changes nothing");
    for transaction in 2..=WINDOW {
        issue(transaction);
    }
    assert_eq!(issue(1), first, "the window has room for it and those after it");
    issue(WINDOW + 1);
    let before = issue(WINDOW + 1);
    assert_eq!(issue(1), before + 10, "it was forgotten");
    // SAFETY: the twin is not freed yet.
    assert_eq!(unsafe { remembered(twin) }, u64::from(WINDOW) + 3);
    // SAFETY: nothing uses it afterwards.
    unsafe { free(twin) };
}
