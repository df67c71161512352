//! The hashes of recent operations as of the newest blocks: others may state what was so some blocks ago.

use std::collections::VecDeque;

use chain::own::{OwnReader, Tip};
use spv::Hash;

use crate::{
    Error,
    journal::{JournalBatch, Newest, Record, Tail},
    recent::Recent,
    retries::Limits,
};

/// Blocks whose hashes are known.
const BLOCKS: usize = 64;

/// Recent operations, and their hashes as of the newest blocks.
#[derive(Debug)]
pub(crate) struct Past {
    recent: Recent,
    /// By height.
    hashes: VecDeque<(u64, Hash)>,
}

impl Past {
    /// Takes the batch of the block that is to be closed next.
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

    /// The hash as of the block of a height, if it is known.
    pub fn hash(&self, height: u64) -> Option<Hash> {
        self.hashes.iter().rev().find(|(known, _)| *known == height).map(|(_, hash)| *hash)
    }
}

/// What is learnt of them as a journal is read.
pub(crate) struct Reading {
    /// Without a batch.
    nothing: Recent,
    recent: Recent,
    /// The time of the first batch that was read, unless all batches were.
    began: Option<u64>,
    /// The last sequence of each of the newest batches, and what was so behind it.
    behind: VecDeque<(u64, Recent)>,
}

impl Reading {
    /// Of a journal that is about to be read.
    pub fn new(limits: &Limits) -> Self {
        let nothing = Recent::new(limits);
        Self { recent: nothing.clone(), nothing, began: None, behind: VecDeque::new() }
    }

    /// Takes the next batch.
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

    /// Hashes as of the newest blocks, as far as all batches that count were read. Of the tip's they were.
    pub fn finish(self, chain: &OwnReader) -> Result<Past, Error> {
        let tip = chain.tip().height();
        let mut hashes = VecDeque::new();
        for height in tip.saturating_sub(BLOCKS as u64 - 1)..=tip {
            let (end, time) = chain.covers(height)?;
            let before = self.behind.iter().rev().find(|(last, _)| *last <= end);
            let is_whole = |recent: &Recent| self.began.is_none_or(|began| recent.is_behind(began, time));
            let recent = match before {
                Some((_, recent)) if height == tip || is_whole(recent) => recent,
                // There was none before.
                None if end == 0 => &self.nothing,
                _ => continue,
            };
            hashes.push_back((height, recent.hash(time)));
        }
        Ok(Past { recent: self.recent, hashes })
    }
}
