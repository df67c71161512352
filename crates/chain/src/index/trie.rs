//! A trie of groups and cells over all accounts whose paths begin with some bits: the whole index, or a crowd in it.
use super::group::{Group, fingerprint};
use super::hashing::Pending;
use super::pages::{At, Pages};
use spv::{Hash, IndexEntry, ZERO_HASH};
use std::ops::Range;
use wire::AccountId;

/// The mean size of groups at which they are split. Between this and half of it, groups are large enough for their
/// overhead to vanish and small enough for insertions to move little.
const MAX_MEAN_GROUP: u64 = 192;

/// Bits of a cell's prefix behind those of its group: cells hold 24 to 48 accounts in the mean, two leaves or four.
pub(super) const CELL_BITS: u32 = 2;

/// The most accounts in a cell; a group with a larger one becomes a crowd. Chance alone does not make one: it would have to be
/// eleven standard deviations above the mean.
pub(super) const MAX_CELL: u32 = 128;

/// Bits that number the groups of a crowd, at least. A crowd in a crowd takes as many more bits in which paths agree, each of
/// which doubles the work of finding them.
const MIN_CROWD_BITS: u32 = 3;

/// The most bits that number a group: those of its cells follow.
const MAX_DEPTH: u32 = u64::BITS - CELL_BITS;

/// All accounts whose paths begin with the same `base` bits.
#[derive(Debug)]
pub(super) struct Trie {
    base: u32,
    /// Bits of the path that number the groups, with those before them.
    depth: u32,
    groups: Vec<Group>,
    cells: Vec<Cell>,
    /// Accounts that are in none of its crowds.
    spread: u64,
    /// Its groups that are crowds.
    crowds: usize,
    /// The nodes as of the last publication.
    pub(super) published: Nodes,
}

/// What is kept of a cell besides its node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    /// The newest image of one of its accounts, see [`super::images`].
    pub(super) image: u64,
    /// Its accounts, if its group is no crowd.
    accounts: u32,
}

/// The nodes from the cells up, as a heap: node i has the children 2i and 2i + 1. Those below the node of a crowd are not used,
/// as the crowd has its own.
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

impl Trie {
    /// An empty trie behind the first `base` bits of paths, with groups for so many accounts.
    pub(super) fn new(base: u32, accounts: u64) -> Self {
        let least = if base == 0 { 0 } else { MIN_CROWD_BITS };
        let mut trie = Self {
            base,
            depth: 0,
            groups: Vec::new(),
            cells: Vec::new(),
            spread: 0,
            crowds: 0,
            published: Nodes { hashes: Vec::new(), counts: Vec::new() },
        };
        trie.clear((base + bits_for(accounts).max(least)).min(MAX_DEPTH));
        trie
    }

    /// Begins anew with empty groups of this depth.
    fn clear(&mut self, depth: u32) {
        let groups = 1 << (depth - self.base);
        let cells = groups << CELL_BITS;
        self.depth = depth;
        self.groups = std::iter::repeat_with(Group::default).take(groups).collect();
        self.cells = vec![Cell::default(); cells];
        self.spread = 0;
        self.crowds = 0;
        self.published = Nodes::new(cells);
    }

    /// Puts entries with their paths, which are in order, in the empty group that they are for.
    pub(super) fn fill(&mut self, pages: &mut Pages, entries: &[(u64, IndexEntry)]) {
        let Some((path, _)) = entries.first() else { return };
        let number = self.group_of(*path);
        for (path, _) in entries {
            let cell = self.cell_of(*path);
            self.cells[cell].accounts += 1;
        }
        let cells = &self.cells[number << CELL_BITS..(number + 1) << CELL_BITS];
        if self.can_have_crowds() && cells.iter().any(|cell| cell.accounts > MAX_CELL) {
            self.groups[number].crowd = Some(Box::new(Self::of(pages, self.depth, entries)));
            self.crowds += 1;
        } else {
            self.groups[number] = Group::new(pages, self.depth, entries);
            self.spread += entries.len() as u64;
        }
    }

    /// The crowd of these entries, which are in order.
    fn of(pages: &mut Pages, base: u32, entries: &[(u64, IndexEntry)]) -> Self {
        let mut crowd = Self::new(base, entries.len() as u64);
        crowd.fill_all(pages, entries);
        crowd
    }

