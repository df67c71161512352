//! Proofs that a transaction is in a block of the own chain.
use crate::chain::HeaderChain;
use crate::hash::{Hash, ZERO_HASH, hold_id, transaction_leaf, transaction_node};
use crate::header::{BlockHeader, tree_depth};
use crate::reply::{self, NoProof};
use std::ops::RangeInclusive;
use thiserror::Error;
use zerocopy::{
    FromBytes, Immutable, KnownLayout, Unaligned,
    byteorder::big_endian::{U16, U32, U64},
};

/// Size of an unsigned transaction.
const OPERATION_SIZE: usize = 64;
/// Size of a signed transaction.
const SIGNED_OPERATION_SIZE: usize = 184;
/// The command codes of a CREATE and an OPEN, whose destination pays for it unless it is zero, and of a transfer.
const CREATES: [u8; 2] = [1, 12];
const TRANSFER: u8 = 3;
/// Those of a HOLD and of the three that end one, and of the latter alone.
const HOLDS: RangeInclusive<u8> = 5..=8;
const ENDS: RangeInclusive<u8> = 6..=8;

/// The rule that a proof breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProofError {
    /// The reply ends before its own fields say.
    #[error("the reply is cut off")]
    Truncated,
    /// The reply is not a proof but a status.
    #[error("the node answered with status {0} and no proof")]
    Status(u16),
    /// The block is not in the client's chain of headers.
    #[error("the block of the proof is not in the chain; synchronise the headers and ask again")]
    UnknownBlock,
    /// The number of transactions is not the header's.
    #[error("the proof is for a block of {claimed} transactions, the header commits to {committed}")]
    Transactions {
        /// In the proof.
        claimed: u32,
        /// In the header.
        committed: u32,
    },
    /// The position is not in the block.
    #[error("position {position} is outside the block of {transactions} transactions")]
    Position {
        /// In the proof.
        position: u32,
        /// In the header.
        transactions: u32,
    },
    /// The path is longer or shorter than the tree is deep.
    #[error("the path has {found} nodes, the block's tree a depth of {expected}")]
    Depth {
        /// In the proof.
        found: usize,
        /// From the number of transactions.
        expected: u8,
    },
    /// The transaction has a length that no transaction has, or a status other than 0.
    #[error("the transaction is malformed")]
    Transaction,
    /// The leaf is not the transaction's hash.
    #[error("the leaf is not the hash of the transaction")]
    Leaf,
    /// A sibling beyond the tree's edge is not the zero hash, or one inside it is.
    #[error("sibling {level} of the path does not fit the shape of the tree")]
    Edge {
        /// Its place in the path, from 0.
        level: usize,
    },
    /// The path leads to another root.
    #[error("the path does not lead to the header's transaction root")]
    Root,
}

/// A transaction and its path to a header's transaction root, as in the replies to proof queries 1, 2 and 3.
#[derive(Clone, Copy, Debug)]
pub struct TransactionProof<'a> {
    /// Hash of the tip that the answer is as of.
    pub tip_hash: Hash,
    /// Height of that tip.
    pub tip_height: u64,
    /// Hash of the block.
    pub block_hash: Hash,
    /// Height of the block.
    pub height: u64,
    /// Number of transactions in the block.
    pub transactions: u32,
    /// Position of the transaction in the block.
    pub position: u32,
    /// The transaction's hash.
    pub leaf: Hash,
    /// The siblings from the leaf up.
    pub path: &'a [Hash],
    /// The transaction: an operation or a signed operation.
    pub transaction: &'a [u8],
}

impl From<NoProof> for ProofError {
    fn from(reason: NoProof) -> Self {
        match reason {
            NoProof::Truncated => Self::Truncated,
            NoProof::Status(status) => Self::Status(status),
        }
    }
}

/// The fields of a reply before the path.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Reply {
    tip_hash: Hash,
    tip_height: U64,
    block_hash: Hash,
    height: U64,
    transactions: U32,
    position: U32,
    depth: u8,
    _reserved: u8,
    transaction_length: U16,
    _coinbase: [u8; 4],
    leaf: Hash,
}

