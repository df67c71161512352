//! The Merkle tree over header hashes, whose roots are Electrum's checkpoints.
use spv::bitcoin::node_hash;
use spv::{Hash, tree_depth};

/// The tree over the headers from genesis on: all nodes with a complete subtree, 64 bytes per header. The tree of fewer
/// headers consists of the same nodes, and at most one more on each level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderTree {
    /// The hashes of the headers, then the levels above.
    levels: Vec<Vec<Hash>>,
}

impl HeaderTree {
    /// How many headers there are.
    pub fn len(&self) -> usize {
        self.levels.first().map_or(0, Vec::len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The hash of the header at a height.
    pub fn hash(&self, height: u32) -> Option<&Hash> {
        self.levels.first()?.get(height as usize)
    }

    /// Adds the next header.
    pub fn push(&mut self, hash: Hash) {
        let mut node = hash;
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(node);
            match self.levels[level][..] {
                [.., left, right] if self.levels[level].len().is_multiple_of(2) => node = node_hash(&left, &right),
                _ => return,
            }
        }
    }

    /// Removes headers until `length` are left.
    pub fn truncate(&mut self, length: usize) {
        for (level, nodes) in self.levels.iter_mut().enumerate() {
            nodes.truncate(length >> level);
        }
    }

    /// The path of the header at `height` in the tree of the first `count`, and the root of that tree. `None` if there
    /// are fewer headers, or the height is not below `count`.
    pub fn path(&self, height: u32, count: u32) -> Option<(Vec<Hash>, Hash)> {
        if height >= count || count as usize > self.len() {
            return None;
        }
        let depth = tree_depth(count);
        let mut path = Vec::with_capacity(depth.into());
        // The last node of the level, if its subtree is incomplete.
        let mut ragged = None;
        for level in 0..depth {
            let width = count.div_ceil(1 << level);
            let last = width - 1;
            let node = |index: u32| match ragged {
                Some(node) if index == last => node,
                _ => self.levels[usize::from(level)][index as usize],
            };
            path.push(node(((height >> level) ^ 1).min(last)));
            ragged = match (width.is_multiple_of(2), ragged) {
                (false, _) => Some(node_hash(&node(last), &node(last))),
                (true, Some(_)) => Some(node_hash(&node(last - 1), &node(last))),
                (true, None) => None,
            };
        }
        Some((path, ragged.unwrap_or_else(|| self.levels[usize::from(depth)][0])))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Tree, path_places};
    use super::*;
    use proptest::prelude::*;
    use spv::bitcoin::sha256d;

    proptest! {
        #[test]
        fn paths_and_roots_are_those_of_the_whole_tree(length in 1..200_u32, cut in 0..200_u32) {
            let hashes: Vec<Hash> = (0..length).map(|n| sha256d(&[&n.to_le_bytes()])).collect();
            let mut tree = HeaderTree::default();
            hashes.iter().for_each(|hash| tree.push(*hash));
            prop_assert_eq!(tree.len(), hashes.len());
            for count in 1..=length {
                let whole = Tree::build(hashes[..count as usize].to_vec()).unwrap();
                let height = (count * 7) % count.max(1);
                for height in [0, height, count / 2, count - 1] {
                    let (path, root) = tree.path(height, count).unwrap();
                    prop_assert_eq!(root, whole.root());
                    let expected: Vec<Hash> =
                        path_places(count, height).map(|place| whole.nodes()[place as usize]).collect();
                    prop_assert_eq!(path, expected);
                }
            }
            prop_assert_eq!((tree.path(length, length), tree.path(0, length + 1)), (None, None));
            // A reorganisation removes some and adds others.
            let kept = (cut % length) as usize;
            tree.truncate(kept);
            let mut again = HeaderTree::default();
            hashes[..kept].iter().for_each(|hash| again.push(*hash));
            hashes.iter().for_each(|hash| { tree.push(*hash); again.push(*hash) });
            for count in 1..=tree.len() as u32 {
                prop_assert_eq!(tree.path(count - 1, count), again.path(count - 1, count));
            }
        }
    }
}
