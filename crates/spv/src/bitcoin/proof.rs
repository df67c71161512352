//! The proof that a transaction is in a Bitcoin block, as the proof frame carries it.
use super::coinbase::{CoinbaseError, check_coinbase};
use super::hash::transaction_hash;
use super::header::BlockHeader;
use super::tree::{PathError, root_of_path};
use crate::hash::Hash;
use thiserror::Error;

/// A claim that a transaction is at a position in a block, and everything needed to check it against the block's
/// header.
#[derive(Clone, Copy, Debug)]
pub struct TransactionProof<'a> {
    /// The transaction's hash.
    pub leaf: &'a Hash,
    /// Its position in the block.
    pub position: u32,
    /// Number of transactions in the block.
    pub transactions: u32,
    /// The siblings on the way from the leaf to the root.
    pub path: &'a [Hash],
    /// The block's coinbase transaction, without its witness.
    pub coinbase: &'a [u8],
    /// The siblings on the way from the coinbase to the root.
    pub coinbase_path: &'a [Hash],
}

/// Why a proof proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProofError {
    /// The transaction's path cannot be one.
    #[error("the transaction's path: {0}")]
    Path(#[source] PathError),
    /// The coinbase's path cannot be one.
    #[error("the coinbase's path: {0}")]
    CoinbasePath(#[source] PathError),
    /// What should be the coinbase, and fix the depth, is not a coinbase.
    #[error("the coinbase transaction: {0}")]
    Coinbase(#[from] CoinbaseError),
    /// The transaction's path leads to another root.
    #[error("the transaction's path does not lead to the root in the block's header")]
    Root,
    /// The coinbase's path leads to another root, so the depth of the tree is unknown (CVE-2017-12842).
    #[error("the coinbase's path does not lead to the root in the block's header")]
    CoinbaseRoot,
}

impl TransactionProof<'_> {
    /// Checks the proof against a header, which the caller takes from its own [`super::HeaderChain`].
    ///
    /// The coinbase is recognised by its shape, so it is a leaf, the first one. The transaction is on the same level,
    /// so it is a leaf, too.
    pub fn verify(&self, header: &BlockHeader) -> Result<(), ProofError> {
        check_coinbase(self.coinbase)?;
        check_coinbase_path(self.coinbase, self.transactions, self.coinbase_path, header)?;
        let root = root_of_path(self.leaf, self.position, self.transactions, self.path).map_err(ProofError::Path)?;
        if root != header.merkle_root {
            return Err(ProofError::Root);
        }
        Ok(())
    }
}

/// Checks that a coinbase, verified by its shape and given without its witness, is the first leaf of a block's tree.
///
/// That fixes the depth of the tree.
pub(super) fn check_coinbase_path(
    coinbase: &[u8],
    transactions: u32,
    path: &[Hash],
    header: &BlockHeader,
) -> Result<(), ProofError> {
    let root = root_of_path(&transaction_hash(coinbase), 0, transactions, path).map_err(ProofError::CoinbasePath)?;
    if root == header.merkle_root { Ok(()) } else { Err(ProofError::CoinbaseRoot) }
}

#[cfg(test)]
mod tests {
    use super::super::coinbase::model::coinbase;
    use super::super::network::Network;
    use super::super::tree::model;
    use super::*;
    use proptest::prelude::*;

    struct Block {
        header: BlockHeader,
        coinbase: Vec<u8>,
        leaves: Vec<Hash>,
    }

    fn block(transactions: usize) -> Block {
        let coinbase = coinbase(b"test", 25);
        let mut leaves = model::leaves(transactions);
        leaves[0] = transaction_hash(&coinbase);
        let header = BlockHeader { merkle_root: model::root(&leaves), ..Network::Regtest.genesis() };
        Block { header, coinbase, leaves }
    }

    proptest! {
        #[test]
        fn proofs_hold_and_no_changed_one_does(transactions in 1..50_usize, position: prop::sample::Index, change: prop::sample::Index, bit in 0..8) {
            let block = block(transactions);
            let position = position.index(transactions);
            let (path, coinbase_path) = (model::path(&block.leaves, position), model::path(&block.leaves, 0));
            let proof = TransactionProof {
                leaf: &block.leaves[position],
                position: position as u32,
                transactions: transactions as u32,
                path: &path,
                coinbase: &block.coinbase,
                coinbase_path: &coinbase_path,
            };
            prop_assert_eq!(proof.verify(&block.header), Ok(()));

            let mut leaf = *proof.leaf;
            leaf[change.index(32)] ^= 1_u8 << bit;
            let wrong = TransactionProof { leaf: &leaf, ..proof };
            prop_assert!(wrong.verify(&block.header).is_err());
            let mut changed = block.coinbase.clone();
            changed[change.index(block.coinbase.len())] ^= 1_u8 << bit;
            let wrong = TransactionProof { coinbase: &changed, ..proof };
            prop_assert!(wrong.verify(&block.header).is_err());
            if !path.is_empty() {
                let mut changed = path.clone();
                changed[change.index(path.len())][change.index(32)] ^= 1_u8 << bit;
                let wrong = TransactionProof { path: &changed, ..proof };
            prop_assert!(wrong.verify(&block.header).is_err());
                let wrong = TransactionProof { coinbase_path: &changed, ..proof };
            prop_assert!(wrong.verify(&block.header).is_err());
                let other = proof.position ^ 1;
                let wrong = TransactionProof { position: other, ..proof };
            prop_assert!(wrong.verify(&block.header).is_err());
            }
        }
    }

    /// CVE-2017-12842: a transaction of 64 bytes whose second half is the hash of a transaction that was never in a
    /// block.
    #[test]
    fn a_leaf_below_the_leaves_is_refused() {
        let forged = [7; 32];
        let mut block = block(2);
        let node = [[5; 32], forged].concat();
        block.leaves[1] = transaction_hash(&node);
        block.header.merkle_root = model::root(&block.leaves);
        let path = [[5; 32], block.leaves[0]];
        assert_eq!(root_of_path(&forged, 3, 4, &path), Ok(block.header.merkle_root));

        let deeper = TransactionProof {
            leaf: &forged,
            position: 3,
            transactions: 4,
            path: &path,
            coinbase: &block.coinbase,
            coinbase_path: &block.leaves[1..],
        };
        let depth = PathError::Depth { expected: 2, found: 1 };
        assert_eq!(deeper.verify(&block.header), Err(ProofError::CoinbasePath(depth)));
        let longer = [[9; 32], block.leaves[1]];
        let longer = TransactionProof { coinbase_path: &longer, ..deeper };
        assert_eq!(longer.verify(&block.header), Err(ProofError::CoinbaseRoot));
        let shallow = TransactionProof { transactions: 2, position: 1, ..deeper };
        let depth = PathError::Depth { expected: 1, found: 2 };
        assert_eq!(shallow.verify(&block.header), Err(ProofError::Path(depth)));
    }

    /// The other way round: an inner node passed off as a transaction, and the node above the coinbase as the coinbase.
    #[test]
    fn a_leaf_above_the_leaves_is_refused() {
        let block = block(4);
        let levels = model::levels(&block.leaves);
        let above = TransactionProof {
            leaf: &levels[1][1],
            position: 1,
            transactions: 2,
            path: &levels[1][..1],
            coinbase: &[levels[0][0], levels[0][1]].concat(),
            coinbase_path: &levels[1][1..],
        };
        assert_eq!(above.verify(&block.header), Err(CoinbaseError::NodeSized.into()));
        let above = TransactionProof { coinbase: &block.coinbase, ..above };
        assert_eq!(above.verify(&block.header), Err(ProofError::CoinbaseRoot));
    }
}
