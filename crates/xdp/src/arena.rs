//! The arena: memory of this process that programs in the kernel have mapped, too.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use rustix::param::page_size;
use table::Region;

use crate::{
    Error,
    error::refused,
    mapping::Mapping,
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
    map: OwnedFd,
    mapping: Arc<Mapping>,
    used: AtomicUsize,
}

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
        let mapping = Mapping::new(map.as_fd(), 0, sum, true).map_err(refused("to map an arena"))?;
        Ok(Self { map, mapping: Arc::new(mapping), used: AtomicUsize::new(ALIGN) })
    }

    /// The state, in the first page.
    pub fn state(&self) -> State {
        State::new(self.mapping.region(0, STATE_BYTES))
    }

    /// A region of so many bytes, and its offset in the arena.
    pub fn take(&self, len: usize) -> Result<(Region, u64), Error> {
        let wanted = len.next_multiple_of(ALIGN);
        let size = self.mapping.len();
        let full = |used| Error::ArenaFull { size, used, wanted };
        let add = |used: usize| used.checked_add(wanted).filter(|end| *end <= size);
        let offset = self.used.fetch_update(Relaxed, Relaxed, add).map_err(full)?;
        // The state, which is made of atomics, is given more than once; all else is not.
        Ok((self.mapping.region(offset, len), offset as u64))
    }

    /// The map, for the program.
    pub(crate) fn map(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}
