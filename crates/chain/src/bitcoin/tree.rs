//! The Merkle tree of a Bitcoin block, all levels of it.
use spv::{Hash, tree_depth};
use thiserror::Error;
use verify::sha256::sha256d_nodes;

/// Two equal nodes side by side: the tree has the same root as that of a block without the repetition (CVE-2012-2459).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("two nodes side by side are equal at level {level}: transactions are repeated (CVE-2012-2459)")]
pub struct Repeated {
    /// Steps from the leaves.
    pub level: u8,
}

/// All levels of a tree one after the other, the leaves first and the root last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    nodes: Vec<Hash>,
}

impl Tree {
    /// Builds the tree over `leaves`, of which there must be at least one.
    pub fn build(leaves: Vec<Hash>) -> Result<Self, Repeated> {
        let transactions = leaves.len() as u32;
        let mut nodes = leaves;
        nodes.resize(node_count(transactions), Hash::default());
        let mut start = 0;
        for level in 0..tree_depth(transactions) {
            let width = level_width(transactions, level);
            let (children, above) = nodes[start..].split_at_mut(width);
            if children.as_chunks::<2>().0.iter().any(|[left, right]| left == right) {
                return Err(Repeated { level });
            }
            sha256d_nodes(children, &mut above[..width.div_ceil(2)]);
            start += width;
        }
        Ok(Self { nodes })
    }

    /// All levels, in their stored form.
    pub fn nodes(&self) -> &[Hash] {
        &self.nodes
    }

    /// The root.
    pub fn root(&self) -> Hash {
        self.nodes.last().copied().unwrap_or_default()
    }
}

/// Number of nodes on all levels.
pub(super) fn node_count(transactions: u32) -> usize {
    (0..=tree_depth(transactions)).map(|level| level_width(transactions, level)).sum()
}

/// Where transactions begin in their block, in the form stored after the levels: big-endian.
pub(super) fn encode_offsets(offsets: &[u32]) -> Vec<u8> {
    offsets.iter().flat_map(|offset| offset.to_be_bytes()).collect()
}

/// The places of the nodes of a transaction's path in the concatenation of all levels.
pub(super) fn path_places(transactions: u32, position: u32) -> impl Iterator<Item = u32> {
    let mut start = 0;
    (0..tree_depth(transactions)).map(move |level| {
        let width = level_width(transactions, level) as u32;
        let place = start + ((position >> level) ^ 1).min(width - 1);
        start += width;
        place
    })
}

fn level_width(transactions: u32, level: u8) -> usize {
    transactions.div_ceil(1 << level) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use spv::bitcoin::{node_hash, root_of_path, sha256d};

    fn leaves(count: u32) -> Vec<Hash> {
        (0..count).map(|i| sha256d(&[&i.to_le_bytes()])).collect()
    }

    /// The root by its definition.
    fn root(leaves: &[Hash]) -> Hash {
        match leaves {
            [root] => *root,
            _ => root(&leaves.chunks(2).map(|pair| node_hash(&pair[0], &pair[pair.len() - 1])).collect::<Vec<_>>()),
        }
    }

    proptest! {
        #[test]
        fn root_and_paths_are_those_of_the_definition(count in 1..200_u32) {
            let leaves = leaves(count);
            let tree = Tree::build(leaves.clone()).unwrap();
            prop_assert_eq!(tree.root(), root(&leaves));
            for position in 0..count {
                let path: Vec<Hash> = path_places(count, position).map(|place| tree.nodes()[place as usize]).collect();
                prop_assert_eq!(root_of_path(&leaves[position as usize], position, count, &path), Ok(tree.root()));
            }
            prop_assert_eq!(&tree.nodes()[..count as usize], &leaves[..]);
            prop_assert_eq!(tree.nodes().len(), node_count(count));
        }

        /// Every repetition that keeps the root is found.
        #[test]
        fn repetition_is_found(count in 1..100_u32, level in 0..7_u8) {
            let leaves = leaves(count);
            let mut repeated = leaves.clone();
            let from = repeated.len().saturating_sub(1 << level);
            repeated.extend_from_within(from..);
            if root(&repeated) == root(&leaves) {
                prop_assert!(Tree::build(repeated).is_err());
            }
        }
    }

    #[test]
    fn repetition_of_cve_2012_2459() {
        let [a, b, c] = [leaves(3)[0], leaves(3)[1], leaves(3)[2]];
        assert_eq!(root(&[a, b, c]), root(&[a, b, c, c]));
        assert_eq!(Tree::build(vec![a, b, c, c]), Err(Repeated { level: 0 }));
        assert_eq!(Tree::build(vec![a, b, c, a, b, c, a, b]).err(), None);
        assert_eq!(Tree::build(vec![a, b, a, b]), Err(Repeated { level: 1 }));
    }
}
