//! Proofs out of the index.
use super::hashing::{INDEX_NODE, is_leaf, leaf_hash};
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
    /// The proof of what the index holds of `account`, as of the last publication. `before` tells what an entry was then,
    /// or that it was not there; where nothing was applied since, entries are what they were.
    pub fn prove<E>(
        &self,
        account: &AccountId,
        mut before: impl FnMut(&IndexEntry) -> Result<Option<IndexEntry>, E>,
    ) -> Result<IndexAnswer, E> {
        let route = account_path(account);
        let mut path = Vec::new();
        let (mut node, mut depth) = (1, 0);
        while depth < self.cell_depth() && !is_leaf(self.published.counts[node] as usize, depth) {
            node = 2 * node + (route >> (63 - depth) & 1) as usize;
            path.push(self.published.hashes[node ^ 1]);
            depth += 1;
        }
        let mut entries = Vec::new();
        for entry in self.below(node, depth).flatten() {
            entries.extend(before(entry)?);
        }
        // Inside a cell hashes are not kept.
        while !is_leaf(entries.len(), depth) {
            let right = entries.split_off(middle(&entries, depth));
            depth += 1;
            let sibling;
            (entries, sibling) = if route >> (64 - depth) & 1 == 0 { (entries, right) } else { (right, entries) };
            path.push(subtree(&sibling, depth));
        }
        path.reverse();
        Ok(IndexAnswer { path, entries })
    }
}

/// The number of entries whose path has a 0 in bit `depth`; all paths are alike before that bit.
fn middle(entries: &[IndexEntry], depth: u32) -> usize {
    entries.partition_point(|entry| account_path(&AccountId(entry.account)) >> (63 - depth) & 1 == 0)
}

/// The hash of the subtree at `depth` over these entries.
fn subtree(entries: &[IndexEntry], depth: u32) -> Hash {
    if is_leaf(entries.len(), depth) {
        return leaf_hash(entries);
    }
    let (left, right) = entries.split_at(middle(entries, depth));
    INDEX_NODE.hash([subtree(left, depth + 1), subtree(right, depth + 1)].as_flattened())
}
