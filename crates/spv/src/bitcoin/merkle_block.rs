//! `CMerkleBlock`: the partial Merkle tree that Bitcoin Core's `gettxoutproof` writes.
use super::coinbase::{CoinbaseError, check_coinbase};
use super::encoding::{Encoding, EncodingError};
use super::hash::{node_hash, transaction_hash};
use super::header::{BlockHeader, HEADER_SIZE};
use super::tree::MAX_TRANSACTIONS;
use crate::hash::Hash;
use crate::header::tree_depth;
use thiserror::Error;

/// Why a Merkle block proves nothing. The checks are those of Bitcoin Core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MerkleBlockError {
    /// The bytes do not encode a Merkle block.
    #[error("the Merkle block is not valid: {0}")]
    Encoding(#[from] EncodingError),
    /// No transactions, or more than fit in a block.
    #[error("a block can't have {0} transactions")]
    Transactions(u32),
    /// More hashes than transactions.
    #[error("more hashes than transactions")]
    TooManyHashes,
    /// Fewer flags than hashes.
    #[error("fewer flags than hashes")]
    TooFewFlags,
    /// The tree needs more flags than there are.
    #[error("the flags end before the tree does")]
    FlagsUsedUp,
    /// The tree needs more hashes than there are.
    #[error("the hashes end before the tree does")]
    HashesUsedUp,
    /// Flags that the tree did not need.
    #[error("not all flags were used")]
    FlagsLeft,
    /// Hashes that the tree did not need.
    #[error("not all hashes were used")]
    HashesLeft,
    /// Two equal nodes side by side: a repeated transaction (CVE-2012-2459).
    #[error(
        "two nodes side by side are equal: the list of transactions was extended by repeating some (CVE-2012-2459)"
    )]
    Repeated,
    /// The tree's root is not the header's.
    #[error("the tree's root is not that of the header")]
    Root,
    /// The bytes given as the coinbase are not a coinbase.
    #[error("the coinbase transaction: {0}")]
    Coinbase(#[from] CoinbaseError),
    /// The coinbase is not among the transactions that the Merkle block proves.
    #[error("it does not prove the coinbase transaction, so the depth of the tree is not known (CVE-2017-12842)")]
    CoinbaseNotProved,
}

/// A transaction that a Merkle block proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Its position in the block.
    pub position: u32,
    /// Its hash.
    pub hash: Hash,
}

/// A header, and the part of its Merkle tree that leads to some transactions.
#[derive(Clone, Copy, Debug)]
pub struct MerkleBlock<'a> {
    header: BlockHeader,
    transactions: u32,
    hashes: &'a [Hash],
    flags: &'a [u8],
}

impl<'a> MerkleBlock<'a> {
    /// Parses a Merkle block, which takes all of `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, MerkleBlockError> {
        let mut encoding = Encoding::new(bytes);
        let header = BlockHeader::parse(encoding.take(HEADER_SIZE)?).ok_or(EncodingError::Truncated(0))?;
        let transactions = encoding.u32()?;
        let hashes = encoding.count(size_of::<Hash>())?;
        let (hashes, _) = encoding.take(hashes * size_of::<Hash>())?.as_chunks();
        let flags = encoding.string()?;
        encoding.finish()?;
        Ok(Self { header, transactions, hashes, flags })
    }

    /// The block's header. It proves nothing until it is found in a [`super::HeaderChain`].
    pub fn header(&self) -> &BlockHeader {
        &self.header
    }

    /// The number of transactions that the Merkle block claims.
    pub fn transactions(&self) -> u32 {
        self.transactions
    }

    /// The transactions that are proved to be in the block with this header.
    ///
    /// A Merkle block does not show how deep the tree is. A caller that cannot compare [`Self::transactions`] with a
    /// trusted number must ask for the coinbase as well and use [`Self::verify_with_coinbase`].
    pub fn verify(&self) -> Result<Vec<Match>, MerkleBlockError> {
        if self.transactions == 0 || self.transactions > MAX_TRANSACTIONS {
            return Err(MerkleBlockError::Transactions(self.transactions));
        }
        if self.hashes.len() > self.transactions as usize {
            return Err(MerkleBlockError::TooManyHashes);
        }
        if self.flags.len() * 8 < self.hashes.len() {
            return Err(MerkleBlockError::TooFewFlags);
        }
        let mut walk = Walk { block: self, flags_used: 0, hashes_used: 0, matches: Vec::new() };
        let root = walk.node(tree_depth(self.transactions), 0)?;
        if walk.flags_used.div_ceil(8) != self.flags.len() {
            return Err(MerkleBlockError::FlagsLeft);
        }
        if walk.hashes_used != self.hashes.len() {
            return Err(MerkleBlockError::HashesLeft);
        }
        if root != self.header.merkle_root {
            return Err(MerkleBlockError::Root);
        }
        Ok(walk.matches)
    }

    /// Verifies as [`Self::verify`] does, and fixes the depth of the tree: the coinbase, given without its witness,
    /// must be among the matches.
    pub fn verify_with_coinbase(&self, coinbase: &[u8]) -> Result<Vec<Match>, MerkleBlockError> {
        check_coinbase(coinbase)?;
        let matches = self.verify()?;
        match matches.first() {
            Some(first) if first.position == 0 && first.hash == transaction_hash(coinbase) => Ok(matches),
            _ => Err(MerkleBlockError::CoinbaseNotProved),
        }
    }
}

