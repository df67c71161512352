use std::fmt;

use crate::Fault;

macro_rules! opcodes {
    ($($(#[$doc:meta])* $name:ident = $code:literal $text:literal, $operands:literal;)*) => {
        /// What an instruction does. Operands are slots, and where a result is written is the last of them, unless said otherwise.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Opcode {
            $($(#[$doc])* $name = $code,)*
        }

        impl Opcode {
            /// All opcodes.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in assembly.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// How many operands it has.
            pub const fn operands(self) -> usize {
                match self {
                    $(Self::$name => $operands,)*
                }
            }
        }
    };
}

opcodes! {
    /// Waits for the host.
    NoopWait = 0x00 "NOOP_WAIT", 0;
    /// Copies a value.
    CopyReg = 0x01 "COPY_REG", 2;
    /// Goes on at instruction a.
    Jump = 0x02 "JUMP", 1;
    /// Goes on at instruction a if the values b and c are the same, in type and number.
    JumpIfEq = 0x04 "JUMP_IF_EQ", 3;
    /// If the scalar b is not zero, takes one from it and goes on at instruction a.
    JumpNonzeroSub = 0x05 "JUMP_NONZERO_SUB", 2;
    /// Sends the value a to the host, with the number b itself.
    SendInterrupt = 0x06 "SEND_INTERRUPT", 2;
    /// a b.
    MulElement = 0x10 "MUL_ELEMENT", 3;
    /// a + b, of elements or of points.
    AddElement = 0x11 "ADD_ELEMENT", 3;
    /// a - b, of elements or of points.
    SubElement = 0x12 "SUB_ELEMENT", 3;
    /// The inverse of a; of a point in Jacobian coordinates, the affine one.
    InvElement = 0x13 "INV_ELEMENT", 2;
    /// The point b, added up as often as the scalar a says.
    PointMult = 0x20 "POINT_MULT", 3;
    /// The Miller loop of the affine points a of G1 and b of G2.
    MillerLoop = 0x21 "MILLER_LOOP", 3;
    /// The final exponentiation of a.
    FinalExp = 0x22 "FINAL_EXP", 2;
    /// The pairing of the affine points a of G1 and b of G2.
    AtePairing = 0x23 "ATE_PAIRING", 3;
}

/// An instruction: 8 bytes, opcode (1), zero (1), a, b and c (2 each, big-endian). Operands that it does not have are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// What it does.
    pub opcode: Opcode,
    /// a, b and c.
    pub operands: [u16; 3],
}

impl Instruction {
    /// From its encoding.
    pub fn decode(bytes: [u8; 8]) -> Result<Self, Fault> {
        let [code, reserved, a0, a1, b0, b1, c0, c1] = bytes;
        let opcode = Opcode::ALL.iter().copied().find(|opcode| *opcode as u8 == code).ok_or(Fault::Opcode)?;
        let operands = [[a0, a1], [b0, b1], [c0, c1]].map(u16::from_be_bytes);
        let is_plain = reserved == 0 && operands[opcode.operands()..].iter().all(|operand| *operand == 0);
        if is_plain { Ok(Self { opcode, operands }) } else { Err(Fault::Opcode) }
    }

    /// Its encoding.
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
