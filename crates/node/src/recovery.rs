//! Start-up: from the data directory to a ledger that goes on where it stopped.

use ledger::{
    Ledger, Limits, Recovery, Secret,
    journal::{Journal, Options},
};
use storage::{DataDirectory, Directory};

use crate::{Config, Error};

/// The format of the data directory.
pub const FORMAT: u32 = 1;

/// What was in the data directory.
pub struct Recovered {
    /// The directory, locked.
    pub data: DataDirectory,
    /// The network id.
    pub network: [u8; 32],
    /// The journal, open for writing.
    pub journal: Journal,
    /// The ledger as it was.
    pub ledger: Ledger,
}

/// Opens the data directory and recovers the ledger.
pub fn recover(config: &Config) -> Result<Recovered, Error> {
    let data = DataDirectory::open(&config.data, FORMAT)?;
    let network = random()?;
    let (journal, opened) = Journal::open(data.directory().directory("journal")?, &Options::new(random()?))?;
    if let Some(torn) = &opened.torn {
        tracing::info!(path = %torn.path.display(), offset = torn.offset, "cut off a batch that was never durable");
    }
    let limits = Limits { accounts: config.ledger.accounts as usize, window: config.ledger.window as usize };
    let secret = Secret::from_seed(random()?);
    let mut recovery = Recovery::new(limits, secret, 0, opened.first_sequence)?;
    let mut reader = journal.log().reader(opened.first_sequence)?;
    let mut is_first = true;
    while let Some(batch) = reader.next()? {
        if std::mem::take(&mut is_first) {
            recovery.begins_at(batch.timestamp);
        }
        for record in batch.records {
            recovery.operation(&record.operation, record.value.get())?;
        }
    }
    Ok(Recovered { data, network, journal, ledger: recovery.finish()? })
}

/// Random bytes of the system.
fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::System { what: "random numbers", source: std::io::Error::other(error) })?;
    Ok(bytes)
}
