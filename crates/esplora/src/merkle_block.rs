//! A Merkle block for one transaction, as Bitcoin Core's `gettxoutproof` encodes it, built from the transaction's path.
use spv::{Hash, bitcoin::HEADER_SIZE};

/// A transaction's Merkle path, and the number of transactions in its block.
pub struct Proven<'a> {
    pub leaf: &'a Hash,
    pub position: u32,
    pub transactions: u32,
    /// From the bottom up.
    pub path: &'a [Hash],
}

/// The encoded Merkle block.
pub fn encode(header: &[u8; HEADER_SIZE], proven: &Proven<'_>) -> Vec<u8> {
    let mut tree = PartialTree { proven, hashes: Vec::new(), flags: Vec::new() };
    tree.descend(proven.path.len());
    let PartialTree { hashes, flags, .. } = tree;
    let mut bytes = header.to_vec();
    bytes.extend_from_slice(&proven.transactions.to_le_bytes());
    // Both counts are below 253 and so take one byte: a path has at most 32 nodes.
    bytes.push(hashes.len() as u8);
    bytes.extend_from_slice(hashes.as_flattened());
    bytes.push(flags.len().div_ceil(8) as u8);
    bytes.extend(flags.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))));
    bytes
}

/// The tree from the root down, as far as the leaf needs it.
struct PartialTree<'a> {
    proven: &'a Proven<'a>,
    hashes: Vec<Hash>,
    flags: Vec<bool>,
}

impl PartialTree<'_> {
    /// Writes the ancestor of the leaf at this level, and everything below it.
    fn descend(&mut self, level: usize) {
        self.flags.push(true);
        let Some(below) = level.checked_sub(1) else { return self.hashes.push(*self.proven.leaf) };
        let child = self.proven.position >> below;
        let width = u64::from(self.proven.transactions).div_ceil(1 << below);
        if child % 2 == 1 {
            self.beside(below);
            self.descend(below);
        } else {
            self.descend(below);
            // In a level with an odd number of nodes, the last one is its own sibling, which is not written.
            if u64::from(child) + 1 < width {
                self.beside(below);
            }
        }
    }

    /// Writes the sibling of the leaf's ancestor at this level.
    fn beside(&mut self, level: usize) {
        self.flags.push(false);
        self.hashes.push(self.proven.path[level]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chain::bitcoin::Tree;
    use spv::bitcoin::{BlockHeader, MerkleBlock, Network, sha256d};

    /// For every shape of tree, the verifier finds exactly that transaction.
    #[test]
    fn what_is_written_verifies() {
        for transactions in (1..40).chain([127, 128, 129, 1000]) {
            let leaves: Vec<Hash> = (0..transactions).map(|n: u32| sha256d(&[&n.to_le_bytes()])).collect();
            let tree = Tree::build(leaves.clone()).unwrap();
            let header = BlockHeader { merkle_root: tree.root(), ..Network::Regtest.genesis() };
            let header: [u8; HEADER_SIZE] = bytes(&header);
            for position in [0, transactions / 2, transactions - 1] {
                let path = path(&leaves, position);
                let leaf = &leaves[position as usize];
                let encoded = encode(&header, &Proven { leaf, position, transactions, path: &path });
                let found = MerkleBlock::parse(&encoded).unwrap().verify().unwrap();
                assert_eq!(found.len(), 1);
                assert_eq!((found[0].position, found[0].hash), (position, *leaf), "{position} of {transactions}");
            }
        }
    }

    fn bytes(header: &BlockHeader) -> [u8; HEADER_SIZE] {
        let BlockHeader { version, previous, merkle_root, time, bits, nonce } = header;
        let numbers = [time, bits, nonce].map(|number| number.get().to_le_bytes());
        let parts = [&version.get().to_le_bytes()[..], previous, merkle_root, numbers.as_flattened()].concat();
        parts.try_into().unwrap()
    }

    fn path(leaves: &[Hash], position: u32) -> Vec<Hash> {
        let (mut level, mut at, mut path) = (leaves.to_vec(), position as usize, Vec::new());
        while level.len() > 1 {
            path.push(level[(at ^ 1).min(level.len() - 1)]);
            level = level.chunks(2).map(|pair| spv::bitcoin::node_hash(&pair[0], &pair[pair.len() - 1])).collect();
            at /= 2;
        }
        path
    }
}
