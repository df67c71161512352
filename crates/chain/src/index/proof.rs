//! Proofs out of the index.
use super::Index;
use super::hashing::{INDEX_NODE, is_leaf, leaf_hash};
use super::paths::account_path;
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

/// What a proof copies from the index: the cell or leaf where an account is, and the path from there to the root.
#[derive(Debug)]
pub struct Leaf {
    route: u64,
    /// The siblings from the root down.
    path: Vec<Hash>,
    entries: Vec<IndexEntry>,
}

impl Index {
    /// Copies what the proof of an account needs, as of the last publication: a few hashes and at most some hundred
    /// entries.
    ///
    /// The index may change right afterwards.
    pub fn leaf(&self, account: &AccountId) -> Leaf {
        let route = account_path(account);
        let (mut trie, mut node, mut depth) = (&self.trie, 1, 0);
        let mut path = Vec::new();
        while depth < trie.cell_depth() && !is_leaf(trie.published.counts[node] as usize, depth) {
            if depth == trie.depth()
                && let Some(crowd) = trie.crowd(trie.group_of(route))
            {
                (trie, node) = (crowd, 1);
            }
            node = 2 * node + (route >> (63 - depth) & 1) as usize;
            path.push(trie.published.hashes[node ^ 1]);
            depth += 1;
        }
        let mut entries = Vec::new();
        trie.published_below(&self.pages, &self.images, node, depth, &mut entries);
        Leaf { route, path, entries }
    }
}

impl Leaf {
    /// The number of entries copied from the index, which is also the most that have to be hashed.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The proof of what the index held for the account.
    pub fn prove(self) -> IndexAnswer {
        let Self { route, mut path, entries } = self;
        let entries = sorted(entries);
        let mut depth = path.len() as u32;
        // Hashes inside a cell are not stored.
        let mut leaf = &entries[..];
        while !is_leaf(leaf.len(), depth) {
            let (left, right) = leaf.split_at(middle(leaf, depth));
            let is_right = route >> (63 - depth) & 1 == 1;
            depth += 1;
            path.push(subtree(if is_right { left } else { right }, depth));
            leaf = if is_right { right } else { left };
        }
        path.reverse();
        IndexAnswer { path, entries: leaf.iter().map(|(_, entry)| *entry).collect() }
    }
}

/// Entries with their paths, in order.
pub(super) fn sorted(entries: Vec<IndexEntry>) -> Vec<(u64, IndexEntry)> {
    let mut entries: Vec<_> =
        entries.into_iter().map(|entry| (account_path(&AccountId(entry.account)), entry)).collect();
    entries.sort_unstable_by_key(|(path, entry)| (*path, entry.account));
    entries
}

/// The number of entries whose path has a 0 in bit `depth`; all paths are alike before that bit.
fn middle(entries: &[(u64, IndexEntry)], depth: u32) -> usize {
    entries.partition_point(|(path, _)| path >> (63 - depth) & 1 == 0)
}

/// The hash of the subtree at `depth` over these entries.
pub(super) fn subtree(entries: &[(u64, IndexEntry)], depth: u32) -> Hash {
    if is_leaf(entries.len(), depth) {
        let entries: Vec<_> = entries.iter().map(|(_, entry)| *entry).collect();
        return leaf_hash(&entries);
    }
    let (left, right) = entries.split_at(middle(entries, depth));
    INDEX_NODE.hash([subtree(left, depth + 1), subtree(right, depth + 1)].as_flattened())
}
