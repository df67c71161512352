//! Memory regions: anonymous pages, a file, or memory of the caller.

use std::{
    any::Any,
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    os::fd::AsFd,
    ptr::NonNull,
    sync::{Arc, atomic::AtomicU64},
};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use crate::Error;

/// Size of the requested huge pages, and the alignment that the kernel requires for them.
const HUGE_PAGE: usize = 2 << 20;

/// Page size of an anonymous region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pages {
    /// The system's ordinary pages.
    Small,
    /// Huge pages if the system has any: a random access then rarely misses the TLB.
    #[default]
    Huge,
}

/// Memory for a table or a value store.
///
/// Nothing holds a plain reference into a region: every access goes through atomics that another process may change at
/// any time without harm to memory safety.
pub struct Region {
    base: NonNull<u8>,
    len: usize,
    owned: bool,
    /// Keeps the caller's memory mapped.
    _keeper: Option<Arc<dyn Any + Send + Sync>>,
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("len", &self.len).field("owned", &self.owned).finish_non_exhaustive()
    }
}

// SAFETY: the memory is only accessed through atomics (`Cells`), and unmapped once, by the last owner.
unsafe impl Send for Region {}
// SAFETY: a shared region hands out only atomics; plain access ([`PlainArray`]) needs the region by value.
unsafe impl Sync for Region {}

impl Region {
    /// Maps `len` bytes of zeroed memory. With `prefault` every page is resident when this returns, so that the data
    /// path never waits for one.
    pub fn anonymous(len: usize, pages: Pages, prefault: bool) -> Result<Self, Error> {
        let memory = |source: rustix::io::Errno| Error::Memory { bytes: len, source: source.into() };
        let align = if pages == Pages::Huge { HUGE_PAGE } else { 1 };
        let mapped = len.max(1).checked_add(align).ok_or(memory(rustix::io::Errno::NOMEM))?;
        // SAFETY: a fresh private mapping at an address of the kernel's choice overlaps nothing.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(memory)?;
        let skip = start.align_offset(align);
        let base = NonNull::new(start.wrapping_byte_add(skip).cast::<u8>()).ok_or(memory(rustix::io::Errno::NOMEM))?;
        // The slack is untouched address space, so it is unmapped as a whole.
        let used = len.max(1).next_multiple_of(rustix::param::page_size());
        trim(start.cast(), skip);
        trim(base.as_ptr().wrapping_add(used), mapped.saturating_sub(skip + used));
        let region = Self { base, len: used, owned: true, _keeper: None };
        if pages == Pages::Huge {
            // Only advice: a kernel without huge pages provides small ones.
            let _ = region.advise(Advice::LinuxHugepage);
        }
        if prefault {
            region.advise(Advice::LinuxPopulateWrite).map_err(memory)?;
        }
        Ok(region)
    }

    /// Maps `len` bytes of a file from `offset` on, a multiple of the system's page size. Writes go to the file,
    /// whatever happens to the program.
    ///
    /// # Safety
    ///
    /// For as long as the region or anything made from it lives, the file must have these bytes, and nobody else may
    /// write them.
    pub unsafe fn of_file(file: impl AsFd, offset: u64, len: usize) -> Result<Self, Error> {
        let memory = |source: rustix::io::Errno| Error::Memory { bytes: len, source: source.into() };
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let start =
            unsafe { mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, file, offset) }.map_err(memory)?;
        let base = NonNull::new(start.cast()).ok_or(memory(rustix::io::Errno::NOMEM))?;
        let region = Self { base, len, owned: true, _keeper: None };
        // Only advice: few file systems have huge pages.
        let _ = region.advise(Advice::LinuxHugepage);
        Ok(region)
    }

    /// Uses the caller's memory.
    ///
    /// # Safety
    ///
    /// `base` to `base + len` must stay mapped, readable and writable, for as long as the region or anything made from
    /// it lives, and Rust code must hold no references into it other than to atomics. A [`crate::Reader`] only reads,
    /// so for one the memory may be mapped without write permission. A region that becomes a [`PlainArray`] must be the
    /// only one for its memory.
    pub unsafe fn from_raw(base: NonNull<u8>, len: usize) -> Self {
        Self { base, len, owned: false, _keeper: None }
    }

    /// Keeps `keeper`, which maps the memory, alive for as long as the region or anything made from it lives.
    pub fn kept_by(self, keeper: Arc<dyn Any + Send + Sync>) -> Self {
        Self { _keeper: Some(keeper), ..self }
    }

    /// The `len` words at `offset`, or `None` if they exceed the region or are misaligned.
    pub fn words(self: &Arc<Self>, offset: usize, len: usize) -> Option<Array<AtomicU64>> {
        self.array(offset, len)
    }

    /// Converts the region to numbers that only their owner changes, or returns `None` if it is misaligned for them.
    pub fn into_plain<T: Plain>(self) -> Option<PlainArray<T>> {
        let len = self.len / size_of::<T>();
        let first = self.base.cast::<T>();
        first.is_aligned().then_some(PlainArray { first, len, _region: self })
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the region has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn advise(&self, advice: Advice) -> rustix::io::Result<()> {
        // SAFETY: the advices used neither unmap pages nor change what they hold.
        unsafe { madvise(self.base.as_ptr().cast(), self.len, advice) }
    }

    /// The `len` cells at `offset`, or `None` if they exceed the region or are misaligned.
    pub(crate) fn array<T: Cells>(self: &Arc<Self>, offset: usize, len: usize) -> Option<Array<T>> {
        let end = len.checked_mul(size_of::<T>())?.checked_add(offset)?;
        if end > self.len {
            return None;
        }
        // SAFETY: `offset` is within the region, as checked above.
        let first = unsafe { self.base.add(offset) }.cast::<T>();
        first.is_aligned().then(|| Array { first, len, region: Arc::clone(self), cells: PhantomData })
    }
}

