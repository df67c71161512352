//! The root of the index: hashes what has changed, many leaves and nodes at once.
use super::Index;
use super::group::Group;
use super::pages::Pages;
use super::pending::{Nodes, Pending};
use super::trie::{CELL_BITS, Trie};
use spv::hash::{INDEX_LEAF_TAG, INDEX_NODE_TAG};
use spv::{Hash, IndexEntry, MAX_DEPTH, MAX_LEAF_ENTRIES, ZERO_HASH};
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};
use verify::sha256::Tag;
use zerocopy::IntoBytes;

pub(super) static INDEX_LEAF: Tag = Tag::new(INDEX_LEAF_TAG);
pub(super) static INDEX_NODE: Tag = Tag::new(INDEX_NODE_TAG);

/// Cells and nodes hashed together: many times the lanes of any engine, for each length of leaves, and few enough for
/// the second-level cache.
const ROUND: usize = 512;

/// Minimum number of cells that a thread is started for: a few milliseconds of hashing. Low in tests, whose indices are
/// small.
const MIN_SHARE: usize = if cfg!(test) { 16 } else { 1 << 12 };

/// Whether this number of accounts at a depth forms a leaf rather than an inner node.
pub(super) fn is_leaf(accounts: usize, depth: u32) -> bool {
    accounts <= MAX_LEAF_ENTRIES || depth as usize == MAX_DEPTH
}

impl Pending {
    /// For this index, with everything still to be hashed.
    pub fn new(index: &Index) -> Self {
        Self::of_cells(index.trie.cells().len())
    }

    /// The root of the index after everything applied. Hashes what has changed since the last call.
    pub fn root(&mut self, index: &Index) -> Hash {
        self.hash(&index.trie, &index.pages, 1)
    }

    /// The same, by several threads.
    pub fn root_by(&mut self, index: &Index, threads: usize) -> Hash {
        self.hash(&index.trie, &index.pages, threads)
    }

    /// The hash of the trie's first node.
    pub(super) fn hash(&mut self, trie: &Trie, pages: &Pages, threads: usize) -> Hash {
        let first_cell = trie.cells().len();
        let mut nodes = self.take_dirty(first_cell);
        let crowds = self.hash_crowds(trie, pages, &mut nodes);
        let Nodes { hashes, counts } = &mut self.nodes;
        let (mut hashes, mut counts) = (&mut hashes[..], &mut counts[..]);
        let each = nodes.len().div_ceil(threads).max(MIN_SHARE);
        self.hashed += thread::scope(|scope| {
            let mut first = 0;
            let mut threads = Vec::new();
            for (number, share) in nodes.chunks(each).enumerate() {
                // The cells ascend, so each share has its own part of the nodes.
                let end = share[share.len() - 1] + 1;
                let (own_hashes, own_counts);
                (own_hashes, hashes) = hashes.split_at_mut(end - first);
                (own_counts, counts) = counts.split_at_mut(end - first);
                let mut part = Part { first, hashes: own_hashes, counts: own_counts };
                first = end;
                let is_last = (number + 1) * each >= nodes.len();
                let mut work = move || hash_cells(trie, pages, share, &mut part);
                threads.push(if is_last { Share::Done(work()) } else { Share::Running(scope.spawn(work)) });
            }
            threads.into_iter().map(Share::finish).sum::<u64>()
        });
        self.changed.extend_from_slice(&nodes);
        for depth in (trie.base()..trie.cell_depth()).rev() {
            for node in &mut nodes {
                *node /= 2;
            }
            nodes.dedup();
            for round in nodes.chunks(ROUND) {
                self.hash_nodes(trie, pages, round, depth);
            }
            self.changed.extend_from_slice(&nodes);
            if depth == trie.depth() && !crowds.is_empty() {
                self.changed.extend_from_slice(&crowds);
                nodes.extend_from_slice(&crowds);
                nodes.sort_unstable();
            }
        }
        self.nodes.hashes[1]
    }

