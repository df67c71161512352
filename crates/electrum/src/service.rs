//! State that all sessions share.
use std::{
    sync::{
        Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use chain::bitcoin::{BitcoinChain, Branch, Change, ChangeKind, WitnessTree};
use proof::{Cache, Refusal};
use spv::Hash;

use crate::{
    generation_cache::GenerationCache,
    limits::{Limits, Shares},
    mempool::{Mempool, Update},
    node::Node,
    paths::{Path, Paths},
    status::{self, Status},
    sums::Sums,
};

/// Minimum number of scripts whose statuses are cached: 16 MB.
const STATUSES: usize = 1 << 16;
/// Minimum number of scripts whose sums are cached: 8 MB.
const SUMS: usize = 1 << 16;
/// Minimum number of blocks whose witness trees are cached: a tree has up to a megabyte, and clients ask for recent
/// blocks.
const WITNESS_TREES: usize = 16;

/// Why Electrum cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store begins above genesis.
    #[error(
        "the Bitcoin blocks begin at height {0}, but Electrum's clients need all from genesis on: import the chain \
         from its first block, or remove the section `[electrum]`; proofs are served either way"
    )]
    NotFromGenesis(u32),
    /// There are no blocks.
    #[error("no Bitcoin blocks: import them with `turnpike import bitcoin`")]
    NoBlocks,
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] chain::bitcoin::Error),
}

/// Texts for clients, and timeouts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limits of all clients together, and of each prefix.
    pub limits: Limits,
    /// The text of `server.banner`.
    pub banner: String,
    /// The address of `server.donation_address`.
    pub donation_address: String,
    /// How long a request may take to arrive, and a reply to be accepted.
    pub patience: Duration,
    /// How long a connection may have no requests before it is closed.
    pub idle: Duration,
}

impl Default for Settings {
    /// ElectrumX's session timeout.
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            banner: String::new(),
            donation_address: String::new(),
            patience: Duration::from_secs(60),
            idle: Duration::from_secs(600),
        }
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters.
        #[derive(Debug, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $name: AtomicU64,)*
        }
    };
}

counts! {
    /// Requests answered, including by errors.
    requests,
    /// Requests answered by an error.
    errors,
    /// Notifications sent.
    notifications,
    /// Connections accepted.
    connections,
    /// Connections refused because their prefix, or all together, had too many.
    refused_connections,
    /// Subscriptions refused because their prefix, or all together, had too many.
    refused_subscriptions,
    /// Replies refused because they are too long.
    refused_replies,
    /// Requests refused because they are too long.
    refused_requests,
    /// Times that a connection had to wait because its prefix had used up its budget.
    waits,
    /// Connections closed because the client was silent or did not accept replies.
    timeouts,
    /// Connections closed because they held the most bytes when there was no room for more.
    evictions,
    /// Bytes read.
    bytes_read,
    /// Bytes written.
    bytes_written,
}

impl Counts {
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Relaxed);
    }
}

/// The branch as sessions see it.
pub struct Snapshot {
    /// The blocks.
    pub branch: Branch,
    /// Number of this state, counted from 0.
    pub edition: u64,
}

/// State that all sessions share.
pub struct Service {
    pub(crate) settings: Settings,
    pub(crate) paths: Paths,
    /// Counters.
    pub counts: Counts,
    shares: Arc<Shares>,
    snapshot: RwLock<Arc<Snapshot>>,
    mempool: RwLock<Mempool>,
    node: OnceLock<Node>,
    statuses: GenerationCache<Status>,
    /// Sums of scripts, as far as their histories were read.
    pub sums: GenerationCache<Sums>,
    /// By block hash.
    witness_trees: GenerationCache<Option<Arc<WitnessTree>>>,
}

