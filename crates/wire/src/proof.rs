//! The proof frame.

use crate::{AccountId, Chain, FrameHeader, FrameType, Query, Status, TransactionId, UnknownStatus};
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Request of a proof, 48 bytes, and the first 48 bytes of its reply.
///
/// Zeros follow in the request up to the length of the largest reply that the client will take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ProofRequest {
    /// Header.
    pub header: FrameHeader,
    /// A [`Chain`].
    pub chain: u8,
    /// A [`Query`].
    pub query: u8,
    /// A [`Status`]; 0 in requests.
    pub status: U16,
    /// In replies the number of bytes behind these 48 that are used; 0 in requests.
    pub body_length: U32,
    /// What is asked for.
    pub key: [u8; 32],
}

impl ProofRequest {
    /// Bytes of the request without its padding.
    pub const LENGTH: usize = 48;

    /// A request.
    pub const fn new(id: u32, chain: Chain, query: Query, key: [u8; 32]) -> Self {
        Self {
            header: FrameHeader::new(FrameType::Proof, id),
            chain: chain.code(),
            query: query.code(),
            status: U16::ZERO,
            body_length: U32::ZERO,
            key,
        }
    }

    /// The chain, or `UNKNOWN_CHAIN`.
    pub fn chain(&self) -> Result<Chain, Status> {
        Chain::try_from(self.chain)
    }

    /// The query, or `UNKNOWN_COMMAND`.
    pub fn query(&self) -> Result<Query, Status> {
        Query::try_from(self.query)
    }

    /// The status in a reply.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// The account that a key of queries 1 and 4 on the own chain names: the rest of the key must be zero.
    pub fn account(&self) -> Result<AccountId, Status> {
        let (id, rest) = self.halves();
        if rest == [0; 16] { Ok(AccountId(id)) } else { Err(Status::Malformed) }
    }

    /// The transaction and its source that a key of query 2 on the own chain names.
    pub fn transaction(&self) -> (TransactionId, AccountId) {
        let (id, source) = self.halves();
        (TransactionId(id), AccountId(source))
    }

    /// The height and position that a key of query 3 names: the rest of the key must be zero.
    pub fn locator(&self) -> Result<(u64, u32), Status> {
        let (first, rest) = self.halves();
        let number = u128::from_be_bytes(first);
        if rest != [0; 16] || number as u32 != 0 {
            return Err(Status::Malformed);
        }
        Ok(((number >> 64) as u64, (number >> 32) as u32))
    }

    /// Makes the first 48 bytes of the reply, in place. Where the status is not `OK`, these alone are the reply.
    pub fn set_reply(&mut self, status: Status, body_length: u32) {
        self.header.set_reply();
        self.status = U16::new(status.code());
        self.body_length = U32::new(body_length);
    }

    fn halves(&self) -> ([u8; 16], [u8; 16]) {
        zerocopy::transmute!(self.key)
    }

    pub(crate) fn check(&self) -> Status {
        if self.status.get() != 0 || self.body_length.get() != 0 {
            return Status::Malformed;
        }
        let chain = match self.chain() {
            Ok(chain) => chain,
            Err(status) => return status,
        };
        let query = match self.query() {
            Ok(query) => query,
            Err(status) => return status,
        };
        let key = match (chain, query) {
            (Chain::Own, Query::Latest | Query::Index) => self.account().is_ok(),
            (_, Query::Locator) => self.locator().is_ok(),
            (Chain::Own, Query::Transaction) | (Chain::Bitcoin, Query::Latest | Query::Transaction) => true,
            // Bitcoin has no index root, so nothing could be proved of an entry.
            (Chain::Bitcoin, Query::Index) => return Status::UnknownCommand,
        };
        if key { Status::Ok } else { Status::Malformed }
    }
}

impl From<AccountId> for [u8; 32] {
    /// The key of queries 1 and 4 on the own chain.
    fn from(account: AccountId) -> Self {
        zerocopy::transmute!([account.0, [0; 16]])
    }
}

/// The key of query 2 on the own chain.
pub fn key_of_transaction(transaction: TransactionId, source: AccountId) -> [u8; 32] {
    zerocopy::transmute!([transaction.0, source.0])
}

/// The key of query 3.
pub fn key_of_locator(height: u64, position: u32) -> [u8; 32] {
    let first = u128::from(height) << 64 | u128::from(position) << 32;
    zerocopy::transmute!([first.to_be_bytes(), [0; 16]])
}

/// Fixed part of the reply to queries 1, 2 and 3, 176 bytes.
///
/// Path, transaction, path of the coinbase transaction and coinbase transaction follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ProofReply {
    /// The request with its status set.
    pub request: ProofRequest,
    /// Hash of the tip that the answer is as of.
    pub tip_hash: [u8; 32],
    /// Height of that tip.
    pub tip_height: U64,
    /// Hash of the block.
    pub block_hash: [u8; 32],
    /// Height of the block.
    pub block_height: U64,
    /// Number of transactions in the block.
    pub transaction_count: U32,
    /// Position of the transaction.
    pub position: U32,
    /// Number of nodes in the path.
    pub depth: u8,
    /// Zero.
    pub reserved: u8,
    /// Length of the transaction; 0 on Bitcoin.
    pub transaction_length: U16,
    /// Length of the coinbase transaction; 0 on the own chain.
    pub coinbase_length: U16,
    /// Zero.
    pub reserved_end: U16,
    /// Hash of the transaction.
    pub leaf: [u8; 32],
}

impl ProofReply {
    /// Bytes of the fixed part.
    pub const LENGTH: usize = 176;

    /// Bytes of the whole reply, from its own fields.
    pub fn frame_length(&self) -> usize {
        let path = 32 * usize::from(self.depth);
        let coinbase_path = if self.request.chain == Chain::Bitcoin.code() { path } else { 0 };
        Self::LENGTH
            + path
            + usize::from(self.transaction_length.get())
            + coinbase_path
            + usize::from(self.coinbase_length.get())
    }
}

/// Fixed part of the reply to query 4, 104 bytes. Path and entries follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IndexReply {
    /// The request with its status set.
    pub request: ProofRequest,
    /// Hash of the block whose index root the entry is proved against.
    pub block_hash: [u8; 32],
    /// Height of that block.
    pub block_height: U64,
    /// Zero.
    pub reserved: U64,
    /// Number of nodes in the path.
    pub depth: u8,
    /// Number of entries in the leaf.
    pub entry_count: u8,
    /// Zero.
    pub reserved_end: [u8; 6],
}

impl IndexReply {
    /// Bytes of the fixed part.
    pub const LENGTH: usize = 104;

    /// Bytes of the whole reply, from its own fields.
    pub fn frame_length(&self) -> usize {
        Self::LENGTH + 32 * usize::from(self.depth) + IndexEntry::LENGTH * usize::from(self.entry_count)
    }
}

/// An account in a leaf of the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IndexEntry {
    /// The account.
    pub account: AccountId,
    /// Its balance.
    pub balance: U64,
    /// Height of the block of its latest transaction.
    pub height: U32,
    /// Position of its latest transaction in that block.
    pub position: U32,
}

impl IndexEntry {
    /// Bytes of an entry.
    pub const LENGTH: usize = 32;
}
