//! The active branch in memory, by height: the location of each block, and the tree of headers.
use super::block::{Block, Transaction};
use super::error::{Error, damaged};
use super::header_tree::HeaderTree;
use super::import::Change;
use super::records::{Span, read_array, read_start};
use super::tree::node_count;
use super::view::{Tip, View};
use super::witness_tree::WitnessTree;
use spv::bitcoin::{BlockHeader, Encoding, HEADER_SIZE};
use spv::{Hash, Locator};

/// The active branch of a [`View`] from genesis on, for servers of many requests: reads headers, transactions and
/// transaction hashes without the index. It takes 80 bytes of memory per block.
#[derive(Clone)]
pub struct Branch {
    view: View,
    locations: Vec<BlockLocation>,
    headers: HeaderTree,
}

/// Location of a block in the block file.
#[derive(Clone, Copy)]
struct BlockLocation {
    offset: u64,
    block_length: u32,
    transactions: u32,
}

impl BlockLocation {
    fn span(self) -> Span {
        Span { offset: self.offset, length: self.block_length }
    }

    /// Offset in the record of the transactions' offsets.
    fn offsets(self) -> u32 {
        self.block_length + (node_count(self.transactions) * size_of::<Hash>()) as u32
    }
}

impl Branch {
    /// Loads the active branch. `None` if the store does not begin with genesis, or has no blocks.
    pub fn load(view: View) -> Result<Option<Self>, Error> {
        let Some(tip) = view.tip().filter(|_| view.start().height == 0) else { return Ok(None) };
        let mut branch =
            Self { view, locations: Vec::with_capacity(tip.height as usize + 1), headers: HeaderTree::default() };
        branch.extend(tip.height)?;
        Ok(Some(branch))
    }

    /// The branch of a later view, which differs by `changes`: loads only the blocks from the lowest changed one on.
    pub fn follow(&self, view: View, changes: &[Change]) -> Result<Self, Error> {
        let mut branch = Self { view, ..self.clone() };
        let kept = changes.iter().map(|change| change.height as usize).min().unwrap_or(self.locations.len());
        branch.locations.truncate(kept);
        branch.headers.truncate(kept);
        if let Some(tip) = branch.view.tip() {
            branch.extend(tip.height)?;
        }
        Ok(branch)
    }

    /// Loads missing blocks up to a height.
    fn extend(&mut self, last: u32) -> Result<(), Error> {
        for height in self.locations.len() as u32..=last {
            let (hash, record) =
                self.view.record(height)?.ok_or_else(|| damaged(format!("block {height} is missing")))?;
            let (block_length, transactions) = (record.block_length.get(), record.transactions.get());
            self.locations.push(BlockLocation { offset: record.offset.get(), block_length, transactions });
            self.headers.push(hash);
        }
        Ok(())
    }

    /// The view that was loaded.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The last block.
    pub fn tip(&self) -> Tip {
        let height = self.locations.len() as u32 - 1;
        Tip { height, hash: self.headers.hash(height).copied().unwrap_or_default() }
    }

    /// The tree of the headers.
    pub fn headers(&self) -> &HeaderTree {
        &self.headers
    }

    /// Number of transactions of the block at a height.
    pub fn transactions(&self, height: u32) -> Option<u32> {
        self.locations.get(height as usize).map(|location| location.transactions)
    }

    /// The encoded header at a height.
    pub fn header(&self, height: u32) -> Result<Option<[u8; HEADER_SIZE]>, Error> {
        let (Some(location), Some(hash)) = (self.locations.get(height as usize), self.headers.hash(height)) else {
            return Ok(None);
        };
        let bytes: [u8; HEADER_SIZE] = read_array(self.view.file(), location.span(), 0)?;
        match BlockHeader::parse(&bytes) {
            Some(header) if header.hash() == *hash => Ok(Some(bytes)),
            _ => Err(damaged(format!("the header of block {height} does not match its hash"))),
        }
    }

    /// The hash of a transaction, unchecked: a proof shown with it checks it.
    pub fn transaction_hash(&self, locator: Locator) -> Result<Option<Hash>, Error> {
        let Some(location) = self.location_of(locator) else { return Ok(None) };
        let from = location.block_length + locator.position * size_of::<Hash>() as u32;
        read_array(self.view.file(), location.span(), from).map(Some)
    }

    /// A transaction with its hash, checked.
    pub fn transaction(&self, locator: Locator) -> Result<Option<(Hash, Vec<u8>)>, Error> {
        let (Some(location), Some(hash)) = (self.location_of(locator), self.transaction_hash(locator)?) else {
            return Ok(None);
        };
        let wrong = || damaged(format!("transaction {} of block {}", locator.position, locator.height));
        let offset = |position: u32| -> Result<u32, Error> {
            let from = location.offsets() + position * size_of::<u32>() as u32;
            Ok(u32::from_be_bytes(read_array(self.view.file(), location.span(), from)?))
        };
        let begin = offset(locator.position)?;
        let is_last = locator.position + 1 == location.transactions;
        let end = if is_last { location.block_length } else { offset(locator.position + 1)? };
        let length = end.min(location.block_length).checked_sub(begin).ok_or_else(wrong)?;
        let span = Span { offset: location.offset + u64::from(begin), length };
        let bytes = read_start(self.view.file(), span, length)?;
        let mut encoding = Encoding::new(&bytes);
        match Transaction::read(&mut encoding) {
            Ok(transaction) if encoding.finish().is_ok() && transaction.hash() == hash => Ok(Some((hash, bytes))),
            _ => Err(wrong()),
        }
    }

    /// The tree over the transactions with their witnesses of the block at a height, and the number of bytes read and
    /// hashed for it: the whole block.
    pub fn witness_tree(&self, height: u32) -> Result<Option<(WitnessTree, usize)>, Error> {
        let Some(bytes) = self.view.block_bytes(height)? else { return Ok(None) };
        let wrong = |reason: String| damaged(format!("block {height}: {reason}"));
        let block = Block::parse(&bytes).map_err(|error| wrong(error.to_string()))?;
        let tree = WitnessTree::build(&block).map_err(|error| wrong(error.to_string()))?;
        Ok(Some((tree, bytes.len())))
    }

    fn location_of(&self, locator: Locator) -> Option<BlockLocation> {
        let location = self.locations.get(locator.height as usize).copied();
        location.filter(|location| locator.position < location.transactions)
    }
}
