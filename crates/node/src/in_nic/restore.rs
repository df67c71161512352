//! Restores the store of the in-NIC ledger from the Rust ledger, which recovers as in any node.

use std::{sync::Arc, time::Duration};

use ledger::{
    Ledger,
    journal::{Log, Record},
};
use wire::CompactFrame;
use xdp::{Committed, InNicConfig, InNicLedger};

use crate::{Error, layout};

/// Secrets that are tried. Under one in forty a memory of retries that is full to the last has no place for one of its
/// operations.
const SECRETS: usize = 4;

/// Why a store cannot be restored.
enum Failure {
    /// With this secret an entry has no place.
    NoPlace(xdp::Error),
    Other(Error),
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// Loads the program over a store with the accounts of `recovered`, which recognises the operations of its journal that
/// are not older than the retention. `now` is in microseconds since the Unix epoch, as the journal has it.
pub fn load(config: &InNicConfig, recovered: &Ledger, log: &Arc<Log>, now: u64) -> Result<InNicLedger, Error> {
    let in_nic = |error: xdp::Error| Error::InNic(error.to_string());
    let mut tried = 0;
    loop {
        let secret = layout::random::<16>()?;
        let [low, high] = [0, 8].map(|at| u64::from_ne_bytes(std::array::from_fn(|byte| secret[at + byte])));
        let mut nic = InNicLedger::load(config, [low, high]).map_err(in_nic)?;
        tried += 1;
        match restore(&mut nic, recovered, log, config.retention, now) {
            Ok(()) => return Ok(nic),
            Err(Failure::NoPlace(_)) if tried < SECRETS => {}
            Err(Failure::NoPlace(error)) => return Err(in_nic(error)),
            Err(Failure::Other(error)) => return Err(error),
        }
    }
}

fn restore(
    nic: &mut InNicLedger,
    recovered: &Ledger,
    log: &Arc<Log>,
    retention: Duration,
    now: u64,
) -> Result<(), Failure> {
    let other =
        || Error::InNic("the data directory belongs to another ledger: its values do not fit in compact frames".into());
    let frozen = recovered.frozen();
    if frozen > 0 {
        let reason = "frozen accounts, which could pay here: unfreeze them with `turnpike serve`, or use that";
        return Err(Error::InNic(format!("the ledger has {frozen} {reason}")).into());
    }
    let of_assets = recovered.of_assets();
    if of_assets > 0 {
        let reason = "accounts of other assets than 0, which a NIC would mix: use `turnpike serve`";
        return Err(Error::InNic(format!("the ledger has {of_assets} {reason}")).into());
    }
    for (account, balance) in recovered.iter() {
        let account = account.to_compact().ok_or_else(other)?;
        nic.insert(account, balance).map_err(Failure::NoPlace)?;
    }
    nic.begin_after(recovered.last_sequence());
    let horizon = now.min(log.timestamp()).saturating_sub(retention.as_micros() as u64);
    let mut reader = log.reader(log.since(horizon, log.durable() + 1))?;
    while let Some(batch) = reader.next()? {
        if batch.timestamp < horizon {
            continue;
        }
        // It was written after its operations were executed, so they are kept slightly too long.
        let age = Duration::from_micros(now.saturating_sub(batch.timestamp));
        for (sequence, record) in (batch.first_sequence..).zip(batch.records) {
            let committed = committed(sequence, record).ok_or_else(other)?;
            nic.remember(&committed, age).map_err(Failure::NoPlace)?;
        }
    }
    Ok(())
}

/// The record that the program would have written for an operation.
fn committed(sequence: u64, record: &Record) -> Option<Committed> {
    let mut requested = record.operation;
    requested.status.set(0);
    let frame = CompactFrame::from_operation(&requested)?;
    Some(Committed {
        sequence,
        value: record.value.get(),
        command: frame.command.get(),
        transaction: frame.transaction.get(),
        source: frame.source.get(),
        destination: frame.destination.get(),
        amount: frame.amount.get(),
        status: record.operation.status.get(),
    })
}
