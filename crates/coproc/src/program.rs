use thiserror::Error;

use crate::{INSTRUCTIONS, Instruction, SLOTS, Slot};

/// The initial content of both memories. The remaining slots are zero scalars; the remaining instructions wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) slots: Vec<Slot>,
}

/// Why bytes are not the image of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ImageError {
    /// The image does not begin with `TPCP`.
    #[error("the file does not begin with TPCP: it is not an image of a program")]
    Magic,
    /// The image is not as long as its counts of instructions and slots require.
    #[error("the image is not as long as it says")]
    Length,
    /// Memory has no room for all of it.
    #[error("the image has more than {INSTRUCTIONS} instructions or {SLOTS} slots")]
    Room,
    /// The instruction at this address cannot be decoded.
    #[error("instruction {0} of the image is none")]
    Instruction(usize),
}

const MAGIC: &[u8; 4] = b"TPCP";

impl Program {
    /// The instructions, from address 0.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The slots, from address 0.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The program's image: `TPCP`, number of instructions (2 bytes, big-endian), number of slots (2), instructions (8
    /// each), slots (48 each).
    pub fn image(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((self.instructions.len() as u16).to_be_bytes());
        bytes.extend((self.slots.len() as u16).to_be_bytes());
        self.instructions.iter().for_each(|instruction| bytes.extend(instruction.encode()));
        bytes.extend(self.slots.as_flattened());
        bytes
    }

    /// Parses an image. Slots may hold anything: their content is checked when it is read.
    pub fn from_image(bytes: &[u8]) -> Result<Self, ImageError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(ImageError::Magic)?;
        let ([instructions, slots], rest) =
            rest.split_first_chunk::<4>().ok_or(ImageError::Length).map(|(head, rest)| {
                let [i0, i1, s0, s1] = *head;
                ([[i0, i1], [s0, s1]].map(|count| usize::from(u16::from_be_bytes(count))), rest)
            })?;
        if instructions > INSTRUCTIONS || slots > SLOTS {
            return Err(ImageError::Room);
        }
        let (code, data) = rest.split_at_checked(8 * instructions).ok_or(ImageError::Length)?;
        let (data, []) = data.as_chunks() else { return Err(ImageError::Length) };
        if data.len() != slots {
            return Err(ImageError::Length);
        }
        let decode =
            |(at, bytes): (usize, &[u8; 8])| Instruction::decode(*bytes).map_err(|_| ImageError::Instruction(at));
        let instructions = code.as_chunks().0.iter().enumerate().map(decode).collect::<Result<_, _>>()?;
        Ok(Self { instructions, slots: data.to_vec() })
    }
}
