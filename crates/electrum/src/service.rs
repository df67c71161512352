//! What all sessions share.
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
    kept::Kept,
    limits::{Limits, Shares},
    mempool::{Mempool, Update},
    node::Node,
    paths::{Path, Paths},
    status::{self, Status},
    sums::Sums,
};

/// Scripts whose statuses are kept at least: 16 MB of them.
const STATUSES: usize = 1 << 16;
/// Scripts whose sums are kept at least: 8 MB of them.
const SUMS: usize = 1 << 16;
/// Blocks whose trees of witnesses are kept at least: a tree has up to a megabyte, and who asks asks for what is new.
const WITNESS_TREES: usize = 16;

/// Why Electrum is not served.
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

/// What clients are told, and for how long they may be silent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What all, and what prefixes may use.
    pub limits: Limits,
    /// The text of `server.banner`.
    pub banner: String,
    /// The address of `server.donation_address`.
    pub donation_address: String,
    /// How long a request may take to arrive, and a reply to be taken.
    pub patience: Duration,
    /// After how long without requests a connection is closed.
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
        /// What happened.
        #[derive(Debug, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $name: AtomicU64,)*
        }
    };
}

counts! {
    /// Requests that were answered, errors included.
    requests,
    /// Requests that were answered by an error.
    errors,
    /// Notifications sent.
    notifications,
    /// Connections accepted.
    connections,
    /// Connections refused, as their prefix or all have too many.
    refused_connections,
    /// Subscriptions refused, as their prefix or all have too many.
    refused_subscriptions,
    /// Replies refused, as they are too long.
    refused_replies,
    /// Requests refused, as they are too long.
    refused_requests,
    /// Times that a connection had to wait, as its prefix had spent what there is.
    waits,
    /// Connections closed, as the client was silent or did not take replies.
    timeouts,
    /// Connections closed, as they held the most bytes where there was no room for more.
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
    /// Numbers the states, from 0.
    pub edition: u64,
}

/// What all sessions share.
pub struct Service {
    pub(crate) settings: Settings,
    pub(crate) paths: Paths,
    /// What happened.
    pub counts: Counts,
    shares: Arc<Shares>,
    snapshot: RwLock<Arc<Snapshot>>,
    mempool: RwLock<Mempool>,
    node: OnceLock<Node>,
    statuses: Kept<Status>,
    /// Sums of scripts, by who reads them.
    pub sums: Kept<Sums>,
    /// By the hashes of their blocks.
    witness_trees: Kept<Option<Arc<WitnessTree>>>,
}

/// A change, for sessions to tell their clients of.
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
    /// Serves what is in a store, which has to begin with genesis.
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
            statuses: Kept::new(STATUSES),
            sums: Kept::new(SUMS),
            witness_trees: Kept::new(WITNESS_TREES),
        })
    }

    /// What clients use.
    pub fn shares(&self) -> &Arc<Shares> {
        &self.shares
    }

    /// What clients are told, and how long they may be silent.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The Merkle path of a transaction: out of the cache, or proved and then kept there.
    pub fn path(&self, transaction: &Hash) -> Result<Path, Refusal> {
        self.paths.of_transaction(transaction)
    }

    /// The branch as it is now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What waits to be in a block. Nobody keeps it for longer than a request takes, and nobody asks for it twice at once.
    pub fn mempool(&self) -> RwLockReadGuard<'_, Mempool> {
        self.mempool.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node behind this server, if there is one.
    pub fn node(&self) -> Option<&Node> {
        self.node.get()
    }

    /// From now on a node is behind this server.
    pub fn set_node(&self, node: Node) {
        // A server has one.
        let _ = self.node.set(node);
    }

    /// Follows changes of what waits to be in a block. Sessions are to be given what is returned, if anybody has to be told.
    pub fn follow_mempool(&self, update: Update) -> Option<Arc<Announcement>> {
        let scripts = self.mempool.write().unwrap_or_else(PoisonError::into_inner).apply(update);
        (!scripts.is_empty()).then(|| Arc::new(Announcement { is_of_branch: false, scripts }))
    }

    /// Follows changes that were committed: sessions see `branch` from now on, and what waits beside it changes at once, so that
    /// nothing is in both or in neither. Sessions are to be given what is returned.
    pub fn follow(&self, branch: Branch, changes: &[Change], update: Update) -> Arc<Announcement> {
        let mut mempool = self.mempool.write().unwrap_or_else(PoisonError::into_inner);
        let mut scripts = mempool.apply(update);
        scripts.extend(changes.iter().flat_map(|change| change.scripts.iter().copied()));
        scripts.sort_unstable();
        scripts.dedup();
        let has_only_grown = changes.iter().all(|change| change.kind == ChangeKind::Connected);
        let mut snapshot = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        let edition = snapshot.edition + 1;
        // Before the new snapshot is seen: nobody goes on with what is known of blocks that have left.
        self.statuses.begin(edition, has_only_grown);
        self.sums.begin(edition, has_only_grown);
        self.witness_trees.begin(edition, has_only_grown);
        *snapshot = Arc::new(Snapshot { branch, edition });
        Arc::new(Announcement { is_of_branch: true, scripts })
    }

    /// The tree over the transactions of the block at a height of an edition's branch with their witnesses, and how many bytes were
    /// read for it.
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

    /// The status of a script, and how many transactions were read for it.
    pub(crate) fn status(
        &self,
        snapshot: &Snapshot,
        script: &Hash,
    ) -> Result<(Option<Hash>, u64), chain::bitcoin::Error> {
        let (mut status, read) = status::of(&self.statuses, (&snapshot.branch, snapshot.edition), script)?;
        for (waiting, height) in self.mempool().of_script(script) {
            status.append(&waiting.hash, height.into());
        }
        Ok((status.digest(), read))
    }
}
