//! The arena: memory of this process that kernel programs have mapped as well.

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

/// Maximum size of an arena: addresses in it are distinguished by their lower 32 bits.
const MOST: usize = 1 << 32;

/// Alignment of regions: a page, so that they share neither cache lines nor pages.
const ALIGN: usize = 4096;

/// An arena. Pages become resident on use, and are initially zero.
///
/// The first page is the [`State`]'s; the rest is handed out once, one [`Region`] after the other.
#[derive(Debug)]
pub struct Arena {
    /// `None` if the kernel does not know the arena.
    map: Option<OwnedFd>,
    mapping: Arc<Mapping>,
    used: AtomicUsize,
}

impl Arena {
    /// Creates an arena with room for regions of these sizes.
    pub fn with_room_for(sizes: &[usize]) -> Result<Self, Error> {
        let sum = Self::sum(sizes)?;
        let pages = (sum / page_size()) as u32;
        let map =
            sys::create_map(sys::MAP_ARENA, "arena", [0, 0], pages, sys::F_MMAPABLE).map_err(refused("an arena"))?;
        let mapping = Mapping::new(map.as_fd(), 0, sum, true).map_err(refused("to map an arena"))?;
        Ok(Self { map: Some(map), mapping: Arc::new(mapping), used: AtomicUsize::new(ALIGN) })
    }

    /// Creates an arena private to this process, over which no program can be loaded: for engines compiled for this
    /// machine.
    pub fn without_kernel(sizes: &[usize]) -> Result<Self, Error> {
        let mapping = Mapping::anonymous(Self::sum(sizes)?).map_err(refused("memory"))?;
        Ok(Self { map: None, mapping: Arc::new(mapping), used: AtomicUsize::new(ALIGN) })
    }

    fn sum(sizes: &[usize]) -> Result<usize, Error> {
        let sum = sizes.iter().map(|size| size.next_multiple_of(ALIGN)).sum::<usize>() + ALIGN;
        if sum > MOST { Err(Error::TooLarge(sum)) } else { Ok(sum) }
    }

    /// Its start address.
    pub fn base(&self) -> NonNull<u8> {
        self.mapping.base()
    }

    /// The state, in the first page.
    pub fn state(&self) -> State {
        State::new(self.mapping.region(0, state::BYTES))
    }

    /// The first page, for programs with other contents there.
    pub(crate) fn first_page(&self) -> Region {
        self.mapping.region(0, ALIGN)
    }

    /// Allocates a region of `len` bytes. Returns it with its offset in the arena.
    pub fn take(&self, len: usize) -> Result<(Region, u64), Error> {
        let wanted = len.next_multiple_of(ALIGN);
        let size = self.mapping.len();
        let full = |used| Error::ArenaFull { size, used, wanted };
        let add = |used: usize| used.checked_add(wanted).filter(|end| *end <= size);
        let offset = self.used.fetch_update(Relaxed, Relaxed, add).map_err(full)?;
        // Only the state, which consists of atomics, is handed out more than once.
        Ok((self.mapping.region(offset, len), offset as u64))
    }

    /// The map, for the program.
    pub(crate) fn map(&self) -> Result<BorrowedFd<'_>, Error> {
        self.map.as_ref().map(OwnedFd::as_fd).ok_or(Error::NoKernel)
    }
}
