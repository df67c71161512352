//! Start-up: from the data directory to a ledger that goes on where it stopped.

use std::sync::Arc;

use chain::own::{KeyValueCatalog, OwnChain};
use ledger::{
    Ledger, Limits, Secret,
    journal::{Journal, Options},
};
use spv::BlockHeader;
use storage::{DataDirectory, Directory};

use crate::{Config, Error, admission};

/// The format of the data directory.
pub const FORMAT: u32 = 1;

/// Memory for the key-value store, which holds a few hundred bytes a block.
const CATALOG_CACHE: u64 = 4 << 20;

/// What was in the data directory.
pub struct Recovered {
    /// The directory, locked.
    pub data: DataDirectory,
    /// The own chain.
    pub chain: OwnChain,
    /// The journal, open for writing.
    pub journal: Journal,
    /// The ledger as it was.
    pub ledger: Ledger,
}

/// Opens the data directory and recovers the ledger.
pub fn recover(config: &Config) -> Result<Recovered, Error> {
    let data = DataDirectory::open(&config.data, FORMAT)?;
    let (journal, opened) = Journal::open(data.directory().directory("journal")?, &Options::new(random()?))?;
    if let Some(torn) = &opened.torn {
        tracing::info!(path = %torn.path.display(), offset = torn.offset, "cut off a batch that was never durable");
    }
    let chain = open_chain(config, &data)?;
    let limits = Limits { accounts: config.ledger.accounts as usize, window: config.ledger.window as usize };
    let secret = Secret::from_seed(random()?);
    let ledger = ledger::recover(limits, secret, &chain, journal.log())?;
    let tip = chain.tip();
    tracing::info!(accounts = ledger.accounts(), operations = opened.last_sequence, height = tip.height(), "recovered");
    Ok(Recovered { data, chain, journal, ledger })
}

fn open_chain(config: &Config, data: &DataDirectory) -> Result<OwnChain, Error> {
    let database = fjall::Database::builder(data.path().join("catalog"))
        .cache_size(CATALOG_CACHE)
        .open()
        .map_err(chain::own::Error::from)?;
    let catalog = Box::new(KeyValueCatalog::new(&database)?);
    let directory: Arc<dyn Directory> = data.directory().directory("chain")?;
    let genesis = BlockHeader::genesis(&config.network, &random()?, admission::now());
    Ok(OwnChain::open(directory, catalog, chain::own::Options::default(), Some(genesis))?)
}

/// Random bytes of the system.
fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::System { what: "random numbers", source: std::io::Error::other(error) })?;
    Ok(bytes)
}
