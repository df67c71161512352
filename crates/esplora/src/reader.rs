//! Reads transactions for one request: a limited number of bytes, and each funding transaction only once.
use std::collections::HashMap;

use chain::bitcoin::{Branch, Output, Transaction};
use electrum::{Outpoint, Service};
use spv::{
    Hash, Locator,
    bitcoin::{BlockHeader, Encoding},
};

use crate::{
    reply::Failure,
    values::{Id, Status},
};

/// Microseconds of work charged for each read.
const READ_COST: u64 = 5;
/// Bytes read and hashed that cost as much as a microsecond.
const COST_BYTES: u64 = 200;

/// The branch as one request reads it, with the request's budget.
pub struct Reader<'a> {
    pub branch: &'a Branch,
    /// Has the mempool, whose lock is held only for a single look.
    pub service: &'a Service,
    /// Bytes that may still be read.
    room: u64,
    /// Work done so far, roughly in microseconds.
    pub cost: u64,
    /// Transactions that inputs spend from.
    spent_from: HashMap<Hash, Option<Vec<u8>>>,
    /// Headers by height: each block's median time needs eleven, and neighbouring blocks share most of them.
    headers: HashMap<u32, Option<(Hash, BlockHeader)>>,
}

impl<'a> Reader<'a> {
    pub fn new(branch: &'a Branch, service: &'a Service, room: u64) -> Self {
        Self { branch, service, room, cost: READ_COST, spent_from: HashMap::new(), headers: HashMap::new() }
    }

    /// Charges for bytes that were read. Fails if that exceeds the budget.
    pub fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        let bytes = bytes as u64;
        self.cost += READ_COST + bytes / COST_BYTES;
        self.room = self.room.checked_sub(bytes).ok_or_else(|| Failure::bad_request("Too many history entries"))?;
        Ok(())
    }

    /// How many entries of this many bytes may still be read.
    pub fn entries(&self, bytes: usize) -> usize {
        usize::try_from(self.room).unwrap_or(usize::MAX) / bytes
    }

    /// Where a transaction is.
    pub fn locate(&mut self, transaction: &Hash) -> Result<Option<Locator>, Failure> {
        self.cost += READ_COST;
        Ok(self.branch.view().transaction(transaction)?)
    }

    /// A transaction, with its hash.
    pub fn transaction(&mut self, locator: Locator) -> Result<(Hash, Vec<u8>), Failure> {
        let read = self.branch.transaction(locator)?;
        let (hash, bytes) = read.ok_or_else(|| Failure::not_found("Transaction not found"))?;
        self.charge(bytes.len())?;
        Ok((hash, bytes))
    }

    /// A transaction in the mempool.
    pub fn waiting(&mut self, transaction: &Hash) -> Result<Option<Vec<u8>>, Failure> {
        let bytes = self.service.mempool().get(transaction).map(|waiting| waiting.bytes.clone());
        self.charge(bytes.as_ref().map_or(0, Vec::len))?;
        Ok(bytes)
    }

    /// Passes a spent output to `take`; returns `None` if the store does not have it.
    pub fn spent_output<T>(
        &mut self,
        (hash, number): Outpoint,
        take: impl FnOnce(Output<'_>) -> T,
    ) -> Result<Option<T>, Failure> {
        if !self.spent_from.contains_key(&hash) {
            let locator = self.locate(&hash)?;
            let bytes = match locator {
                Some(locator) => Some(self.transaction(locator)?.1),
                None => self.waiting(&hash)?,
            };
            self.spent_from.insert(hash, bytes);
        }
        let bytes = self.spent_from.get(&hash).and_then(Option::as_deref);
        let transaction = bytes.and_then(parse);
        Ok(transaction.and_then(|transaction| transaction.outputs().nth(number as usize)).map(take))
    }

    /// The header at a height, with its hash.
    pub fn header(&mut self, height: u32) -> Result<Option<(Hash, BlockHeader)>, Failure> {
        if let Some(header) = self.headers.get(&height) {
            return Ok(*header);
        }
        self.cost += READ_COST;
        let header = self.read_header(height)?;
        self.headers.insert(height, header);
        Ok(header)
    }

    fn read_header(&self, height: u32) -> Result<Option<(Hash, BlockHeader)>, Failure> {
        let header = self.branch.header(height)?.and_then(|bytes| BlockHeader::parse(&bytes));
        Ok(self.branch.headers().hash(height).copied().zip(header))
    }

    /// The status of the transactions in a block.
    pub fn status(&mut self, locator: Locator) -> Result<Status, Failure> {
        let Some((hash, header)) = self.header(locator.height)? else { return Ok(Status::default()) };
        Ok(Status {
            confirmed: true,
            block_height: Some(locator.height),
            block_hash: Some(Id(hash)),
            block_time: Some(header.time.get()),
        })
    }
}

/// Parses a transaction. Those from the store and the mempool were parsed before, so they do parse.
pub fn parse(bytes: &[u8]) -> Option<Transaction<'_>> {
    Transaction::read(&mut Encoding::new(bytes)).ok()
}
