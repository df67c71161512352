//! Kernel types (BTF): finds kernel functions, and declares a map whose values hold a lock.
//!
//! It implements only the necessary parts of the kernel's Documentation/bpf/btf.rst.

/// The kernel's own types.
pub const KERNEL: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;
const HEADER: usize = 24;
const INT: u32 = 1;
const STRUCT: u32 = 4;
const FUNCTION: u32 = 12;

/// Type numbers in [`with_lock`]: of keys, and of values.
pub const LOCK_KEY: u32 = 1;
pub const LOCK_VALUE: u32 = 3;

/// The number of a function in the kernel's types, by which programs call it.
pub fn function(types: &[u8], name: &str) -> Option<u32> {
    let word = |at: usize| Some(u32::from_le_bytes(types.get(at..at.checked_add(4)?)?.try_into().ok()?));
    if types.get(..2)? != MAGIC.to_le_bytes() {
        return None;
    }
    let header = word(4)? as usize;
    let at = |field| Some(header.checked_add(word(field)? as usize));
    let (mut at, names) = (at(8)??, at(16)??);
    let end = at.checked_add(word(12)? as usize)?;
    let is_named = |offset: u32| {
        let text = types.get(names.checked_add(offset as usize)?..)?;
        Some(text.strip_prefix(name.as_bytes())?.first() == Some(&0))
    };
    let mut number = 1;
    while at < end {
        let (text, information) = (word(at)?, word(at + 4)?);
        let (kind, members) = (information >> 24 & 0x1f, (information & 0xffff) as usize);
        if kind == FUNCTION && is_named(text) == Some(true) {
            return Some(number);
        }
        at += 12
            + match kind {
                INT | 14 | 17 => 4,
                3 => 12,
                STRUCT | 5 | 15 | 19 => 12 * members,
                6 | 13 => 8 * members,
                _ => 0,
            };
        number += 1;
    }
    None
}

/// The types of a map whose keys are numbers, and whose values hold a lock, a `struct bpf_res_spin_lock`, which the
/// kernel recognises by name, and a number. Twin of `struct stripe_lock` in bpf/ledger.bpf.c.
pub fn with_lock() -> Vec<u8> {
    let names = b"\0u32\0bpf_res_spin_lock\0val\0stripe_lock\0lock\0held\0";
    let name = |text: &[u8]| {
        let at = names
            .windows(text.len() + 2)
            .position(|window| window[0] == 0 && &window[1..=text.len()] == text && window[text.len() + 1] == 0);
        at.map_or(0, |at| at as u32 + 1)
    };
    let record = |text: &[u8], kind: u32, members: u32, size: u32| [name(text), kind << 24 | members, size];
    let types = [
        // 1: a number of 32 bits.
        record(b"u32", INT, 0, 4).as_slice(),
        &[32],
        // 2: the lock.
        &record(b"bpf_res_spin_lock", STRUCT, 1, 4),
        &[name(b"val"), LOCK_KEY, 0],
        // 3: the value.
        &record(b"stripe_lock", STRUCT, 2, 8),
        &[name(b"lock"), 2, 0, name(b"held"), LOCK_KEY, 32],
    ]
    .concat();
    let bytes = types.len() as u32 * 4;
    let mut blob = Vec::with_capacity(HEADER + bytes as usize + names.len());
    blob.extend(MAGIC.to_le_bytes());
    // Version 1, no flags.
    blob.extend([1, 0]);
    for word in [HEADER as u32, 0, bytes, bytes, names.len() as u32].iter().chain(&types) {
        blob.extend(word.to_le_bytes());
    }
    blob.extend(names);
    blob
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_function_is_found_behind_types_of_every_length() {
        let mut types = with_lock();
        assert_eq!(function(&types, "stripe_lock"), None, "a type, not a function");
        // One more type: a function with the name of the value.
        let (names, length) = (types[HEADER + 64 + 12..].to_vec(), 64 + 12);
        let name = names.windows(5).position(|window| window == b"\0lock").unwrap() as u32 + 1;
        types.truncate(HEADER + length);
        for word in [name, FUNCTION << 24, 0] {
            types.extend(word.to_le_bytes());
        }
        types[12..16].copy_from_slice(&(length as u32 + 12).to_le_bytes());
        types[16..20].copy_from_slice(&(length as u32 + 12).to_le_bytes());
        types.extend(names);
        assert_eq!(function(&types, "lock"), Some(4));
        assert_eq!(function(&types, "loc"), None);
    }

    proptest! {
        #[test]
        fn damaged_types_do_no_harm(at in 0_usize..120, value: u8, cut in 0_usize..120) {
            let mut types = with_lock();
            types.truncate(types.len().saturating_sub(cut).max(2));
            if let Some(byte) = types.get_mut(at) {
                *byte = value;
            }
            let _ = function(&types, "lock");
        }
    }
}
