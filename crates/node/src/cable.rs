//! The NIC of a board on the node's network: backend `cable`.

use std::{collections::HashMap, sync::Arc};

use ledger::{
    Ledger,
    journal::{Log, Record},
};
use nic::{
    CableBackend, Either,
    cable::{Accounts, Remembered},
    rtl::RtlCounters,
};
use wire::{Command, CompactFrame, Status};

use crate::{Config, Error, admission, layout, rtl, sockets::Carrier};

/// Puts the board on `io.interface` before the node, with the accounts of the ledger.
pub fn start(config: &Config, ledger: &Ledger, log: &Arc<Log>) -> Result<(Carrier, Arc<RtlCounters>), Error> {
    let refused = |why: &str| Error::Rtl(format!("a board on the cable needs {why}").into());
    let own = config.listen;
    if own.ip().is_unspecified() || !own.is_ipv4() || own.port() == 0 {
        return Err(refused("one IPv4 address and a port in `listen`: the board's, which this machine does not have"));
    }
    if config.io.interface.is_empty() {
        return Err(refused("`io.interface` (--interface), the interface on its network"));
    }
    let accounts = accounts(config, ledger, log)?;
    let mut settings = rtl::settings(config, own, accounts.is_some())?;
    // The board has no proof cache.
    settings.proofs = false;
    // 0 means that there is no session.
    let session = u32::from_ne_bytes(layout::random()?).max(1);
    let backend = CableBackend::new(&config.io.interface, &settings, session, &accounts.unwrap_or_default());
    let backend = backend.map_err(|error| Error::Rtl(error.into()))?;
    tracing::info!(board = backend.board(), executes = backend.is_executing(), "the board runs");
    let counters = backend.counters();
    Ok((Either::Second(Either::Second(backend)), counters))
}

/// The accounts of the ledger as a NIC loads them: before the operations that clients may still retry, and these
/// operations, so that the NIC recognises retries. `None` if the ledger has accounts or operations that it does not
/// support: a frozen account could pay there, and one of another asset pay one of asset 0.
fn accounts(config: &Config, ledger: &Ledger, log: &Arc<Log>) -> Result<Option<Accounts>, Error> {
    if ledger.frozen() > 0 || ledger.of_assets() > 0 {
        return Ok(None);
    }
    let mut balances = HashMap::new();
    for (account, balance) in ledger.iter() {
        let Some(account) = account.to_compact() else { return Ok(None) };
        balances.insert(account, balance);
    }
    let now = admission::now();
    let horizon = now.min(log.timestamp()).saturating_sub(config.ledger.retry_seconds * 1_000_000);
    let mut operations = Vec::new();
    let mut reader = log.reader(log.since(horizon, log.durable() + 1))?;
    while let Some(batch) = reader.next()? {
        if batch.timestamp < horizon {
            continue;
        }
        for record in batch.records {
            let Some(operation) = remembered(record) else { return Ok(None) };
            operations.push(operation);
        }
    }
    for operation in operations.iter().rev() {
        if !undo(&mut balances, operation) {
            return Ok(None);
        }
    }
    let mut balances = Vec::from_iter(balances);
    balances.sort_unstable();
    Ok(Some(Accounts { balances, operations }))
}

fn remembered(record: &Record) -> Option<Remembered> {
    let mut request = record.operation;
    request.status.set(0);
    Some(Remembered { request: CompactFrame::from_operation(&request)?, status: record.operation.status().ok()? })
}

/// Takes an operation's effect back. Returns false if the balances cannot have resulted from it.
fn undo(balances: &mut HashMap<u32, u64>, operation: &Remembered) -> bool {
    if operation.status != Status::Ok {
        return true;
    }
    let request = &operation.request;
    let (source, amount) = (request.source.get(), u64::from(request.amount.get()));
    let mut change = |account, amount: u64, adds: bool| {
        let balance = balances.get_mut(&account)?;
        *balance = if adds { balance.checked_add(amount)? } else { balance.checked_sub(amount)? };
        Some(())
    };
    let undone = match request.command() {
        Ok(Command::Create) => balances.remove(&source).filter(|balance| *balance == 0).map(|_| ()),
        Ok(Command::Issue) => change(source, amount, false),
        Ok(Command::Transfer) => {
            change(request.destination.get(), amount, false).and_then(|()| change(source, amount, true))
        }
        // REFER changes nothing.
        Ok(Command::Refer) => Some(()),
        _ => None,
    };
    undone.is_some()
}

#[cfg(test)]
mod tests {
    use ledger::{
        Now, Secret,
        journal::{Journal, Options},
    };
    use storage::SimulatedDisk;
    use wire::{AccountId, Operation};

    use super::*;

    #[test]
    fn a_board_does_not_get_a_ledger_with_a_frozen_account() {
        let config = Config::default();
        let mut ledger = Ledger::new(config.ledger.limits(), Secret::default()).unwrap();
        ledger.allow_freezing(true);
        let options = Options { segment_bytes: 1 << 16, batch_bytes: 1 << 12, key: [7; 32] };
        let journal = Journal::open(SimulatedDisk::new(1).root(), &options).unwrap().0;
        let account = AccountId::from(1_u32);
        let execute = |ledger: &mut Ledger, operation: Operation| {
            let mut entries = [operation];
            ledger.execute(&mut entries, &mut [0], Now::default(), |_, _| ());
            assert_eq!(entries[0].status(), Ok(Status::Ok));
        };
        execute(&mut ledger, Operation::create(1_u32.into(), account));
        let loaded = |ledger: &Ledger| accounts(&config, ledger, journal.log()).unwrap().map(|loaded| loaded.balances);
        assert_eq!(loaded(&ledger), Some(vec![(1, 0)]));
        execute(&mut ledger, Operation::freeze(2_u32.into(), account));
        assert_eq!(loaded(&ledger), None);
        execute(&mut ledger, Operation::unfreeze(3_u32.into(), account));
        assert_eq!(loaded(&ledger), Some(vec![(1, 0)]));
    }
}