/// A change that sessions report to their clients.
#[derive(Debug)]
pub struct Announcement {
    /// Whether the branch has another tip.
    pub is_of_branch: bool,
    /// Scripts whose statuses changed, in order, each once.
    pub scripts: Vec<Hash>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("settings", &self.settings)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl Service {
    /// Serves the contents of a store, which must begin with genesis.
    pub fn new(chain: BitcoinChain, cache: Option<Arc<Cache>>, settings: Settings) -> Result<Self, Error> {
        let start = chain.start().height;
        if start > 0 {
            return Err(Error::NotFromGenesis(start));
        }
        let branch = Branch::load(chain.view())?.ok_or(Error::NoBlocks)?;
        Ok(Self {
            paths: Paths::new(chain, cache),
            counts: Counts::default(),
            shares: Arc::new(Shares::new(settings.limits.clone())),
            settings,
            snapshot: RwLock::new(Arc::new(Snapshot { branch, edition: 0 })),
            mempool: RwLock::default(),
            node: OnceLock::new(),
            statuses: GenerationCache::new(STATUSES),
            sums: GenerationCache::new(SUMS),
            witness_trees: GenerationCache::new(WITNESS_TREES),
        })
    }

    /// The resources that clients use.
    pub fn shares(&self) -> &Arc<Shares> {
        &self.shares
    }

    /// Texts for clients, and timeouts.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The Merkle path of a transaction: from the cache, or proved and then cached.
    pub fn path(&self, transaction: &Hash) -> Result<Path, Refusal> {
        self.paths.of_transaction(transaction)
    }

    /// The present branch.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The mempool. A holder keeps the lock for at most one request, and never takes it twice.
    pub fn mempool(&self) -> RwLockReadGuard<'_, Mempool> {
        self.mempool.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node that feeds this server, if any.
    pub fn node(&self) -> Option<&Node> {
        self.node.get()
    }

    /// Sets the node that feeds this server.
    pub fn set_node(&self, node: Node) {
        // A server has one; a second one is ignored.
        let _ = self.node.set(node);
    }

    /// Applies an update of the mempool. Pass the returned announcement, if any, to the sessions.
    pub fn follow_mempool(&self, update: Update) -> Option<Arc<Announcement>> {
        let scripts = self.mempool.write().unwrap_or_else(PoisonError::into_inner).apply(update);
        (!scripts.is_empty()).then(|| Arc::new(Announcement { is_of_branch: false, scripts }))
    }

    /// Applies committed changes: sessions see `branch` from now on. The mempool changes at the same moment, so that no
    /// transaction is in both or in neither. Pass the returned announcement to the sessions.
    pub fn follow(&self, branch: Branch, changes: &[Change], update: Update) -> Arc<Announcement> {
        let mut mempool = self.mempool.write().unwrap_or_else(PoisonError::into_inner);
        let mut scripts = mempool.apply(update);
        scripts.extend(changes.iter().flat_map(|change| change.scripts.iter().copied()));
        scripts.sort_unstable();
        scripts.dedup();
        let has_only_grown = changes.iter().all(|change| change.kind == ChangeKind::Connected);
        let mut snapshot = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        let edition = snapshot.edition + 1;
        // Before the new snapshot is visible: nobody must continue from data of disconnected blocks.
        self.statuses.begin(edition, has_only_grown);
        self.sums.begin(edition, has_only_grown);
        self.witness_trees.begin(edition, has_only_grown);
        *snapshot = Arc::new(Snapshot { branch, edition });
        Arc::new(Announcement { is_of_branch: true, scripts })
    }

    /// The tree over the transactions with their witnesses of the block at a height of an edition's branch, and the
    /// number of bytes read for it.
    pub fn witness_tree(
        &self,
        (branch, edition): (&Branch, u64),
        height: u32,
    ) -> Result<Option<(Arc<WitnessTree>, usize)>, chain::bitcoin::Error> {
        let Some(block) = branch.headers().hash(height) else { return Ok(None) };
        if let (Some(tree), _) = self.witness_trees.get(block, edition) {
            return Ok(Some((tree, 0)));
        }
        let Some((tree, read)) = branch.witness_tree(height)? else { return Ok(None) };
        let tree = Arc::new(tree);
        self.witness_trees.put(block, Some(Arc::clone(&tree)), edition);
        Ok(Some((tree, read)))
    }

    /// The status of a script, and the number of transactions read for it.
    pub(crate) fn status(
        &self,
        snapshot: &Snapshot,
        script: &Hash,
    ) -> Result<(Option<Hash>, u64), chain::bitcoin::Error> {
        let (mut status, read) = status::read(&self.statuses, (&snapshot.branch, snapshot.edition), script)?;
        for (waiting, height) in self.mempool().of_script(script) {
            status.append(&waiting.hash, height.into());
        }
        Ok((status.digest(), read))
    }
}
