//! A trie of groups and cells over all accounts whose paths share a prefix: the whole index, or a crowd in it.
use super::group::{Group, fingerprint};
use super::pages::{At, Pages};
use super::pending::{Nodes, Pending};
use spv::IndexEntry;
use std::collections::BTreeMap;
use std::ops::Range;
use wire::AccountId;

/// Mean size of groups at which they are split. Between this and half of it, groups are large enough to make their
/// overhead negligible, and small enough for insertions to move little.
const MAX_MEAN_GROUP: u64 = 192;

/// Bits of a cell's prefix after those of its group: cells hold 24 to 48 accounts on average, two leaves or four.
pub(super) const CELL_BITS: u32 = 2;

/// Maximum number of accounts in a cell; a group with a larger one becomes a crowd. Chance alone does not produce one:
/// it would be eleven standard deviations above the mean.
pub(super) const MAX_CELL: u32 = 128;

/// Minimum number of bits that number the groups of a crowd. A crowd in a crowd takes that many more bits in which
/// paths agree, each of which doubles the work of finding such paths.
const MIN_CROWD_BITS: u32 = 3;

/// Maximum number of bits that number a group; those of its cells follow.
pub(super) const MAX_DEPTH: u32 = u64::BITS - CELL_BITS;

/// All accounts whose paths share their first `base` bits.
#[derive(Debug)]
pub(super) struct Trie {
    pub(super) base: u32,
    /// Number of path bits that lead to a group.
    pub(super) depth: u32,
    pub(super) groups: Vec<Group>,
    pub(super) cells: Vec<Cell>,
    /// Number of accounts outside its crowds.
    pub(super) spread: u64,
    /// The crowds, by the number of their group: groups with too many accounts. Such a group itself is empty.
    pub(super) crowds: BTreeMap<usize, Self>,
    /// The nodes as of the last publication.
    pub(super) published: Nodes,
}

/// Data kept per cell besides its node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    /// The newest image of one of its accounts, see [`super::images`].
    pub(super) image: u64,
    /// Number of its accounts, unless its group is a crowd.
    pub(super) accounts: u32,
}

impl Trie {
    /// An empty trie after the first `base` bits of paths, with groups for `accounts` accounts.
    pub(super) fn new(base: u32, accounts: u64) -> Self {
        let least = if base == 0 { 0 } else { MIN_CROWD_BITS };
        let mut trie = Self {
            base,
            depth: 0,
            groups: Vec::new(),
            cells: Vec::new(),
            spread: 0,
            crowds: BTreeMap::new(),
            published: Nodes { hashes: Vec::new(), counts: Vec::new() },
        };
        trie.clear((base + bits_for(accounts).max(least)).min(MAX_DEPTH));
        trie
    }

    /// Resets to empty groups of this depth.
    pub(super) fn clear(&mut self, depth: u32) {
        let groups = 1 << (depth - self.base);
        let cells = groups << CELL_BITS;
        self.depth = depth;
        self.groups = std::iter::repeat_with(Group::default).take(groups).collect();
        self.cells = vec![Cell::default(); cells];
        self.spread = 0;
        self.crowds.clear();
        self.published = Nodes::new(cells);
    }

    /// Puts sorted entries with their paths into the empty group that they belong to.
    pub(super) fn fill(&mut self, pages: &mut Pages, entries: &[(u64, IndexEntry)]) {
        let Some((path, _)) = entries.first() else { return };
        let number = self.group_of(*path);
        for (path, _) in entries {
            let cell = self.cell_of(*path);
            self.cells[cell].accounts += 1;
        }
        let cells = &self.cells[number << CELL_BITS..(number + 1) << CELL_BITS];
        if self.can_have_crowds() && cells.iter().any(|cell| cell.accounts > MAX_CELL) {
            let crowd = Self::from_entries(pages, self.depth, entries);
            self.crowds.insert(number, crowd);
        } else {
            self.groups[number] = Group::new(pages, self.depth, entries);
            self.spread += entries.len() as u64;
        }
    }

    /// Creates the crowd of these sorted entries.
    pub(super) fn from_entries(pages: &mut Pages, base: u32, entries: &[(u64, IndexEntry)]) -> Self {
        let mut crowd = Self::new(base, entries.len() as u64);
        crowd.fill_all(pages, entries);
        crowd
    }

    /// Puts sorted entries with their paths into the empty groups that they belong to.
    pub(super) fn fill_all(&mut self, pages: &mut Pages, mut entries: &[(u64, IndexEntry)]) {
        while let Some((path, _)) = entries.first() {
            let number = self.group_of(*path);
            let end = entries.partition_point(|(path, _)| self.group_of(*path) <= number);
            self.fill(pages, &entries[..end]);
            entries = &entries[end..];
        }
    }

