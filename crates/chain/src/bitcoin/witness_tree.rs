//! The tree over the transactions of a Bitcoin block with their witnesses (BIP141).
use super::block::Block;
use super::tree::{Repeated, Tree, path_places};
use spv::Hash;
use spv::bitcoin::{WitnessCoinbase, WitnessProofError, sha256d};
use thiserror::Error;

/// Why a block has no such tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WitnessTreeError {
    /// Transactions are repeated.
    #[error(transparent)]
    Repeated(#[from] Repeated),
    /// The coinbase cannot be parsed.
    #[error(transparent)]
    Coinbase(#[from] WitnessProofError),
    /// The coinbase commits to another tree.
    #[error("the witnesses do not match the commitment in the coinbase")]
    Commitment,
}

/// All levels of the tree, and the coinbase that commits to its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessTree {
    tree: Tree,
    transactions: u32,
    coinbase: Vec<u8>,
    is_committed: bool,
}

impl WitnessTree {
    /// Builds the tree of a block, and checks that its coinbase commits to it, if it commits to any.
    pub fn build(block: &Block<'_>) -> Result<Self, WitnessTreeError> {
        let (bytes, offsets) = (block.bytes(), block.offsets());
        let ends = offsets.iter().skip(1).map(|end| *end as usize).chain([bytes.len()]);
        let mut transactions = offsets.iter().zip(ends).map(|(begin, end)| &bytes[*begin as usize..end]);
        let coinbase = transactions.next().unwrap_or_default();
        // The commitment is in the coinbase, so the coinbase's leaf cannot be its hash.
        let leaves = [Hash::default()].into_iter().chain(transactions.map(|transaction| sha256d(&[transaction])));
        let tree = Tree::build(leaves.collect())?;
        let commitment = WitnessCoinbase::parse(coinbase)?.commitment;
        if commitment.is_some_and(|commitment| !commitment.is_to(&tree.root())) {
            return Err(WitnessTreeError::Commitment);
        }
        let transactions = offsets.len() as u32;
        Ok(Self { tree, transactions, coinbase: coinbase.to_vec(), is_committed: commitment.is_some() })
    }

    /// Whether the coinbase commits to the tree. If not, no transaction of the block has a witness.
    pub fn is_committed(&self) -> bool {
        self.is_committed
    }

    /// The coinbase with its witness.
    pub fn coinbase(&self) -> &[u8] {
        &self.coinbase
    }

    /// The root.
    pub fn root(&self) -> Hash {
        self.tree.root()
    }

    /// The hash of a transaction with its witness, and the siblings on the way from it to the root. The coinbase's hash
    /// is zero.
    pub fn leaf_and_path(&self, position: u32) -> Option<(Hash, Vec<Hash>)> {
        if position >= self.transactions {
            return None;
        }
        let nodes = self.tree.nodes();
        let path = path_places(self.transactions, position).map(|place| nodes[place as usize]);
        Some((nodes[position as usize], path.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin_test_data::blocks;
    use spv::bitcoin::WitnessProof;

    #[test]
    fn transactions_of_a_real_block_are_proved_with_their_witnesses() {
        let block = Block::parse(blocks::mainnet_702861()).unwrap();
        let tree = WitnessTree::build(&block).unwrap();
        assert!(tree.is_committed());
        let count = block.transactions().len() as u32;
        let hashes = block.transactions().iter().map(|transaction| transaction.hash()).collect();
        let hashes = Tree::build(hashes).unwrap();
        let coinbase_path: Vec<Hash> = path_places(count, 0).map(|place| hashes.nodes()[place as usize]).collect();
        for position in 1..count {
            let (leaf, path) = tree.leaf_and_path(position).unwrap();
            let proof = WitnessProof {
                leaf: &leaf,
                position,
                transactions: count,
                path: &path,
                coinbase: tree.coinbase(),
                coinbase_path: &coinbase_path,
            };
            assert_eq!(proof.verify(block.header()), Ok(()));
            // Without its witness, it is another transaction, unless it has none.
            let stripped = block.transactions()[position as usize].hash();
            let is_same = block.transactions()[position as usize].witnesses().next().is_none();
            assert_eq!(WitnessProof { leaf: &stripped, ..proof }.verify(block.header()).is_ok(), is_same);
        }
        assert_eq!(tree.leaf_and_path(0).unwrap().0, Hash::default());
        assert_eq!(tree.leaf_and_path(count), None);
    }

    #[test]
    fn a_block_with_another_witness_has_no_tree() {
        let mut bytes = blocks::mainnet_702861().to_vec();
        // A byte before the last lock time belongs to the last witness.
        let at = bytes.len() - 5;
        bytes[at] ^= 1;
        let block = Block::parse(&bytes).unwrap();
        assert_eq!(WitnessTree::build(&block), Err(WitnessTreeError::Commitment));
    }
}
