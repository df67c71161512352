//! A replica's ledger, handed on: read from one that has it, and put together where there is none.
//!
//! Two things make it: all blocks of the chain, and the batches of the journal that retries are answered from. Of the blocks that have
//! such batches these are enough: a block has what succeeded of its batch. Nothing of it is trusted. Each block has to be the one that
//! its header tells, and [`Restoring::finish`] gives two hashes, of the last header and of the batches, that cover all the rest: they
//! are to be compared with what the replicas agreed on.

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

/// The heights of the blocks whose batches retries are answered from as of one of them, which is the last. There are none before the
/// first operation.
pub fn recent_heights(chain: &OwnReader, limits: &Limits, height: u64) -> Result<RangeInclusive<u64>, Error> {
    let recent = Recent::new(limits);
    let (end, time) = chain.covers(height)?;
    let since = |time| first_height(height, |at| Ok(chain.covers(at)?.1 >= time));
    let first = since(recent.since(time))?;
    if chain.covers(first.saturating_sub(1))?.0 < end {
        return Ok(first.max(1)..=height);
    }
    // Nothing came since: what came last counts.
    let last = first_height(height, |at| Ok(chain.covers(at)?.0 >= end))?;
    let first = since(recent.period_of(chain.covers(last)?.1))?;
    Ok(first.max(1)..=height)
}

/// The first height up to `height` of which something is so, that is so of all behind it.
fn first_height(height: u64, is_so: impl Fn(u64) -> Result<bool, Error>) -> Result<u64, Error> {
    let (mut low, mut high) = (0, height);
    while low < high {
        let middle = low.midpoint(high);
        if is_so(middle)? { high = middle } else { low = middle + 1 }
    }
    Ok(low)
}

/// Shows the batches of these blocks to `each`, with the headers; nothing where a block has none. It tells whether it takes more.
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

/// A ledger that is put together.
#[derive(Debug)]
pub struct Restoring {
    chain: OwnChain,
    recent: Recent,
    /// From the first batch on.
    journal: Option<Journal>,
    batch: Batch,
    succeeded: Succeeded,
}

impl Restoring {
    /// Goes on behind what a chain has, under a ledger's limits. The chain is to have no journal.
    pub fn new(chain: OwnChain, limits: &Limits) -> Self {
        let (batch, succeeded) = (Batch::new(), Succeeded::default());
        Self { chain, recent: Recent::new(limits), journal: None, batch, succeeded }
    }

    /// The last block.
    pub fn tip(&self) -> Tip {
        self.chain.tip()
    }

    /// Takes the next block, of those before the first batch.
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

    /// Turns to batches, which go into a journal in this directory. `before` are the newest times of all operations before them.
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

    /// Takes the next block by its batch: what is in the journal of it.
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
        // Each tail has to be one of a record, and in order.
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

    /// Ends where all blocks and batches are there: writes a snapshot, and gives the tip and the hash of what retries are answered from.
    pub fn finish(mut self) -> Result<(Tip, Hash), Error> {
        let tip = self.tip();
        if let Some(journal) = &mut self.journal {
            journal.seal(tip.header.timestamp.get())?;
        }
        self.chain.snapshot()?;
        Ok((tip, self.recent.hash(tip.header.timestamp.get())))
    }
}

/// What became of a block that was to have this header.
fn expect(result: Result<Tip, chain::own::Error>, header: &BlockHeader) -> Result<(), Error> {
    let refused = || Error::NotTheBlock { height: header.height.get() };
    match result {
        Ok(tip) if tip.header == *header => Ok(()),
        Ok(_) | Err(chain::own::Error::InvalidBlock(_) | chain::own::Error::Effect(_)) => Err(refused()),
        Err(error) => Err(error.into()),
    }
}
