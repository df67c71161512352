//! Previous values of entries, for readers and for reverting the open block. The first change that a block makes to an
//! entry creates its image. The images of one cell form a list, newest first.
//!
//! Not every block publishes the index, so up to three states are visible: the **published** one, to which proofs lead;
//! the **committed** one, after the last block; and that of the open block. Images stay until the next publication, and
//! the height in an entry says which states it belongs to: the entry as of a block is the newest one of the account
//! that is not above the block's height. For a hold that has ended since, or an account that was closed, that is a
//! **tombstone**, which follows the image of its entry.
//!
//! Image numbers keep counting up; raising the first valid number discards those before a publication. So the list
//! heads in the cells need no reset.
use super::paths::account_path;
use super::trie::{Cell, Trie};
use spv::IndexEntry;
use wire::AccountId;

/// The position in a tombstone, where no transaction can be.
const TOMBSTONE: u32 = u32::MAX;

/// Whether an image is a tombstone.
pub(super) fn is_tombstone(image: &IndexEntry) -> bool {
    image.position.get() == TOMBSTONE
}

/// The images since the last publication.
#[derive(Debug)]
pub(super) struct Images {
    images: Vec<Image>,
    /// Number of the first one.
    first: u64,
    /// How many of them are of committed blocks. The others are of the open one.
    committed_images: usize,
    /// Height of the block as of which the index is published.
    pub(super) published: u32,
    /// Height of the last block.
    pub(super) committed: u32,
}

/// A previous entry, and the number of the preceding image in its cell.
#[derive(Clone, Copy, Debug)]
struct Image {
    entry: IndexEntry,
    next: u64,
}

impl Images {
    /// For an index as of the block at this height.
    pub(super) fn new(height: u32) -> Self {
        // Cells start without a list, so 0 is not an image.
        Self { images: Vec::new(), first: 1, committed_images: 0, published: height, committed: height }
    }

    /// Adds the image of an entry of the cell.
    #[inline]
    pub(super) fn add(&mut self, cell: &mut Cell, entry: IndexEntry) {
        let number = self.first + self.images.len() as u64;
        self.images.push(Image { entry, next: std::mem::replace(&mut cell.image, number) });
    }

    /// Adds the tombstone of an entry of the cell, which the block at this height removes.
    pub(super) fn add_tombstone(&mut self, cell: &mut Cell, account: [u8; 16], height: u32) {
        let entry = IndexEntry { account, balance: 0.into(), height: height.into(), position: TOMBSTONE.into() };
        self.add(cell, entry);
    }

    /// The images of the cell's entries, newest first.
    pub(super) fn of_cell(&self, cell: &Cell) -> impl Iterator<Item = &IndexEntry> {
        self.numbers(cell).map(|number| &self.images[(number - self.first) as usize].entry)
    }

    /// The numbers of the cell's images, newest first.
    fn numbers(&self, cell: &Cell) -> impl Iterator<Item = u64> {
        let next =
            |number: &u64| Some(self.images[(number - self.first) as usize].next).filter(|next| self.holds(*next));
        std::iter::successors(Some(cell.image).filter(|number| self.holds(*number)), next)
    }

    fn holds(&self, number: u64) -> bool {
        number >= self.first && number - self.first < self.images.len() as u64
    }

    /// Whether a block was committed since the last publication.
    pub(super) fn is_behind(&self) -> bool {
        self.published < self.committed
    }

    /// Adds the numbers of all images of these cells.
    pub(super) fn collect(&self, cells: &[Cell], numbers: &mut Vec<u64>) {
        numbers.extend(cells.iter().flat_map(|cell| self.numbers(cell)));
    }

    /// Puts images into the lists of the cells where their accounts are now. These lists are empty.
    pub(super) fn relink(&mut self, mut numbers: Vec<u64>, trie: &mut Trie) {
        numbers.sort_unstable();
        for number in numbers {
            let image = &mut self.images[(number - self.first) as usize];
            let cell = trie.lowest_cell_mut(account_path(&AccountId(image.entry.account)));
            image.next = std::mem::replace(&mut cell.image, number);
        }
    }

    /// Removes the newest image, if it is of the open block. Returns its entry, and the new head of its cell's list.
    pub(super) fn pop_open(&mut self) -> Option<(IndexEntry, u64)> {
        if self.images.len() == self.committed_images {
            return None;
        }
        self.images.pop().map(|image| (image.entry, image.next))
    }

    /// Reserves room for `more` images, in one piece.
    pub(super) fn reserve(&mut self, more: usize) {
        self.images.reserve(more);
    }

    /// Notes that the block at this height is committed.
    pub(super) fn commit(&mut self, height: u32) {
        self.committed = height;
        self.committed_images = self.images.len();
    }

    /// Notes that the index is published as of the last block. Discards all images, but keeps their memory.
    pub(super) fn publish(&mut self) {
        self.published = self.committed;
        self.first += self.images.len() as u64;
        self.images.clear();
        self.committed_images = 0;
    }

    /// Releases the memory that no image uses.
    pub(super) fn release_memory(&mut self) {
        self.images.shrink_to_fit();
    }
}
