//! The proof that a transaction is in a Bitcoin block with its witness (BIP141).
//!
//! The tree in the block's header leaves witnesses out, so whoever serves a transaction could give it another witness.
//! A second tree has the hashes of transactions with their witnesses as leaves; an output of the coinbase commits to
//! its root.
use super::coinbase::{CoinbaseError, check_coinbase};
use super::encoding::{Encoding, EncodingError};
use super::hash::sha256d;
use super::header::BlockHeader;
use super::proof::{ProofError, check_coinbase_path};
use super::tree::{PathError, root_of_path};
use crate::hash::Hash;
use thiserror::Error;

/// How the script of a commitment to witnesses begins: OP_RETURN, the length of the rest, BIP141's tag.
const TAG: [u8; 6] = [0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed];

/// A parsed coinbase transaction with its witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessCoinbase {
    /// The transaction without its witness, as in the header's tree.
    pub stripped: Vec<u8>,
    /// The commitment to witnesses. A block whose transactions have no witnesses needs none.
    pub commitment: Option<WitnessCommitment>,
}

/// A coinbase's commitment to witnesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WitnessCommitment {
    /// The double SHA-256 of the root and the reserved value.
    pub hash: Hash,
    /// The coinbase's own witness, which BIP141 reserves for future commitments.
    pub reserved: Hash,
}

impl WitnessCommitment {
    /// Whether it commits to the tree with this root.
    pub fn is_to(&self, root: &Hash) -> bool {
        sha256d(&[root, &self.reserved]) == self.hash
    }
}

/// A claim that a transaction is at a position in a block with its witness, and everything needed to check it against
/// the block's header.
///
/// There is no such proof for a coinbase: its leaf is zero, whatever its witness is.
#[derive(Clone, Copy, Debug)]
pub struct WitnessProof<'a> {
    /// The hash of the transaction with its witness.
    pub leaf: &'a Hash,
    /// Its position in the block.
    pub position: u32,
    /// Number of transactions in the block.
    pub transactions: u32,
    /// The siblings on the way from the leaf to the root that the coinbase commits to.
    pub path: &'a [Hash],
    /// The block's coinbase transaction with its witness.
    pub coinbase: &'a [u8],
    /// The siblings on the way from the coinbase to the root in the header.
    pub coinbase_path: &'a [Hash],
}

