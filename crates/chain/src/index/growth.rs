//! How a trie grows: more groups, and crowds in place of groups with too large a cell.
use super::images::Images;
use super::pages::Pages;
use super::pending::Pending;
use super::trie::{CELL_BITS, MAX_CELL, MAX_DEPTH, Trie, bits_for, take_group};

impl Trie {
    /// Makes room for accounts with these paths.
    ///
    /// Adds groups if the mean of those that are not crowds would become too large, and turns groups with too large a
    /// cell into crowds. Everything applied must have been committed.
    pub(super) fn prepare(&mut self, pages: &mut Pages, pending: &mut Pending, images: &mut Images, paths: &[u64]) {
        let to_crowds =
            if self.crowds.is_empty() { 0 } else { paths.iter().filter(|path| self.is_in_crowd(**path)).count() };
        let depth = self.base + bits_for(self.spread + (paths.len() - to_crowds) as u64);
        if depth.min(MAX_DEPTH) > self.depth {
            self.regroup(pages, images, depth.min(MAX_DEPTH));
            *pending = Pending::of_cells(self.cells.len());
            self.publish_again(pages, pending, images);
        }
        let mut more = vec![0; self.cells.len()];
        paths.iter().for_each(|path| more[self.cell_of(*path)] += 1);
        for path in paths {
            let cell = self.cell_of(*path);
            if self.cells[cell].accounts + more[cell] > MAX_CELL && self.can_have_crowds() && !self.is_in_crowd(*path) {
                self.make_crowd(pages, pending, images, cell >> CELL_BITS);
            }
        }
        if !self.crowds.is_empty() {
            let mut paths: Vec<_> = paths.iter().copied().filter(|path| self.is_in_crowd(*path)).collect();
            paths.sort_unstable();
            for paths in paths.chunk_by(|a, b| self.group_of(*a) == self.group_of(*b)).collect::<Vec<_>>() {
                let number = self.group_of(paths[0]);
                if let Some(crowd) = self.crowds.get_mut(&number) {
                    crowd.prepare(pages, pending.crowd(number, crowd.cells.len()), images, paths);
                }
            }
        }
    }

    fn is_in_crowd(&self, path: u64) -> bool {
        self.crowd(self.group_of(path)).is_some()
    }

    /// Sorts all entries into groups of this depth.
    fn regroup(&mut self, pages: &mut Pages, images: &mut Images, depth: u32) {
        let mut numbers = Vec::new();
        self.collect_images(images, &mut numbers);
        let groups = std::mem::take(&mut self.groups);
        let mut crowds = std::mem::take(&mut self.crowds);
        self.clear(depth);
        for (number, group) in groups.into_iter().enumerate() {
            let entries = take_group(number, group, &mut crowds, pages);
            self.fill_all(pages, &entries);
        }
        images.relink(numbers, self);
    }

    /// Adds the numbers of all images of its accounts.
    fn collect_images(&self, images: &Images, numbers: &mut Vec<u64>) {
        images.collect(&self.cells, numbers);
        self.crowds.values().for_each(|crowd| crowd.collect_images(images, numbers));
    }

    /// Turns a group into a crowd. Its hashes are published at once: they are those of its node.
    fn make_crowd(&mut self, pages: &mut Pages, pending: &mut Pending, images: &mut Images, number: usize) {
        let entries = std::mem::take(&mut self.groups[number]).take(pages);
        let cells = &mut self.cells[number << CELL_BITS..(number + 1) << CELL_BITS];
        let mut numbers = Vec::new();
        images.collect(cells, &mut numbers);
        cells.iter_mut().for_each(|cell| cell.image = 0);
        let mut crowd = Self::from_entries(pages, self.depth, &entries);
        images.relink(numbers, &mut crowd);
        let pending = pending.crowd(number, crowd.cells.len());
        crowd.publish_again(pages, pending, images);
        self.crowds.insert(number, crowd);
        self.spread -= entries.len() as u64;
    }

    /// Publishes the hashes of new groups, as of the last publication. `pending` is new, too.
    fn publish_again(&mut self, pages: &Pages, pending: &mut Pending, images: &Images) {
        if images.is_behind() {
            self.hash_published(pages, images);
        } else {
            // The same hashes are the pending ones, which saves the next root.
            pending.hash(self, pages, 1);
            pending.publish_to(self);
        }
    }
}
