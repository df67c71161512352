//! Proofs of what the index of the own chain says about an account, or that there is no such account.
use crate::chain::HeaderChain;
use crate::hash::{Hash, ZERO_HASH, index_leaf, index_node};
pub use crate::hash::{account_path, asset_id};
use crate::header::BlockHeader;
use crate::reply::{self, NoProof};
use thiserror::Error;
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    byteorder::big_endian::{U32, U64},
};

/// The most accounts in a leaf above the greatest depth.
pub const MAX_LEAF_ENTRIES: usize = 16;
/// The greatest depth: the number of bits in a path.
pub const MAX_DEPTH: usize = 64;

/// Marks the entry of a hold, in its position: no block has 2^31 transactions.
pub const HOLD_BIT: u32 = 1 << 31;

/// Marks the entry of a frozen account, in its position.
pub const FROZEN_BIT: u32 = 1 << 30;

/// Marks the entry of an account or a hold of another asset than 0, in its position. The entry with the
/// [asset](asset_id) has the code.
pub const ASSET_BIT: u32 = 1 << 29;

/// Marks the entry with the asset of an account or a hold, in its position: no hold is frozen.
pub const ASSET_ENTRY: u32 = HOLD_BIT | FROZEN_BIT;

/// Where a transaction is: the height of its block and its position in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locator {
    /// Height of the block.
    pub height: u32,
    /// Position in the block.
    pub position: u32,
}

/// What the index holds for an account, for an open hold, or for the asset of one, as it is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct IndexEntry {
    /// The account's id, that of the [hold](crate::hash::hold_id), or that of the [asset](asset_id) of one.
    pub account: [u8; 16],
    /// Its balance, the held amount, or the code of the asset.
    pub balance: U64,
    /// Height of the block with its latest transaction; that of a hold or an asset is the one that made it.
    pub height: U32,
    /// Position of that transaction, and marks: [`HOLD_BIT`] of a hold, [`FROZEN_BIT`] of a frozen account,
    /// [`ASSET_BIT`] of either if its asset is not 0, [`ASSET_ENTRY`] of the asset.
    pub position: U32,
}

impl IndexEntry {
    /// Where the account's latest transaction is.
    pub fn latest(&self) -> Locator {
        Locator { height: self.height.get(), position: self.position.get() & (ASSET_BIT - 1) }
    }

    /// Whether it is the entry of an account.
    pub fn is_account(&self) -> bool {
        self.position.get() & HOLD_BIT == 0
    }

    /// Whether it is the entry of an open hold.
    pub fn is_hold(&self) -> bool {
        self.position.get() & ASSET_ENTRY == HOLD_BIT
    }

    /// Whether it is the entry of a frozen account.
    pub fn is_frozen(&self) -> bool {
        self.position.get() & ASSET_ENTRY == FROZEN_BIT
    }

    /// Whether the account or hold is of another asset than 0. A verifier that does not ask for the asset must not take
    /// it for one of asset 0.
    pub fn has_asset(&self) -> bool {
        self.position.get() & ASSET_BIT != 0
    }

    /// The asset that it states, if it is the entry of an asset.
    pub fn asset(&self) -> Option<u32> {
        let is_asset = self.position.get() & ASSET_ENTRY == ASSET_ENTRY;
        u32::try_from(self.balance.get()).ok().filter(|asset| is_asset && *asset != 0)
    }
}

/// The rule that an index proof breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IndexProofError {
    /// The reply ends before its own fields say.
    #[error("the reply is cut off")]
    Truncated,
    /// The reply is not a proof but a status.
    #[error("the node answered with status {0} and no proof")]
    Status(u16),
    /// The block is not in the client's chain of headers.
    #[error("the block of the proof is not in the chain; synchronise the headers and ask again")]
    UnknownBlock,
    /// The header [states no index root](BlockHeader::states_index).
    #[error("the header of the proof's block states no index root; ask for the proof again, or ask another node")]
    NotStated,
    /// The path is longer than a path can be.
    #[error("the path has {0} nodes, at most 64 are possible")]
    Depth(usize),
    /// More entries than a leaf of this depth holds, or a number that contradicts the header's number of accounts.
    #[error("a leaf of {entries} accounts cannot be at depth {depth}")]
    Entries {
        /// Entries in the proof's leaf.
        entries: usize,
        /// The leaf's depth.
        depth: usize,
    },
    /// The entry at this position is out of the order of path and id.
    #[error("entry {0} of the leaf is out of order")]
    Order(usize),
    /// The path of the entry at this position does not lead to the leaf.
    #[error("entry {0} of the leaf does not belong there")]
    Prefix(usize),
    /// The leaf should have been merged with its empty sibling.
    #[error("the leaf has no sibling and should have been its parent")]
    Shape,
    /// The path leads to another root.
    #[error("the path does not lead to the header's index root")]
    Root,
}

/// A leaf of the index and its path to a header's index root, as in the reply to proof query 4.
#[derive(Clone, Copy, Debug)]
pub struct IndexProof<'a> {
    /// Hash of the block whose index root the proof is against.
    pub block_hash: Hash,
    /// Height of that block.
    pub height: u64,
    /// The siblings from the leaf up.
    pub path: &'a [Hash],
    /// All accounts of the leaf.
    pub entries: &'a [IndexEntry],
}

