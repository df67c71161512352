//! Follows a Bitcoin node while this one serves: imports its blocks, and passes its mempool to Electrum's clients.
//!
//! One thread does all of it. It polls the node at an interval, and at once when the thread that waits for blocks, or
//! one that broadcast a transaction, wakes it. Failed steps are retried. Blocks are committed one after the other, so
//! either program may be killed at any time.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc::{self, Receiver, SyncSender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use ::electrum::{Coin, Outpoint, Read, Service, Unconfirmed, Update, server::Announcer};
use bitcoind::{BlockInfo, Client};
use chain::bitcoin::{self, BitcoinChain, Branch, Change, Importer, Observer, Options, Origin, TransactionError};
use proof::{BitcoinAnnouncer, Cache};
use spv::{Hash, bitcoin::BlockHeader};
use storage::DataDirectory;

use crate::{config::Bitcoin, error::Error, layout, threads::spawn};

/// Number of block hashes per request to the node.
const HASHES: u32 = 256;
/// Bytes of blocks after which readers see them, while more are to follow.
const PIECE: usize = 32 << 20;
/// Number of transactions per request to the node: the longest have 800,000 digits.
const TRANSACTIONS: usize = 64;
/// Maximum number of unconfirmed transactions to keep; Bitcoin Core keeps about this number in its 300 MB.
const WAITING: usize = 500_000;
/// Timeout of the node's wait for a block. The end of the program may have to wait that long.
const WAIT: Duration = Duration::from_secs(1);
/// Pause after the node did not answer.
const PAUSE: Duration = Duration::from_millis(500);

/// Status of the follower.
#[derive(Debug, Default)]
pub struct FollowerStatus {
    /// Whether the node answered the last time.
    pub is_up: AtomicBool,
    /// The height that the node reported last.
    pub node_height: AtomicU64,
    /// The height of this node's branch.
    pub height: AtomicU64,
    /// Looks that failed.
    pub failures: AtomicU64,
}

/// Why a look failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Node(#[from] bitcoind::Error),
    #[error(transparent)]
    Store(#[from] bitcoin::Error),
    #[error("the Bitcoin node sent an invalid transaction: {0}")]
    Transaction(#[from] TransactionError),
    #[error(
        "the Bitcoin node is of another network or chain: set `bitcoin.node` to a node of {0}, like the blocks in the \
         data directory"
    )]
    OtherChain(&'static str),
}

/// The node to follow, and the store to import into.
pub struct Follower {
    client: Client,
    chain: BitcoinChain,
    /// Nothing after an error that leaves it in an unknown state.
    importer: Option<Importer<Changes>>,
    cache: Option<Arc<Cache>>,
    service: Option<Arc<Service>>,
    announcer: Announcer,
    status: Arc<FollowerStatus>,
    stop: Arc<AtomicBool>,
    interval: Duration,
}

/// Reports changes to the proof cache first, and collects them for the other observers.
#[derive(Default)]
struct Changes {
    cache: Option<BitcoinAnnouncer>,
    gathered: Vec<Change>,
}

impl Observer for Changes {
    fn changed(&mut self, change: &Change) {
        if let Some(cache) = &mut self.cache {
            cache.changed(change);
        }
        self.gathered.push(change.clone());
    }
}

/// Opens the Bitcoin blocks. A new store begins with the genesis block of the followed node's network.
pub fn open(config: &Bitcoin, data: &DataDirectory) -> Result<Option<BitcoinChain>, Error> {
    let found = layout::find_bitcoin(data)?;
    let Some(settings) = config.client() else { return Ok(found) };
    if let Some(chain) = found.filter(|chain| chain.view().tip().is_some()) {
        return Ok(Some(chain));
    }
    let client = Client::new(settings);
    let network = client.block_info()?.network.ok_or(Error::BitcoinNetwork)?;
    let chain = layout::open_bitcoin(data, &Options::new(network))?;
    let mut importer = Importer::new(&chain, ())?;
    let start = chain.start();
    importer.add(&client.block(&start.hash)?, &Origin::Node { height: start.height })?;
    importer.commit()?;
    drop(importer);
    Ok(Some(chain))
}

impl Follower {
    /// Follows the configured node into a store. `cache` learns of changes before readers can see them.
    pub fn new(
        config: &Bitcoin,
        chain: BitcoinChain,
        cache: Option<Arc<Cache>>,
        stop: Arc<AtomicBool>,
    ) -> Option<Self> {
        let client = Client::new(config.client()?);
        Some(Self {
            client,
            chain,
            importer: None,
            cache,
            service: None,
            announcer: Announcer::default(),
            status: Arc::default(),
            stop,
            interval: Duration::from_millis(config.interval),
        })
    }

