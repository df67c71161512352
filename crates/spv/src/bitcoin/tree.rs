//! Paths in Bitcoin's Merkle tree.
use super::hash::node_hash;
use crate::hash::Hash;
use crate::header::tree_depth;
use thiserror::Error;

/// The most transactions that a block can have: its greatest weight over the least weight of a transaction.
pub const MAX_TRANSACTIONS: u32 = 4_000_000 / 240;

/// Why a path does not lead from a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// The number of transactions is zero, or more than fit in a block's weight.
    #[error("a block can't have {0} transactions")]
    Transactions(u32),
    /// The position is not in the block.
    #[error("position {position} in a block of {transactions} transactions")]
    Position {
        /// The position claimed.
        position: u32,
        /// The number of transactions claimed.
        transactions: u32,
    },
    /// The path is longer or shorter than the tree is deep.
    #[error("a path of {found} nodes in a tree of depth {expected}")]
    Depth {
        /// ceil(log2 of the number of transactions).
        expected: u8,
        /// Nodes in the path.
        found: usize,
    },
    /// A node and its sibling are equal where the tree has two nodes: a repeated transaction (CVE-2012-2459).
    #[error(
        "node and sibling are equal at level {level}: the list of transactions was extended by repeating some (CVE-2012-2459)"
    )]
    Repeated {
        /// Steps from the leaf.
        level: usize,
    },
    /// A node without a sibling is paired with something other than itself.
    #[error("the last node of level {level} has no sibling, and must be paired with itself")]
    NotDuplicated {
        /// Steps from the leaf.
        level: usize,
    },
}

/// Follows a path up, and returns the root that it leads to for the caller to compare.
///
/// On a level with an odd number of nodes, Bitcoin pairs the last one with itself. Only there may a sibling equal its
/// node.
pub fn root_of_path(leaf: &Hash, position: u32, transactions: u32, path: &[Hash]) -> Result<Hash, PathError> {
    if transactions == 0 || transactions > MAX_TRANSACTIONS {
        return Err(PathError::Transactions(transactions));
    }
    if position >= transactions {
        return Err(PathError::Position { position, transactions });
    }
    let expected = tree_depth(transactions);
    if path.len() != usize::from(expected) {
        return Err(PathError::Depth { expected, found: path.len() });
    }
    let (mut node, mut index, mut width) = (*leaf, position, transactions);
    for (level, sibling) in path.iter().enumerate() {
        let alone = index ^ 1 == width;
        match (alone, *sibling == node) {
            (true, false) => return Err(PathError::NotDuplicated { level }),
            (false, true) => return Err(PathError::Repeated { level }),
            _ => {}
        }
        node = if index & 1 == 0 { node_hash(&node, sibling) } else { node_hash(sibling, &node) };
        index >>= 1;
        width = width.div_ceil(2);
    }
    Ok(node)
}

#[cfg(test)]
pub(super) mod model {
    //! The tree by its definition, level by level.
    use super::*;

    pub fn levels(leaves: &[Hash]) -> Vec<Vec<Hash>> {
        let mut levels = vec![leaves.to_vec()];
        while levels[levels.len() - 1].len() > 1 {
            let below = &levels[levels.len() - 1];
            levels.push(below.chunks(2).map(|pair| node_hash(&pair[0], pair.get(1).unwrap_or(&pair[0]))).collect());
        }
        levels
    }

    pub fn root(leaves: &[Hash]) -> Hash {
        levels(leaves).last().unwrap()[0]
    }

    pub fn path(leaves: &[Hash], position: usize) -> Vec<Hash> {
        let levels = levels(leaves);
        let below_root = &levels[..levels.len() - 1];
        below_root.iter().enumerate().map(|(i, level)| level[((position >> i) ^ 1).min(level.len() - 1)]).collect()
    }

    /// Leaves that are all different.
    pub fn leaves(count: usize) -> Vec<Hash> {
        (0..count as u64).map(|i| super::super::hash::sha256d(&[&i.to_le_bytes()])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_path_leads_to_the_root(count in 1..70_usize) {
            let leaves = model::leaves(count);
            for position in 0..count {
                let path = model::path(&leaves, position);
                let root = root_of_path(&leaves[position], position as u32, count as u32, &path);
                prop_assert_eq!(root, Ok(model::root(&leaves)));
            }
        }

        /// A wrong count proves no position beyond the real ones, whatever the depth.
        #[test]
        fn repeated_transactions_prove_nothing(count in 1..40_usize, claimed in 1..80_u32) {
            let leaves = model::leaves(count);
            let mut extended = leaves.clone();
            while extended.len() < claimed as usize {
                extended.extend_from_within(extended.len() - 1..);
            }
            for position in count..extended.len() {
                let path = model::path(&extended, position);
                let root = root_of_path(&extended[position], position as u32, claimed, &path);
                prop_assert!(root != Ok(model::root(&leaves)));
            }
        }
    }

    /// A block of 4,000,000 units of weight has at most 16,666 transactions, of 240 each, which make a tree of depth
    /// 15.
    #[test]
    fn transactions_have_a_limit() {
        let path = [[1; 32]; 15];
        assert!(root_of_path(&[2; 32], 0, 16_666, &path).is_ok());
        assert_eq!(root_of_path(&[2; 32], 0, 16_667, &path), Err(PathError::Transactions(16_667)));
    }

    #[test]
    fn every_rule_has_its_error() {
        let leaves = model::leaves(5);
        let path = model::path(&leaves, 4);
        let check =
            |position, transactions, path: &[Hash]| root_of_path(&leaves[4], position, transactions, path).unwrap_err();
        assert_eq!(check(0, 0, &[]), PathError::Transactions(0));
        assert_eq!(check(0, MAX_TRANSACTIONS + 1, &path), PathError::Transactions(MAX_TRANSACTIONS + 1));
        assert_eq!(check(5, 5, &path), PathError::Position { position: 5, transactions: 5 });
        assert_eq!(check(4, 5, &path[..2]), PathError::Depth { expected: 3, found: 2 });
        // The tree of six transactions, the last one twice, has the same root: refused at both positions.
        assert_eq!(check(4, 6, &path), PathError::Repeated { level: 0 });
        assert_eq!(check(5, 6, &path), PathError::Repeated { level: 0 });
        assert_eq!(check(4, 5, &[path[0], path[2], path[2]]), PathError::NotDuplicated { level: 1 });
    }
}
