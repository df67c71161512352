//! Blocks: the threads that build them, and the observers to notify.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use chain::own::{self, OwnChain, Sealer, Tip};
use ledger::{
    builder::{self, BlockBuilder, Observer},
    journal::Log,
};
use nic::rtl;
use proof::Cache;
use wire::{Chain, Operation};

use crate::{Config, Error, admission, memory, node_state::NodeState};

/// How long the idle builder sleeps: a fraction of a sensible block interval, and long enough for batches to be
/// worthwhile.
const NAP: Duration = Duration::from_millis(5);

/// Pause of the builder after an error.
const NAP_AFTER_ERROR: Duration = Duration::from_secs(1);

/// Idle time after which the builder returns memory to the system: longer than a block usually stays open.
const IDLE: Duration = Duration::from_secs(3);

/// Time for which a stop builds blocks: with the last of them and a snapshot, a stop takes at most some five seconds.
/// The journal has the operations that are not in a block by then.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// Failed operations after which a block without transactions is closed, so that the journal can be cut: 72 MiB of it.
const FAILURES: u64 = 1 << 20;

/// The builder is to go on.
pub const BUILD: u8 = 0;
/// Order to the builder: end after all durable operations are in blocks.
pub const DRAIN: u8 = 1;
/// The builder is to end.
pub const STOP: u8 = 2;

/// Notifies the proof caches of new blocks: the node's, and that of the simulated NIC, if any.
pub struct Announcer {
    pub cache: Option<Arc<Cache>>,
    pub nic: Arc<OnceLock<rtl::Announcer>>,
}

impl Observer for Announcer {
    fn closed(&mut self, _parent: &Tip, tip: &Tip, operations: &[Operation]) {
        if let Some(cache) = &self.cache {
            cache.announce_own(tip, operations);
        }
        if let Some(nic) = self.nic.get() {
            let touched = proof::touched(operations);
            nic.extend(Chain::Own, tip.hash, tip.height(), tip.header.previous, touched);
        }
    }
}

/// The builder of blocks from the journal, as configured.
pub fn builder<O: Observer>(
    config: &Config,
    chain: OwnChain,
    sealer: Box<dyn Sealer>,
    log: Arc<Log>,
    observer: O,
) -> Result<BlockBuilder<O>, Error> {
    let options = builder::Options {
        transactions: config.blocks.transactions,
        interval: Duration::from_millis(config.blocks.interval),
        snapshots: config.blocks.snapshots(),
        failures: FAILURES,
        retention: Duration::from_secs(config.ledger.retry_seconds),
        replay: Duration::from_secs(config.ledger.replay_window),
    };
    Ok(BlockBuilder::new(chain, sealer, log, options, observer, admission::monotonic())?)
}

/// Builds blocks until ordered to stop. Retries after a disk failure: the journal holds all operations not in blocks.
pub fn build<O: Observer>(mut builder: BlockBuilder<O>, order: &AtomicU8, node_state: &NodeState) {
    // When the builder last had work, if memory was not returned since.
    let mut busy = Some(Instant::now());
    loop {
        let order = order.load(Relaxed);
        let result = match order {
            BUILD => builder.step(admission::monotonic()),
            DRAIN => drain(&mut builder, node_state).map(|()| false),
            _ => return,
        };
        node_state.tell_built(&builder);
        match result {
            Ok(progress) => {
                node_state.sealer_failed.store(false, Relaxed);
                if node_state.builder_failed.swap(false, Relaxed) {
                    tracing::info!("building blocks again");
                }
                if order == DRAIN {
                    return;
                }
                if progress {
                    busy = Some(Instant::now());
                    continue;
                }
                if busy.take_if(|busy| busy.elapsed() >= IDLE).is_some() {
                    memory::give_back();
                }
                std::thread::sleep(NAP);
            }
            Err(error) => {
                let unsealed = own::Error::is_of_the_sealer;
                node_state
                    .sealer_failed
                    .store(matches!(&error, ledger::Error::Chain(error) if unsealed(error)), Relaxed);
                if !node_state.builder_failed.swap(true, Relaxed) {
                    tracing::error!(%error, "cannot build blocks: transfers stay in the journal");
                }
                if order == DRAIN {
                    return;
                }
                std::thread::sleep(NAP_AFTER_ERROR);
            }
        }
    }
}

/// Builds blocks of the durable operations, and what makes the next start short, as far as the time for a stop allows.
fn drain<O: Observer>(builder: &mut BlockBuilder<O>, node_state: &NodeState) -> Result<(), ledger::Error> {
    let began = Instant::now();
    while builder.step(admission::monotonic())? {
        if began.elapsed() >= DRAIN_TIME {
            node_state.tell_built(builder);
            let left = node_state.behind();
            tracing::info!(left, "stopping before all operations are in blocks: the next start continues with them");
            return Ok(());
        }
    }
    builder.finish()
}
