//! Changes ahead of the published hashes: which cells changed, and the next hashes.
use spv::{Hash, ZERO_HASH};
use std::collections::BTreeMap;

/// The nodes of a trie from the cells up, as a heap: node i has the children 2i and 2i + 1. Those below the node of a
/// crowd are unused, because the crowd has its own.
#[derive(Debug)]
pub(super) struct Nodes {
    pub(super) hashes: Vec<Hash>,
    /// The number of accounts below each node.
    pub(super) counts: Vec<u32>,
}

impl Nodes {
    pub(super) fn new(cells: usize) -> Self {
        Self { hashes: vec![ZERO_HASH; 2 * cells], counts: vec![0; 2 * cells] }
    }
}

/// State ahead of the published hashes: the block builder's part of the index, or of a crowd in it.
#[derive(Debug)]
pub struct Pending {
    /// Nodes above dirty cells are out of date.
    pub(super) nodes: Nodes,
    /// A bit for each cell.
    pub(super) dirty: Vec<u64>,
    /// Nodes that were hashed since the last publication.
    pub(super) changed: Vec<usize>,
    /// The pending part of each crowd, by the number of its group.
    pub(super) crowds: BTreeMap<usize, Self>,
    /// Crowds that were hashed since the last publication.
    pub(super) changed_crowds: Vec<usize>,
    /// Number of entries hashed so far, including those in crowds.
    pub(super) hashed: u64,
}

impl Pending {
    /// For a trie of `cells` cells, with everything still to be hashed.
    pub(super) fn of_cells(cells: usize) -> Self {
        let mut pending = Self {
            nodes: Nodes::new(cells),
            dirty: vec![0; cells.div_ceil(64)],
            changed: Vec::new(),
            crowds: BTreeMap::new(),
            changed_crowds: Vec::new(),
            hashed: 0,
        };
        for cell in 0..cells {
            pending.mark(cell);
        }
        pending
    }

    /// Notes that an account of the cell has changed.
    #[inline]
    pub(super) fn mark(&mut self, cell: usize) {
        self.dirty[cell / 64] |= 1 << (cell % 64);
    }

    /// The part of the crowd in the group of this number, which has `cells` cells.
    pub(super) fn crowd(&mut self, number: usize, cells: usize) -> &mut Self {
        self.crowds.entry(number).or_insert_with(|| Self::of_cells(cells))
    }

    /// Number of entries hashed since its creation: the cost of roots.
    pub fn hashed(&self) -> u64 {
        self.hashed
    }
}
