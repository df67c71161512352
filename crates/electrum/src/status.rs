//! Statuses of scripts: the SHA-256 of a text that grows with the history.
//!
//! The text has `txid:height:` for each transaction, so a new one only adds to it. Of each script that was asked for the state of
//! the hash is kept: what was there before is not hashed again, and neither is it read.
use chain::bitcoin::{Branch, Error};
use sha2::{Digest, Sha256};
use spv::{Hash, Locator};

use crate::{hex, kept::Kept};

/// Transactions that are read at a time.
const PIECE: usize = 1024;

/// How far the status of a script is known.
#[derive(Clone, Default)]
pub struct Status {
    hash: Sha256,
    last: Option<Locator>,
    count: u64,
}

impl Status {
    /// Goes on with what is behind the last transaction known.
    fn follow(&mut self, branch: &Branch, script: &Hash) -> Result<(), Error> {
        loop {
            let new = branch.view().history_after(script, self.last, PIECE)?;
            let mut text = Vec::with_capacity(new.len() * 80);
            for locator in &new {
                let hash = branch.transaction_hash(*locator)?.unwrap_or_default();
                hex::push_reversed(&mut text, &hash);
                text.extend_from_slice(format!(":{}:", locator.height).as_bytes());
            }
            self.hash.update(&text);
            self.count += new.len() as u64;
            self.last = new.last().copied().or(self.last);
            if new.len() < PIECE {
                return Ok(());
            }
        }
    }

    /// The status; nothing for a script without a history.
    pub fn digest(&self) -> Option<Hash> {
        self.last.map(|_| self.hash.clone().finalize().into())
    }
}

/// The status of a script as of a branch, and how many transactions were read for it.
pub fn of(
    statuses: &Kept<Status>,
    (branch, edition): (&Branch, u64),
    script: &Hash,
) -> Result<(Option<Hash>, u64), Error> {
    let (mut status, is_whole) = statuses.get(script, edition);
    if is_whole {
        return Ok((status.digest(), 0));
    }
    let before = status.count;
    status.follow(branch, script)?;
    let (digest, read) = (status.digest(), status.count - before);
    statuses.put(script, status, edition);
    Ok((digest, read))
}
