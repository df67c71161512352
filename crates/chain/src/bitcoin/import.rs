//! Imports blocks: checks and stores each, and connects it if its branch has the most work.
use super::block::{Block, BlockError, Transaction};
use super::connect::{self, Hashed, UNDO_DEPTH};
use super::error::{Error, InvalidBlock, Origin, damaged};
use super::files::{BlockFiles, Skipped, Verdict};
use super::index::{BlockRecord, Catalog};
use super::orphans::{MAX_WAITING, Orphans};
use super::pending::Pending;
use super::records::Writer;
use super::tree::{self, Tree};
use super::view::{BitcoinChain, Tip};
use spv::Hash;
use spv::bitcoin::{BlockHeader, HeaderChain, HeaderError, Inserted, check_proof_of_work, display};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};
use zerocopy::{FromBytes, IntoBytes};

/// Bytes of blocks between commits. A commit costs two syncs of the disk, so it should be worth them; but a crash means
/// importing again everything since the last one.
const COMMIT_BYTES: u64 = 32 << 20;
/// Number of index changes after which a commit is due: they are in memory, at about 150 bytes each.
const COMMIT_CHANGES: usize = 1 << 18;

/// Progress of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of files read.
    pub bytes: u64,
    /// Bytes of all files.
    pub total_bytes: u64,
    /// Blocks that were read.
    pub blocks: u64,
    /// Height of the active branch.
    pub height: u32,
}

/// A committed change of the active branch, visible to readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Whether the block was connected or disconnected.
    pub kind: ChangeKind,
    /// Height of the block.
    pub height: u32,
    /// Its hash.
    pub hash: Hash,
    /// The scripts whose latest transaction may have changed, in order, each once.
    pub scripts: Vec<Hash>,
}

/// Whether a block was connected or disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The block joined the active branch.
    Connected,
    /// The block left the active branch.
    Disconnected,
}

/// Observes an import.
pub trait Observer {
    /// Another block was read.
    fn progress(&mut self, _progress: &Progress) {}

    /// The active branch changed. Calls come in order, after readers see the change: cached data of these scripts is
    /// stale.
    fn changed(&mut self, _change: &Change) {}
}

/// Ignores everything.
impl Observer for () {}

/// Result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Blocks stored.
    pub stored: u64,
    /// Blocks that were already stored.
    pub known: u64,
    /// Blocks connected, including again after a reorganisation.
    pub connected: u64,
    /// Blocks disconnected.
    pub disconnected: u64,
    /// Number of times that another branch got the most work.
    pub reorganisations: u64,
    /// Transactions of the connected blocks.
    pub transactions: u64,
    /// Inputs of connected blocks that spend outputs from before the store's first block. They appear in no history.
    pub unresolved_inputs: u64,
    /// Blocks with a transaction of 64 bytes.
    pub not_provable: u64,
    /// Commits.
    pub commits: u64,
    /// Parts of the files that are not valid blocks.
    pub skipped: Skipped,
}

/// Imports blocks into a store. A store has one importer at a time.
pub struct Importer<O: Observer> {
    chain: BitcoinChain,
    observer: O,
    /// `None` before the first block.
    headers: Option<HeaderChain>,
    writer: Writer,
    pending: Pending,
    changes: Vec<Change>,
    orphans: Orphans,
    waiting_limit: usize,
    tip: Option<Tip>,
    /// Bytes stored since the last commit.
    uncommitted: u64,
    summary: Summary,
    given_up: bool,
}

impl<O: Observer> Importer<O> {
    /// Continues after the last commit. Fails if there is another importer.
    pub fn new(chain: &BitcoinChain, observer: O) -> Result<Self, Error> {
        if !chain.store().begin_import() {
            return Err(Error::AlreadyImporting);
        }
        let mut importer = Self {
            chain: chain.clone(),
            observer,
            headers: None,
            writer: Writer::new(chain.store().file.clone()),
            pending: Pending::default(),
            changes: Vec::new(),
            orphans: Orphans::default(),
            waiting_limit: MAX_WAITING,
            tip: chain.view().tip(),
            uncommitted: 0,
            summary: Summary::default(),
            given_up: false,
        };
        importer.headers = importer.load_headers()?;
        Ok(importer)
    }

    /// Limits the bytes of blocks that wait for their predecessors.
    pub fn limit_waiting(&mut self, bytes: usize) {
        self.waiting_limit = bytes;
    }

