//! Reading the store, for the proof service.
use super::block::{Block, TransactionError, coinbase};
use super::connect::{outpoint, script_hash};
use super::error::{Error, damaged};
use super::index::{
    BlockRecord, Catalog, Index, OutputRecord, decode_locator, decode_point, encode_locator, encode_point, get,
    history_key, locator_of_key, unspent_key,
};
use super::records::{read_array, read_checked, read_start};
use super::start::Start;
use super::tree::{self, Tree};
use crate::flat::{FlatFile, SEGMENT};
use fjall::{Readable, Snapshot};
use spv::bitcoin::{BlockHeader, EncodingError, Network, TransactionProof, display};
use spv::{Hash, Locator};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use storage::Directory;
use zerocopy::IntoBytes;

/// Name of the block file's segments.
const BLOCK_FILE: &str = "blocks";
/// Bytes of a block to read for its coinbase; more only if the coinbase is longer.
const COINBASE_READ: u32 = 4096;
/// Default size of the index's block cache in bytes.
pub const DEFAULT_CACHE_SIZE: u64 = 32 << 20;

/// Options for opening a store.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The network.
    pub network: Network,
    /// The first block, for a new store that does not begin with genesis. Inputs that spend earlier outputs are counted
    /// and left out of the history.
    pub start: Option<Start>,
    /// Size of the index's block cache in bytes.
    pub cache_size: u64,
    /// Maximum number of open index files.
    pub open_files: usize,
}

/// Default of that maximum: the storage engine's own, unless the limit of open files is too low.
const OPEN_FILES: usize = 900;

impl Options {
    /// The whole chain of a network.
    pub fn new(network: Network) -> Self {
        Self { network, start: None, cache_size: DEFAULT_CACHE_SIZE, open_files: OPEN_FILES }
    }
}

/// The last block of the active branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: Hash,
}

/// A block of the active branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Its hash.
    pub hash: Hash,
    /// Its header.
    pub header: BlockHeader,
    /// Number of its transactions.
    pub transactions: u32,
    /// Whether proofs in it are unambiguous.
    pub is_provable: bool,
}

/// An unspent output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unspent {
    /// Its transaction.
    pub locator: Locator,
    /// Its number in the transaction.
    pub output: u32,
    /// Satoshis.
    pub value: u64,
}

/// Proof that a transaction is in a block; see [`TransactionProof`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The block.
    pub block: BlockInfo,
    /// Position of the transaction.
    pub locator: Locator,
    /// Its hash.
    pub leaf: Hash,
    /// Its path.
    pub path: Vec<Hash>,
    /// The block's coinbase without witness.
    pub coinbase: Vec<u8>,
    /// The coinbase's path.
    pub coinbase_path: Vec<Hash>,
}

impl Proof {
    /// The form that a verifier takes.
    pub fn as_transaction_proof(&self) -> TransactionProof<'_> {
        TransactionProof {
            leaf: &self.leaf,
            position: self.locator.position,
            transactions: self.block.transactions,
            path: &self.path,
            coinbase: &self.coinbase,
            coinbase_path: &self.coinbase_path,
        }
    }
}

/// The store of Bitcoin blocks. Clones share it; any thread may read during an import.
#[derive(Clone)]
pub struct BitcoinChain {
    store: Arc<BitcoinStore>,
}

/// The store, which importers and readers share.
pub(super) struct BitcoinStore {
    pub network: Network,
    pub start: Start,
    pub index: Index,
    pub file: Arc<FlatFile>,
    /// State visible to readers: the last commit.
    state: RwLock<Arc<Published>>,
    /// Whether there is an importer.
    pub is_importing: AtomicBool,
}

struct Published {
    snapshot: Snapshot,
    tip: Option<Tip>,
}

impl Published {
    fn new(index: &Index, catalog: &Catalog) -> Arc<Self> {
        let tip = Tip { height: catalog.tip_height.get(), hash: catalog.tip_hash };
        Arc::new(Self { snapshot: index.database.snapshot(), tip: (tip.hash != Hash::default()).then_some(tip) })
    }
}

