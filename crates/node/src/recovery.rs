//! Start-up: recovers a ledger from the data directory, so that it resumes where it stopped.

use std::sync::Arc;

use chain::{
    bitcoin::BitcoinChain,
    own::{self, Levels, OwnChain, Sealer},
    progress::{Progress, Stage},
};
use ledger::{Ledger, Secret, journal::Journal};
use storage::DataDirectory;

use crate::{Config, Error, admission, follower, layout, sealing};

/// The state recovered from the data directory.
pub struct Recovered {
    /// The directory, locked.
    pub data: DataDirectory,
    /// The own chain.
    pub chain: OwnChain,
    /// The sealer of its blocks.
    pub sealer: Box<dyn Sealer>,
    /// The Bitcoin blocks, if there are any.
    pub bitcoin: Option<BitcoinChain>,
    /// The journal, open for writing.
    pub journal: Journal,
    /// The recovered ledger.
    pub ledger: Ledger,
}

/// Opens the data directory and recovers the ledger, in `memory` if there is any. Counts its steps in `progress`.
pub fn recover(config: &Config, memory: Option<ledger::Memory>, progress: &Arc<Progress>) -> Result<Recovered, Error> {
    // Before opening the data directory fixes modes: an error must report that others could read the key.
    sealing::check(config)?;
    let data = layout::open(&config.data)?;
    let journal = open_journal(&data, progress)?;
    let mut sealer = None;
    let chain = layout::open_chain_with_progress(&data, chain_options(config), progress.clone(), || {
        let (genesis, begun) = sealing::begin(config)?;
        sealer = Some(begun);
        Ok(genesis)
    })?;
    let sealer = sealer.map_or_else(|| sealing::resume(config, chain.authority()), Ok)?;
    let bitcoin = follower::open(&config.bitcoin, &data)?;
    let secret = Secret::from_seed(layout::random()?);
    let mut ledger = ledger::recover_within(memory, config.ledger.limits(), secret, &chain, journal.log())?;
    ledger.allow_freezing(config.ledger.freezing);
    ledger.set_issuers(config.issuers());
    tell_clocks(&ledger, journal.log().timestamp());
    report(progress);
    let height = chain.tip().height();
    tracing::info!(accounts = ledger.accounts(), operations = ledger.last_sequence(), height, "recovered");
    Ok(Recovered { data, chain, sealer, bitcoin, journal, ledger })
}

/// Logs how long each stage took.
pub fn report(progress: &Progress) {
    let milliseconds = |stage| progress.time(stage).as_millis() as u64;
    tracing::info!(
        journal = milliseconds(Stage::Journal),
        snapshot = milliseconds(Stage::Snapshot),
        blocks = milliseconds(Stage::Blocks),
        root = milliseconds(Stage::Root),
        accounts = milliseconds(Stage::Accounts),
        operations = milliseconds(Stage::Operations),
        all = progress.elapsed().as_millis() as u64,
        "milliseconds of each stage of the start"
    );
}

/// Opens the journal, and logs a batch that was cut off.
pub fn open_journal(data: &DataDirectory, progress: &Progress) -> Result<Journal, Error> {
    progress.begin(Stage::Journal);
    let (journal, opened) = layout::open_journal(data)?;
    progress.advance(Stage::Journal, 0);
    // What retries need, and perhaps more. The ledger knows better once the chain is open.
    let log = journal.log();
    progress.expect(Stage::Operations, log.durable() + 1 - log.first_sequence());
    if let Some(torn) = &opened.torn {
        let (path, offset) = (torn.path.display(), torn.offset);
        if torn.was_durable {
            tracing::warn!(%path, offset, "cut off a damaged empty batch: no operation is lost, but the disk is failing");
        } else {
            tracing::info!(%path, offset, "cut off a batch that was being written when the node stopped");
        }
    }
    Ok(journal)
}

/// How the own chain is kept.
pub fn chain_options(config: &Config) -> own::Options {
    let levels = if config.proofs.rebuild { Levels::Rebuilt } else { Levels::Stored };
    own::Options { levels, ..own::Options::default() }
}

/// Warns the operator if the journal or signed timestamps are ahead of the clock. `written` is the time of the last
/// batch.
fn tell_clocks(ledger: &Ledger, written: u64) {
    let now = admission::now();
    let tolerance = ledger::CLOCK_TOLERANCE.as_micros() as u64;
    let seconds = written.saturating_sub(now) / 1_000_000;
    if written > now + tolerance {
        tracing::warn!(
            seconds,
            "the journal is ahead of the clock: one of them was set wrong. Set the clock by NTP and start again; until \
             it has passed the journal, blocks are stamped with the journal's time"
        );
    }
    let seconds = ledger.signed_horizon().saturating_sub(now) / 1_000_000;
    if ledger.signed_horizon() > now {
        tracing::warn!(
            seconds,
            "signed operations with timestamps ahead of the clock were executed, and are no longer remembered: until \
             the clock has passed them, operations signed now are STALE_TIMESTAMP. Set the clock by NTP if it is slow"
        );
    }
}
