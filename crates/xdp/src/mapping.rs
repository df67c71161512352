//! Memory that this process has mapped: mostly of a map in the kernel's.

use std::{io, os::fd::BorrowedFd, ptr::NonNull, sync::Arc};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use table::Region;

/// A mapping; unmapped when the last region of it is gone.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping's memory is only touched through regions, which are `Sync` themselves.
unsafe impl Send for Mapping {}
// SAFETY: as above.
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

    /// Maps `len` bytes of memory that is nobody else's.
    pub fn anonymous(len: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let base =
            unsafe { mmap_anonymous(std::ptr::null_mut(), len, access, MapFlags::PRIVATE | MapFlags::NORESERVE) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { base, len })
    }

    /// Where it begins.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// A part of it. Whoever asks for the same part twice, or for one that may not be written, takes atomics of it alone, and
    /// only reads these in the second case.
    pub fn region(self: &Arc<Self>, offset: usize, len: usize) -> Region {
        assert!(offset + len <= self.len, "within the mapping");
        // SAFETY: the place is within the mapping, as checked; the region keeps the mapping; the callers, all in this crate, keep to
        // what the description says.
        unsafe { Region::from_raw(self.base.add(offset), len) }.kept_by(self.clone())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the pages that were mapped above; whatever refers to them keeps the mapping. An error leaves address space
        // mapped, which is harmless.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}
