//! Statuses of scripts: the SHA-256 of a text that grows with the history.
//!
//! The text has `txid:height:` for each transaction, unconfirmed ones last, so a new transaction is only appended. The
//! state of the hash without unconfirmed transactions is cached per script: earlier transactions are neither read nor
//! hashed again.
use chain::bitcoin::{Branch, Error};
use sha2::{Digest, Sha256};
use spv::{Hash, Locator};

use crate::{generation_cache::GenerationCache, hex};

/// Transactions read at a time.
const PIECE: usize = 1024;

/// The known part of a script's status.
#[derive(Clone, Default)]
pub struct Status {
    hash: Sha256,
    last: Option<Locator>,
    count: u64,
    has_waiting: bool,
}

impl Status {
    /// Adds the transactions after the last known one.
    fn follow(&mut self, branch: &Branch, script: &Hash) -> Result<(), Error> {
        loop {
            let new = branch.view().history_after(script, self.last, PIECE)?;
            let mut text = Vec::with_capacity(new.len() * 80);
            for locator in &new {
                let hash = branch.transaction_hash(*locator)?.unwrap_or_default();
                push_line(&mut text, &hash, locator.height.into());
            }
            self.hash.update(&text);
            self.count += new.len() as u64;
            self.last = new.last().copied().or(self.last);
            if new.len() < PIECE {
                return Ok(());
            }
        }
    }

    /// Adds an unconfirmed transaction, after all confirmed ones.
    pub fn append(&mut self, hash: &Hash, height: i64) {
        let mut text = Vec::with_capacity(80);
        push_line(&mut text, hash, height);
        self.hash.update(&text);
        self.has_waiting = true;
    }

    /// The status; `None` for a script without history.
    pub fn digest(self) -> Option<Hash> {
        (self.last.is_some() || self.has_waiting).then(|| self.hash.finalize().into())
    }
}

fn push_line(text: &mut Vec<u8>, hash: &Hash, height: i64) {
    hex::push_reversed(text, hash);
    text.extend_from_slice(format!(":{height}:").as_bytes());
}

/// The status of a script as of a branch, without unconfirmed transactions, and the number of transactions read for it.
pub fn read(
    statuses: &GenerationCache<Status>,
    (branch, edition): (&Branch, u64),
    script: &Hash,
) -> Result<(Status, u64), Error> {
    let (mut status, is_whole) = statuses.get(script, edition);
    if is_whole {
        return Ok((status, 0));
    }
    let before = status.count;
    status.follow(branch, script)?;
    let read = status.count - before;
    statuses.put(script, status.clone(), edition);
    Ok((status, read))
}
