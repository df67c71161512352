//! What is ahead of the published hashes: which cells changed, and the hashes as they are to become.
use spv::{Hash, ZERO_HASH};
use std::collections::BTreeMap;

/// The nodes of a trie from the cells up, as a heap: node i has the children 2i and 2i + 1. Those below the node of a crowd are
/// not used, as the crowd has its own.
#[derive(Debug)]
pub(super) struct Nodes {
    pub(super) hashes: Vec<Hash>,
    /// The numbers of accounts below.
    pub(super) counts: Vec<u32>,
}

impl Nodes {
    pub(super) fn new(cells: usize) -> Self {
        Self { hashes: vec![ZERO_HASH; 2 * cells], counts: vec![0; 2 * cells] }
    }
}

/// What is ahead of the published hashes: the block builder's part of the index, or of a crowd in it.
#[derive(Debug)]
pub struct Pending {
    /// Those above dirty cells are out of date.
    pub(super) nodes: Nodes,
    /// A bit for each cell.
    pub(super) dirty: Vec<u64>,
    /// Nodes that were hashed since the last publication.
    pub(super) changed: Vec<usize>,
    /// The crowds', by the numbers of their groups.
    pub(super) crowds: BTreeMap<usize, Self>,
    /// Those of them that were hashed since the last publication.
    pub(super) changed_crowds: Vec<usize>,
    /// Entries that were hashed so far, in crowds too.
    pub(super) hashed: u64,
}

impl Pending {
    /// For a trie of so many cells, with everything still to be hashed.
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

    /// That of the crowd in the group of this number, which has so many cells.
    pub(super) fn crowd(&mut self, number: usize, cells: usize) -> &mut Self {
        self.crowds.entry(number).or_insert_with(|| Self::of_cells(cells))
    }

    /// How many entries were hashed since it was made: what roots cost.
    pub fn hashed(&self) -> u64 {
        self.hashed
    }
}
