//! The layout of a data directory. The node opens it, and so do the commands that work on it while no node runs. Its
//! directories are created here as private ones: files that key-value stores create in theirs have the mode that the
//! process's umask leaves.
//!
//! ```text
//! FORMAT, LOCK   version of the layout; who has the directory
//! journal/       segments of the journal
//! chain/         flat files and snapshots of the own chain
//! catalog/       key-value store with the catalog of the own chain
//! chain.key      the chain's key, unless it is configured to be elsewhere
//! order/         votes and blocks of a replica's engine, and its incarnation
//! cluster/       the sets of replicas
//! state-sync/    chain and journal of another replica, until they are whole
//! bitcoin/       flat files of Bitcoin blocks, with their key-value store in index/
//! ```

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use chain::{
    bitcoin::{self, BitcoinChain},
    database,
    own::{self, KeyValueCatalog, OwnChain},
    progress::Progress,
};
use ledger::journal::{self, Journal};
use spv::{SealedHeader, bitcoin::Network};
use storage::{DataDirectory, Directory};

use crate::{Error, open_files, staging};

/// The version of the layout. In 1, blocks had no seals.
pub const FORMAT: u32 = 2;

/// The chain's key, where it is not configured to be elsewhere.
pub const CHAIN_KEY: &str = "chain.key";

/// Memory for the catalog of the own chain, which has a few hundred bytes a block.
const CATALOG_CACHE: u64 = 4 << 20;

/// Files of that catalog that stay open: it has a few tables.
const CATALOG_FILES: usize = 16;

/// The folder of Bitcoin blocks.
const BITCOIN: &str = "bitcoin";

/// Opens a data directory, or makes one, and locks it.
pub fn open(path: &Path) -> Result<DataDirectory, Error> {
    let data = DataDirectory::open(path, FORMAT)?;
    staging::install(&data)?;
    Ok(data)
}

/// Opens the journal, or makes one; checks all of it.
pub fn open_journal(data: &DataDirectory) -> Result<(Journal, journal::Opened), Error> {
    let directory = data.directory().directory("journal")?;
    Ok(Journal::open(directory, &journal::Options::new(random()?))?)
}

/// Opens the catalog of the own chain, or begins one.
pub(crate) fn open_catalog(data: &dyn Directory) -> Result<KeyValueCatalog, Error> {
    let catalog = data.directory("catalog")?;
    // The store panics on some kinds of damage to its files. Its state is dropped.
    let open =
        AssertUnwindSafe(|| KeyValueCatalog::new(&database::open(catalog.path(), CATALOG_CACHE, CATALOG_FILES)?));
    Ok(catch_unwind(open).unwrap_or(Err(own::Error::CatalogDamaged))?)
}

/// Opens the own chain. If there is none, it begins with the result of `genesis`, which may return an error.
pub fn open_chain(
    data: &DataDirectory,
    options: own::Options,
    genesis: impl FnOnce() -> Result<SealedHeader, own::Error>,
) -> Result<OwnChain, Error> {
    open_chain_with_progress(data, options, Arc::default(), genesis)
}

/// Opens the own chain as [`open_chain`] does, and counts the steps in `progress`.
pub fn open_chain_with_progress(
    data: &DataDirectory,
    options: own::Options,
    progress: Arc<Progress>,
    genesis: impl FnOnce() -> Result<SealedHeader, own::Error>,
) -> Result<OwnChain, Error> {
    let catalog = Box::new(open_catalog(data.directory())?);
    let directory = data.directory().directory("chain")?;
    Ok(OwnChain::open_with_progress(directory, catalog, options, progress, genesis)?)
}

/// Opens the Bitcoin blocks, or begins a store for them.
pub fn open_bitcoin(data: &DataDirectory, options: &bitcoin::Options) -> Result<BitcoinChain, Error> {
    let directory = data.directory().directory(BITCOIN)?;
    let index = directory.directory("index")?;
    let options = bitcoin::Options { open_files: open_files::index_files() as usize, ..*options };
    Ok(BitcoinChain::open(directory, index.path(), &options)?)
}

/// Opens the Bitcoin blocks of whatever network, if there are any.
pub fn find_bitcoin(data: &DataDirectory) -> Result<Option<BitcoinChain>, Error> {
    if !data.path().join(BITCOIN).join("index").is_dir() {
        return Ok(None);
    }
    let mut networks = Network::ALL.into_iter();
    loop {
        let Some(network) = networks.next() else { return Ok(None) };
        match open_bitcoin(data, &bitcoin::Options::new(network)) {
            Err(Error::Bitcoin(bitcoin::Error::OtherChain { .. })) => {}
            result => return result.map(Some),
        }
    }
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::System { what: "random numbers", source: std::io::Error::other(error) })?;
    Ok(bytes)
}
