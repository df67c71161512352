//! What a node needs for a number of accounts and a rate: memory, disk, and the settings that follow from them.
//!
//! All sizes come from the code that allocates and writes, except [`INDEX_BYTES`] and
//! [`IMAGE_BYTES`]. Units are bytes and seconds.

use chain::own::block_bytes;
use ledger::journal::{self, Record, Tail};
use serde::Serialize;

use crate::Config;

/// Memory of the index for an account: 32 bytes of its entry, and its share of fingerprints, half-full pages, cells and
/// hashes. `bench_builder` measures 41 to 45, by how full the groups are.
const INDEX_BYTES: u64 = 45;

/// Memory of images for an account: entries as of the last index root, of 40 bytes with their links. Each transaction
/// adds two of them until the next root, after transactions for an eighth of the accounts.
const IMAGE_BYTES: u64 = 2 * 40 / 8;

/// Bytes of an account in a snapshot.
const SNAPSHOT_BYTES: u64 = size_of::<spv::IndexEntry>() as u64;

/// Snapshots on disk while a third is being written.
const SNAPSHOTS: u64 = 3;

/// The load of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Demand {
    /// Accounts.
    pub accounts: u64,
    /// Unsigned operations a second, sustained.
    pub unsigned: u64,
    /// Signed operations a second, sustained.
    pub signed: u64,
}

/// A use of memory or disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Use {
    /// What takes it.
    pub what: &'static str,
    /// Bytes.
    pub bytes: u64,
}

/// What a node needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Settings of `[ledger]` that suffice.
    pub settings: Settings,
    /// Resident memory once all of it is in use.
    pub memory: Vec<Use>,
    /// Disk that does not grow.
    pub disk: Vec<Use>,
    /// Disk that each transaction takes for good.
    pub bytes_per_transaction: f64,
    /// Growth of the chain in bytes a day.
    pub daily: u64,
    /// Seconds for which blocks are retained; 0 for ever.
    pub retention: u64,
}

/// Settings of `[ledger]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// `ledger.accounts`: with those reserved for trusted senders.
    pub accounts: u64,
    /// `ledger.retry_operations`.
    pub retry_operations: u64,
    /// `ledger.signed_operations`.
    pub signed_operations: u64,
}

impl Plan {
    /// Sum of all memory, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.iter().map(|part| part.bytes).sum()
    }

    /// Bytes of the chain after a number of days: with a retention, those of blocks that are retained, and of a segment
    /// with some that are not.
    pub fn chain_bytes(&self, days: u64) -> u64 {
        let all = self.daily.saturating_mul(days);
        if self.retention == 0 {
            return all;
        }
        let retained = u128::from(self.daily) * u128::from(self.retention) / 86_400;
        all.min(u64::try_from(retained).unwrap_or(u64::MAX).saturating_add(1 << 30))
    }

    /// Sum of the disk that does not grow, in bytes.
    pub fn disk_bytes(&self) -> u64 {
        self.disk.iter().map(|part| part.bytes).sum()
    }
}

/// Computes what a node with this configuration needs for a demand. Its `[ledger]` is adapted; its other settings stay.
pub fn plan(config: &Config, demand: Demand) -> Result<Plan, ledger::Error> {
    let settings = settings(config, demand);
    let mut config = config.clone();
    config.ledger.accounts = settings.accounts;
    config.ledger.retry_operations = settings.retry_operations;
    config.ledger.signed_operations = settings.signed_operations;
    let limits = config.ledger.limits();
    let [accounts, retries @ ..] = limits.memory()?.map(|bytes| bytes as u64);
    let journal = journal::Options::new([0; 32]);
    let memory = vec![
        Use { what: "account table", bytes: accounts },
        Use { what: "index", bytes: settings.accounts * INDEX_BYTES },
        Use { what: "index, as of the last root", bytes: settings.accounts * IMAGE_BYTES },
        Use { what: "retries, unsigned", bytes: retries.iter().sum() },
        Use { what: "retries, signed", bytes: ledger::retries::signed_bytes(&limits.retries) as u64 },
        Use { what: "journal", bytes: 2 * journal.batch_bytes as u64 },
        Use { what: "proof cache", bytes: config.proofs.cache * MEBIBYTE },
    ];
    let rate = demand.unsigned + demand.signed;
    // A block closes when it is full or when its time is over.
    let each_second = |rate: u64| rate.saturating_mul(config.blocks.interval) / 1000;
    let transactions = each_second(rate).clamp(1, config.blocks.transactions.into());
    let signed = (transactions * demand.signed).checked_div(rate).unwrap_or(0);
    let bytes_per_transaction = block_bytes(transactions as u32, signed as u32) as f64 / transactions as f64;
    let held = demand.unsigned * config.ledger.retry_seconds * Record::LENGTH as u64
        + demand.signed * config.ledger.replay_window * (Record::LENGTH + Tail::LENGTH) as u64;
    let segments = held.div_ceil(journal.segment_bytes) + 1 + journal::SPARES as u64;
    let disk = vec![
        Use { what: "snapshots", bytes: SNAPSHOTS * demand.accounts * SNAPSHOT_BYTES },
        Use { what: "journal", bytes: segments * journal.segment_bytes },
    ];
    let daily = (bytes_per_transaction * rate as f64 * 86_400.0) as u64;
    Ok(Plan { settings, memory, disk, bytes_per_transaction, daily, retention: config.blocks.retention })
}

/// Bytes of the unit of `proofs.cache`.
const MEBIBYTE: u64 = 1 << 20;

fn settings(config: &Config, demand: Demand) -> Settings {
    let Demand { accounts, unsigned, signed } = demand;
    let ledger = &config.ledger;
    let open = 100 - ledger.reserved.min(99);
    let [fewest, most] = [ledger::retries::MIN_CAPACITY, ledger::retries::MAX_CAPACITY].map(|capacity| capacity as u64);
    Settings {
        accounts: (accounts * 100).div_ceil(open),
        retry_operations: unsigned.saturating_mul(ledger.retry_seconds).clamp(fewest, most),
        signed_operations: signed.saturating_mul(ledger.replay_window).clamp(fewest, most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_what_operations_md_says() {
        let ledger = &Config::default().ledger;
        let demand = Demand {
            accounts: ledger.unreserved(),
            unsigned: ledger.retry_operations / ledger.retry_seconds,
            signed: ledger.signed_operations / ledger.replay_window,
        };
        let plan = plan(&Config::default(), demand).unwrap();
        let of = |what: &str| plan.memory.iter().find(|part| part.what == what).map(|part| part.bytes >> 20);
        assert_eq!(plan.settings.accounts.abs_diff(ledger.accounts), 0);
        assert_eq!(of("account table"), Some(68));
        assert!((92.0..230.0).contains(&plan.bytes_per_transaction), "{plan:?}");
    }

    #[test]
    fn rare_transactions_pay_for_their_blocks() {
        let at = |unsigned| plan(&Config::default(), Demand { accounts: 1000, unsigned, signed: 0 }).unwrap();
        let (one, many, nothing) = (at(1), at(1_000_000), at(0));
        assert!(one.bytes_per_transaction > 288.0 && many.bytes_per_transaction < 93.0, "{one:?} {many:?}");
        assert_eq!(nothing.daily, 0);
        assert!(many.disk_bytes() > one.disk_bytes() && many.memory_bytes() > one.memory_bytes());
        // Each second's block.
        assert_eq!(one.daily, 86_400 * block_bytes(1, 0));
    }
}