impl From<NoProof> for IndexProofError {
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
    block_hash: Hash,
    height: U64,
    _reserved: [u8; 8],
    depth: u8,
    entries: u8,
    _reserved_too: [u8; 6],
}

impl<'a> IndexProof<'a> {
    /// Parses the reply to a proof query 4: the whole frame, with its header.
    pub fn parse(frame: &'a [u8]) -> Result<Self, IndexProofError> {
        let (reply, rest) = reply::fields::<Reply>(frame)?;
        let (path, rest) = reply::elements(rest, reply.depth)?;
        let (entries, _) = reply::elements(rest, reply.entries)?;
        Ok(Self { block_hash: reply.block_hash, height: reply.height.get(), path, entries })
    }

    /// Checks the proof against the block's header in `chain`, and returns the account's entry.
    ///
    /// `None` means that the account provably does not exist in that block.
    pub fn verify(&self, account: &[u8; 16], chain: &HeaderChain) -> Result<Option<IndexEntry>, IndexProofError> {
        let header = chain.find(self.height, &self.block_hash).ok_or(IndexProofError::UnknownBlock)?;
        self.verify_in(account, header)
    }

    /// Checks the proof against a header that the caller trusts. Returns as [`verify`](Self::verify) does.
    pub fn verify_in(&self, account: &[u8; 16], header: &BlockHeader) -> Result<Option<IndexEntry>, IndexProofError> {
        if !header.states_index() {
            return Err(IndexProofError::NotStated);
        }
        let route = account_path(account);
        self.check_leaf(route, header.accounts.get())?;
        let mut node = index_leaf(self.entries.as_bytes());
        for (level, sibling) in self.path.iter().enumerate() {
            let step = 64 - self.path.len() + level;
            node = if route >> step & 1 == 0 { index_node(&node, sibling) } else { index_node(sibling, &node) };
        }
        if node != header.index_root {
            return Err(IndexProofError::Root);
        }
        Ok(self.entries.iter().find(|entry| entry.account == *account).copied())
    }