impl<'a> TransactionProof<'a> {
    /// Parses the reply to a proof query 1, 2 or 3 on the own chain: the whole frame, with its header.
    pub fn parse(frame: &'a [u8]) -> Result<Self, ProofError> {
        let (reply, rest) = reply::fields::<Reply>(frame)?;
        let (path, rest) = reply::elements(rest, reply.depth)?;
        let transaction = rest.get(..usize::from(reply.transaction_length.get())).ok_or(ProofError::Truncated)?;
        Ok(Self {
            tip_hash: reply.tip_hash,
            tip_height: reply.tip_height.get(),
            block_hash: reply.block_hash,
            height: reply.height.get(),
            transactions: reply.transactions.get(),
            position: reply.position.get(),
            leaf: reply.leaf,
            path,
            transaction,
        })
    }

    /// Checks the proof against the block's header in `chain`.
    pub fn verify(&self, chain: &HeaderChain) -> Result<(), ProofError> {
        self.verify_in(chain.find(self.height, &self.block_hash).ok_or(ProofError::UnknownBlock)?)
    }

    /// Checks the proof against a header that the caller trusts.
    pub fn verify_in(&self, header: &BlockHeader) -> Result<(), ProofError> {
        let committed = header.transactions.get();
        if self.transactions != committed {
            return Err(ProofError::Transactions { claimed: self.transactions, committed });
        }
        let status_is_zero = self.transaction.get(2..4) == Some(&[0, 0]);
        if !matches!(self.transaction.len(), OPERATION_SIZE | SIGNED_OPERATION_SIZE) || !status_is_zero {
            return Err(ProofError::Transaction);
        }
        if transaction_leaf(self.transaction) != self.leaf {
            return Err(ProofError::Leaf);
        }
        verify_path(&header.transaction_root, committed, self.position, &self.leaf, self.path)
    }

    /// Whether the transaction moved the balance of `account`, created it, made or ended a hold of it or for it, or
    /// made the hold that has this id.
    pub fn involves(&self, account: &[u8; 16]) -> bool {
        let [source, destination] = [24..40, 40..56].map(|field| self.transaction.get(field));
        let has_both = self.transaction.get(1).is_some_and(|command| *command == TRANSFER || HOLDS.contains(command));
        source == Some(account)
            || has_both && destination == Some(account)
            || self.payer() == Some(account)
            || self.hold() == Some(*account)
    }

    /// The transaction id that the client chose, and the account that the id belongs to: the payer of somebody else's
    /// deposit, the receiver of a hold that ends, otherwise the source.
    pub fn transaction_id(&self) -> Option<([u8; 16], [u8; 16])> {
        let id = self.transaction.get(8..24)?.try_into().ok()?;
        let ends_hold = self.transaction.get(1).is_some_and(|command| ENDS.contains(command));
        let namer = if ends_hold { 40..56 } else { 24..40 };
        let namer = self.payer().or_else(|| self.transaction.get(namer))?;
        Some((id, namer.try_into().ok()?))
    }

    /// The id of the hold that it makes, if it is a HOLD.
    fn hold(&self) -> Option<[u8; 16]> {
        let id = |at: usize| self.transaction.get(at..at + 16)?.try_into().ok();
        let expiry = u32::from_be_bytes(self.transaction.get(4..8)?.try_into().ok()?);
        let is_hold = self.transaction.get(1) == Some(HOLDS.start());
        is_hold.then_some(hold_id(&id(24)?, &id(40)?, &id(8)?, expiry))
    }

    /// Who pays the deposit for another account, if anybody does.
    fn payer(&self) -> Option<&[u8]> {
        let destination = self.transaction.get(40..56)?;
        (CREATES.contains(self.transaction.get(1)?) && destination != [0; 16]).then_some(destination)
    }
}

