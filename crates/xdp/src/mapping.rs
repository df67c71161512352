//! Memory mapped by this process, usually of a kernel map.

use std::{io, os::fd::BorrowedFd, ptr::NonNull, sync::Arc};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use table::Region;

/// A mapping; unmapped when its last region is gone.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is only accessed through regions, which are `Sync` themselves.
unsafe impl Send for Mapping {}
// SAFETY: a shared `Mapping` only hands out its address, its length and regions, which synchronise their own accesses.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes of a map's memory.
    pub fn new(map: BorrowedFd<'_>, offset: u64, len: usize, write: bool) -> io::Result<Self> {
        let access = if write { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe { mmap(std::ptr::null_mut(), len, access, MapFlags::SHARED, map, offset) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { base, len })
    }

    /// Maps `len` bytes of private memory.
    pub fn anonymous(len: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let base =
            unsafe { mmap_anonymous(std::ptr::null_mut(), len, access, MapFlags::PRIVATE | MapFlags::NORESERVE) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { base, len })
    }

    /// Its start address.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// A part of the mapping. A caller that takes the same part twice, or a read-only part, may use it only as atomics,
    /// and in the second case only read these.
    pub fn region(self: &Arc<Self>, offset: usize, len: usize) -> Region {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.len), "within the mapping");
        // SAFETY: the part is within the mapping, as checked; the region keeps the mapping alive; the callers, all in
        // this crate, obey the description.
        unsafe { Region::from_raw(self.base.add(offset), len) }.kept_by(self.clone())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the pages that were mapped above; whatever refers to them keeps the mapping alive. An error leaves
        // address space mapped, which is harmless.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}