    /// The result so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The headers of all stored blocks; `None` before the first block.
    pub fn headers(&self) -> Option<&HeaderChain> {
        self.headers.as_ref()
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, mutable.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Imports all blocks of some files and commits. On an error it commits the earlier blocks, if possible.
    pub fn import(&mut self, files: &BlockFiles) -> Result<Summary, Error> {
        let mut progress = Progress { total_bytes: files.total_bytes(), ..Progress::default() };
        let read = files.scan(|path, block, bytes| {
            let origin = Origin::File { path: path.to_path_buf(), offset: block.offset };
            match self.add(block.bytes, &origin) {
                Ok(()) => {}
                // A frame without a valid block: a crash of bitcoind may have truncated it. A valid frame may begin
                // inside.
                Err(Error::Block { origin: refused, error }) if block.is_framed && refused == origin => {
                    return Ok(Verdict::Other(error.to_string()));
                }
                // A block that waited for this one.
                Err(Error::Block { origin, error }) if block.is_framed => {
                    tracing::warn!(%origin, "skipped a block that is not valid: {error}");
                }
                Err(error) => return Err(error),
            }
            progress.bytes = bytes;
            progress.blocks += 1;
            progress.height = self.tip.map_or(0, |tip| tip.height);
            self.observer.progress(&progress);
            Ok(Verdict::Block)
        });
        if !self.given_up {
            self.commit()?;
        }
        self.summary.skipped = read?;
        self.check_nothing_waits()?;
        Ok(self.summary)
    }

    /// Imports a block, and those that waited for it. It becomes durable and visible to readers with the next commit,
    /// which follows when due.
    pub fn add(&mut self, bytes: &[u8], origin: &Origin) -> Result<(), Error> {
        if self.given_up {
            return Err(Error::GivenUp);
        }
        let added = self.add_with_followers(bytes, origin);
        // A refused block changes nothing; after any other error memory may differ from the disk.
        self.given_up =
            matches!(&added, Err(error) if !matches!(error, Error::Block { .. } | Error::TooManyUnlinked { .. }));
        added
    }

    /// Makes everything imported durable and visible to readers, then notifies the observer.
    pub fn commit(&mut self) -> Result<(), Error> {
        if self.given_up {
            return Err(Error::GivenUp);
        }
        let committed = self.commit_pending();
        self.given_up = committed.is_err();
        committed
    }

    fn commit_pending(&mut self) -> Result<(), Error> {
        let Some(tip) = self.tip.filter(|_| self.pending.len() > 0) else { return Ok(()) };
        let store = self.chain.store();
        let catalog = Catalog {
            length: self.writer.sync()?.into(),
            tip_height: tip.height.into(),
            tip_hash: tip.hash,
            ..Catalog::new(store.network.magic(), store.start.height, store.start.hash)
        };
        store.index.commit(self.pending.take_batch(&store.index), &catalog)?;
        store.publish(&catalog);
        self.uncommitted = 0;
        self.summary.commits += 1;
        for change in self.changes.drain(..) {
            self.observer.changed(&change);
        }
        Ok(())
    }

    fn add_with_followers(&mut self, bytes: &[u8], origin: &Origin) -> Result<(), Error> {
        let Some(hash) = self.add_one(bytes, origin)? else { return Ok(()) };
        let mut added = vec![hash];
        while let Some(previous) = added.last() {
            match self.orphans.take(previous) {
                Some(orphan) => added.extend(self.add_one(&orphan.bytes, &orphan.origin)?),
                None => drop(added.pop()),
            }
        }
        Ok(())
    }

    /// Stores and connects a block, or sets it aside. Returns its hash if it is new and was stored.
    fn add_one(&mut self, bytes: &[u8], origin: &Origin) -> Result<Option<Hash>, Error> {
        let refused = |error: InvalidBlock| Error::Block { origin: origin.clone(), error };
        let short = || refused(BlockError::Short(bytes.len()).into());
        let header = BlockHeader::parse(bytes).ok_or_else(short)?;
        let hash = header.hash();
        let height = match self.check_header(&header, hash) {
            Ok(ChainPosition::Known) => {
                self.summary.known += 1;
                return Ok(None);
            }
            Ok(ChainPosition::At(height)) => height,
            Ok(ChainPosition::Unlinked) => {
                let added = self.orphans.add(header.previous, hash, bytes, origin, self.waiting_limit);
                let too_many = || Error::TooManyUnlinked { origin: origin.clone(), limit: self.waiting_limit };
                return added.map(|()| None).map_err(|()| too_many());
            }
            Err(error) => return Err(refused(error.into())),
        };
        let block = Block::parse(bytes).map_err(|error| refused(error.into()))?;
        let leaves = block.transactions().iter().map(Transaction::hash).collect();
        let tree = Tree::build(leaves).map_err(|error| refused(InvalidBlock::Repeated { hash, error }))?;
        if tree.root() != header.merkle_root {
            return Err(refused(InvalidBlock::Root { hash }));
        }
        let inserted = match &mut self.headers {
            Some(headers) => headers.insert(header, now()),
            None => self.begin(header).map(|()| Inserted::Extended { height }),
        };
        let inserted = inserted.map_err(|error| refused(error.into()))?;
        if matches!(inserted, Inserted::Reorganised { .. }) {
            // From here to the next commit the branch with the most work is not the connected one. On disk it always
            // is.
            self.commit_pending()?;
        }
        self.store(&block, &tree, hash, height)?;
        let hashed = Hashed { block: &block, leaves: &tree.nodes()[..block.transactions().len()], height };
        match inserted {
            Inserted::Known | Inserted::Side { .. } => {}
            Inserted::Extended { .. } => self.connect(&hashed, hash)?,
            Inserted::Reorganised { fork, disconnected, connected } => {
                self.reorganise(fork, &disconnected, &connected, &hashed)?;
            }
        }
        if self.uncommitted >= COMMIT_BYTES || self.pending.len() >= COMMIT_CHANGES {
            self.commit_pending()?;
        }
        Ok(Some(hash))
    }

    /// Determines where a block belongs, from its header alone.
    fn check_header(&self, header: &BlockHeader, hash: Hash) -> Result<ChainPosition, HeaderError> {
        let Some(headers) = &self.headers else {
            let start = self.chain.start();
            check_proof_of_work(self.chain.network(), header)?;
            return Ok(if hash == start.hash { ChainPosition::At(start.height) } else { ChainPosition::Unlinked });
        };
        if headers.find(&hash).is_some() {
            return Ok(ChainPosition::Known);
        }
        match headers.check(header, now()) {
            Ok(height) => Ok(ChainPosition::At(height)),
            Err(HeaderError::Unlinked { .. }) => Ok(ChainPosition::Unlinked),
            Err(error) => Err(error),
        }
    }

    /// Begins the chain with its first header.
    fn begin(&mut self, header: BlockHeader) -> Result<(), HeaderError> {
        self.headers = Some(HeaderChain::from_trusted(self.chain.network(), header, self.chain.start().height)?);
        Ok(())
    }

    fn store(&mut self, block: &Block<'_>, tree: &Tree, hash: Hash, height: u32) -> Result<(), Error> {
        let not_provable = block.transactions().iter().any(Transaction::is_node_sized);
        let span =
            self.writer.append(&[block.bytes(), tree.nodes().as_bytes(), &tree::encode_offsets(block.offsets())])?;
        let record = BlockRecord {
            header: *block.header(),
            height: height.into(),
            transactions: (block.transactions().len() as u32).into(),
            offset: span.offset.into(),
            block_length: (block.bytes().len() as u32).into(),
            not_provable: not_provable.into(),
        };
        self.pending.blocks.insert(hash, record);
        self.uncommitted += u64::from(span.length);
        self.summary.stored += 1;
        self.summary.not_provable += u64::from(not_provable);
        Ok(())
    }

    fn connect(&mut self, hashed: &Hashed<'_>, hash: Hash) -> Result<(), Error> {
        let connected = connect::connect(&self.chain.store().index, &mut self.pending, hashed)?;
        self.summary.connected += 1;
        self.summary.transactions += hashed.leaves.len() as u64;
        self.summary.unresolved_inputs += connected.unresolved;
        self.tip = Some(Tip { height: hashed.height, hash });
        let (kind, height, scripts) = (ChangeKind::Connected, hashed.height, connected.scripts);
        self.changes.push(Change { kind, height, hash, scripts });
        Ok(())
    }

    /// Disconnects one branch down to the fork and connects the other, all in one commit. Nothing is pending except
    /// `last`, the last block of the new branch.
    fn reorganise(&mut self, fork: u32, down: &[Hash], up: &[Hash], last: &Hashed<'_>) -> Result<(), Error> {
        if down.len() > UNDO_DEPTH as usize {
            return Err(Error::ReorganisationTooDeep { depth: down.len(), limit: UNDO_DEPTH });
        }
        self.summary.reorganisations += 1;
        let mut touched = Vec::new();
        for hash in down.iter().rev() {
            let (height, bytes, leaves) = self.load_block(hash)?;
            let block = parse_stored(&bytes, hash)?;
            let hashed = Hashed { block: &block, leaves: &leaves, height };
            let scripts = connect::disconnect(&self.chain.store().index, &mut self.pending, &hashed)?;
            self.summary.disconnected += 1;
            touched.extend_from_slice(&scripts);
            self.changes.push(Change { kind: ChangeKind::Disconnected, height, hash: *hash, scripts });
        }
        connect::restore_latest(&self.chain.store().index, &mut self.pending, &touched, fork)?;
        for hash in &up[..up.len() - 1] {
            let (height, bytes, leaves) = self.load_block(hash)?;
            let block = parse_stored(&bytes, hash)?;
            self.connect(&Hashed { block: &block, leaves: &leaves, height }, *hash)?;
        }
        self.connect(last, up[up.len() - 1])
    }

    /// A committed block: its height, its bytes, and its transactions' hashes.
    fn load_block(&self, hash: &Hash) -> Result<(u32, Vec<u8>, Vec<Hash>), Error> {
        let store = self.chain.store();
        let missing = || damaged(format!("block {} is missing", display(hash)));
        let record = store.index.blocks.get(hash)?.ok_or_else(missing)?;
        let record = BlockRecord::read_from_bytes(&record).map_err(|_| missing())?;
        let (bytes, tail) = store.read_block(&record)?;
        let (nodes, _) = tail.as_chunks::<32>();
        let leaves = nodes.get(..record.transactions.get() as usize).ok_or_else(missing)?.to_vec();
        Ok((record.height.get(), bytes, leaves))
    }

    /// The headers of all stored blocks, checked again. The active branch comes first, so that it wins against a branch
    /// with equal work.
    fn load_headers(&self) -> Result<Option<HeaderChain>, Error> {
        let Some(tip) = self.tip else { return Ok(None) };
        let index = &self.chain.store().index;
        let mut records = Vec::new();
        for entry in index.blocks.iter() {
            let (hash, record) = entry.into_inner()?;
            let record =
                BlockRecord::read_from_bytes(&record).map_err(|_| damaged("a block record has the wrong size"))?;
            let hash = Hash::read_from_bytes(&hash).map_err(|_| damaged("a block hash has the wrong size"))?;
            let is_active = index.active.get(record.height.get().to_be_bytes())?.is_some_and(|active| *active == hash);
            records.push((!is_active, record.height.get(), record.header));
        }
        records.sort_unstable_by_key(|(is_side, height, _)| (*is_side, *height));
        let mut headers = None;
        for (_, height, header) in records {
            let wrong = |error| damaged(format!("the header at height {height}: {error}"));
            match &mut headers {
                None => headers = Some(HeaderChain::from_trusted(self.chain.network(), header, height).map_err(wrong)?),
                Some(headers) => drop(headers.insert(header, u64::MAX).map_err(wrong)?),
            }
        }
        match headers {
            Some(headers) if *headers.tip_hash() == tip.hash => Ok(Some(headers)),
            _ => Err(damaged("the tip is not the block with the most work")),
        }
    }

    fn check_nothing_waits(&self) -> Result<(), Error> {
        let Some((previous, orphan)) = self.orphans.first() else { return Ok(()) };
        let (hash, previous, origin) = (orphan.hash, *previous, orphan.origin.clone());
        Err(Error::Unlinked { count: self.orphans.len(), hash, previous, origin })
    }
}

impl<O: Observer> Drop for Importer<O> {
    fn drop(&mut self) {
        self.chain.store().is_importing.store(false, Ordering::Release);
    }
}

/// Position of a block in the tree of headers.
enum ChainPosition {
    Known,
    At(u32),
    Unlinked,
}

fn parse_stored<'a>(bytes: &'a [u8], hash: &Hash) -> Result<Block<'a>, Error> {
    Block::parse(bytes).map_err(|error| damaged(format!("block {}: {error}", display(hash))))
}

/// Seconds since the Unix epoch.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
