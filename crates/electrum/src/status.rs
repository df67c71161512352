//! Statuses of scripts: the SHA-256 of a text that grows with the history.
//!
//! The text has `txid:height:` for each transaction, so a new one only adds to it. Of each script that was asked for the state of
//! the hash is kept: what was there before is not hashed again, and neither is it read.
use std::collections::HashMap;

use chain::bitcoin::{Branch, Error};
use sha2::{Digest, Sha256};
use spv::{Hash, Locator};

use crate::hex;

/// Transactions that are read at a time.
const PIECE: usize = 1024;

/// How far the status of a script is known.
#[derive(Clone)]
pub struct Status {
    hash: Sha256,
    last: Option<Locator>,
    count: u64,
}

impl Status {
    fn new() -> Self {
        Self { hash: Sha256::new(), last: None, count: 0 }
    }

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

/// Statuses that were asked for, in two generations: what the younger one has no room for makes it the older one, and what
/// nobody asks for in the time of a generation is forgotten.
pub struct Statuses {
    room: usize,
    young: HashMap<Hash, Entry>,
    old: HashMap<Hash, Entry>,
    /// Number of the branch that statuses are as of.
    edition: u64,
}

struct Entry {
    status: Status,
    edition: u64,
}

impl Statuses {
    /// Keeps the statuses of `room` scripts at least, of twice as many at most: 250 bytes each.
    pub fn new(room: usize) -> Self {
        Self { room, young: HashMap::new(), old: HashMap::new(), edition: 0 }
    }

    /// The branch has another edition. Where it has only grown, what is known is the beginning of what there is.
    pub fn begin(&mut self, edition: u64, has_only_grown: bool) {
        self.edition = edition;
        if !has_only_grown {
            self.young.clear();
            self.old.clear();
        }
    }

    /// How far the status of a script is known, and whether that is all as of an edition.
    fn get(&self, script: &Hash, edition: u64) -> (Status, bool) {
        match self.young.get(script).or_else(|| self.old.get(script)) {
            Some(entry) => (entry.status.clone(), entry.edition == edition),
            None => (Status::new(), false),
        }
    }

    fn put(&mut self, script: &Hash, status: Status, edition: u64) {
        // What was computed before a reorganisation must not come behind it.
        if edition != self.edition {
            return;
        }
        if self.young.len() >= self.room && !self.young.contains_key(script) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(*script, Entry { status, edition });
    }
}

/// The status of a script as of a branch, and how many transactions were read for it.
pub fn of(
    statuses: &std::sync::Mutex<Statuses>,
    (branch, edition): (&Branch, u64),
    script: &Hash,
) -> Result<(Option<Hash>, u64), Error> {
    let lock = || statuses.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (mut status, is_whole) = lock().get(script, edition);
    if is_whole {
        return Ok((status.digest(), 0));
    }
    let before = status.count;
    status.follow(branch, script)?;
    let (digest, read) = (status.digest(), status.count - before);
    lock().put(script, status, edition);
    Ok((digest, read))
}