    /// Notifies Electrum's clients of changes.
    pub fn serve(&mut self, service: Arc<Service>, announcer: Announcer) {
        self.service = Some(service);
        self.announcer = announcer;
    }

    /// Status of the follower.
    pub fn status(&self) -> &Arc<FollowerStatus> {
        &self.status
    }

    /// Starts the threads.
    pub fn start(self) -> Result<[JoinHandle<()>; 2], Error> {
        // One place is enough: if it is taken, a poll is due anyway.
        let (nudge, nudged) = mpsc::sync_channel(1);
        if let Some(service) = &self.service {
            service.set_node(::electrum::Node::new(self.client.clone(), nudge.clone()));
        }
        let (client, stop) = (self.client.clone(), self.stop.clone());
        let waiting = spawn("blocks-wait", None, move || wait_for_blocks(&client, &nudge, &stop))?;
        Ok([waiting, spawn("follower", None, move || self.run(&nudged))?])
    }

    fn run(mut self, nudged: &Receiver<()>) {
        let mut failed = None;
        while !self.stop.load(Relaxed) {
            match self.look() {
                Ok(()) if failed.take().is_some() => tracing::info!("following the Bitcoin node again"),
                Ok(()) => {}
                Err(error) => {
                    self.status.failures.fetch_add(1, Relaxed);
                    self.status.is_up.store(!matches!(error, Failure::Node(_)), Relaxed);
                    let text = error.to_string();
                    if failed.as_ref() != Some(&text) {
                        tracing::warn!(%error, "cannot follow the Bitcoin node: retrying");
                    }
                    failed = Some(text);
                }
            }
            // A timeout or a disconnected sender: a poll is due.
            let _ = nudged.recv_timeout(self.interval);
        }
    }

    /// Brings all up to what the node knows now.
    fn look(&mut self) -> Result<(), Failure> {
        loop {
            let info = self.client.block_info()?;
            if info.network != Some(self.chain.network()) {
                return Err(Failure::OtherChain(self.chain.network().name()));
            }
            self.status.is_up.store(true, Relaxed);
            self.status.node_height.store(info.height.into(), Relaxed);
            let imported = self.import(&info);
            // Blocks that were committed before an error are published, too.
            let published = self.publish(matches!(imported, Ok(true)));
            if matches!(&imported, Err(Failure::Store(error)) if !matches!(error, bitcoin::Error::Block { .. })) {
                self.importer = None;
            }
            let is_at_tip = imported?;
            published?;
            if is_at_tip || self.stop.load(Relaxed) {
                return Ok(());
            }
        }
    }

    fn importer(&mut self) -> Result<&mut Importer<Changes>, Failure> {
        let importer = match self.importer.take() {
            Some(importer) => importer,
            None => {
                let cache = self.cache.clone().map(|cache| BitcoinAnnouncer::new(cache, &self.chain));
                Importer::new(&self.chain, Changes { cache, gathered: Vec::new() })?
            }
        };
        Ok(self.importer.insert(importer))
    }

    /// Imports blocks up to the node's best one. Returns whether it was reached.
    fn import(&mut self, info: &BlockInfo) -> Result<bool, Failure> {
        let knows = |importer: &Importer<Changes>, hash: &Hash| {
            importer.headers().is_some_and(|headers| headers.find(hash).is_some())
        };
        if knows(self.importer()?, &info.best) {
            return Ok(true);
        }
        let mut height = self.fork(info)? + 1;
        let (client, stop) = (self.client.clone(), self.stop.clone());
        let importer = self.importer()?;
        let mut bytes = 0;
        while height <= info.height {
            let hashes = client.block_hashes(height, HASHES.min(info.height - height + 1))?;
            if hashes.is_empty() {
                break;
            }
            for hash in hashes {
                if !knows(importer, &hash) {
                    let block = client.block(&hash)?;
                    // If the node's branch has changed meanwhile, the block does not follow: the next poll finds the
                    // new fork.
                    let follows = BlockHeader::parse(&block).is_some_and(|header| knows(importer, &header.previous));
                    if !follows || bytes >= PIECE || stop.load(Relaxed) {
                        importer.commit()?;
                        return Ok(false);
                    }
                    importer.add(&block, &Origin::Node { height })?;
                    bytes += block.len();
                }
                height += 1;
            }
        }
        importer.commit()?;
        Ok(true)
    }

    /// The last height at which the node has the block that the store's branch has.
    fn fork(&self, info: &BlockInfo) -> Result<u32, Failure> {
        let (view, start) = (self.chain.view(), self.chain.start().height);
        let tip = view.tip().map_or(start, |tip| tip.height);
        let (mut height, mut step) = (tip.min(info.height), 1);
        loop {
            let theirs = self.client.block_hash(height)?;
            if view.block(height)?.is_some_and(|block| block.hash == theirs) {
                return Ok(height);
            }
            if height <= start {
                return Err(Failure::OtherChain(self.chain.network().name()));
            }
            height = height.saturating_sub(step).max(start);
            step *= 2;
        }
    }

