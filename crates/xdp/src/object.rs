//! Reads what clang made of the XDP program: its instructions, and where addresses of maps belong into them.
//!
//! No more of ELF than that takes: 64 bits, little-endian, one symbol table. Functions are inlined, so the only
//! relocations are loads of an address of 64 bits, and calls of functions of the kernel's.

use crate::Error;

/// Bytes of an instruction; a load of 64 bits takes two.
const INSTRUCTION: usize = 8;

/// Opcodes that relocations are for: a load of 64 bits, a call.
const LOAD_64: u8 = 0x18;
const CALL: u8 = 0x85;

const RELOCATIONS: u32 = 9;
const SYMBOLS: u32 = 2;
const RELOCATION_64: u64 = 1;
const RELOCATION_CALL: u64 = 10;

/// The section of clang's for variables in the address space of arenas.
const ARENA_SECTION: &str = ".addr_space.1";

/// What an address in the program is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    /// A map of this name.
    Map(&'a str),
    /// The arena, at an offset.
    Arena(u32),
    /// A function of the kernel's.
    Function(&'a str),
}

/// A program and the addresses that it lacks.
#[derive(Debug)]
pub struct Code<'a> {
    /// The instructions.
    pub instructions: Vec<u8>,
    /// Which instruction, by its offset in bytes, wants which address.
    pub addresses: Vec<(usize, Address<'a>)>,
}

/// Bytes of an object file.
struct Object<'a> {
    bytes: &'a [u8],
    sections: Vec<Section<'a>>,
    symbols: &'a [u8],
    names: &'a [u8],
}

struct Section<'a> {
    name: &'a str,
    kind: u32,
    bytes: &'a [u8],
    /// The section that a table belongs to, or takes names from.
    link: usize,
    info: usize,
}

/// Takes the program in the section `name` out of an object file.
pub fn code<'a>(bytes: &'a [u8], name: &str) -> Result<Code<'a>, Error> {
    read(bytes, name).ok_or(Error::Object("not an object file for BPF that has the program"))?
}

fn read<'a>(bytes: &'a [u8], name: &str) -> Option<Result<Code<'a>, Error>> {
    let object = Object::read(bytes)?;
    let (at, section) = object.sections.iter().enumerate().find(|(_, section)| section.name == name)?;
    let mut code = Code { instructions: section.bytes.to_vec(), addresses: Vec::new() };
    let tables = object.sections.iter().filter(|section| section.kind == RELOCATIONS && section.info == at);
    for entry in tables.flat_map(|section| section.bytes.chunks_exact(16)) {
        let (offset, symbol, kind) = (number::<8>(entry, 0)?, number::<4>(entry, 12)?, number::<4>(entry, 8)?);
        let offset = usize::try_from(offset).ok()?;
        let instruction = code.instructions.get(offset..offset.checked_add(INSTRUCTION)?)?;
        let address = match (kind, instruction[0]) {
            _ if offset % INSTRUCTION != 0 => None,
            (RELOCATION_64, LOAD_64) => {
                object.address(symbol as usize, number::<4>(instruction, 4)? as u32).filter(|_| {
                    // The second half takes the rest of the address.
                    code.instructions.len() >= offset + 2 * INSTRUCTION
                })
            }
            (RELOCATION_CALL, CALL) => object.name(symbol as usize).map(Address::Function),
            _ => None,
        };
        match address {
            Some(address) => code.addresses.push((offset, address)),
            None => return Some(Err(Error::Object("a relocation of another kind"))),
        }
    }
    Some(Ok(code))
}

impl<'a> Object<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        if bytes.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let (table, count, names) = (number::<8>(bytes, 40)?, number::<2>(bytes, 60)?, number::<2>(bytes, 62)?);
        let header = |at: u64| {
            let start = usize::try_from(table).ok()?.checked_add(at as usize * 64)?;
            bytes.get(start..start.checked_add(64)?)
        };
        let content = |header: &[u8]| {
            let start = usize::try_from(number::<8>(header, 24)?).ok()?;
            bytes.get(start..start.checked_add(usize::try_from(number::<8>(header, 32)?).ok()?)?)
        };
        let names = content(header(names)?)?;
        let mut sections = Vec::new();
        for at in 0..count {
            let header = header(at)?;
            sections.push(Section {
                name: text(names, number::<4>(header, 0)? as usize)?,
                kind: number::<4>(header, 4)? as u32,
                bytes: content(header)?,
                link: number::<4>(header, 40)? as usize,
                info: number::<4>(header, 44)? as usize,
            });
        }
        let symbols = sections.iter().find(|section| section.kind == SYMBOLS)?;
        let (symbols, names) = (symbols.bytes, sections.get(symbols.link)?.bytes);
        Some(Self { bytes, sections, symbols, names })
    }

    /// The address that a symbol stands for.
    fn address(&self, symbol: usize, addend: u32) -> Option<Address<'a>> {
        debug_assert!(!self.bytes.is_empty());
        let entry = self.symbols.get(symbol.checked_mul(24)?..)?.get(..24)?;
        let section = self.sections.get(number::<2>(entry, 6)? as usize)?;
        if section.name == ARENA_SECTION {
            return Some(Address::Arena(number::<8>(entry, 8)? as u32 + addend));
        }
        self.name(symbol).map(Address::Map)
    }

    /// The name of a symbol.
    fn name(&self, symbol: usize) -> Option<&'a str> {
        let entry = self.symbols.get(symbol.checked_mul(24)?..)?.get(..24)?;
        text(self.names, number::<4>(entry, 0)? as usize)
    }
}

/// A little-endian number of `N` bytes.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(N)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// A text of a table of texts, which end with a zero.
fn text(table: &[u8], at: usize) -> Option<&str> {
    let bytes = table.get(at..)?;
    std::str::from_utf8(bytes.split(|byte| *byte == 0).next()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn damaged_objects_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut bytes = bytes;
            let magic = b"\x7fELF\x02\x01";
            for (byte, magic) in bytes.iter_mut().zip(magic) {
                *byte = *magic;
            }
            prop_assert!(code(&bytes, "xdp").is_err());
        }
    }
}
