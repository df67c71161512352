//! The state as of the last publication: its entries, and its hashes if the trie has new groups.
use super::hashing::{INDEX_NODE, is_leaf, leaf_hash};
use super::images::Images;
use super::pages::Pages;
use super::proof::{sorted, subtree};
use super::trie::{CELL_BITS, Trie};
use spv::{Hash, IndexEntry};

impl Trie {
    /// Adds the entries below a node as of the last publication, in any order.
    ///
    /// If there were none, the node is not searched, as later blocks may have created many.
    pub(super) fn published_below(
        &self,
        pages: &Pages,
        images: &Images,
        node: usize,
        depth: u32,
        entries: &mut Vec<IndexEntry>,
    ) {
        if self.published.counts[node] == 0 {
            return;
        }
        if depth == self.cell_depth() {
            self.published_in_cell(pages, images, node, entries);
        } else if depth == self.depth()
            && let Some(crowd) = self.crowd(node - self.groups().len())
        {
            crowd.published_below(pages, images, 1, depth, entries);
        } else {
            self.published_below(pages, images, 2 * node, depth + 1, entries);
            self.published_below(pages, images, 2 * node + 1, depth + 1, entries);
        }
    }

    /// Adds the entries of the cell with this node as of the last publication, in any order.
    fn published_in_cell(&self, pages: &Pages, images: &Images, node: usize, entries: &mut Vec<IndexEntry>) {
        let is_published = |entry: &&IndexEntry| entry.height.get() <= images.published;
        let (group, range) = self.cell(node);
        entries.extend(self.groups()[group].entries(pages, range).flatten().filter(is_published));
        // Only the first change since the publication has such an image.
        entries.extend(images.of_cell(&self.cells()[node - self.cells().len()]).filter(is_published));
    }

    /// Hashes all nodes as of the last publication, which later blocks have changed.
    ///
    /// Hashes one leaf at a time. Needed only if the number of groups doubles, or a group becomes a crowd, while blocks
    /// [state no root](spv::BlockHeader::states_index).
    pub(super) fn hash_published(&mut self, pages: &Pages, images: &Images) {
        for crowd in self.crowds.values_mut() {
            crowd.hash_published(pages, images);
        }
        let mut entries = Vec::new();
        let first_cell = self.cells().len();
        for node in first_cell..2 * first_cell {
            if self.crowd((node - first_cell) >> CELL_BITS).is_some() {
                continue;
            }
            self.published_in_cell(pages, images, node, &mut entries);
            self.published.counts[node] = entries.len() as u32;
            self.published.hashes[node] = subtree(&sorted(std::mem::take(&mut entries)), self.cell_depth());
        }
        for depth in (self.base()..self.cell_depth()).rev() {
            let first = 1 << (depth - self.base());
            for node in first..2 * first {
                (self.published.counts[node], self.published.hashes[node]) =
                    self.published_node(pages, images, node, depth);
            }
        }
    }

    /// The number of accounts below a node above the cells, and its hash; the nodes below it are up to date.
    fn published_node(&self, pages: &Pages, images: &Images, node: usize, depth: u32) -> (u32, Hash) {
        let published = &self.published;
        if depth == self.depth()
            && let Some(crowd) = self.crowd(node - self.groups().len())
        {
            return (crowd.published.counts[1], crowd.published.hashes[1]);
        }
        let children = 2 * node..2 * node + 2;
        let count = published.counts[children.clone()].iter().sum();
        if !is_leaf(count as usize, depth) {
            return (count, INDEX_NODE.hash(published.hashes[children].as_flattened()));
        }
        let mut entries = Vec::new();
        for child in children {
            self.published_below(pages, images, child, depth + 1, &mut entries);
        }
        let entries: Vec<_> = sorted(entries).into_iter().map(|(_, entry)| entry).collect();
        (count, leaf_hash(&entries))
    }
}
