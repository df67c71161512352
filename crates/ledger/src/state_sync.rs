//! State sync: reads a replica's ledger for another replica, and rebuilds it there.
//!
//! - A ledger consists of all blocks of the chain, and the journal batches that retries are answered from. A block with
//!   such a batch is sent as the batch, which contains the block's successful operations.
//! - The receiver trusts nothing. Each block must match its header. [`Restoring::finish`] returns two hashes, of the
//!   last header and of the batches, which cover everything else: compare them with those that the replicas agreed on.

use std::{ops::RangeInclusive, sync::Arc};

use chain::own::{NextBlock, NoSealer, OwnChain, OwnReader, Tip, WholeBlock};
use spv::{BlockHeader, Hash};
use storage::Directory;

use crate::{
    Error,
    journal::{self, Batch, Behind, Journal, JournalBatch, Log, Newest, Record, Tail, entries},
    ordered::Succeeded,
    recent::Recent,
    retries::Limits,
};

/// The heights of the blocks, up to `height`, whose batches retries are answered from as of `height`. Empty before the
/// first operation.
pub fn recent_heights(chain: &OwnReader, limits: &Limits, height: u64) -> Result<RangeInclusive<u64>, Error> {
    let recent = Recent::new(limits);
    let (end, time) = chain.covers(height)?;
    let since = |time| first_height(height, |at| Ok(chain.covers(at)?.1 >= time));
    let first = since(recent.since(time))?;
    if chain.covers(first.saturating_sub(1))?.0 < end {
        return Ok(first.max(1)..=height);
    }
    // If nothing was executed since, the last operations count.
    let last = first_height(height, |at| Ok(chain.covers(at)?.0 >= end))?;
    let first = since(recent.period_of(chain.covers(last)?.1))?;
    Ok(first.max(1)..=height)
}

/// The first height up to `height` from which on `is_so` holds.
fn first_height(height: u64, is_so: impl Fn(u64) -> Result<bool, Error>) -> Result<u64, Error> {
    let (mut low, mut high) = (0, height);
    while low < high {
        let middle = low.midpoint(high);
        if is_so(middle)? { high = middle } else { low = middle + 1 }
    }
    Ok(low)
}

/// Calls `each` with the batch of each of these blocks and its header; with no batch for a block without one. It stops
/// when `each` returns false.
pub fn read_batches(
    chain: &OwnReader,
    log: &Arc<Log>,
    heights: RangeInclusive<u64>,
    mut each: impl FnMut(&BlockHeader, Option<&JournalBatch<'_>>) -> bool,
) -> Result<(), Error> {
    let first = heights.start().saturating_sub(1);
    let (mut end, _) = chain.covers(first)?;
    let gone = |height| Error::NotRecent { height };
    let mut reader = None;
    for height in heights {
        let before = end;
        (end, _) = chain.covers(height)?;
        let sealed = chain.headers(height, 1)?.pop().ok_or(gone(height))?;
        if end == before {
            if !each(&sealed.header, None) {
                break;
            }
            continue;
        }
        let reader = match &mut reader {
            Some(reader) => reader,
            none => none.insert(log.reader(before + 1).map_err(|_| gone(height))?),
        };
        let batch = reader.next()?.ok_or(gone(height))?;
        assert_eq!(
            (batch.first_sequence, batch.last_sequence()),
            (before + 1, end),
            "a block of replicas is one batch"
        );
        if !each(&sealed.header, Some(&batch)) {
            break;
        }
    }
    Ok(())
}

/// A ledger being rebuilt.
#[derive(Debug)]
pub struct Restoring {
    chain: OwnChain,
    recent: Recent,
    /// `None` before the first batch.
    journal: Option<Journal>,
    batch: Batch,
    succeeded: Succeeded,
}

impl Restoring {
    /// Continues after the blocks of a chain, under a ledger's limits. The chain must have no journal.
    pub fn new(chain: OwnChain, limits: &Limits) -> Self {
        let (batch, succeeded) = (Batch::new(), Succeeded::default());
        Self { chain, recent: Recent::new(limits), journal: None, batch, succeeded }
    }

    /// The last block.
    pub fn tip(&self) -> Tip {
        self.chain.tip()
    }

    /// Adds the next block, before the first batch.
    pub fn block(&mut self, block: &WholeBlock) -> Result<(), Error> {
        assert!(self.journal.is_none(), "blocks come before batches");
        let WholeBlock { header, operations, tails } = block;
        let next = NextBlock {
            operations,
            tails,
            end_sequence: self.tip().end_sequence + operations.len() as u64,
            timestamp: header.timestamp.get(),
        };
        expect(self.chain.append(next, &mut NoSealer), header)
    }

    /// Switches to batches, which go into a journal in this directory. `before` holds the newest times of all earlier
    /// operations.
    pub fn begin_batches(
        &mut self,
        directory: Arc<dyn Directory>,
        options: &journal::Options,
        before: Newest,
    ) -> Result<(), Error> {
        let tip = self.tip();
        let behind = Behind { sequence: tip.end_sequence, newest: before, time: tip.header.timestamp.get() };
        self.journal = Some(Journal::begin(directory, options, &behind)?);
        Ok(())
    }

    /// Adds the next block from its batch: the part of the block that is in the journal.
    pub fn batch(&mut self, header: &BlockHeader, records: &[Record], tails: &[Tail]) -> Result<(), Error> {
        let refused = || Error::NotTheBlock { height: header.height.get() };
        let journal = self.journal.as_mut().expect("batches have begun");
        for (record, signed) in entries(records, tails) {
            let value = record.value.get();
            match signed {
                Some(entry) => {
                    self.batch.push_signed(&entry, value);
                    self.succeeded.push(&entry);
                }
                None => {
                    self.batch.push(&record.operation, value);
                    self.succeeded.push(&record.operation);
                }
            }
        }
        // Each tail must belong to a record, in order.
        if self.batch.parts().1.len() != tails.len() {
            return Err(refused());
        }
        let time = header.timestamp.get();
        if time < self.chain.tip().header.timestamp.get() {
            return Err(refused());
        }
        if !records.is_empty() {
            self.recent.take(time, journal.newest(), self.batch.parts());
            self.recent.forget(time);
        }
        let durable = journal.commit(&mut self.batch, time)?;
        let result = self.succeeded.append_to(&mut self.chain, durable, time);
        self.succeeded.clear();
        match result {
            Ok(tip) if tip.header == *header => Ok(()),
            Ok(_) => Err(refused()),
            Err(Error::Chain(error)) => expect(Err(error), header),
            Err(error) => Err(error),
        }
    }

    /// Finishes after the last block: writes a snapshot, and returns the tip and the hash of the batches.
    pub fn finish(mut self) -> Result<(Tip, Hash), Error> {
        let tip = self.tip();
        if let Some(journal) = &mut self.journal {
            journal.seal(tip.header.timestamp.get())?;
        }
        self.chain.snapshot()?;
        Ok((tip, self.recent.hash(tip.header.timestamp.get())))
    }
}

/// Converts the result of adding a block that must have this header.
fn expect(result: Result<Tip, chain::own::Error>, header: &BlockHeader) -> Result<(), Error> {
    let refused = || Error::NotTheBlock { height: header.height.get() };
    match result {
        Ok(tip) if tip.header == *header => Ok(()),
        Ok(_) | Err(chain::own::Error::InvalidBlock(_) | chain::own::Error::Effect(_)) => Err(refused()),
        Err(error) => Err(error.into()),
    }
}
