//! Proofs out of the index.
use super::hashing::is_leaf;
use super::{Index, account_path};
use spv::{Hash, IndexEntry};
use wire::AccountId;

/// The leaf where an account is, or would be if it existed, and the path from there to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexAnswer {
    /// The siblings from the leaf up.
    pub path: Vec<Hash>,
    /// The accounts of the leaf.
    pub entries: Vec<IndexEntry>,
}

impl Index {
    /// The proof of what the index holds of `account`. The root must have been asked for since the last change.
    pub fn prove(&self, account: &AccountId) -> IndexAnswer {
        let route = account_path(account);
        let mut path = Vec::new();
        let (mut node, mut depth) = (1, 0);
        while depth < self.cell_depth() && !is_leaf(self.counts[node] as usize, depth) {
            node = 2 * node + (route >> (63 - depth) & 1) as usize;
            path.push(self.hashes[node ^ 1]);
            depth += 1;
        }
        let entries = if depth == self.cell_depth() {
            self.prove_in_cell(route, node, &mut path)
        } else {
            self.entries_below(node, depth)
        };
        path.reverse();
        IndexAnswer { path, entries }
    }

    /// Goes on inside a cell, where hashes are not kept.
    fn prove_in_cell(&self, route: u64, node: usize, path: &mut Vec<Hash>) -> Vec<IndexEntry> {
        let (number, mut range) = self.cell(node);
        let group = &self.groups[number];
        let mut depth = self.cell_depth();
        while !is_leaf(range.len(), depth) {
            let middle = group.middle(range.clone(), depth, self.group_depth);
            let (left, right) = (range.start..middle, middle..range.end);
            let sibling;
            (range, sibling) = if route >> (63 - depth) & 1 == 0 { (left, right) } else { (right, left) };
            depth += 1;
            path.push(self.subtree(number, sibling, depth));
        }
        group.entries(range).to_vec()
    }
}