/// The depth-first walk through the tree, guided by the flags.
struct Walk<'a> {
    block: &'a MerkleBlock<'a>,
    flags_used: usize,
    hashes_used: usize,
    matches: Vec<Match>,
}

impl Walk<'_> {
    /// The hash of a node. Recursion ends at height 0, and no tree is higher than 15.
    fn node(&mut self, height: u8, position: u32) -> Result<Hash, MerkleBlockError> {
        let flags = self.block.flags.get(self.flags_used / 8).ok_or(MerkleBlockError::FlagsUsedUp)?;
        let flag = flags >> (self.flags_used % 8) & 1 == 1;
        self.flags_used += 1;
        if height == 0 || !flag {
            let hash = *self.block.hashes.get(self.hashes_used).ok_or(MerkleBlockError::HashesUsedUp)?;
            self.hashes_used += 1;
            if height == 0 && flag {
                self.matches.push(Match { position, hash });
            }
            return Ok(hash);
        }
        let below = height - 1;
        let left = self.node(below, position * 2)?;
        let width = self.block.transactions.div_ceil(1 << below);
        if position * 2 + 1 >= width {
            return Ok(node_hash(&left, &left));
        }
        let right = self.node(below, position * 2 + 1)?;
        if left == right { Err(MerkleBlockError::Repeated) } else { Ok(node_hash(&left, &right)) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::coinbase::model::coinbase;
    use super::super::network::Network;
    use super::super::tree::model;
    use super::*;
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    /// A Merkle block as Bitcoin Core builds it.
    fn build(leaves: &[Hash], wanted: &[bool]) -> Vec<u8> {
        fn visit(
            levels: &[Vec<Hash>],
            wanted: &[bool],
            height: usize,
            position: usize,
            out: &mut (Vec<bool>, Vec<Hash>),
        ) {
            let leaves = (position << height)..((position + 1) << height).min(wanted.len());
            let parent = wanted[leaves].contains(&true);
            out.0.push(parent);
            if height == 0 || !parent {
                return out.1.push(levels[height][position]);
            }
            for child in [position * 2, position * 2 + 1] {
                if child < levels[height - 1].len() {
                    visit(levels, wanted, height - 1, child, out);
                }
            }
        }
        let levels = model::levels(leaves);
        let mut out = (Vec::new(), Vec::new());
        visit(&levels, wanted, levels.len() - 1, 0, &mut out);
        let header = BlockHeader { merkle_root: model::root(leaves), ..Network::Regtest.genesis() };
        encode(&header, leaves.len() as u32, &out.1, &out.0)
    }

    fn encode(header: &BlockHeader, transactions: u32, hashes: &[Hash], bits: &[bool]) -> Vec<u8> {
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend(transactions.to_le_bytes());
        assert!(hashes.len() < 0xfd);
        bytes.push(hashes.len() as u8);
        bytes.extend(hashes.as_flattened());
        bytes.push(bits.len().div_ceil(8) as u8);
        bytes
            .extend(bits.chunks(8).map(|byte| byte.iter().enumerate().map(|(i, bit)| u8::from(*bit) << i).sum::<u8>()));
        bytes
    }

    fn verify(bytes: &[u8]) -> Result<Vec<Match>, MerkleBlockError> {
        MerkleBlock::parse(bytes)?.verify()
    }

    proptest! {
        #[test]
        fn matches_are_what_was_asked_for(wanted in prop::collection::vec(prop::bool::weighted(0.2), 1..120)) {
            let leaves = model::leaves(wanted.len());
            let bytes = build(&leaves, &wanted);
            let expected: Vec<Match> = (0..leaves.len())
                .filter(|i| wanted[*i])
                .map(|i| Match { position: i as u32, hash: leaves[i] })
                .collect();
            prop_assert_eq!(verify(&bytes), Ok(expected));
        }

        #[test]
        fn a_changed_byte_never_gives_a_wrong_match(wanted in prop::collection::vec(any::<bool>(), 1..40), at: prop::sample::Index, bit in 0..8) {
            let leaves = model::leaves(wanted.len());
            let mut bytes = build(&leaves, &wanted);
            let at = at.index(bytes.len());
            bytes[at] ^= 1_u8 << bit;
            for found in verify(&bytes).unwrap_or_default() {
                prop_assert_eq!(leaves.get(found.position as usize), Some(&found.hash));
            }
        }

        #[test]
        fn any_bytes_are_taken_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = verify(&bytes);
        }
    }

    #[test]
    fn every_rule_has_its_error() {
        let leaves = model::leaves(3);
        let header = BlockHeader { merkle_root: model::root(&leaves), ..Network::Regtest.genesis() };
        let levels = model::levels(&leaves);
        let check = |transactions, hashes: &[Hash], bits: &[bool]| {
            verify(&encode(&header, transactions, hashes, bits)).unwrap_err()
        };
        let (yes, no) = (true, false);
        assert_eq!(check(0, &[], &[]), MerkleBlockError::Transactions(0));
        assert_eq!(check(MAX_TRANSACTIONS + 1, &[], &[]), MerkleBlockError::Transactions(MAX_TRANSACTIONS + 1));
        assert_eq!(check(1, &leaves[..2], &[yes]), MerkleBlockError::TooManyHashes);
        assert_eq!(check(3, &leaves, &[]), MerkleBlockError::TooFewFlags);
        assert_eq!(check(3, &leaves[..2], &[yes, yes, yes, yes]), MerkleBlockError::HashesUsedUp);
        assert_eq!(check(MAX_TRANSACTIONS, &[], &[yes; 8]), MerkleBlockError::FlagsUsedUp);
        assert_eq!(check(3, &[header.merkle_root], &[no; 9]), MerkleBlockError::FlagsLeft);
        assert_eq!(check(3, &[header.merkle_root, leaves[0]], &[no, no]), MerkleBlockError::HashesLeft);
        assert_eq!(check(3, &[leaves[0]], &[no]), MerkleBlockError::Root);
        // The last transaction given twice, as in a block of four.
        let repeated = [levels[1][0], leaves[2], leaves[2]];
        assert_eq!(check(4, &repeated, &[yes, no, yes, no, yes]), MerkleBlockError::Repeated);
        let good = build(&leaves, &[no, yes, no]);
        assert_eq!(verify(&[&good[..], &[0]].concat()), Err(EncodingError::Trailing(good.len()).into()));
        assert_eq!(verify(&good[..good.len() - 1]), Err(EncodingError::TooLong(good.len() - 2).into()));
    }

    #[test]
    fn coinbase_fixes_the_depth() {
        let coinbase = coinbase(b"test", 30);
        let mut leaves = model::leaves(6);
        leaves[0] = transaction_hash(&coinbase);
        let bytes = build(&leaves, &[true, false, false, true, false, false]);
        let block = MerkleBlock::parse(&bytes).unwrap();
        assert_eq!(block.verify_with_coinbase(&coinbase).unwrap().len(), 2);
        assert_eq!(block.verify_with_coinbase(&coinbase[1..]).unwrap_err(), CoinbaseError::Inputs(0).into());
        let bytes = build(&leaves, &[false, false, false, true, false, false]);
        let block = MerkleBlock::parse(&bytes).unwrap();
        assert_eq!(block.verify_with_coinbase(&coinbase), Err(MerkleBlockError::CoinbaseNotProved));
        // Another transaction in the coinbase's place, and the coinbase in another place.
        let other = self::coinbase(b"other", 30);
        let bytes = build(&leaves, &[true, false, false, true, false, false]);
        let block = MerkleBlock::parse(&bytes).unwrap();
        assert_eq!(block.verify_with_coinbase(&other), Err(MerkleBlockError::CoinbaseNotProved));
        leaves.swap(0, 3);
        let bytes = build(&leaves, &[false, false, false, true, false, false]);
        let block = MerkleBlock::parse(&bytes).unwrap();
        assert_eq!(block.verify_with_coinbase(&coinbase), Err(MerkleBlockError::CoinbaseNotProved));
    }
}