impl BitcoinChain {
    /// Opens the store, or creates it. Flat files are in `directory`, the index is in the folder `index`. Truncates
    /// leftovers of an unfinished commit.
    pub fn open(directory: Arc<dyn Directory>, index: &Path, options: &Options) -> Result<Self, Error> {
        let index = Index::open(index, options)?;
        let genesis = || Start { height: 0, hash: options.network.genesis().hash() };
        let catalog = match index.read_catalog()? {
            Some(catalog) => catalog,
            None => {
                let start = options.start.unwrap_or_else(genesis);
                let catalog = Catalog::new(options.network.magic(), start.height, start.hash);
                index.commit(index.database.batch(), &catalog)?;
                catalog
            }
        };
        let start = Start { height: catalog.first_height.get(), hash: catalog.first_hash };
        if catalog.magic != options.network.magic() || options.start.is_some_and(|expected| expected != start) {
            let found = Network::of_magic(catalog.magic).map_or("an unknown network", Network::name);
            let expected = options.start.unwrap_or_else(genesis);
            return Err(Error::OtherChain {
                found: format!("{found} from block {} on", display(&start.hash)),
                expected: format!("{} from block {} on", options.network.name(), display(&expected.hash)),
            });
        }
        let file = Arc::new(FlatFile::open(directory, BLOCK_FILE, SEGMENT, 0, catalog.length.get())?);
        let state = RwLock::new(Published::new(&index, &catalog));
        let store =
            BitcoinStore { network: options.network, start, index, file, state, is_importing: AtomicBool::new(false) };
        Ok(Self { store: Arc::new(store) })
    }

    /// The network.
    pub fn network(&self) -> Network {
        self.store.network
    }

    /// The block that the store begins with.
    pub fn start(&self) -> Start {
        self.store.start
    }

    /// The store as of the last commit. A view never changes, whatever is imported meanwhile.
    pub fn view(&self) -> View {
        let state = Arc::clone(&self.store.state.read().unwrap_or_else(PoisonError::into_inner));
        View { store: Arc::clone(&self.store), state }
    }

    pub(super) fn store(&self) -> &Arc<BitcoinStore> {
        &self.store
    }
}

impl BitcoinStore {
    /// Makes a commit visible to readers.
    pub fn publish(&self, catalog: &Catalog) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Published::new(&self.index, catalog);
    }

    /// Claims the single place of an importer.
    pub fn begin_import(&self) -> bool {
        !self.is_importing.swap(true, Ordering::AcqRel)
    }

    /// Returns the bytes of a committed block, and the data stored after it: its Merkle levels and its transactions'
    /// offsets.
    pub fn read_block(&self, record: &BlockRecord) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let mut block = read_checked(&self.file, record.span())?;
        let tail = block.split_off(record.block_length.get() as usize);
        Ok((block, tail))
    }
}

/// The store as of one commit.
#[derive(Clone)]
pub struct View {
    store: Arc<BitcoinStore>,
    state: Arc<Published>,
}

impl View {
    /// The tip; `None` before the first block is imported.
    pub fn tip(&self) -> Option<Tip> {
        self.state.tip
    }

    /// The last transaction that paid to a script or spent from it. `script` is the SHA-256 of the output script.
    pub fn latest(&self, script: &Hash) -> Result<Option<Locator>, Error> {
        Ok(get(&self.state.snapshot, &self.store.index.latest, script)?.map(decode_locator))
    }

    /// Finds a transaction.
    pub fn transaction(&self, hash: &Hash) -> Result<Option<Locator>, Error> {
        Ok(get(&self.state.snapshot, &self.store.index.transactions, hash)?.map(decode_locator))
    }

    /// Transactions that paid to a script or spent from it: up to `limit` before `before`, newest first.
    pub fn history(&self, script: &Hash, before: Option<Locator>, limit: usize) -> Result<Vec<Locator>, Error> {
        let first = history_key(script, Locator { height: 0, position: 0 });
        let end = before.map(|before| history_key(script, before));
        let last = history_key(script, Locator { height: u32::MAX, position: u32::MAX });
        let keys = &self.store.index.history;
        let range = match end {
            Some(end) => self.state.snapshot.range(keys, first..end),
            None => self.state.snapshot.range(keys, first..=last),
        };
        range.rev().take(limit).map(|entry| locator_of_key(&entry.key()?)).collect()
    }

