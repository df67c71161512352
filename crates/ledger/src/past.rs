//! Hashes of recent operations as of the newest blocks: a statement may refer to the state of a few blocks ago.

use std::collections::VecDeque;

use chain::own::{OwnReader, Tip};
use spv::Hash;

use crate::{
    Error,
    journal::{JournalBatch, Newest, Record, Tail},
    recent::Recent,
    retries::Limits,
};

/// Number of blocks whose hashes are kept.
const BLOCKS: usize = 64;

/// Recent operations, and their hashes as of the newest blocks.
#[derive(Debug)]
pub(crate) struct Past {
    recent: Recent,
    /// By height.
    hashes: VecDeque<(u64, Hash)>,
}

impl Past {
    /// Adds the batch of the next block to be closed.
    pub fn take(&mut self, time: u64, before: Newest, batch: (&[Record], &[Tail])) {
        self.recent.take(time, before, batch);
    }

    /// Closes a block.
    pub fn close(&mut self, tip: &Tip) {
        let time = tip.header.timestamp.get();
        self.recent.forget(time);
        self.hashes.push_back((tip.height(), self.recent.hash(time)));
        if self.hashes.len() > BLOCKS {
            self.hashes.pop_front();
        }
    }

    /// Returns the hash as of the block at a height, if it is known.
    pub fn hash(&self, height: u64) -> Option<Hash> {
        self.hashes.iter().rev().find(|(known, _)| *known == height).map(|(_, hash)| *hash)
    }
}

/// The same state, collected while a journal is read.
pub(crate) struct Reading {
    /// The state without a batch.
    nothing: Recent,
    recent: Recent,
    /// Time of the first batch read; `None` if the journal was read from its first operation.
    began: Option<u64>,
    /// The last sequence of each of the newest batches, and the state after it.
    behind: VecDeque<(u64, Recent)>,
}

impl Reading {
    /// Starts to read a journal.
    pub fn new(limits: &Limits) -> Self {
        let nothing = Recent::new(limits);
        Self { recent: nothing.clone(), nothing, began: None, behind: VecDeque::new() }
    }

    /// Adds the next batch.
    pub fn take(&mut self, batch: &JournalBatch<'_>) {
        if self.behind.is_empty() {
            self.began = (batch.first_sequence > 1).then_some(batch.timestamp);
        }
        self.recent.take(batch.timestamp, batch.newest, batch.parts());
        self.recent.forget(batch.timestamp);
        self.behind.push_back((batch.last_sequence(), self.recent.clone()));
        if self.behind.len() > BLOCKS {
            self.behind.pop_front();
        }
    }

    /// Returns the hashes as of the newest blocks, as far as all batches that count were read; for the tip they were.
    pub fn finish(self, chain: &OwnReader) -> Result<Past, Error> {
        let tip = chain.tip().height();
        let mut hashes = VecDeque::new();
        for height in tip.saturating_sub(BLOCKS as u64 - 1)..=tip {
            let (end, time) = chain.covers(height)?;
            let before = self.behind.iter().rev().find(|(last, _)| *last <= end);
            let is_whole = |recent: &Recent| self.began.is_none_or(|began| recent.is_behind(began, time));
            let recent = match before {
                Some((_, recent)) if height == tip || is_whole(recent) => recent,
                // There was no batch before.
                None if end == 0 => &self.nothing,
                _ => continue,
            };
            hashes.push_back((height, recent.hash(time)));
        }
        Ok(Past { recent: self.recent, hashes })
    }
}
