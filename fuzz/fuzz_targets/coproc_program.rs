//! Any text and any image as a program of the coprocessor: accepted programs survive their image and disassembly, and
//! run safely.
#![no_main]

use coproc::{Machine, Program, assemble, disassemble};
use libfuzzer_sys::fuzz_target;

/// Instructions to run: pairings take a millisecond each.
const INSTRUCTIONS: u64 = 20;

fn run(program: &Program) {
    assert_eq!(Program::from_image(&program.image()).as_ref(), Ok(program));
    let again = assemble(&disassemble(program)).expect("what is disassembled can be assembled");
    assert_eq!(again.instructions(), program.instructions());
    assert_eq!(again.slots().len(), program.slots().len());
    let mut machine = Machine::new(program);
    let before = machine.counter();
    for interrupt in machine.run(INSTRUCTIONS) {
        assert_eq!(interrupt.message().len(), 16 + 48 * interrupt.value.slots().len());
    }
    // A stopped machine stays at its counter.
    let (state, counter) = (machine.state(), machine.counter());
    if state != coproc::RunState::Running {
        assert!(machine.step().is_none() && (machine.state(), machine.counter()) == (state, counter));
    }
    machine.start(before);
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(program) = Program::from_image(bytes) {
        assert_eq!(program.image(), bytes);
        run(&program);
    }
    if let Ok(program) = assemble(&String::from_utf8_lossy(bytes)) {
        assert_eq!(assemble(&disassemble(&program)).as_ref(), Ok(&program));
        run(&program);
    }
});
