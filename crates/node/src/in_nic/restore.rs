//! How the store of the in-NIC ledger comes back: from the Rust ledger, which recovers as any node's does.

use std::{sync::Arc, time::Duration};

use ledger::{
    Ledger,
    journal::{Log, Record},
};
use wire::CompactFrame;
use xdp::{Committed, InNicLedger};

use crate::Error;

/// Puts the accounts of `recovered` into an empty store, and has the operations of its journal that are not older than `retention`
/// recognised when they are sent again. `now` is in microseconds since the Unix epoch, as the journal has it.
pub fn restore(
    nic: &mut InNicLedger,
    recovered: &Ledger,
    log: &Arc<Log>,
    retention: Duration,
    now: u64,
) -> Result<(), Error> {
    let other = || {
        Error::InNic("this is the data directory of another ledger: it has what does not fit a compact frame".into())
    };
    for (account, balance) in recovered.iter() {
        let account = account.to_compact().ok_or_else(other)?;
        nic.insert(account, balance).map_err(|error| Error::InNic(error.to_string()))?;
    }
    nic.begin_after(recovered.last_sequence());
    let horizon = now.min(log.timestamp()).saturating_sub(retention.as_micros() as u64);
    let mut reader = log.reader(log.since(horizon, log.durable() + 1))?;
    while let Some(batch) = reader.next()? {
        if batch.timestamp < horizon {
            continue;
        }
        // It was written after its operations were executed, so they are kept rather too long.
        let age = Duration::from_micros(now.saturating_sub(batch.timestamp));
        for (sequence, record) in (batch.first_sequence..).zip(batch.records) {
            let committed = committed(sequence, record).ok_or_else(other)?;
            nic.remember(&committed, age).map_err(|error| Error::InNic(error.to_string()))?;
        }
    }
    Ok(())
}

/// What the program would have told of an operation.
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