    /// Publishes imported blocks and the present mempool to Electrum's clients.
    fn publish(&mut self, is_at_tip: bool) -> Result<(), Failure> {
        let gathered = std::mem::take(&mut self.importer()?.observer_mut().gathered);
        if let Some(tip) = self.chain.view().tip() {
            self.status.height.store(tip.height.into(), Relaxed);
        }
        let Some(service) = self.service.clone() else { return Ok(()) };
        let snapshot = service.snapshot();
        let branch = match gathered.is_empty() {
            true => None,
            false => Some(snapshot.branch.follow(self.chain.view(), &gathered)?),
        };
        let update = if is_at_tip {
            self.update(&service, branch.as_ref().unwrap_or(&snapshot.branch))
        } else {
            Ok(Update::default())
        };
        // Clients are notified of a block even if the mempool is unavailable.
        let (update, told) = update.map_or_else(|error| (Update::default(), Err(error)), |update| (update, Ok(())));
        let announcement = match branch {
            Some(branch) => Some(service.follow(branch, &gathered, update)),
            None => service.follow_mempool(update),
        };
        if let Some(announcement) = announcement {
            self.announcer.announce(&announcement);
        }
        told
    }

    /// How what waits has changed.
    fn update(&self, service: &Service, branch: &Branch) -> Result<Update, Failure> {
        let waiting = self.client.mempool()?;
        let fees = self.client.fees()?;
        let (gone, new) = {
            let known = service.mempool();
            let now: HashSet<&Hash> = waiting.iter().collect();
            let gone: Vec<Hash> = known.hashes().filter(|hash| !now.contains(hash)).copied().collect();
            let room = WAITING.saturating_sub(known.len() - gone.len());
            let new = waiting.iter().filter(|hash| known.get(hash).is_none()).take(room);
            (gone, new.copied().collect::<Vec<Hash>>())
        };
        let mut come = Arrivals::default();
        for hashes in new.chunks(TRANSACTIONS) {
            for bytes in self.client.mempool_transactions(hashes)? {
                come.add(bytes, |outpoint| find(outpoint, service, branch))?;
            }
        }
        Ok(Update { gone, come: come.complete, fees })
    }
}

/// New unconfirmed transactions. One may arrive before those that it spends.
#[derive(Default)]
struct Arrivals {
    complete: Vec<Unconfirmed>,
    coins: HashMap<Outpoint, Coin>,
    /// By the transactions that they wait for.
    incomplete: HashMap<Hash, Vec<Vec<u8>>>,
}

impl Arrivals {
    /// Reads a transaction, and those that waited for it.
    fn add(
        &mut self,
        bytes: Vec<u8>,
        find: impl Fn(&Outpoint) -> Result<Option<Coin>, bitcoin::Error>,
    ) -> Result<(), Failure> {
        let mut due = vec![bytes];
        while let Some(bytes) = due.pop() {
            let read = Unconfirmed::read(&bytes, |outpoint| match self.coins.get(outpoint) {
                Some(coin) => Ok(Some(*coin)),
                None => find(outpoint).map_err(Failure::Store),
            });
            match read {
                Ok(Read::Whole(complete)) => {
                    due.extend(self.incomplete.remove(&complete.hash).unwrap_or_default());
                    let coins = (0..).zip(&complete.paid);
                    self.coins.extend(coins.map(|(number, coin)| ((complete.hash, number), *coin)));
                    self.complete.push(complete);
                }
                Ok(Read::Misses((transaction, _))) => self.incomplete.entry(transaction).or_default().push(bytes),
                Err(error @ Failure::Transaction(_)) => tracing::warn!(%error, "skipped a transaction"),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// An output that can be spent: of a transaction that waits, or in a block.
fn find(outpoint: &Outpoint, service: &Service, branch: &Branch) -> Result<Option<Coin>, bitcoin::Error> {
    match service.mempool().output(outpoint) {
        Some(coin) => Ok(Some(coin)),
        None => {
            let found = branch.view().unspent_output(&outpoint.0, outpoint.1)?;
            Ok(found.map(|(script, value)| Coin { script, value }))
        }
    }
}

/// Makes the follower poll whenever the node has a new block.
fn wait_for_blocks(client: &Client, nudge: &SyncSender<()>, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        match client.wait_for_new_block(WAIT) {
            // If there is no room, a poll is due anyway.
            Ok(()) => drop(nudge.try_send(())),
            // The follower reports the failure to the operator.
            Err(_) => thread::sleep(PAUSE),
        }
    }
}
