//! The transaction tree: its construction, and paths with and without its stored nodes.
//!
//! Only the levels of a block's tree from [`LOWEST_STORED_LEVEL`] up are stored, except the root, which is in the
//! header. Lower nodes are recomputed from the eight transactions around the requested one: a dozen hashes, a
//! microsecond or two. Storing them would cost 56 of the 64 bytes per transaction that a whole tree takes, and the
//! disk's write speed limits a block builder.
use spv::hash::{NODE_TAG, TRANSACTION_TAG};
use spv::{Hash, ZERO_HASH, tree_depth};
use verify::sha256::Tag;
use wire::{Operation, SignedOperation};
use zerocopy::IntoBytes;

static TRANSACTION: Tag = Tag::new(TRANSACTION_TAG);
static NODE: Tag = Tag::new(NODE_TAG);

/// The lowest level of nodes that is stored; leaves are level 0.
pub const LOWEST_STORED_LEVEL: u8 = 3;
/// Leaves below one node of the lowest stored level.
pub const GROUP: u32 = 1 << LOWEST_STORED_LEVEL;
/// Transactions hashed together: they and their nodes stay in the second-level cache.
const PIECE: usize = 2048;
const _: () = assert!(PIECE.is_multiple_of(GROUP as usize));

/// Length of the tail of a signed operation in bytes.
pub const TAIL_SIZE: usize = SignedOperation::TAIL_LENGTH;

/// The tail that makes a transaction of a block a signed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedTail {
    /// Position of the transaction in its block.
    pub position: u32,
    /// The bytes of the signed operation after the operation.
    pub tail: [u8; TAIL_SIZE],
}

impl SignedTail {
    /// The signed operation, given the operations of its block.
    ///
    /// # Panics
    ///
    /// If the block has no such position.
    pub fn join(&self, operations: &[Operation]) -> SignedOperation {
        SignedOperation::join(&operations[self.position as usize], &self.tail)
    }
}

/// The leaves of `operations`, some of which are signed. Positions of tails count from the first operation.
pub fn leaves(operations: &[Operation], tails: &[SignedTail]) -> Vec<Hash> {
    let mut leaves = vec![ZERO_HASH; operations.len()];
    fill_leaves(operations, tails, 0, &mut leaves);
    leaves
}

/// The same for operations whose first one is at position `first`, into existing memory.
fn fill_leaves(operations: &[Operation], tails: &[SignedTail], first: u32, leaves: &mut [Hash]) {
    let (messages, _) = operations.as_bytes().as_chunks::<{ Operation::LENGTH }>();
    TRANSACTION.hash_many(messages, leaves);
    let place = |tail: &SignedTail| (tail.position - first) as usize;
    let join = |tail: &SignedTail| zerocopy::transmute!(SignedOperation::join(&operations[place(tail)], &tail.tail));
    let signed: Vec<[u8; SignedOperation::LENGTH]> = tails.iter().map(join).collect();
    let mut digests = vec![ZERO_HASH; signed.len()];
    TRANSACTION.hash_many(&signed, &mut digests);
    for (tail, digest) in tails.iter().zip(digests) {
        leaves[place(tail)] = digest;
    }
}

/// The level above.
fn parents(children: &[Hash]) -> Vec<Hash> {
    let mut parents = vec![ZERO_HASH; children.len().div_ceil(2)];
    NODE.nodes(children, &mut parents);
    parents
}

/// The root of a tree and its stored nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The root; zero if there are no transactions.
    pub root: Hash,
    /// The nodes of the stored levels, the lowest level first.
    pub stored: Vec<Hash>,
}

impl Tree {
    /// Builds the tree over `operations`, some of which are signed. Tails must be in ascending order of position.
    pub fn new(operations: &[Operation], tails: &[SignedTail]) -> Self {
        let transactions = operations.len() as u32;
        let depth = tree_depth(transactions);
        if depth <= LOWEST_STORED_LEVEL {
            let mut level = leaves(operations, tails);
            (0..depth).for_each(|_| level = parents(&level));
            return Self { root: *level.first().unwrap_or(&ZERO_HASH), stored: Vec::new() };
        }
        let mut stored = Vec::with_capacity(stored_nodes(transactions) as usize);
        push_lowest_stored_level(operations, tails, &mut stored);
        let mut below = 0;
        loop {
            let level = parents(&stored[below..]);
            if let [root] = level[..] {
                return Self { root, stored };
            }
            below = stored.len();
            stored.extend_from_slice(&level);
        }
    }
}

/// Hashes the block in pieces up to the lowest stored level, so that nodes that are not stored never leave the cache.
fn push_lowest_stored_level(operations: &[Operation], tails: &[SignedTail], stored: &mut Vec<Hash>) {
    let (mut level, mut above) = (vec![ZERO_HASH; PIECE], vec![ZERO_HASH; PIECE]);
    let mut tails = tails;
    for (number, operations) in operations.chunks(PIECE).enumerate() {
        let first = (number * PIECE) as u32;
        let end = first + operations.len() as u32;
        let (now, later) = tails.split_at(tails.partition_point(|tail| tail.position < end));
        tails = later;
        let mut length = operations.len();
        fill_leaves(operations, now, first, &mut level[..length]);
        for _ in 0..LOWEST_STORED_LEVEL {
            let children = &level[..length];
            length = length.div_ceil(2);
            NODE.nodes(children, &mut above[..length]);
            std::mem::swap(&mut level, &mut above);
        }
        stored.extend_from_slice(&level[..length]);
    }
}

