//! What entries were before the open block, for readers and for taking it back: an image of each that is changed, made when it is
//! changed first. Those of one cell are a list, from the newest on.
//!
//! Images are numbered on and on, and those of earlier blocks are forgotten by raising the first number that counts. So the
//! heads of the lists, one in each cell, stay as they are.
use super::trie::Cell;
use spv::IndexEntry;

/// The images of the open block.
#[derive(Debug)]
pub(super) struct Images {
    images: Vec<Image>,
    /// Number of the first one.
    first: u64,
}

/// What an entry was, and the number of the image before it in its cell.
#[derive(Clone, Copy, Debug)]
struct Image {
    entry: IndexEntry,
    next: u64,
}

impl Default for Images {
    fn default() -> Self {
        // No cell has a list at first, so 0 is no image.
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
    pub(super) fn of(&self, cell: &Cell) -> impl Iterator<Item = &IndexEntry> {
        let image = |number: u64| self.images.get(usize::try_from(number.checked_sub(self.first)?).ok()?);
        let newest = image(cell.image);
        std::iter::successors(newest, move |before| image(before.next)).map(|image| &image.entry)
    }

    /// All images, as they are when the block is taken back. None of them counts any more.
    pub(super) fn take(&mut self) -> Vec<IndexEntry> {
        let entries = self.images.iter().map(|image| image.entry).collect();
        self.forget();
        entries
    }

    /// Makes room for as many more, in one piece.
    pub(super) fn reserve(&mut self, more: usize) {
        self.images.reserve(more);
    }

    /// Forgets all; their memory is kept for the next block.
    pub(super) fn forget(&mut self) {
        self.first += self.images.len() as u64;
        self.images.clear();
    }

    /// Gives that memory back.
    pub(super) fn release_memory(&mut self) {
        self.images.shrink_to_fit();
    }
}
