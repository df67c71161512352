//! The pairing coprocessor: a machine with instructions on field elements and points of BLS12-381.
//!
//! `docs/coprocessor.md` defines the machine. This crate is its model, with the tools for its programs:
//!
//! - [`Instruction`], [`Value`]: what instruction memory and data memory hold, and their encodings.
//! - [`Program`]: the initial content of both memories, and its image in bytes.
//! - [`assemble`] and [`disassemble`]: from text to program, and back.
//! - [`Machine`]: executes a program, one instruction at a time.
//! - [`eip2537`]: Ethereum's contracts as programs.
//!
//! ```
//! use turnpike_coproc::{Machine, RunState, assemble};
//!
//! let program = assemble(".data\nx: fp 3\ny: fp 4\nz: space 1\n.text\nMUL_ELEMENT x, y, z\nSEND_INTERRUPT z, 7\nNOOP_WAIT\n")?;
//! let mut machine = Machine::new(&program);
//! let interrupts = machine.run(10);
//! assert_eq!(machine.state(), RunState::Waiting);
//! assert_eq!((interrupts[0].index, interrupts[0].value.to_string()), (7, "fp 0xc".to_string()));
//! # Ok::<(), turnpike_coproc::AssemblyError>(())
//! ```
//!
//! An invalid instruction stops the machine with a [`Fault`] and changes nothing.
//!
//! Start with [`Machine`] (`machine`), then `arithmetic` and `assembler`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arithmetic;
mod assembler;
mod codes;
mod disassembler;
pub mod eip2537;
mod instruction;
mod machine;
mod program;
mod value;

pub use arithmetic::{Affine, Jacobian};
pub use assembler::{AssemblyError, assemble};
pub use codes::{Fault, Kind, Opcode};
pub use disassembler::disassemble;
pub use instruction::Instruction;
pub use machine::{Interrupt, Machine, RunState};
pub use program::{ImageError, Program};
pub use value::Value;

/// Instructions that fit into instruction memory.
pub const INSTRUCTIONS: usize = 1024;

/// Slots of data memory.
pub const SLOTS: usize = 1024;

/// A slot as it is in memory: the type in the three highest bits, a number in the others; big-endian.
pub type Slot = [u8; 48];