    /// Hashes the crowds that contain some of these cells, which it removes. Returns the nodes of their groups.
    fn hash_crowds(&mut self, trie: &Trie, pages: &Pages, cells: &mut Vec<usize>) -> Vec<usize> {
        let mut nodes = Vec::new();
        if !trie.has_crowds() {
            return nodes;
        }
        let first_cell = trie.cells().len();
        cells.retain(|cell| {
            let number = (cell - first_cell) >> CELL_BITS;
            let is_crowd = trie.crowd(number).is_some();
            if is_crowd {
                nodes.push(cell >> CELL_BITS);
            }
            !is_crowd
        });
        nodes.dedup();
        for node in &nodes {
            let number = node - trie.groups().len();
            if let Some(crowd) = trie.crowd(number) {
                let pending = self.crowd(number, crowd.cells().len());
                let before = pending.hashed;
                let (hash, count) = (pending.hash(crowd, pages, 1), pending.nodes.counts[1]);
                let hashed = pending.hashed - before;
                self.hashed += hashed;
                (self.nodes.hashes[*node], self.nodes.counts[*node]) = (hash, count);
                self.changed_crowds.push(number);
            }
        }
        nodes
    }

    /// The nodes of the dirty cells, which become clean.
    fn take_dirty(&mut self, first_cell: usize) -> Vec<usize> {
        let mut nodes = Vec::new();
        for (number, word) in self.dirty.iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                nodes.push(first_cell + number * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
        nodes
    }

    /// Hashes nodes above the cells; their children must be up to date.
    fn hash_nodes(&mut self, trie: &Trie, pages: &Pages, nodes: &[usize], depth: u32) {
        let Nodes { hashes, counts } = &mut self.nodes;
        let mut inner = Vec::with_capacity(nodes.len());
        let mut pairs: Vec<[u8; 64]> = Vec::with_capacity(nodes.len());
        for node in nodes {
            counts[*node] = counts[2 * node] + counts[2 * node + 1];
            if is_leaf(counts[*node] as usize, depth) {
                hashes[*node] = leaf_hash(&trie.below(pages, *node, depth));
            } else {
                let mut pair = [0; 64];
                pair.copy_from_slice(hashes[2 * node..2 * node + 2].as_flattened());
                pairs.push(pair);
                inner.push(*node);
            }
        }
        let mut digests = vec![ZERO_HASH; pairs.len()];
        INDEX_NODE.hash_many(&pairs, &mut digests);
        for (node, digest) in inner.into_iter().zip(digests) {
            hashes[node] = digest;
        }
    }

    /// Updates the published nodes.
    pub(super) fn publish_to(&mut self, trie: &mut Trie) {
        // Freed, because no other block of this size may come for long.
        for node in std::mem::take(&mut self.changed) {
            trie.published.hashes[node] = self.nodes.hashes[node];
            trie.published.counts[node] = self.nodes.counts[node];
        }
        for number in std::mem::take(&mut self.changed_crowds) {
            if let (Some(pending), Some(crowd)) = (self.crowds.get_mut(&number), trie.crowd_mut(number)) {
                pending.publish_to(crowd);
            }
        }
    }
}

/// Hashes the subtrees of these cells. Returns how many entries they have.
fn hash_cells(trie: &Trie, pages: &Pages, nodes: &[usize], part: &mut Part<'_>) -> u64 {
    let mut hashed = 0;
    let mut forest = Forest::new(trie, pages);
    // The last group whose successor was prefetched, so that it is loaded when its turn comes; usually the nodes are in
    // this order.
    let mut loaded = usize::MAX;
    for round in nodes.chunks(ROUND) {
        forest.begin(round.len());
        for (target, node) in round.iter().enumerate() {
            let (group, range) = trie.cell(*node);
            if group != loaded
                && let Some(next) = trie.groups().get(group + 1)
            {
                next.prefetch_entries(pages);
                loaded = group;
            }
            part.counts[*node - part.first] = range.len() as u32;
            forest.add(&trie.groups()[group], range, trie.cell_depth(), target);
        }
        hashed += forest.entries.len() as u64;
        for (node, digest) in round.iter().zip(forest.hash(round.len())) {
            part.hashes[*node - part.first] = *digest;
        }
    }
    hashed
}

/// The nodes from `first` on that a thread hashes.
struct Part<'a> {
    first: usize,
    hashes: &'a mut [Hash],
    counts: &'a mut [u32],
}

