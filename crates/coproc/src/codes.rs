//! The codes of the coprocessor.
//!
//! Made by schema/generate.py of schema/coprocessor.toml; change that.

/// The type of a slot.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A number below r, the order of the groups.
    Scalar = 0,
    /// An element of Fp.
    Fp = 1,
    /// c0 + c1 u, with u² = -1: c0, c1.
    Fp2 = 2,
    /// (a0 + a1 v + a2 v²) + (b0 + b1 v + b2 v²) w, with v³ = u + 1 and w² = v: a0, a1, a2, b0, b1, b2, each
    /// an `fp2`.
    Fp12 = 3,
    /// A point over Fp: x, y; both zero at infinity.
    G1Affine = 4,
    /// The point (X / Z², Y / Z³) over Fp: X, Y, Z; Z is zero at infinity.
    G1Jacobian = 5,
    /// A point over Fp2: x, y.
    G2Affine = 6,
    /// A point over Fp2: X, Y, Z.
    G2Jacobian = 7,
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Scalar,
        Self::Fp,
        Self::Fp2,
        Self::Fp12,
        Self::G1Affine,
        Self::G1Jacobian,
        Self::G2Affine,
        Self::G2Jacobian,
    ];

    /// The name in assembly.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Fp => "fp",
            Self::Fp2 => "fp2",
            Self::Fp12 => "fp12",
            Self::G1Affine => "g1_affine",
            Self::G1Jacobian => "g1_jacobian",
            Self::G2Affine => "g2_affine",
            Self::G2Jacobian => "g2_jacobian",
        }
    }

    /// Slots of a value.
    pub const fn slots(self) -> usize {
        match self {
            Self::Scalar => 1,
            Self::Fp => 1,
            Self::Fp2 => 2,
            Self::Fp12 => 12,
            Self::G1Affine => 2,
            Self::G1Jacobian => 3,
            Self::G2Affine => 4,
            Self::G2Jacobian => 6,
        }
    }
}

/// What an instruction does with its operands a, b and c.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// Waits: the program counter stays here until the host starts the machine.
    NoopWait = 0x00,
    /// Copies the value a, of any type, to b.
    CopyReg = 0x01,
    /// Jumps to instruction a.
    Jump = 0x02,
    /// Jumps to instruction a if the values b and c have the same type and the same numbers.
    JumpIfEq = 0x04,
    /// If the scalar b is not zero, subtracts one from it and jumps to instruction a.
    JumpNonzeroSub = 0x05,
    /// Sends the value a to the host, with b itself as the index.
    SendInterrupt = 0x06,
    /// c = a × b; both scalars, both `fp`, both `fp2` or both `fp12`.
    MulElement = 0x10,
    /// c = a + b; as above, or two points of one group, each affine or Jacobian: then c is Jacobian.
    AddElement = 0x11,
    /// c = a - b; as above.
    SubElement = 0x12,
    /// b = 1 / a; a scalar, `fp`, `fp2` or `fp12` that is not zero. For a Jacobian point: b is the same
    /// point, affine.
    InvElement = 0x13,
    /// c = the scalar a times the point b, Jacobian.
    PointMult = 0x20,
    /// c = the Miller loop of a (`g1_affine`) and b (`g2_affine`), an `fp12`.
    MillerLoop = 0x21,
    /// b = a to the power of 3 (p^12 - 1) / r, an `fp12` that is not zero.
    FinalExp = 0x22,
    /// c = the final exponentiation of the Miller loop of a and b.
    AtePairing = 0x23,
}

impl Opcode {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 14] = [
        Self::NoopWait,
        Self::CopyReg,
        Self::Jump,
        Self::JumpIfEq,
        Self::JumpNonzeroSub,
        Self::SendInterrupt,
        Self::MulElement,
        Self::AddElement,
        Self::SubElement,
        Self::InvElement,
        Self::PointMult,
        Self::MillerLoop,
        Self::FinalExp,
        Self::AtePairing,
    ];

    /// The name in assembly.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoopWait => "NOOP_WAIT",
            Self::CopyReg => "COPY_REG",
            Self::Jump => "JUMP",
            Self::JumpIfEq => "JUMP_IF_EQ",
            Self::JumpNonzeroSub => "JUMP_NONZERO_SUB",
            Self::SendInterrupt => "SEND_INTERRUPT",
            Self::MulElement => "MUL_ELEMENT",
            Self::AddElement => "ADD_ELEMENT",
            Self::SubElement => "SUB_ELEMENT",
            Self::InvElement => "INV_ELEMENT",
            Self::PointMult => "POINT_MULT",
            Self::MillerLoop => "MILLER_LOOP",
            Self::FinalExp => "FINAL_EXP",
            Self::AtePairing => "ATE_PAIRING",
        }
    }

    /// How many operands it has.
    pub const fn operands(self) -> usize {
        match self {
            Self::NoopWait => 0,
            Self::CopyReg => 2,
            Self::Jump => 1,
            Self::JumpIfEq => 3,
            Self::JumpNonzeroSub => 2,
            Self::SendInterrupt => 2,
            Self::MulElement => 3,
            Self::AddElement => 3,
            Self::SubElement => 3,
            Self::InvElement => 2,
            Self::PointMult => 3,
            Self::MillerLoop => 3,
            Self::FinalExp => 2,
            Self::AtePairing => 3,
        }
    }
}

/// Why the machine stopped at an instruction. The instruction has changed nothing.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Hash)]
pub enum Fault {
    /// No such opcode, or a field that the instruction does not use is not zero.
    #[error("the word is not a valid instruction")]
    Opcode = 1,
    /// The program counter is 1,024 or more.
    #[error("the program counter is outside instruction memory")]
    Counter = 2,
    /// A value reaches beyond data memory.
    #[error("an operand is outside data memory")]
    Address = 3,
    /// The operand has the wrong type for the instruction, or the slots of a value have different types.
    #[error("an operand has the wrong type for this instruction")]
    Type = 4,
    /// A number is not below the modulus of its type.
    #[error("a number is not below the modulus of its type")]
    Range = 5,
    /// The inverse, or the final exponentiation, of zero.
    #[error("zero has no inverse")]
    Division = 6,
}

impl Fault {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] = [Self::Opcode, Self::Counter, Self::Address, Self::Type, Self::Range, Self::Division];
}
