//! The proof frame.

use crate::{
    AccountId, Chain, FrameHeader, FrameType, IndexEntry, IndexReply, ProofReply, ProofRequest, Query, Status,
    TransactionId, UnknownStatus,
};
use zerocopy::byteorder::big_endian::{U16, U32};

impl ProofRequest {
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

    /// The account in a key of query 1 or 4 on the own chain. The rest of the key must be zero.
    pub fn account(&self) -> Result<AccountId, Status> {
        let (id, rest) = self.halves();
        if rest == [0; 16] { Ok(AccountId(id)) } else { Err(Status::Malformed) }
    }

    /// The transaction and its source in a key of query 2 on the own chain.
    pub fn transaction(&self) -> (TransactionId, AccountId) {
        let (id, source) = self.halves();
        (TransactionId(id), AccountId(source))
    }

    /// The height and position in a key of query 3. The rest of the key must be zero.
    pub fn locator(&self) -> Result<(u64, u32), Status> {
        let (first, rest) = self.halves();
        let number = u128::from_be_bytes(first);
        if rest != [0; 16] || number as u32 != 0 {
            return Err(Status::Malformed);
        }
        Ok(((number >> 64) as u64, (number >> 32) as u32))
    }

    /// Turns the first 48 bytes of the request into the reply's, in place. If the status is not `OK`, they are the
    /// whole reply.
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
            // Bitcoin has no index root to prove an entry against.
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

impl ProofReply {
    /// Bytes of the whole reply, computed from its own fields.
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

impl IndexReply {
    /// Bytes of the whole reply, computed from its own fields.
    pub fn frame_length(&self) -> usize {
        Self::LENGTH + 32 * usize::from(self.depth) + IndexEntry::LENGTH * usize::from(self.entry_count)
    }
}