    /// Whether paths have enough bits after those of a group to distinguish its accounts.
    pub(super) fn can_have_crowds(&self) -> bool {
        self.depth + MIN_CROWD_BITS <= MAX_DEPTH
    }

    /// Number of path bits before this trie.
    pub(super) fn base(&self) -> u32 {
        self.base
    }

    /// Number of path bits that lead to a group.
    #[inline]
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Number of path bits that lead to a cell.
    #[inline]
    pub(super) fn cell_depth(&self) -> u32 {
        self.depth + CELL_BITS
    }

    pub(super) fn has_crowds(&self) -> bool {
        !self.crowds.is_empty()
    }

    /// The crowd in the group of this number, if any.
    #[inline]
    pub(super) fn crowd(&self, number: usize) -> Option<&Self> {
        // Usually there is none at all.
        if self.crowds.is_empty() { None } else { self.crowds.get(&number) }
    }

    /// The crowd in the group of this number, mutable.
    pub(super) fn crowd_mut(&mut self, number: usize) -> Option<&mut Self> {
        self.crowds.get_mut(&number)
    }

    #[inline]
    pub(super) fn groups(&self) -> &[Group] {
        &self.groups
    }

    #[inline]
    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    #[inline]
    pub(super) fn group_of(&self, path: u64) -> usize {
        // In two steps, because a shift by all 64 bits is undefined.
        (path << self.base >> 1 >> (63 - (self.depth - self.base))) as usize
    }

    #[inline]
    pub(super) fn cell_of(&self, path: u64) -> usize {
        (path << self.base >> (64 - (self.cell_depth() - self.base))) as usize
    }

    /// The trie, this one or a crowd in it, that contains the path's group.
    pub(super) fn lowest(&self, path: u64) -> &Self {
        let mut trie = self;
        while let Some(crowd) = trie.crowd(trie.group_of(path)) {
            trie = crowd;
        }
        trie
    }

    /// The cell of a path in the lowest trie that contains it.
    pub(super) fn lowest_cell_mut(&mut self, path: u64) -> &mut Cell {
        let cell = self.cell_of(path);
        if self.crowd(cell >> CELL_BITS).is_none() {
            return &mut self.cells[cell];
        }
        match self.crowds.get_mut(&(cell >> CELL_BITS)) {
            Some(crowd) => crowd.lowest_cell_mut(path),
            None => &mut self.cells[cell],
        }
    }

    /// Finds an account's entry.
    pub(super) fn find(&self, pages: &Pages, path: u64, account: &AccountId) -> Option<At> {
        let trie = self.lowest(path);
        let group = &trie.groups[trie.group_of(path)];
        Some(group.at(group.find(pages, path, trie.depth, account)?))
    }

    /// Marks the cell of a path as changed and returns it.
    #[inline]
    pub(super) fn touch(&mut self, pending: &mut Pending, path: u64) -> &mut Cell {
        let cell = self.cell_of(path);
        pending.mark(cell);
        if self.crowd(cell >> CELL_BITS).is_none() {
            return &mut self.cells[cell];
        }
        self.touch_in_crowd(pending, path)
    }

    /// The same below a marked cell.
    #[cold]
    fn touch_in_crowd(&mut self, pending: &mut Pending, path: u64) -> &mut Cell {
        let cell = self.cell_of(path);
        let number = cell >> CELL_BITS;
        match self.crowds.get_mut(&number) {
            Some(crowd) => crowd.touch(pending.crowd(number, crowd.cells.len()), path),
            None => &mut self.cells[cell],
        }
    }

    /// Inserts the entry of an account that is not in the trie yet.
    #[inline]
    pub(super) fn insert(&mut self, pages: &mut Pages, pending: &mut Pending, path: u64, entry: IndexEntry) {
        let cell = self.cell_of(path);
        let number = cell >> CELL_BITS;
        if self.crowd(number).is_some() {
            return self.insert_in_crowd(pages, pending, path, entry);
        }
        self.groups[number].insert(pages, path, fingerprint(path, self.depth), entry);
        self.spread += 1;
        self.cells[cell].accounts += 1;
        pending.mark(cell);
    }

    #[cold]
    fn insert_in_crowd(&mut self, pages: &mut Pages, pending: &mut Pending, path: u64, entry: IndexEntry) {
        let cell = self.cell_of(path);
        let number = cell >> CELL_BITS;
        if let Some(crowd) = self.crowds.get_mut(&number) {
            crowd.insert(pages, pending.crowd(number, crowd.cells.len()), path, entry);
        }
        pending.mark(cell);
    }

