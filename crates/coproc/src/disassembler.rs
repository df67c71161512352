use crate::{Kind, Program, Slot, Value};

/// A text that assembles to the same program, if its slots hold only what a text can express: values, and zero scalars.
///
/// Any other slot becomes a comment and a zero scalar.
pub fn disassemble(program: &Program) -> String {
    let mut text = String::from(".data\n");
    let mut rest = &program.slots[..];
    while let Some(first) = rest.first() {
        let address = program.slots.len() - rest.len();
        let count = match Value::read(rest) {
            Ok(value) => {
                text.push_str(&format!("d{address}: {value}\n"));
                value.kind().slots()
            }
            Err(fault) => {
                text.push_str(&format!("d{address}: scalar 0 ; {}: {fault}\n", raw(first)));
                1
            }
        };
        rest = &rest[count..];
    }
    text.push_str(".text\n");
    for (address, instruction) in program.instructions.iter().enumerate() {
        text.push_str(&format!("{instruction} ; {address}\n"));
    }
    text
}

fn raw(slot: &Slot) -> String {
    let digits: String = slot.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} {digits}", Kind::from_slot(slot).name())
}