/// Checks that `leaf` is at `position` in the tree of `transactions` leaves with the given root.
///
/// The number of transactions fixes the depth, and the position is below that number. The path therefore uses up all
/// bits of the position, and no other position leads to the same place.
pub fn verify_path(
    root: &Hash,
    transactions: u32,
    position: u32,
    leaf: &Hash,
    path: &[Hash],
) -> Result<(), ProofError> {
    if position >= transactions {
        return Err(ProofError::Position { position, transactions });
    }
    let expected = tree_depth(transactions);
    if path.len() != usize::from(expected) {
        return Err(ProofError::Depth { found: path.len(), expected });
    }
    let (mut node, mut index, mut last) = (*leaf, position, transactions - 1);
    for (level, sibling) in path.iter().enumerate() {
        let inside = index ^ 1 <= last;
        if inside == (*sibling == ZERO_HASH) {
            return Err(ProofError::Edge { level });
        }
        node = if index & 1 == 0 { transaction_node(&node, sibling) } else { transaction_node(sibling, &node) };
        (index, last) = (index >> 1, last >> 1);
    }
    if node == *root { Ok(()) } else { Err(ProofError::Root) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All levels of the tree, written from the protocol's text.
    fn levels(leaves: &[Hash]) -> Vec<Vec<Hash>> {
        let mut levels = vec![leaves.to_vec()];
        while levels[levels.len() - 1].len() > 1 {
            let below = &levels[levels.len() - 1];
            levels.push(
                below.chunks(2).map(|pair| transaction_node(&pair[0], pair.get(1).unwrap_or(&ZERO_HASH))).collect(),
            );
        }
        levels
    }

    fn path(levels: &[Vec<Hash>], position: usize) -> Vec<Hash> {
        (0..levels.len() - 1).map(|level| *levels[level].get(position >> level ^ 1).unwrap_or(&ZERO_HASH)).collect()
    }

    fn transaction(position: usize) -> [u8; OPERATION_SIZE] {
        let mut bytes = [position as u8; OPERATION_SIZE];
        bytes[2..4].fill(0);
        bytes
    }

    fn header(transactions: usize, root: Hash) -> BlockHeader {
        let mut header = crate::chain::testing::genesis().header;
        header.transactions = (transactions as u32).into();
        header.transaction_root = root;
        header
    }

    #[test]
    fn proofs_of_every_position_in_trees_of_every_shape() {
        for n in 1..=33 {
            let transactions: Vec<_> = (0..n).map(transaction).collect();
            let leaves: Vec<_> = transactions.iter().map(|t| transaction_leaf(t)).collect();
            let levels = levels(&leaves);
            let header = header(n, levels[levels.len() - 1][0]);
            for position in 0..n {
                let path = path(&levels, position);
                let proof = TransactionProof {
                    tip_hash: ZERO_HASH,
                    tip_height: 0,
                    block_hash: header.hash(),
                    height: 0,
                    transactions: n as u32,
                    position: position as u32,
                    leaf: leaves[position],
                    path: &path,
                    transaction: &transactions[position],
                };
                proof.verify_in(&header).unwrap();
                tampered(&proof, &header);
            }
        }
    }

    /// Every change to a good proof is refused, with the rule that it breaks.
    fn tampered(proof: &TransactionProof<'_>, header: &BlockHeader) {
        let n = proof.transactions;
        let refused = |change: &dyn Fn(&mut TransactionProof<'_>)| {
            let mut changed = *proof;
            change(&mut changed);
            changed.verify_in(header).unwrap_err()
        };
        assert_eq!(refused(&|p| p.position = n), ProofError::Position { position: n, transactions: n });
        assert_eq!(refused(&|p| p.transactions += 1), ProofError::Transactions { claimed: n + 1, committed: n });
        assert_eq!(refused(&|p| p.leaf[0] ^= 1), ProofError::Leaf);
        assert_eq!(refused(&|p| p.transaction = &p.transaction[1..]), ProofError::Transaction);
        for other in (0..n).filter(|other| *other != proof.position) {
            let error = refused(&|p| p.position = other);
            assert!(matches!(error, ProofError::Root | ProofError::Edge { .. }), "{error:?}");
        }
        let mut longer = proof.path.to_vec();
        longer.push(ZERO_HASH);
        let changed = TransactionProof { path: &longer, ..*proof };
        assert!(matches!(changed.verify_in(header), Err(ProofError::Depth { .. })));
        for level in 0..proof.path.len() {
            let mut other = proof.path.to_vec();
            let edge = other[level] == ZERO_HASH;
            other[level] = if edge { [1; 32] } else { ZERO_HASH };
            let changed = TransactionProof { path: &other, ..*proof };
            assert_eq!(changed.verify_in(header), Err(ProofError::Edge { level }));
            if !edge {
                other[level] = [1; 32];
                assert_eq!(TransactionProof { path: &other, ..*proof }.verify_in(header), Err(ProofError::Root));
            }
        }
    }

    #[test]
    fn inner_nodes_do_not_pass_for_transactions() {
        let leaves = [[1; 32], [2; 32]];
        let root = levels(&leaves)[1][0];
        let mut pair = [0; OPERATION_SIZE];
        pair[..32].copy_from_slice(&leaves[0]);
        pair[32..].copy_from_slice(&leaves[1]);
        assert_ne!(transaction_leaf(&pair), root);
    }

    #[test]
    fn parses_what_the_protocol_lays_out_and_nothing_shorter() {
        let mut frame = vec![0; 176 + 2 * 32 + 64];
        frame[80..88].copy_from_slice(&9_u64.to_be_bytes());
        frame[88..120].fill(8);
        frame[120..128].copy_from_slice(&7_u64.to_be_bytes());
        frame[128..132].copy_from_slice(&4_u32.to_be_bytes());
        frame[132..136].copy_from_slice(&3_u32.to_be_bytes());
        frame[136] = 2;
        frame[139] = 64;
        frame[144..176].fill(6);
        frame[176..208].fill(5);
        frame[240..].fill(4);
        let proof = TransactionProof::parse(&frame).unwrap();
        assert_eq!((proof.tip_height, proof.height, proof.transactions, proof.position), (9, 7, 4, 3));
        assert_eq!((proof.block_hash, proof.leaf, proof.path), ([8; 32], [6; 32], [[5; 32], [0; 32]].as_slice()));
        assert_eq!(proof.transaction, [4; 64]);
        for length in 0..frame.len() {
            assert_eq!(TransactionProof::parse(&frame[..length]).err(), Some(ProofError::Truncated));
        }
        frame[11] = 64;
        assert_eq!(TransactionProof::parse(&frame).err(), Some(ProofError::Status(64)));
    }

    #[test]
    fn destinations_count_for_transfers_and_deposits_only() {
        let mut bytes = [0; OPERATION_SIZE];
        bytes[1] = 3;
        bytes[24..40].fill(1);
        let proof = |transaction| TransactionProof {
            tip_hash: ZERO_HASH,
            tip_height: 0,
            block_hash: ZERO_HASH,
            height: 0,
            transactions: 1,
            position: 0,
            leaf: ZERO_HASH,
            path: &[],
            transaction,
        };
        assert!(proof(&bytes).involves(&[0; 16]) && proof(&bytes).involves(&[1; 16]));
        let mut create = bytes;
        create[1] = 1;
        assert!(!proof(&create).involves(&[0; 16]) && proof(&create).involves(&[1; 16]));
        let mut paid = create;
        paid[40..56].fill(2);
        assert!(!proof(&paid).involves(&[0; 16]) && proof(&paid).involves(&[2; 16]));
        assert_eq!(proof(&paid).transaction_id(), Some(([0; 16], [2; 16])));
        let mut opened = paid;
        opened[1] = 12;
        assert!(!proof(&opened).involves(&[0; 16]) && proof(&opened).involves(&[2; 16]));
        let mut issue = paid;
        issue[1] = 2;
        assert!(!proof(&issue).involves(&[2; 16]) && proof(&issue).involves(&[1; 16]));
        assert_eq!(proof(&bytes).transaction_id(), Some(([0; 16], [1; 16])));
    }
}