    /// Removes the entry of an account that is in the trie.
    pub(super) fn remove(&mut self, pages: &mut Pages, pending: &mut Pending, path: u64, account: &AccountId) {
        let cell = self.cell_of(path);
        pending.mark(cell);
        let number = cell >> CELL_BITS;
        let group = &mut self.groups[number];
        if let Some(crowd) = self.crowds.get_mut(&number) {
            crowd.remove(pages, pending.crowd(number, crowd.cells.len()), path, account);
        } else if let Some(place) = group.find(pages, path, self.depth, account) {
            group.remove(pages, place);
            self.spread -= 1;
            self.cells[cell].accounts -= 1;
        }
    }

    /// All entries with their paths, in order; releases their pages.
    pub(super) fn take(self, pages: &mut Pages) -> Vec<(u64, IndexEntry)> {
        let Self { groups, mut crowds, .. } = self;
        let groups = groups.into_iter().enumerate();
        groups.flat_map(|(number, group)| take_group(number, group, &mut crowds, pages)).collect()
    }

    /// All entries in order, a few at a time.
    pub(super) fn chunks<'a>(&'a self, pages: &'a Pages) -> Box<dyn Iterator<Item = &'a [IndexEntry]> + 'a> {
        self.chunks_of(pages, 0..self.groups.len())
    }

    /// All entries from the group of this number on.
    pub(super) fn chunks_from<'a>(
        &'a self,
        pages: &'a Pages,
        first: usize,
    ) -> Box<dyn Iterator<Item = &'a [IndexEntry]> + 'a> {
        self.chunks_of(pages, first..self.groups.len())
    }

    /// Those of some groups, or of the crowds in their place.
    fn chunks_of<'a>(
        &'a self,
        pages: &'a Pages,
        numbers: Range<usize>,
    ) -> Box<dyn Iterator<Item = &'a [IndexEntry]> + 'a> {
        // Boxed, because the type differs for each depth of nested crowds.
        Box::new(numbers.flat_map(move |number| {
            let crowd = self.crowd(number).map(|crowd| crowd.chunks(pages));
            crowd.into_iter().flatten().chain(self.groups[number].chunks(pages))
        }))
    }

    /// The entries below a node above the cells.
    pub(super) fn below(&self, pages: &Pages, node: usize, depth: u32) -> Vec<IndexEntry> {
        match depth.checked_sub(self.depth) {
            Some(bits) if bits > 0 => {
                let group = &self.groups[(node >> bits) - self.groups.len()];
                let prefix = node as u16 & ((1 << bits) - 1);
                group.entries(pages, group.with_prefix(prefix, bits)).flatten().copied().collect()
            }
            _ => {
                let above = self.depth - depth;
                let first = (node << above) - self.groups.len();
                self.chunks_of(pages, first..first + (1 << above)).flatten().copied().collect()
            }
        }
    }

    /// The group of a cell, and its entries there.
    pub(super) fn cell(&self, node: usize) -> (usize, Range<usize>) {
        let cell = node - self.cells.len();
        let group = cell >> CELL_BITS;
        (group, self.groups[group].with_prefix(cell as u16 & ((1 << CELL_BITS) - 1), CELL_BITS))
    }

    /// Size of the largest cell, which is hashed as a whole, and of the largest group, in which entries are moved.
    #[cfg(test)]
    pub(super) fn largest(&self) -> (u32, usize) {
        let own = self.groups.iter().zip(self.cells.chunks(1 << CELL_BITS)).enumerate();
        let own = own.map(|(number, (group, cells))| match self.crowd(number) {
            Some(crowd) => crowd.largest(),
            None => (cells.iter().map(|cell| cell.accounts).max().unwrap_or(0), group.len()),
        });
        own.fold((0, 0), |most, (cell, group)| (most.0.max(cell), most.1.max(group)))
    }
}

/// All entries of a group with their paths, or of the crowd in its place.
pub(super) fn take_group(
    number: usize,
    group: Group,
    crowds: &mut BTreeMap<usize, Trie>,
    pages: &mut Pages,
) -> Vec<(u64, IndexEntry)> {
    match crowds.remove(&number) {
        Some(crowd) => crowd.take(pages),
        None => group.take(pages),
    }
}

/// Number of bits that number the groups of `accounts` accounts.
pub(super) fn bits_for(accounts: u64) -> u32 {
    accounts.div_ceil(MAX_MEAN_GROUP).max(1).next_power_of_two().ilog2()
}
