//! The node that feeds this server, for queries that only a node can answer.
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError, mpsc::SyncSender},
    time::{Duration, Instant},
};

use bitcoind::{Client, Error, PackageResult, TestResult};
use spv::Hash;

use crate::rpc::RpcError;

/// Maximum number of cached fee estimates, of all numbers of blocks in all modes.
const ESTIMATES: usize = 4096;
/// How long no estimate is requested after the node failed to give one. Wallets request several at once.
const ESTIMATE_PAUSE: Duration = Duration::from_secs(10);

/// A node; calls run on the caller's thread.
#[derive(Debug)]
pub struct Node {
    client: Client,
    /// Makes the follower of the node look at it at once.
    follower: SyncSender<()>,
    estimates: Mutex<Estimates>,
}

/// Fee estimates of the node, as of an edition of the branch.
#[derive(Debug, Default)]
struct Estimates {
    edition: u64,
    fees: HashMap<(u64, Option<String>), Option<f64>>,
    /// When the node last failed to give one, unless it has given one since.
    failed: Option<Instant>,
}

impl Node {
    /// Creates a node, with a channel that wakes its follower.
    pub fn new(client: Client, follower: SyncSender<()>) -> Self {
        Self { client, follower, estimates: Mutex::default() }
    }

    /// Broadcasts a transaction. Returns its hash as Bitcoin displays it.
    pub fn broadcast(&self, transaction: &[u8]) -> Result<String, Error> {
        let sent = self.client.send(transaction)?;
        self.nudge();
        Ok(sent)
    }

    /// Broadcasts transactions that pay enough only together.
    pub fn broadcast_package<'a>(
        &self,
        transactions: impl IntoIterator<Item = &'a str>,
    ) -> Result<PackageResult, Error> {
        let sent = self.client.send_package(transactions)?;
        self.nudge();
        Ok(sent)
    }

    /// Whether transactions would be accepted.
    pub(crate) fn test<'a>(
        &self,
        transactions: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<TestResult>, RpcError> {
        self.client.test(transactions).map_err(daemon_error)
    }

    /// The node's description of a transaction, as JSON.
    pub(crate) fn verbose_transaction(&self, hash: &Hash) -> Result<String, RpcError> {
        self.client.verbose_transaction(hash).map_err(daemon_error)
    }

    /// Fee to be in one of the next `blocks` blocks, in bitcoins per 1,000 virtual bytes, as of an edition of the
    /// branch. `None` if the node has no estimate, estimates no fees (`-blocksonly`), or does not answer: a wallet
    /// takes an error for a broken server, and leaves.
    pub fn estimate_fee(&self, edition: u64, blocks: u64, mode: Option<String>) -> Option<f64> {
        let key = (distinct(blocks), mode);
        let known = self.estimates();
        if known.edition == edition
            && let Some(fee) = known.fees.get(&key)
        {
            return *fee;
        }
        if known.failed.is_some_and(|failed| failed.elapsed() < ESTIMATE_PAUSE) {
            return None;
        }
        drop(known);
        // Other requests are not blocked during the call.
        let estimate = self.client.estimate_fee(key.0, key.1.as_deref());
        let mut known = self.estimates();
        match estimate {
            Ok(fee) => {
                if known.edition != edition || known.fees.len() >= ESTIMATES {
                    *known = Estimates { edition, ..Estimates::default() };
                }
                known.failed = None;
                known.fees.insert(key, fee);
                fee
            }
            Err(error) => {
                if known.failed.replace(Instant::now()).is_none() {
                    tracing::warn!(%error, "the Bitcoin node estimates no fees: answering wallets -1, no estimate");
                }
                None
            }
        }
    }

    fn estimates(&self) -> MutexGuard<'_, Estimates> {
        self.estimates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nudge(&self) {
        // If the channel is full, the follower is about to look anyway.
        let _ = self.follower.try_send(());
    }
}

/// Numbers of blocks that Bitcoin Core distinguishes: beyond, estimates are for days.
fn distinct(blocks: u64) -> u64 {
    match blocks {
        0..=1 => 1,
        2..=48 => blocks,
        _ => (blocks - blocks % 24).min(1008),
    }
}

/// The error for a client, as ElectrumX has it; logs for the operator if the node is unreachable.
pub(crate) fn daemon_error(error: Error) -> RpcError {
    match error {
        Error::Refused(failure) => RpcError::daemon(format!(
            "daemon error: DaemonError({{'code': {}, 'message': '{}'}})",
            failure.code,
            failure.message.replace('\\', "\\\\").replace('\'', "\\'")
        )),
        error => {
            tracing::warn!(%error, "cannot answer an Electrum client: the Bitcoin node failed");
            RpcError::daemon("daemon error: the node behind this server does not answer")
        }
    }
}
