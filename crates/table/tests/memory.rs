//! Tables in memory that the caller provides, and the same memory mapped twice.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{ptr::NonNull, sync::atomic::AtomicU64};

use rustix::{
    fs::{MemfdFlags, ftruncate, memfd_create},
    mm::{MapFlags, ProtFlags, mmap},
};
use turnpike_table::{Config, Error, Reader, Region, Table};

const SEED: [u8; 16] = *b"memory memory me";

/// Memory that outlives every region made from it, and is not empty at first.
#[repr(align(64))]
struct Memory([AtomicU64; 4096]);

impl Memory {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0xa5a5_a5a5_a5a5_a5a5) }; 4096])
    }

    fn start(&'static self) -> NonNull<u8> {
        NonNull::from(&self.0).cast()
    }
}

#[test]
fn memory_given_by_the_caller_serves() {
    let config = Config::new(500).seed(SEED);
    static MEMORY: Memory = Memory::new();
    // SAFETY: the memory exists for ever, and consists of atomics.
    let region = unsafe { Region::from_raw(MEMORY.start(), size_of::<Memory>()) };
    let mut table = Table::<16, 8>::with_region(&config, region).unwrap();
    assert!(table.is_empty());
    for number in 0..500_u128 {
        table.insert(&number.to_be_bytes(), (number as u64).to_le_bytes()).unwrap();
    }
    assert!((0..500_u128).all(|number| table.get(&number.to_be_bytes()) == Some((number as u64).to_le_bytes())));
}

#[test]
fn memory_that_does_not_suffice_is_refused() {
    let config = Config::new(500).seed(SEED);
    let needed = config.memory::<16, 8>().unwrap();
    static MEMORY: Memory = Memory::new();
    for (skip, len) in [(0, needed - 1), (0, 0), (8, needed + 64)] {
        // SAFETY: within the memory, which exists for ever and consists of atomics.
        let region = unsafe { Region::from_raw(MEMORY.start().add(skip), len) };
        assert!(matches!(Table::<16, 8>::with_region(&config, region), Err(Error::RegionTooSmall { .. })));
    }
}

/// Offsets matter, not addresses: another mapping of the same pages reads the same table.
#[test]
fn a_second_mapping_reads_the_same_table() {
    let config = Config::new(1000).seed(SEED);
    let len = config.memory::<33, 16>().unwrap().next_multiple_of(4096);
    let file = memfd_create("table", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, len as u64).unwrap();
    let map = |protection| {
        // SAFETY: a new mapping at an address of the kernel's choice; it is never unmapped.
        let base = unsafe { mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, &file, 0) }.unwrap();
        // SAFETY: `base` to `base + len` was just mapped and stays so for ever; only regions access it. The writable
        // mapping is for a table, the others are for readers, which only read.
        unsafe { Region::from_raw(NonNull::new(base.cast()).unwrap(), len) }
    };
    assert!(matches!(Reader::<33, 16>::attach(map(ProtFlags::READ)), Err(Error::NotATable(_))));
    let mut table = Table::<33, 16>::with_region(&config, map(ProtFlags::READ | ProtFlags::WRITE)).unwrap();
    let reader = Reader::<33, 16>::attach(map(ProtFlags::READ)).unwrap();
    for number in 0..=255 {
        assert_eq!(reader.get(&[number; 33]), None);
        table.insert(&[number; 33], [number; 16]).unwrap();
        assert_eq!(reader.get(&[number; 33]), Some([number; 16]));
    }
    table.remove(&[9; 33]).unwrap();
    assert_eq!(reader.get(&[9; 33]), None);
    assert!(matches!(Reader::<32, 16>::attach(map(ProtFlags::READ)), Err(Error::NotATable(_))));
    assert!(matches!(Reader::<33, 8>::attach(map(ProtFlags::READ)), Err(Error::NotATable(_))));
}

#[test]
fn seeds_are_random_unless_given() {
    let table = || Table::<16, 8>::with_capacity(&Config::new(10)).unwrap();
    assert_ne!(table().hash(&[1; 16]), table().hash(&[1; 16]));
}

#[test]
fn the_estimate_grows_with_the_entries() {
    let mut table = Table::<16, 8>::with_capacity(&Config::new(100_000).seed(SEED).prefault(true)).unwrap();
    let empty = table.resident_estimate();
    for number in 0..1000_u128 {
        table.insert(&number.to_be_bytes(), [0; 8]).unwrap();
    }
    assert_eq!(table.resident_estimate(), empty + 24_000);
    assert!(empty < 1 << 20);
    assert_eq!(table.capacity(), 100_000);
}