/// A thread's share of the work.
enum Share<'scope> {
    Running(ScopedJoinHandle<'scope, u64>),
    Done(u64),
}

impl Share<'_> {
    fn finish(self) -> u64 {
        match self {
            Self::Running(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Self::Done(hashed) => hashed,
        }
    }
}

/// The hash of a leaf.
pub(super) fn leaf_hash(entries: &[IndexEntry]) -> Hash {
    if entries.is_empty() { ZERO_HASH } else { INDEX_LEAF.hash(entries.as_bytes()) }
}

/// Parts of groups, each a subtree of the index, whose leaves are hashed together, and then their nodes.
struct Forest<'a> {
    trie: &'a Trie,
    pages: &'a Pages,
    /// The hashes of the parts, then those of nodes and leaves inside them.
    digests: Vec<Hash>,
    /// The entries of all leaves.
    entries: Vec<IndexEntry>,
    /// The end of each leaf in `entries`, and where its digest goes.
    leaves: Vec<(usize, usize)>,
    nodes: Vec<Node>,
}

/// An inner node: where the digests of its two adjacent children are, and where its own goes.
struct Node {
    children: usize,
    target: usize,
    depth: u32,
}

impl<'a> Forest<'a> {
    fn new(trie: &'a Trie, pages: &'a Pages) -> Self {
        Self { trie, pages, digests: Vec::new(), entries: Vec::new(), leaves: Vec::new(), nodes: Vec::new() }
    }

    /// Starts again in the same memory, with this number of parts.
    fn begin(&mut self, parts: usize) {
        self.digests.clear();
        self.digests.resize(parts, ZERO_HASH);
        self.entries.clear();
        self.leaves.clear();
        self.nodes.clear();
    }

    /// Adds the subtree at `depth` over the entries of `range`.
    fn add(&mut self, group: &Group, range: Range<usize>, depth: u32, target: usize) {
        if range.is_empty() {
            return;
        }
        if is_leaf(range.len(), depth) {
            for entries in group.entries(self.pages, range) {
                self.entries.extend_from_slice(entries);
            }
            self.leaves.push((self.entries.len(), target));
            return;
        }
        let children = self.digests.len();
        self.digests.extend([ZERO_HASH; 2]);
        self.nodes.push(Node { children, target, depth });
        let middle = group.middle(self.pages, range.clone(), depth, self.trie.depth());
        self.add(group, range.start..middle, depth + 1, children);
        self.add(group, middle..range.end, depth + 1, children + 1);
    }

    /// The hashes of the parts.
    fn hash(&mut self, parts: usize) -> &[Hash] {
        let mut digests = vec![ZERO_HASH; self.leaves.len()];
        let mut start = 0;
        let leaf = |(end, _): &(usize, usize)| self.entries[std::mem::replace(&mut start, *end)..*end].as_bytes();
        let messages: Vec<_> = self.leaves.iter().map(leaf).collect();
        INDEX_LEAF.hash_each(&messages, &mut digests);
        for ((_, target), digest) in self.leaves.iter().zip(&digests) {
            self.digests[*target] = *digest;
        }
        self.nodes.sort_by_key(|node| std::cmp::Reverse(node.depth));
        for level in self.nodes.chunk_by(|a, b| a.depth == b.depth) {
            let pairs: Vec<[u8; 64]> = level
                .iter()
                .map(|node| {
                    let mut pair = [0; 64];
                    pair.copy_from_slice(self.digests[node.children..node.children + 2].as_flattened());
                    pair
                })
                .collect();
            digests.resize(pairs.len(), ZERO_HASH);
            INDEX_NODE.hash_many(&pairs, &mut digests);
            for (node, digest) in level.iter().zip(&digests) {
                self.digests[node.target] = *digest;
            }
        }
        &self.digests[..parts]
    }
}
