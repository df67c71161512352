//! Blocks as JSON.
use bitcoin::{CompactTarget, Target};
use chain::bitcoin::Block;
use spv::{Hash, Locator};

use crate::{
    reader::Reader,
    reply::Failure,
    values::{BlockStatus, BlockValue, Id},
};

/// The number of headers whose median time is a block's.
const MEDIAN_SPAN: u32 = 11;

fn no_block() -> Failure {
    Failure::not_found("Block not found")
}

/// The height of a block of the active branch.
pub fn height(reader: &Reader<'_>, hash: &Hash) -> Result<u32, Failure> {
    reader.branch.view().height_of(hash)?.ok_or_else(no_block)
}

/// The hash of the block at a height.
pub fn hash_at(reader: &Reader<'_>, height: u32) -> Result<Hash, Failure> {
    reader.branch.headers().hash(height).copied().ok_or_else(no_block)
}

/// The bytes of a block.
pub fn bytes(reader: &mut Reader<'_>, height: u32) -> Result<Vec<u8>, Failure> {
    let bytes = reader.branch.view().block_bytes(height)?.ok_or_else(no_block)?;
    reader.charge(bytes.len())?;
    Ok(bytes)
}

/// The block at a height. It is read from disk, as its weight is not in the index.
pub fn value(reader: &mut Reader<'_>, height: u32) -> Result<BlockValue, Failure> {
    let (hash, header) = reader.header(height)?.ok_or_else(no_block)?;
    let bytes = bytes(reader, height)?;
    // The bytes before the transactions have no witness.
    let block = Block::parse(&bytes).map_err(|error| Failure::internal(&error))?;
    let stripped: usize = block.transactions().iter().map(|transaction| transaction.stripped_size()).sum();
    let first = block.offsets().first().map_or(0, |offset| *offset as usize);
    let bits = CompactTarget::from_consensus(header.bits.get());
    Ok(BlockValue {
        id: Id(hash),
        height,
        version: header.version.get(),
        timestamp: header.time.get(),
        tx_count: block.transactions().len() as u32,
        size: bytes.len(),
        weight: 3 * (first + stripped) + bytes.len(),
        merkle_root: Id(header.merkle_root),
        previousblockhash: (height > 0).then_some(Id(header.previous)),
        mediantime: median_time(reader, height)?,
        nonce: header.nonce.get(),
        bits: header.bits.get(),
        difficulty: Target::from_compact(bits).difficulty_float(),
    })
}

fn median_time(reader: &mut Reader<'_>, height: u32) -> Result<u32, Failure> {
    let mut times = Vec::with_capacity(MEDIAN_SPAN as usize);
    for height in height.saturating_sub(MEDIAN_SPAN - 1)..=height {
        times.extend(reader.header(height)?.map(|(_, header)| header.time.get()));
    }
    times.sort_unstable();
    Ok(times.get(times.len() / 2).copied().unwrap_or_default())
}

/// Whether a block is on the active branch, and which block follows it there.
pub fn status(reader: &Reader<'_>, hash: &Hash) -> Result<BlockStatus, Failure> {
    let Some(height) = reader.branch.view().height_of(hash)? else { return Ok(BlockStatus::default()) };
    let next = reader.branch.headers().hash(height + 1).copied().map(Id);
    Ok(BlockStatus { in_best_chain: true, height: Some(height), next_best: next })
}

/// The hashes of a block's transactions.
pub fn transactions(reader: &mut Reader<'_>, height: u32) -> Result<Vec<Id>, Failure> {
    let count = reader.branch.transactions(height).unwrap_or_default();
    reader.charge(count as usize * size_of::<Hash>())?;
    let hashes = (0..count).map(|position| reader.branch.transaction_hash(Locator { height, position }));
    hashes.filter_map(|hash| hash.map_err(Failure::from).map(|hash| hash.map(Id)).transpose()).collect()
}
