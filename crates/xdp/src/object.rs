//! Reads clang's output for the XDP program: its instructions, and where addresses of maps must be filled in.
//!
//! Functions are inlined, so the only relocations are 64-bit address loads and calls of kernel functions (the kernel's
//! Documentation/bpf/llvm_reloc.rst).

use object::{
    Architecture, LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags, RelocationTarget,
    elf::{R_BPF_64_32, R_BPF_64_64, RelocationType},
    read::elf::{ElfFile64, ElfSymbol64},
};

use crate::Error;

/// Size of an instruction in bytes; a 64-bit load takes two.
const INSTRUCTION: usize = 8;

/// Opcodes with relocations: a 64-bit load, a call.
const LOAD_64: u8 = 0x18;
const CALL: u8 = 0x85;

/// clang's section for variables in the address space of arenas.
const ARENA_SECTION: &str = ".addr_space.1";

/// The target of an address in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    /// A map of this name.
    Map(&'a str),
    /// The arena, at an offset.
    Arena(u32),
    /// A kernel function.
    Function(&'a str),
}

/// A program and its unresolved addresses.
#[derive(Debug)]
pub struct Code<'a> {
    /// The instructions.
    pub instructions: Vec<u8>,
    /// Offsets in bytes of the instructions with unresolved addresses, and their targets.
    pub addresses: Vec<(usize, Address<'a>)>,
}

type File<'a> = ElfFile64<'a, LittleEndian>;

/// Extracts the program in the section `name` from an object file.
pub fn code<'a>(bytes: &'a [u8], name: &str) -> Result<Code<'a>, Error> {
    const OTHER: Error = Error::Object("not an object file for BPF that has the program");
    let file = File::parse(bytes).map_err(|_| OTHER)?;
    let section = file.section_by_name(name).filter(|_| file.architecture() == Architecture::Bpf).ok_or(OTHER)?;
    let mut code = Code { instructions: section.data().map_err(|_| OTHER)?.to_vec(), addresses: Vec::new() };
    for (offset, relocation) in section.relocations() {
        let (RelocationFlags::Elf { r_type }, RelocationTarget::Symbol(symbol)) =
            (relocation.flags(), relocation.target())
        else {
            return Err(OTHER);
        };
        let symbol = file.symbol_by_index(symbol).map_err(|_| OTHER)?;
        let offset = usize::try_from(offset).map_err(|_| OTHER)?;
        let address = address(&file, &symbol, r_type, code.instructions.get(offset..).unwrap_or_default());
        let address = address.filter(|_| offset.is_multiple_of(INSTRUCTION));
        code.addresses.push((offset, address.ok_or(Error::Object("a relocation of another kind"))?));
    }
    Ok(code)
}

/// The target of the instruction at the start of `code`, if the relocation has a matching type.
fn address<'a>(
    file: &File<'a>,
    symbol: &ElfSymbol64<'a, '_, LittleEndian>,
    kind: RelocationType,
    code: &[u8],
) -> Option<Address<'a>> {
    match (kind, *code.first()?) {
        (R_BPF_64_64, LOAD_64) => {
            // The second half takes the rest of the address.
            let (load, _) = code.split_first_chunk::<{ 2 * INSTRUCTION }>()?;
            let section = file.section_by_index(symbol.section_index()?).ok()?;
            if section.name() != Ok(ARENA_SECTION) {
                return symbol.name().ok().map(Address::Map);
            }
            let [_, _, _, _, a, b, c, d, ..] = *load;
            let offset = u32::try_from(symbol.address()).ok()?;
            offset.checked_add(u32::from_le_bytes([a, b, c, d])).map(Address::Arena)
        }
        (R_BPF_64_32, CALL) if code.len() >= INSTRUCTION => symbol.name().ok().map(Address::Function),
        _ => None,
    }
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
