//! Loads a program from an object file into the kernel, after filling in the addresses of maps, of the arena and of
//! kernel functions.

use std::{
    fs,
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
};

use crate::{
    Arena, Error, btf,
    error::refused,
    object::{self, Address},
    sys,
};

/// Source register of a 64-bit load: the address is that of a map, or of a map's memory. Source register of a call: a
/// kernel function (include/uapi/linux/bpf.h).
const PSEUDO_MAP_FD: u8 = 1;
const PSEUDO_MAP_VALUE: u8 = 2;
const PSEUDO_KFUNC_CALL: u8 = 2;

/// Loads the program of a section over an arena, with maps by name. With `fragments` it accepts packets in several
/// pieces.
pub fn load(
    object: &[u8],
    section: &str,
    arena: &Arena,
    maps: &[(&str, BorrowedFd<'_>)],
    fragments: bool,
) -> Result<OwnedFd, Error> {
    if object.is_empty() {
        return Err(Error::NotBuilt);
    }
    let mut code = object::code(object, section)?;
    let mut kernel = None;
    for (at, address) in code.addresses {
        // The upper half of the second byte is the source register, which says what the address refers to; the lower
        // halves of both instructions take the map's descriptor and the offset.
        let mut fill = |kind: u8, value: i32, offset: Option<u32>| {
            let instruction = &mut code.instructions[at..];
            instruction[1] = instruction[1] & 0x0f | kind << 4;
            instruction[4..8].copy_from_slice(&value.to_le_bytes());
            if let Some(offset) = offset {
                instruction[12..16].copy_from_slice(&offset.to_le_bytes());
            }
        };
        match address {
            Address::Arena(offset) => fill(PSEUDO_MAP_VALUE, arena.map()?.as_raw_fd(), Some(offset)),
            Address::Map(name) => {
                let found = maps.iter().find(|(map, _)| *map == name);
                let (_, map) = found.ok_or(Error::Object("a map of an unknown name"))?;
                fill(PSEUDO_MAP_FD, map.as_raw_fd(), Some(0));
            }
            Address::Function(name) => {
                let types = match &mut kernel {
                    Some(types) => types,
                    None => kernel.insert(fs::read(btf::KERNEL).map_err(refused("its types"))?),
                };
                let number = btf::function(types, name).ok_or_else(|| Error::Function(name.to_owned()))?;
                fill(PSEUDO_KFUNC_CALL, number as i32, None);
            }
        }
    }
    let flags = if fragments { sys::F_XDP_HAS_FRAGS } else { 0 };
    sys::load("turnpike", &code.instructions, c"Dual MIT/GPL", flags).map_err(|(source, log)| {
        if log.is_empty() { refused("to load the XDP program")(source) } else { Error::Verifier { source, log } }
    })
}