/// Why the proof of a witness proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WitnessProofError {
    /// The transaction's path cannot be one.
    #[error("the transaction's path: {0}")]
    Path(#[source] PathError),
    /// The coinbase is not a coinbase, or not in the block.
    #[error(transparent)]
    Coinbase(#[from] ProofError),
    /// There is a commitment without the reserved value that belongs to it.
    #[error("the coinbase's witness is not one item of 32 bytes, which a commitment needs beside it")]
    Reserved,
    /// The coinbase commits to no witnesses.
    #[error("the coinbase commits to no witnesses, so no transaction of the block has any: prove it without")]
    NoCommitment,
    /// The commitment does not cover the coinbase's own witness.
    #[error("the coinbase's own witness can't be proved")]
    IsCoinbase,
    /// The transaction's path leads to another root.
    #[error("the transaction's path does not lead to the root that the coinbase commits to")]
    Root,
}

impl From<CoinbaseError> for WitnessProofError {
    fn from(error: CoinbaseError) -> Self {
        Self::Coinbase(error.into())
    }
}

impl From<EncodingError> for WitnessProofError {
    fn from(error: EncodingError) -> Self {
        CoinbaseError::from(error).into()
    }
}

impl WitnessCoinbase {
    /// Parses a coinbase. In a block without witnesses, it has none itself.
    pub fn parse(coinbase: &[u8]) -> Result<Self, WitnessProofError> {
        let mut encoding = Encoding::new(coinbase);
        let version = encoding.array::<4>()?;
        let has_witness = encoding.rest().first() == Some(&0);
        if has_witness && *encoding.array()? != [0, 1] {
            return Err(CoinbaseError::Inputs(0).into());
        }
        let start = encoding.position();
        let mut hash = None;
        for _ in 0..encoding.count(41)? {
            encoding.take(36)?;
            encoding.string()?;
            encoding.take(4)?;
        }
        for _ in 0..encoding.count(9)? {
            encoding.take(8)?;
            let script = encoding.string()?;
            // If there are several, the last one counts.
            hash = script.strip_prefix(&TAG).and_then(|rest| rest.first_chunk().copied()).or(hash);
        }
        let body = encoding.since(start);
        let witness = match has_witness {
            true if encoding.compact_size()? != 1 => return Err(WitnessProofError::Reserved),
            true => encoding.string()?,
            false => &[],
        };
        let lock_time = encoding.array::<4>()?;
        encoding.finish()?;
        let stripped = [&version[..], body, lock_time].concat();
        check_coinbase(&stripped)?;
        let commitment = match hash {
            None => None,
            Some(hash) => {
                let reserved = witness.try_into().map_err(|_| WitnessProofError::Reserved)?;
                Some(WitnessCommitment { hash, reserved })
            }
        };
        Ok(Self { stripped, commitment })
    }
}

impl WitnessProof<'_> {
    /// Checks the proof against a header, which the caller takes from its own [`super::HeaderChain`].
    pub fn verify(&self, header: &BlockHeader) -> Result<(), WitnessProofError> {
        let coinbase = WitnessCoinbase::parse(self.coinbase)?;
        check_coinbase_path(&coinbase.stripped, self.transactions, self.coinbase_path, header)?;
        let commitment = coinbase.commitment.ok_or(WitnessProofError::NoCommitment)?;
        if self.position == 0 {
            return Err(WitnessProofError::IsCoinbase);
        }
        // Both trees have the same number of leaves, so the coinbase's path has already fixed the depth.
        let root = root_of_path(self.leaf, self.position, self.transactions, self.path);
        match commitment.is_to(&root.map_err(WitnessProofError::Path)?) {
            true => Ok(()),
            false => Err(WitnessProofError::Root),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::transaction_hash;
    use super::super::network::Network;
    use super::super::tree::model;
    use super::*;
    use proptest::prelude::*;

    /// A coinbase whose outputs have these scripts, with a witness of these items, or without one.
    fn coinbase(scripts: &[Vec<u8>], witness: Option<&[&[u8]]>) -> Vec<u8> {
        let marker: &[u8] = if witness.is_some() { &[0, 1] } else { &[] };
        let mut bytes = [&[1, 0, 0, 0], marker, &[1], &[0; 32], &[0xff; 4], &[2, 1, 2], &[0xff; 4]].concat();
        bytes.push(scripts.len() as u8);
        for script in scripts {
            bytes.extend([0; 8]);
            bytes.push(script.len() as u8);
            bytes.extend(script);
        }
        if let Some(items) = witness {
            bytes.push(items.len() as u8);
            for item in items {
                bytes.push(item.len() as u8);
                bytes.extend(*item);
            }
        }
        bytes.extend([0; 4]);
        bytes
    }

    fn commitment(hash: &Hash) -> Vec<u8> {
        [&TAG[..], hash].concat()
    }

    struct Block {
        header: BlockHeader,
        coinbase: Vec<u8>,
        hashes: Vec<Hash>,
        leaves: Vec<Hash>,
    }

    fn block(transactions: usize) -> Block {
        let reserved = [7; 32];
        let mut leaves: Vec<Hash> = model::leaves(transactions).iter().map(|hash| sha256d(&[hash])).collect();
        leaves[0] = Hash::default();
        let hash = sha256d(&[&model::root(&leaves), &reserved]);
        let coinbase = coinbase(&[vec![0x51], commitment(&[1; 32]), commitment(&hash)], Some(&[&reserved]));
        let mut hashes = model::leaves(transactions);
        hashes[0] = transaction_hash(&WitnessCoinbase::parse(&coinbase).unwrap().stripped);
        let header = BlockHeader { merkle_root: model::root(&hashes), ..Network::Regtest.genesis() };
        Block { header, coinbase, hashes, leaves }
    }

    proptest! {
        #[test]
        fn proofs_hold_and_no_changed_one_does(transactions in 2..50_usize, position: prop::sample::Index, change: prop::sample::Index, bit in 0..8) {
            let block = block(transactions);
            let position = 1 + position.index(transactions - 1);
            let (path, coinbase_path) = (model::path(&block.leaves, position), model::path(&block.hashes, 0));
            let proof = WitnessProof {
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
            let mut coinbase = block.coinbase.clone();
            coinbase[change.index(block.coinbase.len())] ^= 1_u8 << bit;
            let mut changed = path.clone();
            changed[change.index(path.len())][change.index(32)] ^= 1_u8 << bit;
            let wrong = [
                WitnessProof { leaf: &leaf, ..proof },
                WitnessProof { coinbase: &coinbase, ..proof },
                WitnessProof { path: &changed, ..proof },
                WitnessProof { coinbase_path: &changed, ..proof },
                WitnessProof { position: proof.position ^ 1, ..proof },
            ];
            for wrong in wrong {
                prop_assert!(wrong.verify(&block.header).is_err());
            }
        }

        #[test]
        fn any_bytes_are_taken_apart_or_refused(bytes: Vec<u8>) {
            let _ = WitnessCoinbase::parse(&bytes);
        }
    }

    #[test]
    fn every_rule_has_its_error() {
        use WitnessProofError::*;
        let block = block(3);
        let paths = [model::path(&block.leaves, 0), model::path(&block.leaves, 1), model::path(&block.hashes, 0)];
        let proof = WitnessProof {
            leaf: &block.leaves[1],
            position: 1,
            transactions: 3,
            path: &paths[1],
            coinbase: &block.coinbase,
            coinbase_path: &paths[2],
        };
        assert_eq!(proof.verify(&block.header), Ok(()));
        let refused = |proof: WitnessProof<'_>| proof.verify(&block.header).unwrap_err();
        let zero = Hash::default();
        assert_eq!(refused(WitnessProof { leaf: &zero, position: 0, path: &paths[0], ..proof }), IsCoinbase);
        assert_eq!(refused(WitnessProof { leaf: &[9; 32], ..proof }), Root);
        assert_eq!(refused(WitnessProof { path: &[], ..proof }), Path(PathError::Depth { expected: 2, found: 0 }));
        assert_eq!(refused(WitnessProof { coinbase_path: &paths[0], ..proof }), Coinbase(ProofError::CoinbaseRoot));

        let parsed = |scripts: &[Vec<u8>], witness| WitnessCoinbase::parse(&coinbase(scripts, witness));
        let committed = [commitment(&[1; 32])];
        assert_eq!(parsed(&committed, None), Err(Reserved));
        assert_eq!(parsed(&committed, Some(&[&[0; 31]])), Err(Reserved));
        assert_eq!(parsed(&committed, Some(&[])), Err(Reserved));
        assert_eq!(parsed(&committed, Some(&[&[0; 32], &[0; 32]])), Err(Reserved));
        // A script that is too short commits to nothing.
        assert_eq!(parsed(&[commitment(&[1; 32])[..37].to_vec()], None).unwrap().commitment, None);
        let bare = parsed(&[vec![0x51; 20]], None).unwrap();
        assert_eq!(bare.commitment, None);
        let header = BlockHeader { merkle_root: transaction_hash(&bare.stripped), ..block.header };
        let alone = WitnessProof {
            position: 0,
            transactions: 1,
            path: &[],
            coinbase: &bare.stripped,
            coinbase_path: &[],
            ..proof
        };
        assert_eq!(alone.verify(&header), Err(NoCommitment));
    }
}