    /// Puts entries with their paths, which are in order, in the empty groups that they are for.
    fn fill_all(&mut self, pages: &mut Pages, mut entries: &[(u64, IndexEntry)]) {
        while let Some((path, _)) = entries.first() {
            let number = self.group_of(*path);
            let end = entries.partition_point(|(path, _)| self.group_of(*path) <= number);
            self.fill(pages, &entries[..end]);
            entries = &entries[end..];
        }
    }

    /// Whether paths have enough bits behind those of a group to tell its accounts apart.
    fn can_have_crowds(&self) -> bool {
        self.depth + MIN_CROWD_BITS <= MAX_DEPTH
    }

    /// Bits of paths before this trie.
    pub(super) fn base(&self) -> u32 {
        self.base
    }

    /// Bits of paths that lead to a group.
    #[inline]
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Bits of paths that lead to a cell.
    #[inline]
    pub(super) fn cell_depth(&self) -> u32 {
        self.depth + CELL_BITS
    }

    pub(super) fn has_crowds(&self) -> bool {
        self.crowds > 0
    }

    /// The crowd in the group of this number.
    pub(super) fn crowd_mut(&mut self, number: usize) -> Option<&mut Self> {
        self.groups.get_mut(number)?.crowd.as_deref_mut()
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
        // In two steps, since a shift by all 64 bits is none.
        (path << self.base >> 1 >> (63 - (self.depth - self.base))) as usize
    }

    #[inline]
    pub(super) fn cell_of(&self, path: u64) -> usize {
        (path << self.base >> (64 - (self.cell_depth() - self.base))) as usize
    }

    /// The trie, this one or a crowd in it, that has the path's group.
    pub(super) fn lowest(&self, path: u64) -> &Self {
        let mut trie = self;
        while let Some(crowd) = &trie.groups[trie.group_of(path)].crowd {
            trie = crowd;
        }
        trie
    }

    /// Where the account's entry is.
    pub(super) fn find(&self, pages: &Pages, path: u64, account: &AccountId) -> Option<At> {
        let trie = self.lowest(path);
        let group = &trie.groups[trie.group_of(path)];
        Some(group.at(group.find(pages, path, trie.depth, account)?))
    }

    /// Marks the cell of a path, and gives it.
    #[inline]
    pub(super) fn touch(&mut self, pending: &mut Pending, path: u64) -> &mut Cell {
        let cell = self.cell_of(path);
        pending.mark(cell);
        if self.groups[cell >> CELL_BITS].crowd.is_none() {
            return &mut self.cells[cell];
        }
        self.touch_in_crowd(pending, path)
    }

    /// The same below a cell that is marked.
    #[cold]
    fn touch_in_crowd(&mut self, pending: &mut Pending, path: u64) -> &mut Cell {
        let cell = self.cell_of(path);
        let number = cell >> CELL_BITS;
        match &mut self.groups[number].crowd {
            Some(crowd) => crowd.touch(pending.crowd(number, crowd), path),
            None => &mut self.cells[cell],
        }
    }

    /// Puts in an entry of an account that is not there yet.
    #[inline]
    pub(super) fn insert(&mut self, pages: &mut Pages, pending: &mut Pending, path: u64, entry: IndexEntry) {
        let cell = self.cell_of(path);
        let group = &mut self.groups[cell >> CELL_BITS];
        if group.crowd.is_some() {
            return self.insert_in_crowd(pages, pending, path, entry);
        }
        group.insert(pages, path, fingerprint(path, self.depth), entry);
        self.spread += 1;
        self.cells[cell].accounts += 1;
        pending.mark(cell);
    }

    #[cold]
    fn insert_in_crowd(&mut self, pages: &mut Pages, pending: &mut Pending, path: u64, entry: IndexEntry) {
        let cell = self.cell_of(path);
        let number = cell >> CELL_BITS;
        if let Some(crowd) = &mut self.groups[number].crowd {
            crowd.insert(pages, pending.crowd(number, crowd), path, entry);
        }
        pending.mark(cell);
    }

    /// Takes out the entry of an account that is there.
    pub(super) fn remove(&mut self, pages: &mut Pages, pending: &mut Pending, path: u64, account: &AccountId) {
        let cell = self.cell_of(path);
        pending.mark(cell);
        let number = cell >> CELL_BITS;
        let group = &mut self.groups[number];
        if let Some(crowd) = &mut group.crowd {
            crowd.remove(pages, pending.crowd(number, crowd), path, account);
        } else if let Some(place) = group.find(pages, path, self.depth, account) {
            group.remove(pages, place);
            self.spread -= 1;
            self.cells[cell].accounts -= 1;
        }
    }

