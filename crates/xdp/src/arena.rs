//! The arena: memory of this process that programs in the kernel have mapped, too.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use rustix::param::page_size;
use table::Region;

use crate::{Error, error::refused, mapping::Mapping, shared_layout::state, state::State, sys};

/// The most that an arena holds: addresses in it are told by their lower 32 bits.
const MOST: usize = 1 << 32;

/// What regions are aligned to: a page, so that they share no cache line and no page with each other.
const ALIGN: usize = 4096;

/// An arena. Pages become resident as they are used, and are zero at first.
///
/// The first page is the [`State`]'s; what follows is given out once, one [`Region`] after the other.
#[derive(Debug)]
pub struct Arena {
    /// None where the kernel does not know of it.
    map: Option<OwnedFd>,
    mapping: Arc<Mapping>,
    used: AtomicUsize,
}

impl Arena {
    /// Makes an arena with room for regions of these sizes.
    pub fn with_room_for(sizes: &[usize]) -> Result<Self, Error> {
        let sum = Self::sum(sizes)?;
        let pages = (sum / page_size()) as u32;
        let map =
            sys::create_map(sys::MAP_ARENA, "arena", [0, 0], pages, sys::F_MMAPABLE).map_err(refused("an arena"))?;
        let mapping = Mapping::new(map.as_fd(), 0, sum, true).map_err(refused("to map an arena"))?;
        Ok(Self { map: Some(map), mapping: Arc::new(mapping), used: AtomicUsize::new(ALIGN) })
    }

    /// Makes an arena of this process alone, which no program can be loaded over: for engines that are compiled for this machine.
    pub fn without_kernel(sizes: &[usize]) -> Result<Self, Error> {
        let mapping = Mapping::anonymous(Self::sum(sizes)?).map_err(refused("memory"))?;
        Ok(Self { map: None, mapping: Arc::new(mapping), used: AtomicUsize::new(ALIGN) })
    }

    fn sum(sizes: &[usize]) -> Result<usize, Error> {
        let sum = sizes.iter().map(|size| size.next_multiple_of(ALIGN)).sum::<usize>() + ALIGN;
        if sum > MOST { Err(Error::TooLarge(sum)) } else { Ok(sum) }
    }

    /// Where it begins.
    pub fn base(&self) -> NonNull<u8> {
        self.mapping.base()
    }

    /// The state, in the first page.
    pub fn state(&self) -> State {
        State::new(self.mapping.region(0, state::BYTES))
    }

    /// The first page, for programs that have something else in it.
    pub(crate) fn first_page(&self) -> Region {
        self.mapping.region(0, ALIGN)
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
    pub(crate) fn map(&self) -> Result<BorrowedFd<'_>, Error> {
        self.map.as_ref().map(OwnedFd::as_fd).ok_or(Error::NoKernel)
    }
}
