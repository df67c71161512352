//! Previous values of entries that the open block changed, for readers and for reverting it. The first change of an
//! entry creates its image. The images of one cell form a list, newest first.
//!
//! Image numbers keep counting up; raising the first valid number discards those of earlier blocks. So the list heads
//! in the cells need no reset.
use super::trie::Cell;
use spv::IndexEntry;

/// The images of the open block.
#[derive(Debug)]
pub(super) struct Images {
    images: Vec<Image>,
    /// Number of the first one.
    first: u64,
}

/// A previous entry, and the number of the preceding image in its cell.
#[derive(Clone, Copy, Debug)]
struct Image {
    entry: IndexEntry,
    next: u64,
}

impl Default for Images {
    fn default() -> Self {
        // Cells start without a list, so 0 is not an image.
        Self { images: Vec::new(), first: 1 }
    }
}

impl Images {
    /// Adds the image of an entry of the cell.
    #[inline]
    pub(super) fn add(&mut self, cell: &mut Cell, entry: IndexEntry) {
        let number = self.first + self.images.len() as u64;
        self.images.push(Image { entry, next: std::mem::replace(&mut cell.image, number) });
    }

    /// The images of the cell's entries.
    pub(super) fn of_cell(&self, cell: &Cell) -> impl Iterator<Item = &IndexEntry> {
        let image = |number: u64| self.images.get(usize::try_from(number.checked_sub(self.first)?).ok()?);
        let newest = image(cell.image);
        std::iter::successors(newest, move |before| image(before.next)).map(|image| &image.entry)
    }

    /// Takes all images, to revert the block. None of them counts afterwards.
    pub(super) fn take(&mut self) -> Vec<IndexEntry> {
        let entries = self.images.iter().map(|image| image.entry).collect();
        self.forget();
        entries
    }

    /// Reserves room for `more` images, in one piece.
    pub(super) fn reserve(&mut self, more: usize) {
        self.images.reserve(more);
    }

    /// Discards all images but keeps their memory for the next block.
    pub(super) fn forget(&mut self) {
        self.first += self.images.len() as u64;
        self.images.clear();
    }

    /// Releases that memory.
    pub(super) fn release_memory(&mut self) {
        self.images.shrink_to_fit();
    }
}
