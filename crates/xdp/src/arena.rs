//! The arena: memory of this process that programs in the kernel have mapped, too.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use rustix::{
    mm::{MapFlags, ProtFlags, mmap, munmap},
    param::page_size,
};
use table::Region;

use crate::{
    Error,
    error::refused,
    state::{STATE_BYTES, State},
    sys,
};

/// The most that an arena holds: addresses in it are told by their lower 32 bits.
const MOST: usize = 1 << 32;

/// What regions are aligned to: a page, so that they share no cache line and no page with each other.
const ALIGN: usize = 4096;

/// An arena. Pages become resident as they are used, and are zero at first.
///
/// The first page is the [`State`]'s; what follows is given out once, one [`Region`] after the other.
#[derive(Debug)]
pub struct Arena {
    mapping: Arc<Mapping>,
    used: AtomicUsize,
}

#[derive(Debug)]
struct Mapping {
    map: OwnedFd,
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping's memory is only touched through regions, which are `Sync` themselves.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Arena {
    /// Makes an arena with room for regions of these sizes.
    pub fn with_room_for(sizes: &[usize]) -> Result<Self, Error> {
        let sum = sizes.iter().map(|size| size.next_multiple_of(ALIGN)).sum::<usize>() + ALIGN;
        if sum > MOST {
            return Err(Error::TooLarge(sum));
        }
        let pages = (sum / page_size()) as u32;
        let map =
            sys::create_map(sys::MAP_ARENA, "arena", [0, 0], pages, sys::F_MMAPABLE).map_err(refused("an arena"))?;
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let base =
            unsafe { mmap(std::ptr::null_mut(), sum, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &map, 0) };
        let base = base.map_err(|error| refused("to map an arena")(error.into()))?;
        let base = NonNull::new(base.cast()).ok_or(Error::TooLarge(sum))?;
        Ok(Self { mapping: Arc::new(Mapping { map, base, len: sum }), used: AtomicUsize::new(ALIGN) })
    }

    /// The state, in the first page.
    pub fn state(&self) -> State {
        State::new(self.region(0, STATE_BYTES))
    }

    /// A region of so many bytes, and its offset in the arena.
    pub fn take(&self, len: usize) -> Result<(Region, u64), Error> {
        let wanted = len.next_multiple_of(ALIGN);
        let size = self.mapping.len;
        let full = |used| Error::ArenaFull { size, used, wanted };
        let add = |used: usize| used.checked_add(wanted).filter(|end| *end <= size);
        let offset = self.used.fetch_update(Relaxed, Relaxed, add).map_err(full)?;
        Ok((self.region(offset, len), offset as u64))
    }

    /// The map, for the program.
    pub(crate) fn map(&self) -> BorrowedFd<'_> {
        self.mapping.map.as_fd()
    }

    fn region(&self, offset: usize, len: usize) -> Region {
        assert!(offset + len <= self.mapping.len, "within the mapping");
        // SAFETY: the place is within the mapping, as checked; the region keeps the mapping; each place but the state's, which is
        // made of atomics, is given out once.
        unsafe { Region::from_raw(self.mapping.base.add(offset), len) }.kept_by(self.mapping.clone())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the pages that were mapped above; whatever refers to them keeps the mapping. An error leaves address space
        // mapped, which is harmless.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}
