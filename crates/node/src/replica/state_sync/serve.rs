//! Serves the ledger to joining replicas: the newest checkpoint, blocks of the chain, and batches of the journal.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use chain::own::OwnReader;
use ledger::{
    journal::{JournalBatch, Log},
    retries::Limits,
    state_sync::{read_batches, recent_heights},
};
use order::Final;
use spv::finality::Certificate;
use zerocopy::IntoBytes;

use super::{
    super::{block_body::Body, roster::Roster},
    pages::{BatchesStart, Checkpoint, PAGE, put_batch, put_block},
};

/// Number of certificates of the newest blocks to keep: leaders state results of some blocks before.
const CERTIFICATES: usize = 64;

/// The newest checkpoint, as blocks become final. Clones are of the same one.
#[derive(Clone, Debug, Default)]
pub struct Checkpoints(Arc<Mutex<Parts>>);

#[derive(Debug, Default)]
struct Parts {
    certificates: VecDeque<Certificate>,
    newest: Option<Stated>,
}

/// The parts of a checkpoint: since it is requested seldom, nothing is copied with each block.
#[derive(Clone, Debug)]
struct Stated {
    floor: Certificate,
    stating: Certificate,
    body: Bytes,
    members: Vec<u8>,
}

impl Checkpoints {
    /// Starts with the newest certificate from before a restart, if any.
    pub fn new(certificate: Option<&Certificate>) -> Self {
        let certificates = certificate.cloned().into_iter().collect();
        Self(Arc::new(Mutex::new(Parts { certificates, newest: None })))
    }

    fn state(&self) -> MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at a block that is final, and is about to be executed.
    pub fn take(&self, found: &Final, body: &Body, roster: &Roster) {
        let Some(stating) = &found.certificate else { return };
        let mut state = self.state();
        let floor = state.certificates.iter().rev().find(|floor| floor.header.height.get() == body.executed);
        if let (Some(floor), Some(members)) = (floor, roster.as_of(body.executed)) {
            let (floor, stating, body) = (floor.clone(), stating.clone(), found.block.body().clone());
            state.newest = Some(Stated { floor, stating, body, members });
        }
        state.certificates.push_back(stating.clone());
        if state.certificates.len() > CERTIFICATES {
            state.certificates.pop_front();
        }
    }

    fn newest(&self) -> Option<Checkpoint> {
        let Stated { floor, stating, body, members } = self.state().newest.clone()?;
        Some(Checkpoint { floor, stating, body: body.to_vec(), members })
    }
}

/// Why a page is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The path or its parameters name nothing.
    #[error(
        "there is /replica/checkpoint, /replica/blocks?from=HEIGHT&to=HEIGHT and /replica/batches?of=HEIGHT&from=HEIGHT"
    )]
    NoSuchThing,
    /// Nothing became final since the replica started.
    #[error("no block has become final since this replica started: ask again when one has, or ask another replica")]
    NoCheckpoint,
    /// It is of the future, or past.
    #[error("this replica does not have block {0}: ask another one")]
    NoSuchBlock(u64),
    /// It was pruned.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
}

/// Serves pages of a replica's ledger.
#[derive(Debug)]
pub struct Server {
    checkpoints: Checkpoints,
    chain: OwnReader,
    log: Arc<Log>,
    limits: Limits,
}

impl Server {
    /// Creates a server for a replica's chain and journal.
    pub fn new(checkpoints: Checkpoints, chain: OwnReader, log: Arc<Log>, limits: Limits) -> Self {
        Self { checkpoints, chain, log, limits }
    }

    /// The page that a path with its query names.
    pub fn answer(&self, path: &str, query: &str) -> Result<Vec<u8>, Refusal> {
        match path {
            "checkpoint" => Ok(self.checkpoints.newest().ok_or(Refusal::NoCheckpoint)?.encode()),
            "blocks" => {
                let range = height(query, "from").zip(height(query, "to"));
                let (from, to) = range.ok_or(Refusal::NoSuchThing)?;
                self.blocks(from, to)
            }
            "batches" => {
                let of = height(query, "of").ok_or(Refusal::NoSuchThing)?;
                self.batches(of, height(query, "from"))
            }
            _ => Err(Refusal::NoSuchThing),
        }
    }

    /// Whole blocks from one height to another, up to a page, and at least one.
    fn blocks(&self, from: u64, to: u64) -> Result<Vec<u8>, Refusal> {
        let to = to.min(self.chain.tip().height());
        if !(1..=to).contains(&from) {
            return Err(Refusal::NoSuchBlock(from));
        }
        let mut page = Vec::new();
        for height in from..=to {
            put_block(&mut page, &self.chain.block(height).map_err(ledger::Error::from)?);
            if page.len() >= PAGE {
                break;
            }
        }
        Ok(page)
    }

    /// The batches of whole blocks that retries are answered from, as of the block of a height: all of them, or those
    /// from another height on; up to a page, and at least one.
    fn batches(&self, of: u64, from: Option<u64>) -> Result<Vec<u8>, Refusal> {
        if of > self.chain.tip().height() {
            return Err(Refusal::NoSuchBlock(of));
        }
        let all = recent_heights(&self.chain, &self.limits, of)?;
        let first = *all.start();
        let from = from.unwrap_or(first);
        if !all.contains(&from) {
            return Err(Refusal::NoSuchBlock(from));
        }
        let (mut before, mut page) = (None, Vec::new());
        read_batches(&self.chain, &self.log, from..=of, |header, batch| {
            before = before.or(batch.map(|batch| batch.newest));
            put_batch(&mut page, header, batch.map(JournalBatch::parts).unwrap_or_default());
            page.len() < PAGE
        })?;
        let start = BatchesStart { first: first.into(), before: before.unwrap_or_default() };
        Ok([start.as_bytes(), &page].concat())
    }
}

/// A height in a query.
fn height(query: &str, name: &str) -> Option<u64> {
    let mut parameters = query.split('&').filter_map(|parameter| parameter.split_once('='));
    parameters.find(|(found, _)| *found == name)?.1.parse().ok()
}
