use std::fmt;

use crate::{Fault, Opcode};

/// An instruction of 8 bytes: opcode (1), zero (1), operands a, b and c (2 each, big-endian).
///
/// Operands that the opcode does not use are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// What the instruction does.
    pub opcode: Opcode,
    /// a, b and c.
    pub operands: [u16; 3],
}

impl Instruction {
    /// Decodes an instruction.
    pub fn decode(bytes: [u8; 8]) -> Result<Self, Fault> {
        let [code, reserved, a0, a1, b0, b1, c0, c1] = bytes;
        let opcode = Opcode::ALL.iter().copied().find(|opcode| *opcode as u8 == code).ok_or(Fault::Opcode)?;
        let operands = [[a0, a1], [b0, b1], [c0, c1]].map(u16::from_be_bytes);
        let is_plain = reserved == 0 && operands[opcode.operands()..].iter().all(|operand| *operand == 0);
        if is_plain { Ok(Self { opcode, operands }) } else { Err(Fault::Opcode) }
    }

    /// Encodes the instruction.
    pub fn encode(&self) -> [u8; 8] {
        let [a, b, c] = self.operands.map(u16::to_be_bytes);
        [self.opcode as u8, 0, a[0], a[1], b[0], b[1], c[0], c[1]]
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.opcode.name())?;
        for (number, operand) in self.operands[..self.opcode.operands()].iter().enumerate() {
            write!(f, "{} {operand}", if number == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}