/// Integers, and arrays of them: any bit pattern is a valid value.
///
/// # Safety
///
/// Every bit pattern must be valid.
pub unsafe trait Plain: Copy {}

// SAFETY: an integer.
unsafe impl Plain for u32 {}
// SAFETY: integers.
unsafe impl<const N: usize> Plain for [u64; N] {}

/// A region's memory as numbers that only their owner writes.
///
/// A kernel program may read them at any time. It must expect partially written numbers, in any order except for the
/// owner's fences.
#[derive(Debug)]
pub struct PlainArray<T> {
    first: NonNull<T>,
    len: usize,
    _region: Region,
}

// SAFETY: the numbers belong to this array alone, because the region was consumed for it.
unsafe impl<T: Plain + Send> Send for PlainArray<T> {}
// SAFETY: a shared reference only reads, and writing needs a mutable one, which no other thread can hold meanwhile.
unsafe impl<T: Plain + Sync> Sync for PlainArray<T> {}

impl<T: Plain> Deref for PlainArray<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `Region::into_plain` checked length and alignment, any bit pattern is a valid number, the memory is
        // mapped for as long as the region is kept, and no other Rust code has it.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl<T: Plain> DerefMut for PlainArray<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `Region::into_plain` checked length and alignment, any bit pattern is a valid number, and the mutable
        // borrow of the region's only owner excludes other Rust references.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.owned {
            trim(self.base.as_ptr(), self.len);
        }
    }
}

/// Unmaps pages of a region of our own.
fn trim(start: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: only called with pages that a constructor of `Region` mapped and that nothing refers to. An error
        // leaves address space mapped, which is harmless.
        let _ = unsafe { munmap(start.cast(), len) };
    }
}

/// Types that consist of atomics only.
///
/// # Safety
///
/// Every bit pattern must be a valid value, and every byte must be inside an atomic.
pub unsafe trait Cells: Sync {}

// SAFETY: an atomic integer.
unsafe impl Cells for std::sync::atomic::AtomicU32 {}
// SAFETY: an atomic integer.
unsafe impl Cells for std::sync::atomic::AtomicU64 {}

/// Cells of a region, which it keeps mapped.
#[derive(Debug)]
pub struct Array<T> {
    first: NonNull<T>,
    len: usize,
    region: Arc<Region>,
    cells: PhantomData<T>,
}

// SAFETY: `Cells` are atomics, which any thread may access, and the region is shared.
unsafe impl<T: Cells> Send for Array<T> {}
// SAFETY: a shared reference yields only `&[T]`, whose cells are atomics (`Cells` requires `Sync`).
unsafe impl<T: Cells> Sync for Array<T> {}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        Self { first: self.first, len: self.len, region: Arc::clone(&self.region), cells: PhantomData }
    }
}

impl<T: Cells> Deref for Array<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `Region::array` checked bounds and alignment, any bit pattern is a valid cell, the region is mapped
        // for as long as `self` lives, and cells may change behind a shared reference.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    #[test]
    fn anonymous_memory_is_zeroed_and_aligned() {
        for pages in [Pages::Small, Pages::Huge] {
            let region = Arc::new(Region::anonymous(5 << 20, pages, pages == Pages::Huge).unwrap());
            let cells = region.array::<AtomicU64>(0, (5 << 20) / 8).unwrap();
            assert!(cells.iter().all(|cell| cell.load(Relaxed) == 0));
            let align = if pages == Pages::Huge { HUGE_PAGE } else { 4096 };
            assert_eq!(region.base.as_ptr().align_offset(align), 0);
        }
    }

    #[test]
    fn arrays_outside_the_region_are_refused() {
        let region = Arc::new(Region::anonymous(4096, Pages::Small, false).unwrap());
        assert!(region.array::<AtomicU64>(0, 512).is_some());
        assert!(region.array::<AtomicU64>(8, 512).is_none());
        assert!(region.array::<AtomicU64>(4, 1).is_none());
        assert!(region.array::<AtomicU64>(usize::MAX, 1).is_none());
        assert!(region.array::<AtomicU64>(0, usize::MAX).is_none());
    }

    #[test]
    fn what_is_written_to_a_files_memory_is_in_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        // SAFETY: nobody else has the file.
        let region = unsafe { Region::of_file(&file, 4096, 4096) }.unwrap();
        let mut words = region.into_plain::<[u64; 1]>().unwrap();
        words[1] = [u64::from_ne_bytes(*b"turnpike")];
        drop(words);
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
        assert_eq!(bytes[4096 + 8..][..8], *b"turnpike");
        // SAFETY: the offset is refused before anything refers to the mapping, and nobody else has the file.
        assert!(unsafe { Region::of_file(&file, 1, 4096) }.is_err());
    }

    #[test]
    fn more_memory_than_there_is_is_an_error() {
        assert!(matches!(Region::anonymous(usize::MAX, Pages::Huge, false), Err(Error::Memory { .. })));
        assert!(matches!(Region::anonymous(1 << 60, Pages::Small, false), Err(Error::Memory { .. })));
    }
}
