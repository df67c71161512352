//! The root of the index: hashing what has changed, many leaves and nodes at once.
use super::group::Group;
use super::{CELL_BITS, Index};
use spv::hash::{INDEX_LEAF_TAG, INDEX_NODE_TAG};
use spv::{Hash, IndexEntry, MAX_DEPTH, MAX_LEAF_ENTRIES, ZERO_HASH};
use std::ops::Range;
use verify::sha256::Tag;
use zerocopy::IntoBytes;

pub(super) static INDEX_LEAF: Tag = Tag::new(INDEX_LEAF_TAG);
pub(super) static INDEX_NODE: Tag = Tag::new(INDEX_NODE_TAG);

/// Cells and nodes hashed together: many times the lanes of any engine, and few enough for the second-level cache.
const ROUND: usize = 1024;

/// Whether so many accounts at some depth are a leaf, rather than an inner node.
pub(super) fn is_leaf(accounts: usize, depth: u32) -> bool {
    accounts <= MAX_LEAF_ENTRIES || depth as usize == MAX_DEPTH
}

impl Index {
    /// The root. Hashes what has changed since it was last asked for.
    pub fn root(&mut self) -> Hash {
        let mut nodes = self.take_dirty();
        for round in nodes.chunks(ROUND) {
            let mut forest = Forest::new(self.group_depth, round.len());
            for (target, node) in round.iter().enumerate() {
                let (group, range) = self.cell(*node);
                forest.add(&self.groups[group], range, self.cell_depth(), target);
            }
            for (node, digest) in round.iter().zip(forest.hash()) {
                self.hashes[*node] = digest;
            }
        }
        for depth in (0..self.cell_depth()).rev() {
            for node in &mut nodes {
                *node /= 2;
            }
            nodes.dedup();
            for round in nodes.chunks(ROUND) {
                self.hash_nodes(round, depth);
            }
        }
        self.hashes[1]
    }

    /// The nodes of the dirty cells, which are clean from now on.
    fn take_dirty(&mut self) -> Vec<usize> {
        let first = self.first_cell();
        let mut nodes = Vec::new();
        for (number, word) in self.dirty.iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                nodes.push(first + number * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
        nodes
    }

    /// The group of a cell, and its entries there.
    pub(super) fn cell(&self, node: usize) -> (usize, Range<usize>) {
        let cell = node - self.first_cell();
        let group = cell >> CELL_BITS;
        (group, self.groups[group].with_prefix(cell as u16 & ((1 << CELL_BITS) - 1), CELL_BITS))
    }

    /// Hashes nodes above the cells, whose children are up to date.
    fn hash_nodes(&mut self, nodes: &[usize], depth: u32) {
        let mut leaves = Vec::new();
        let mut inner = Vec::new();
        let mut pairs: Vec<[u8; 64]> = Vec::new();
        for node in nodes {
            let count = self.counts[2 * node] + self.counts[2 * node + 1];
            self.counts[*node] = count;
            if is_leaf(count as usize, depth) {
                leaves.push(*node);
            } else {
                let mut pair = [0; 64];
                pair.copy_from_slice(self.hashes[2 * node..2 * node + 2].as_flattened());
                pairs.push(pair);
                inner.push(*node);
            }
        }
        let mut digests = vec![ZERO_HASH; pairs.len()];
        INDEX_NODE.hash_many(&pairs, &mut digests);
        for (node, digest) in inner.into_iter().zip(digests) {
            self.hashes[node] = digest;
        }
        for node in leaves {
            self.hashes[node] = leaf_hash(&self.entries_below(node, depth));
        }
    }

    /// The entries below a node, in order.
    pub(super) fn entries_below(&self, node: usize, depth: u32) -> Vec<IndexEntry> {
        let below = self.cell_depth() - depth;
        let cells = node << below..(node + 1) << below;
        let entries = cells.flat_map(|cell| {
            let (group, range) = self.cell(cell);
            self.groups[group].entries(range)
        });
        entries.copied().collect()
    }

    /// The hash of a part of a cell, at `depth`.
    pub(super) fn subtree(&self, group: usize, range: Range<usize>, depth: u32) -> Hash {
        let mut forest = Forest::new(self.group_depth, 1);
        forest.add(&self.groups[group], range, depth, 0);
        forest.hash().first().copied().unwrap_or(ZERO_HASH)
    }
}

/// The hash of a leaf.
pub(super) fn leaf_hash(entries: &[IndexEntry]) -> Hash {
    if entries.is_empty() { ZERO_HASH } else { INDEX_LEAF.hash(entries.as_bytes()) }
}

/// Parts of groups, each a subtree of the index, whose leaves are hashed together, and then their nodes.
struct Forest<'a> {
    group_depth: u32,
    /// The hashes of the parts, then those of nodes and leaves inside them.
    digests: Vec<Hash>,
    parts: usize,
    /// The encoded entries of leaves, and where their digests go.
    leaves: Vec<&'a [u8]>,
    leaf_targets: Vec<usize>,
    nodes: Vec<Node>,
}

/// An inner node: where the digest of its left child is, with that of the right one behind it, and where its own goes.
struct Node {
    children: usize,
    target: usize,
    depth: u32,
}

impl<'a> Forest<'a> {
    fn new(group_depth: u32, parts: usize) -> Self {
        Self {
            group_depth,
            digests: vec![ZERO_HASH; parts],
            parts,
            leaves: Vec::with_capacity(parts),
            leaf_targets: Vec::with_capacity(parts),
            nodes: Vec::new(),
        }
    }

    /// Adds the subtree at `depth` over the entries of `range`.
    fn add(&mut self, group: &'a Group, range: Range<usize>, depth: u32, target: usize) {
        if range.is_empty() {
            return;
        }
        if is_leaf(range.len(), depth) {
            self.leaves.push(group.entries(range).as_bytes());
            self.leaf_targets.push(target);
            return;
        }
        let children = self.digests.len();
        self.digests.extend([ZERO_HASH; 2]);
        self.nodes.push(Node { children, target, depth });
        let middle = group.middle(range.clone(), depth, self.group_depth);
        self.add(group, range.start..middle, depth + 1, children);
        self.add(group, middle..range.end, depth + 1, children + 1);
    }

    /// The hashes of the parts.
    fn hash(mut self) -> Vec<Hash> {
        let mut digests = vec![ZERO_HASH; self.leaves.len()];
        INDEX_LEAF.hash_each(&self.leaves, &mut digests);
        for (target, digest) in self.leaf_targets.iter().zip(&digests) {
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
        self.digests.truncate(self.parts);
        self.digests
    }
}