/// Number of stored nodes of a tree.
pub fn stored_nodes(transactions: u32) -> u32 {
    (LOWEST_STORED_LEVEL..tree_depth(transactions)).map(|level| level_size(transactions, level)).sum()
}

/// Index of a node among the stored ones.
fn stored_place(transactions: u32, level: u8, index: u32) -> u32 {
    (LOWEST_STORED_LEVEL..level).map(|below| level_size(transactions, below)).sum::<u32>() + index
}

fn level_size(transactions: u32, level: u8) -> u32 {
    transactions.div_ceil(1 << level)
}

/// The transactions whose leaves [`path`] needs for the path of `position`.
pub fn group(transactions: u32, position: u32) -> std::ops::Range<u32> {
    let first = position & !(GROUP - 1);
    first..transactions.min(first + GROUP)
}

/// The path of `position`, from the leaves of its [`group`], and the stored nodes that `stored` returns by index.
pub fn path<E>(
    transactions: u32,
    position: u32,
    group_leaves: &[Hash],
    mut stored: impl FnMut(u32) -> Result<Hash, E>,
) -> Result<Vec<Hash>, E> {
    let depth = tree_depth(transactions);
    let mut path = Vec::with_capacity(usize::from(depth));
    let mut level = group_leaves.to_vec();
    for height in 0..depth.min(LOWEST_STORED_LEVEL) {
        let index = (position & (GROUP - 1)) >> height;
        path.push(*level.get(index as usize ^ 1).unwrap_or(&ZERO_HASH));
        level = parents(&level);
    }
    for height in LOWEST_STORED_LEVEL..depth {
        let sibling = position >> height ^ 1;
        let inside = sibling < level_size(transactions, height);
        path.push(if inside { stored(stored_place(transactions, height, sibling))? } else { ZERO_HASH });
    }
    Ok(path)
}

/// The path of `position` from all leaves of the block, without stored nodes: the method of a node without stored
/// levels.
pub fn path_from_leaves(leaves: &[Hash], position: u32) -> Vec<Hash> {
    let mut path = Vec::new();
    let (mut level, mut index) = (leaves.to_vec(), position as usize);
    while level.len() > 1 {
        path.push(*level.get(index ^ 1).unwrap_or(&ZERO_HASH));
        level = parents(&level);
        index >>= 1;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use wire::{AccountId, TransactionId};

    fn operations(n: u32) -> Vec<Operation> {
        (0..n).map(|i| Operation::issue(TransactionId::from(i), AccountId::from(i + 1), u64::from(i) + 5)).collect()
    }

    fn check(n: u32, positions: impl Iterator<Item = u32>) {
        let tails: Vec<_> =
            (0..n).step_by(3).map(|position| SignedTail { position, tail: [position as u8; TAIL_SIZE] }).collect();
        let operations = operations(n);
        let leaves = leaves(&operations, &tails);
        let tree = Tree::new(&operations, &tails);
        assert_eq!(tree.stored.len(), stored_nodes(n) as usize);
        for position in positions {
            let group = group(n, position);
            let group_leaves = &leaves[group.start as usize..group.end as usize];
            let path =
                path(n, position, group_leaves, |place| Ok::<_, Infallible>(tree.stored[place as usize])).unwrap();
            spv::verify_path(&tree.root, n, position, &leaves[position as usize], &path).unwrap();
            assert_eq!(path, path_from_leaves(&leaves, position));
        }
    }

    #[test]
    fn paths_of_trees_of_every_shape_verify() {
        for n in 1..=70 {
            check(n, 0..n);
        }
        for power in 7..14 {
            for n in [(1 << power) - 1, 1 << power, (1 << power) + 1] {
                check(n, [0, 1, n / 2, n - 2, n - 1].into_iter());
            }
        }
    }

    #[test]
    fn the_root_of_nothing_is_zero_and_of_one_its_leaf() {
        assert_eq!(Tree::new(&[], &[]), Tree { root: ZERO_HASH, stored: vec![] });
        let one = operations(1);
        assert_eq!(Tree::new(&one, &[]).root, leaves(&one, &[])[0]);
        assert_eq!(path_from_leaves(&[[3; 32]], 0), Vec::<Hash>::new());
    }

    #[test]
    fn leaves_are_those_of_the_light_client() {
        let operations = operations(20);
        let tails = [3, 19].map(|position| SignedTail { position, tail: [position as u8; TAIL_SIZE] });
        let leaves = leaves(&operations, &tails);
        for (position, operation) in operations.iter().enumerate() {
            let tail = tails.iter().find(|tail| tail.position as usize == position);
            let bytes = [operation.as_bytes(), tail.map_or(&[], |tail| &tail.tail)].concat();
            assert_eq!(leaves[position], spv::hash::transaction_leaf(&bytes));
        }
    }
}
