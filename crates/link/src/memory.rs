//! Memory of buffers: mapped once, and unmapped when the last buffer is gone.
//!
//! One of the modules with `unsafe`: it maps memory, and creates slices of parts that nobody else uses.

use std::{
    os::fd::{BorrowedFd, OwnedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate, memfd_create},
    mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap},
};

use crate::error::{Error, Tried};

/// Neither grows nor shrinks.
const FIXED: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// The file system of memory files (linux/magic.h).
const TMPFS_MAGIC: i64 = 0x0102_1994;

/// A memory mapping.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread. Each accessor states who may touch which part.
unsafe impl Send for Memory {}
// SAFETY: the safe accessors check bounds and hand out addresses or atomics; callers of the slices guarantee that
// nobody writes the same part.
unsafe impl Sync for Memory {}

impl Memory {
    /// Zeroed private memory of this process.
    pub(crate) fn private(bytes: usize) -> Result<Self, Error> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses overlaps nothing.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) };
        Self::new(start.tried("map memory for buffers; lower buffers or buffer_bytes")?, bytes)
    }

    /// Zeroed memory that this process writes and others can map read-only. Its size is fixed, and nobody else can map
    /// it writable.
    pub(crate) fn shared(bytes: usize) -> Result<(Self, OwnedFd), Error> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create(c"turnpike-link", flags).tried("make shared memory; raise `ulimit -n`")?;
        ftruncate(&file, bytes as u64).tried("size shared memory")?;
        let memory = Self::map(&file, bytes, ProtFlags::READ | ProtFlags::WRITE)?;
        let seals = FIXED | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
        fcntl_add_seals(&file, seals).tried("seal shared memory; Linux 5.1 or newer is needed")?;
        Ok((memory, file))
    }

    /// Maps memory that another process writes, for reading. Its properties must be checked: a file that shrinks would
    /// kill a reader beyond its end, and one on a disk or in huge pages might.
    pub(crate) fn of_peer(file: BorrowedFd<'_>, bytes: usize) -> Result<Self, Error> {
        let is_sealed = fcntl_get_seals(file).is_ok_and(|seals| seals.contains(FIXED));
        let is_in_memory = fstatfs(file).is_ok_and(|system| system.f_type == TMPFS_MAGIC);
        let has_size = fstat(file).is_ok_and(|file| u64::try_from(file.st_size) == Ok(bytes as u64));
        if !(is_sealed && is_in_memory && has_size) {
            return Err(Error::BadMemory);
        }
        Self::map(file, bytes, ProtFlags::READ)
    }

    fn map(file: impl std::os::fd::AsFd, bytes: usize, protection: ProtFlags) -> Result<Self, Error> {
        // SAFETY: a new mapping at a place that the kernel chooses overlaps nothing.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, 0) };
        Self::new(start.tried("map shared memory; lower buffers or buffer_bytes")?, bytes)
    }

    fn new(start: *mut core::ffi::c_void, bytes: usize) -> Result<Self, Error> {
        let start = NonNull::new(start.cast()).ok_or(Error::Config("a mapping at address zero"))?;
        Ok(Self { start, bytes })
    }

    /// Start and size in bytes.
    #[cfg(feature = "rdma")]
    pub(crate) fn extent(&self) -> (NonNull<u8>, usize) {
        (self.start, self.bytes)
    }

    /// Address of a part.
    ///
    /// # Panics
    ///
    /// If the part is not within the mapping.
    pub(crate) fn at(&self, offset: usize, bytes: usize) -> NonNull<u8> {
        assert!(offset <= self.bytes && bytes <= self.bytes - offset, "the part is outside of its mapping");
        // SAFETY: the offset is within the mapping, as asserted above.
        unsafe { self.start.add(offset) }
    }

    /// A word that other threads or processes may change at any time.
    ///
    /// # Panics
    ///
    /// If the word is not within the mapping, or not aligned.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(size_of::<u64>()), "the word is not aligned");
        // SAFETY: within the mapping and aligned, because the mapping is page-aligned. An atomic load of a word that
        // another process changes yields the old or the new value; the MMU refuses a store to memory of a peer.
        unsafe { AtomicU64::from_ptr(self.at(offset, size_of::<u64>()).as_ptr().cast()) }
    }

    /// Copies bytes that another process may change meanwhile. Reads each word once.
    pub(crate) fn copy_out(&self, offset: usize, to: &mut [u8]) {
        for (at, part) in to.chunks_mut(size_of::<u64>()).enumerate() {
            let word = self.word(offset + at * size_of::<u64>()).load(Relaxed).to_ne_bytes();
            part.copy_from_slice(&word[..part.len()]);
        }
    }

    /// The bytes of a part.
    ///
    /// # Safety
    ///
    /// Nobody may write the part while the slice lives.
    pub(crate) unsafe fn slice(&self, offset: usize, bytes: usize) -> &[u8] {
        // SAFETY: within the mapping, which is initialised by the kernel; the caller promises the rest.
        unsafe { std::slice::from_raw_parts(self.at(offset, bytes).as_ptr(), bytes) }
    }

    /// The bytes of a part, mutable.
    ///
    /// # Safety
    ///
    /// Nobody else in this process may access the part while the slice lives.
    #[allow(clippy::mut_from_ref, reason = "the caller promises that nobody else has the part")]
    pub(crate) unsafe fn slice_mut(&self, offset: usize, bytes: usize) -> &mut [u8] {
        // SAFETY: `at` asserts the bounds, and the kernel initialised the mapping; the caller guarantees exclusive
        // access to the part.
        unsafe { std::slice::from_raw_parts_mut(self.at(offset, bytes).as_ptr(), bytes) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this value created the mapping, and everything that points into it keeps this value alive.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