    /// The same in chain order: up to `limit` after `after`, or from the first.
    pub fn history_after(&self, script: &Hash, after: Option<Locator>, limit: usize) -> Result<Vec<Locator>, Error> {
        let from = after.map_or(0, |after| (u64::from(after.height) << 32 | u64::from(after.position)) + 1);
        let first = history_key(script, decode_locator(from.to_be_bytes()));
        let last = history_key(script, Locator { height: u32::MAX, position: u32::MAX });
        let entries = self.state.snapshot.range(&self.store.index.history, first..=last);
        entries.take(limit).map(|entry| locator_of_key(&entry.key()?)).collect()
    }

    /// Up to `limit` unspent outputs of a script, in chain order.
    pub fn unspent(&self, script: &Hash, limit: usize) -> Result<Vec<Unspent>, Error> {
        let first = unspent_key(script, [0; 8], 0);
        let last = unspent_key(script, [0xff; 8], u32::MAX);
        let entries = self.state.snapshot.range(&self.store.index.unspent, first..=last);
        let read = |entry: fjall::Guard| {
            let (key, value) = entry.into_inner()?;
            let (Some(point), Ok(value)) = (key.last_chunk(), <[u8; 8]>::try_from(&*value)) else {
                return Err(damaged("an entry in unspent has the wrong size"));
            };
            let (locator, output) = decode_point(*point);
            Ok(Unspent { locator, output, value: u64::from_be_bytes(value) })
        };
        entries.take(limit).map(read).collect()
    }

    /// The script hash and the satoshis of an output, if it exists and is unspent.
    pub fn unspent_output(&self, transaction: &Hash, output: u32) -> Result<Option<(Hash, u64)>, Error> {
        let key = outpoint(transaction, output as usize);
        let record = get::<OutputRecord>(&self.state.snapshot, &self.store.index.outputs, &key)?;
        Ok(record.map(|record| (record.script, record.value.get())))
    }

    /// The transaction that spends an output, and the number of its input.
    pub fn spender(&self, locator: Locator, output: u32) -> Result<Option<(Locator, u32)>, Error> {
        let key = encode_point(encode_locator(locator), output);
        Ok(get(&self.state.snapshot, &self.store.index.spenders, &key)?.map(decode_point))
    }

    /// The block at a height of the active branch.
    pub fn block(&self, height: u32) -> Result<Option<BlockInfo>, Error> {
        Ok(self.record(height)?.map(|(hash, record)| info(hash, &record)))
    }

    /// The height of a block of the active branch.
    pub fn height_of(&self, hash: &Hash) -> Result<Option<u32>, Error> {
        let index = &self.store.index;
        let Some(record) = get::<BlockRecord>(&self.state.snapshot, &index.blocks, hash)? else { return Ok(None) };
        let active = get::<Hash>(&self.state.snapshot, &index.active, &record.height.get().to_be_bytes())?;
        Ok(active.filter(|active| active == hash).map(|_| record.height.get()))
    }

    /// The bytes of the block at a height of the active branch, checked.
    pub fn block_bytes(&self, height: u32) -> Result<Option<Vec<u8>>, Error> {
        let Some((_, record)) = self.record(height)? else { return Ok(None) };
        self.store.read_block(&record).map(|(block, _)| Some(block))
    }

    /// Up to `count` headers of the active branch from height `first` on.
    pub fn headers(&self, first: u32, count: u32) -> Result<Vec<BlockHeader>, Error> {
        let heights = first..first.saturating_add(count);
        heights.map_while(|height| self.record(height).map(|found| Some(found?.1.header)).transpose()).collect()
    }

    /// The proof of a transaction, checked before it is returned: damaged files yield no proof.
    pub fn proof(&self, locator: Locator) -> Result<Option<Proof>, Error> {
        let Some((hash, record)) = self.record(locator.height)? else { return Ok(None) };
        if locator.position >= record.transactions.get() {
            return Ok(None);
        }
        let block = info(hash, &record);
        if !block.is_provable {
            return Err(Error::NotProvable { hash });
        }
        let (leaf, path) = self.path(&record, locator.position)?;
        let (_, coinbase_path) = self.path(&record, 0)?;
        let coinbase = self.coinbase(&record)?;
        let proof = Proof { block, locator, leaf, path, coinbase, coinbase_path };
        match proof.as_transaction_proof().verify(&record.header) {
            Ok(()) => Ok(Some(proof)),
            Err(error) => Err(damaged(format!("a proof in block {}: {error}", display(&hash)))),
        }
    }