    /// Checks that the leaf is well formed: absence from a leaf proves nothing if entries may be anywhere.
    fn check_leaf(&self, route: u64, accounts: u64) -> Result<(), IndexProofError> {
        let (depth, entries) = (self.path.len(), self.entries.len());
        if depth > MAX_DEPTH {
            return Err(IndexProofError::Depth(depth));
        }
        let small = entries <= MAX_LEAF_ENTRIES;
        let count_fits = if depth == 0 {
            accounts == entries as u64
        } else {
            accounts > MAX_LEAF_ENTRIES.max(entries.saturating_sub(1)) as u64
        };
        if !(small || depth == MAX_DEPTH) || !count_fits {
            return Err(IndexProofError::Entries { entries, depth });
        }
        let mut before = None;
        for (index, entry) in self.entries.iter().enumerate() {
            let path = account_path(&entry.account);
            if depth > 0 && (path ^ route) >> (64 - depth) != 0 {
                return Err(IndexProofError::Prefix(index));
            }
            if before.is_some_and(|before| before >= (path, entry.account)) {
                return Err(IndexProofError::Order(index));
            }
            before = Some((path, entry.account));
        }
        if small && self.path.first() == Some(&ZERO_HASH) {
            return Err(IndexProofError::Shape);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::HEADER_VERSION_WITHOUT_INDEX;

    /// A plain trie over (path, entry), written from the protocol's text.
    fn root(entries: &[(u64, IndexEntry)], depth: usize, trail: &mut Vec<(usize, Hash, Hash)>, route: u64) -> Hash {
        if entries.len() <= MAX_LEAF_ENTRIES || depth == MAX_DEPTH {
            let leaf: Vec<_> = entries.iter().map(|(_, entry)| *entry).collect();
            return index_leaf(leaf.as_bytes());
        }
        let split = entries.partition_point(|(path, _)| path >> (63 - depth) & 1 == 0);
        let mut unused = Vec::new();
        let right = route >> (63 - depth) & 1 == 1;
        let (left_trail, right_trail) = if right { (&mut unused, &mut *trail) } else { (&mut *trail, &mut unused) };
        let left_hash = root(&entries[..split], depth + 1, left_trail, route);
        let right_hash = root(&entries[split..], depth + 1, right_trail, route);
        trail.push((depth, left_hash, right_hash));
        index_node(&left_hash, &right_hash)
    }

    fn account(n: u32) -> [u8; 16] {
        let mut account = [0; 16];
        account[12..].copy_from_slice(&n.to_be_bytes());
        account
    }

    struct Proved {
        header: BlockHeader,
        path: Vec<Hash>,
        entries: Vec<IndexEntry>,
    }

    fn prove(accounts: u32, of: u32) -> Proved {
        let mut all: Vec<_> = (0..accounts)
            .map(|n| {
                let entry = IndexEntry {
                    account: account(n),
                    balance: u64::from(n).into(),
                    height: 1.into(),
                    position: n.into(),
                };
                (account_path(&entry.account), entry)
            })
            .collect();
        all.sort_by_key(|(path, entry)| (*path, entry.account));
        let route = account_path(&account(of));
        let mut trail = Vec::new();
        let mut header = crate::chain::testing::genesis().header;
        header.index_root = root(&all, 0, &mut trail, route);
        header.accounts = u64::from(accounts).into();
        let path = trail
            .iter()
            .map(|(depth, left, right)| if route >> (63 - depth) & 1 == 1 { *left } else { *right })
            .collect::<Vec<_>>();
        let depth = path.len();
        let entries = all
            .iter()
            .filter(|(path, _)| depth == 0 || (path ^ route) >> (64 - depth) == 0)
            .map(|(_, entry)| *entry)
            .collect();
        Proved { header, path, entries }
    }

    impl Proved {
        fn proof(&self) -> IndexProof<'_> {
            IndexProof { block_hash: self.header.hash(), height: 0, path: &self.path, entries: &self.entries }
        }
    }

    #[test]
    fn present_and_absent_accounts_are_proved() {
        for accounts in [0, 1, 2, 15, 16, 17, 18, 100, 500] {
            for of in (0..accounts + 20).step_by(7) {
                let proved = prove(accounts, of);
                let entry = proved.proof().verify_in(&account(of), &proved.header).unwrap();
                assert_eq!(entry.map(|entry| entry.balance.get()), (of < accounts).then_some(of.into()));
            }
        }
    }

    #[test]
    fn tampered_proofs_are_refused() {
        let proved = prove(300, 5);
        let refused = |path: &[Hash], entries: &[IndexEntry]| {
            let proof = IndexProof { block_hash: proved.header.hash(), height: 0, path, entries };
            proof.verify_in(&account(5), &proved.header).unwrap_err()
        };
        let depth = proved.path.len();
        for level in 0..depth {
            let mut path = proved.path.clone();
            path[level][0] ^= 1;
            assert_eq!(refused(&path, &proved.entries), IndexProofError::Root);
        }
        let without: Vec<_> = proved.entries.iter().filter(|entry| entry.account != account(5)).copied().collect();
        assert_eq!(refused(&proved.path, &without), IndexProofError::Root);
        let mut richer = proved.entries.clone();
        richer[0].balance = 1_000_000.into();
        assert_eq!(refused(&proved.path, &richer), IndexProofError::Root);
        let mut swapped = proved.entries.clone();
        swapped.swap(0, 1);
        assert_eq!(refused(&proved.path, &swapped), IndexProofError::Order(1));
        assert_eq!(refused(&[[1; 32]; 65], &[]), IndexProofError::Depth(65));
        let many = vec![proved.entries[0]; 17];
        assert_eq!(refused(&proved.path, &many), IndexProofError::Entries { entries: 17, depth });
        assert_eq!(refused(&[], &proved.entries), IndexProofError::Entries { entries: proved.entries.len(), depth: 0 });
        let without_index = BlockHeader { version: HEADER_VERSION_WITHOUT_INDEX.into(), ..proved.header };
        let not_stated = proved.proof().verify_in(&account(5), &without_index);
        assert_eq!(not_stated, Err(IndexProofError::NotStated));
        let mut lonely = proved.path.clone();
        lonely[0] = ZERO_HASH;
        assert_eq!(refused(&lonely, &proved.entries), IndexProofError::Shape);
    }

    #[test]
    fn a_leaf_elsewhere_proves_nothing() {
        // An honest leaf, offered as proof of absence for an account whose path goes another way.
        let proved = prove(300, 5);
        let depth = proved.path.len();
        let elsewhere =
            (0..300).find(|n| (account_path(&account(*n)) ^ account_path(&account(5))) >> (64 - depth) != 0).unwrap();
        let result = proved.proof().verify_in(&account(elsewhere), &proved.header);
        assert_eq!(result, Err(IndexProofError::Prefix(0)));
    }

    #[test]
    fn parses_what_the_protocol_lays_out_and_nothing_shorter() {
        let mut frame = vec![0; 104 + 2 * 32 + 32];
        frame[48..80].fill(3);
        frame[87] = 9;
        frame[96..98].copy_from_slice(&[2, 1]);
        frame[104..136].fill(7);
        frame[168..184].fill(6);
        frame[191] = 5;
        frame[195] = 4;
        frame[199] = 2;
        let proof = IndexProof::parse(&frame).unwrap();
        assert_eq!((proof.block_hash, proof.height), ([3; 32], 9));
        assert_eq!(proof.path, [[7; 32], [0; 32]]);
        assert_eq!((proof.entries[0].account, proof.entries[0].balance.get()), ([6; 16], 5));
        assert_eq!(proof.entries[0].latest(), Locator { height: 4, position: 2 });
        for length in 0..frame.len() {
            assert_eq!(IndexProof::parse(&frame[..length]).err(), Some(IndexProofError::Truncated));
        }
        frame[10] = 1;
        assert_eq!(IndexProof::parse(&frame).err(), Some(IndexProofError::Status(256)));
    }
}
