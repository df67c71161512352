//! The C engines.

use std::{ptr::NonNull, time::Duration};

use ledger::{Ledger, Limits, Secret, retries};
use proof::Cache;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::param::page_size;
use xdp::{Arena, Committed, Error, InNicConfig, InNicStore, Offsets, State, Tick};

use crate::{
    reference::{MAC, PORT, own_addresses, trusted},
    writer::beside,
};

/// Longest frame passed to an engine.
const MOST: usize = 4096;

unsafe extern "C" {
    fn native_tier(start: *mut u8, bytes: u32, memory: *mut u8) -> u32;
    fn native_ledger(start: *mut u8, bytes: u32, memory: *mut u8, now: u64, committed: *mut [u64; 5]) -> u32;
    fn native_interrupt_changes(memory: *mut u8);
    safe fn native_fold_sum(sum: u64) -> u16;
}

/// Folds a sum below 2^48 into 16 bits, as the engines' checksums do.
pub fn fold_sum(sum: u64) -> u16 {
    native_fold_sum(sum)
}

/// Memory that the engines read.
#[derive(Debug)]
pub enum Tables {
    /// The tables of Rust engines, for the tier.
    Tier,
    /// The store of an in-NIC ledger.
    InNic(InNicStore),
}

/// A C engine over an arena of this process alone.
#[derive(Debug)]
pub struct Engine {
    arena: Arena,
    tables: Tables,
    packet: Guarded,
    /// Current tick of an in-NIC ledger.
    pub now: Tick,
}

impl Engine {
    /// Creates the tier, over the tables of a new ledger.
    pub fn tier(limits: Limits, secret: [u8; 16]) -> Result<(Self, Ledger), ledger::Error> {
        let sizes = limits.memory()?;
        let arena = Arena::without_kernel(&sizes).expect("address space");
        let [accounts, header, index, ring] = sizes.map(|size| arena.take(size).expect("the arena has room for it"));
        let offsets =
            Offsets { accounts: accounts.1, window: header.1, index: index.1, ring: ring.1, ..Offsets::default() };
        arena.state().set_offsets(&offsets);
        let retries = retries::Memory { header: header.0, index: index.0, ring: ring.0 };
        let accounts = accounts.0;
        let ledger = Ledger::within(ledger::Memory { accounts, retries }, limits, Secret::from_seed(secret))?;
        Ok((Self::over(arena, Tables::Tier), ledger))
    }

    /// Creates the tier, over a new proof cache.
    pub fn proofs(config: &proof::Config) -> Result<(Self, Cache), table::Error> {
        let sizes = config.memory()?;
        let arena = Arena::without_kernel(&sizes).expect("address space");
        let [table, values, tips] = sizes.map(|size| arena.take(size).expect("the arena has room for it"));
        let value_lines = config.value_lines();
        let offsets = Offsets { proofs: table.1, values: values.1, value_lines, tips: tips.1, ..Offsets::default() };
        arena.state().set_offsets(&offsets);
        let cache = Cache::within(config, proof::Memory { table: table.0, values: values.0, tips: tips.0 })?;
        Ok((Self::over(arena, Tables::Tier), cache))
    }

    /// Creates an in-NIC ledger.
    pub fn in_nic(config: &InNicConfig, secret: [u64; 2]) -> Result<Self, Error> {
        let arena = Arena::without_kernel(&[InNicStore::bytes(config)])?;
        let store = InNicStore::within(&arena, config, secret)?;
        Ok(Self::over(arena, Tables::InNic(store)))
    }

    fn over(arena: Arena, tables: Tables) -> Self {
        arena.state().set_listening(PORT, MAC, &own_addresses());
        arena.state().set_trusted(trusted());
        Self { arena, tables, packet: Guarded::new(), now: Tick::after(Duration::ZERO) }
    }

    /// The engine's memory.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The engine's configuration, in the first page of its memory.
    pub fn state(&self) -> State {
        self.arena.state()
    }

    /// The store of an in-NIC ledger, to fill it with earlier contents.
    pub fn store_mut(&mut self) -> Option<&mut InNicStore> {
        match &mut self.tables {
            Tables::Tier => None,
            Tables::InNic(store) => Some(store),
        }
    }

    /// Like [`Self::answer`], with a writer that takes a step before each load of the engine.
    pub fn answer_beside(&mut self, frame: &[u8], writer: impl FnMut() + 'static) -> Option<Vec<u8>> {
        beside(writer, || self.answer(frame)).map(|(frame, _)| frame)
    }

    /// Leaves every bucket of the proofs' table in the state of an interrupted change.
    pub fn interrupt_changes(&mut self) {
        // SAFETY: the first page describes the arena; nobody else accesses it; without a table of proofs the function
        // traps.
        unsafe { native_interrupt_changes(self.arena.base().as_ptr()) };
    }

    /// Passes a frame to the engine. Returns its reply, or `None` if the frame passes unmodified. An in-NIC ledger also
    /// returns the operation for the journal.
    pub fn answer(&mut self, frame: &[u8]) -> Option<(Vec<u8>, Option<Committed>)> {
        let mut committed = [0; 5];
        let (start, bytes) = self.packet.put(frame);
        let memory = self.arena.base().as_ptr();
        // SAFETY: the packet has this length, in its own memory; this crate's functions laid out the arena that its
        // first page describes, and only a writer on the same thread accesses it, between two loads; `committed` is as
        // long as the structure.
        let length = unsafe {
            match &self.tables {
                Tables::Tier => native_tier(start, bytes, memory),
                Tables::InNic(_) => native_ledger(start, bytes, memory, self.now.number(), &raw mut committed),
            }
        };
        let after = self.packet.get(frame.len());
        if length == 0 {
            assert_eq!(after, frame, "what passes is as it came");
            return None;
        }
        let committed = (committed[0] != 0).then(|| Committed::from(committed));
        Some((after[..length as usize].to_vec(), committed))
    }
}

/// Memory for a frame that ends at the start of an inaccessible page.
#[derive(Debug)]
pub(crate) struct Guarded(NonNull<u8>);

impl Guarded {
    pub(crate) fn new() -> Self {
        let page = page_size();
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing; its last page is made
        // inaccessible at once.
        let base = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let base = mmap_anonymous(std::ptr::null_mut(), MOST + page, access, MapFlags::PRIVATE).expect("pages");
            mprotect(base.wrapping_byte_add(MOST), page, MprotectFlags::empty()).expect("a page without access");
            base
        };
        Self(NonNull::new(base.cast()).expect("not at zero"))
    }

    /// Places a frame at the end.
    pub(crate) fn put(&mut self, frame: &[u8]) -> (*mut u8, u32) {
        assert!(frame.len() <= MOST);
        let start = self.0.as_ptr().wrapping_add(MOST - frame.len());
        // SAFETY: the place is within the writable pages, which belong to this structure alone.
        unsafe { start.copy_from_nonoverlapping(frame.as_ptr(), frame.len()) };
        (start, frame.len() as u32)
    }

    pub(crate) fn get(&self, length: usize) -> &[u8] {
        // SAFETY: the range ends with the writable pages, which belong to this structure alone; `put` wrote it.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().wrapping_add(MOST - length), length) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the pages were mapped above; nothing refers to them afterwards. An error leaves them mapped, which is
        // harmless.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), MOST + page_size()) };
    }
}