    /// All entries with their paths, in their order; their pages are given back.
    pub(super) fn take(self, pages: &mut Pages) -> Vec<(u64, IndexEntry)> {
        self.groups.into_iter().flat_map(|group| group.take(pages)).collect()
    }

    /// Makes room for accounts of these paths: more groups where the mean of those that are no crowds would become too large,
    /// and crowds of those with too large a cell. All that was applied is published.
    pub(super) fn prepare(&mut self, pages: &mut Pages, pending: &mut Pending, paths: &[u64]) {
        let to_crowds = if self.crowds == 0 { 0 } else { paths.iter().filter(|path| self.is_in_crowd(**path)).count() };
        let depth = self.base + bits_for(self.spread + (paths.len() - to_crowds) as u64);
        if depth.min(MAX_DEPTH) > self.depth {
            self.regroup(pages, depth.min(MAX_DEPTH));
            *pending = Pending::of(self);
            pending.hash(self, pages);
            pending.publish_to(self);
        }
        let mut more = vec![0; self.cells.len()];
        paths.iter().for_each(|path| more[self.cell_of(*path)] += 1);
        for path in paths {
            let cell = self.cell_of(*path);
            if self.cells[cell].accounts + more[cell] > MAX_CELL && self.can_have_crowds() && !self.is_in_crowd(*path) {
                self.make_crowd(pages, pending, cell >> CELL_BITS);
            }
        }
        if self.crowds > 0 {
            let mut paths: Vec<_> = paths.iter().copied().filter(|path| self.is_in_crowd(*path)).collect();
            paths.sort_unstable();
            for paths in paths.chunk_by(|a, b| self.group_of(*a) == self.group_of(*b)).collect::<Vec<_>>() {
                let number = self.group_of(paths[0]);
                if let Some(crowd) = &mut self.groups[number].crowd {
                    crowd.prepare(pages, pending.crowd(number, crowd), paths);
                }
            }
        }
    }

    fn is_in_crowd(&self, path: u64) -> bool {
        self.groups[self.group_of(path)].crowd.is_some()
    }

    /// Sorts all entries into groups of this depth.
    fn regroup(&mut self, pages: &mut Pages, depth: u32) {
        let groups = std::mem::take(&mut self.groups);
        self.clear(depth);
        for group in groups {
            let entries = group.take(pages);
            self.fill_all(pages, &entries);
        }
    }

    /// Makes a crowd of a group, with hashes that are published: they are those of its node.
    fn make_crowd(&mut self, pages: &mut Pages, pending: &mut Pending, number: usize) {
        let entries = std::mem::take(&mut self.groups[number]).take(pages);
        let mut crowd = Box::new(Self::of(pages, self.depth, &entries));
        let pending = pending.crowd(number, &crowd);
        pending.hash(&crowd, pages);
        pending.publish_to(&mut crowd);
        self.groups[number].crowd = Some(crowd);
        self.spread -= entries.len() as u64;
        self.crowds += 1;
    }

    /// All entries in their order, a few at a time.
    pub(super) fn chunks<'a>(&'a self, pages: &'a Pages) -> impl Iterator<Item = &'a [IndexEntry]> {
        self.groups.iter().flat_map(move |group| group.chunks(pages))
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
                let groups = self.groups[first..first + (1 << above)].iter();
                groups.flat_map(|group| group.chunks(pages)).flatten().copied().collect()
            }
        }
    }

    /// The group of a cell, and its entries there.
    pub(super) fn cell(&self, node: usize) -> (usize, Range<usize>) {
        let cell = node - self.cells.len();
        let group = cell >> CELL_BITS;
        (group, self.groups[group].with_prefix(cell as u16 & ((1 << CELL_BITS) - 1), CELL_BITS))
    }

    /// The most accounts of a cell that is hashed as a whole, and of a group that entries are moved in.
    #[cfg(test)]
    pub(super) fn largest(&self) -> (u32, usize) {
        let own = self.groups.iter().zip(self.cells.chunks(1 << CELL_BITS)).map(|(group, cells)| match &group.crowd {
            Some(crowd) => crowd.largest(),
            None => (cells.iter().map(|cell| cell.accounts).max().unwrap_or(0), group.len()),
        });
        own.fold((0, 0), |most, (cell, group)| (most.0.max(cell), most.1.max(group)))
    }
}

/// How many bits number the groups for so many accounts.
fn bits_for(accounts: u64) -> u32 {
    accounts.div_ceil(MAX_MEAN_GROUP).max(1).next_power_of_two().ilog2()
}