    /// Checks everything: checksums, blocks, links, Merkle levels, and that the index has each transaction and script.
    /// Calls `each` with the height of every checked block. Returns the number of transactions.
    pub fn audit(&self, mut each: impl FnMut(u32)) -> Result<u64, Error> {
        let Some(tip) = self.tip() else { return Ok(0) };
        let mut transactions = 0;
        let mut previous = None;
        for height in self.store.start.height..=tip.height {
            let (hash, record) = self.record(height)?.ok_or_else(|| damaged(format!("block {height} is missing")))?;
            let wrong = |what: &str| damaged(format!("block {height}: {what}"));
            if previous.is_some_and(|previous| previous != record.header.previous) || record.header.hash() != hash {
                return Err(wrong("the block does not link to the previous block"));
            }
            previous = Some(hash);
            let (bytes, tail) = self.store.read_block(&record)?;
            let block = Block::parse(&bytes).map_err(|error| wrong(&error.to_string()))?;
            let leaves: Vec<Hash> = block.transactions().iter().map(|transaction| transaction.hash()).collect();
            let tree = Tree::build(leaves).map_err(|error| wrong(&error.to_string()))?;
            if *block.header() != record.header
                || tree.root() != record.header.merkle_root
                || [tree.nodes().as_bytes(), &tree::encode_offsets(block.offsets())].concat() != tail
            {
                return Err(wrong("the stored Merkle tree or transaction offsets do not match the transactions"));
            }
            for (position, transaction) in block.transactions().iter().enumerate() {
                let locator = Locator { height, position: position as u32 };
                // A later coinbase may have the same hash.
                if self.transaction(&tree.nodes()[position])?.is_none_or(|found| found < locator) {
                    return Err(wrong("a transaction is not in the index"));
                }
                // Genesis's coinbase is in no history: its outputs were never spendable.
                for output in transaction.outputs().filter(|_| height > 0) {
                    let script = script_hash(output.script);
                    let is_known =
                        self.state.snapshot.contains_key(&self.store.index.history, history_key(&script, locator))?;
                    if !is_known || self.latest(&script)?.is_none_or(|latest| latest < locator) {
                        return Err(wrong("a payment is not in the history of its script"));
                    }
                }
            }
            transactions += block.transactions().len() as u64;
            each(height);
        }
        if previous == Some(tip.hash) { Ok(transactions) } else { Err(damaged("the tip is not the last block")) }
    }

    pub(super) fn file(&self) -> &FlatFile {
        &self.store.file
    }

    /// The network.
    pub fn network(&self) -> Network {
        self.store.network
    }

    /// The block that the store begins with.
    pub fn start(&self) -> Start {
        self.store.start
    }

    pub(super) fn record(&self, height: u32) -> Result<Option<(Hash, BlockRecord)>, Error> {
        let index = &self.store.index;
        let Some(hash) = get::<Hash>(&self.state.snapshot, &index.active, &height.to_be_bytes())? else {
            return Ok(None);
        };
        let record = get(&self.state.snapshot, &index.blocks, &hash)?;
        record.map(|record| Some((hash, record))).ok_or_else(|| damaged(format!("block {} is missing", display(&hash))))
    }

    /// A transaction's hash and path.
    fn path(&self, record: &BlockRecord, position: u32) -> Result<(Hash, Vec<Hash>), Error> {
        let node = |place: u32| {
            let from = record.block_length.get() + place * size_of::<Hash>() as u32;
            read_array(&self.store.file, record.span(), from)
        };
        let leaf = node(position)?;
        let places = tree::path_places(record.transactions.get(), position);
        Ok((leaf, places.map(node).collect::<Result<_, _>>()?))
    }

    fn coinbase(&self, record: &BlockRecord) -> Result<Vec<u8>, Error> {
        let read = |length| read_start(&self.store.file, record.span(), length);
        let length = record.block_length.get();
        let start = read(length.min(COINBASE_READ))?;
        let found = match coinbase(&start) {
            Err(TransactionError::Encoding(EncodingError::Truncated(_) | EncodingError::TooLong(_))) => {
                coinbase(&read(length)?).map(|coinbase| coinbase.stripped())
            }
            found => found.map(|coinbase| coinbase.stripped()),
        };
        found.map_err(|error| damaged(format!("a coinbase: {error}")))
    }
}

fn info(hash: Hash, record: &BlockRecord) -> BlockInfo {
    BlockInfo {
        hash,
        header: record.header,
        transactions: record.transactions.get(),
        is_provable: record.not_provable == 0,
    }
}
