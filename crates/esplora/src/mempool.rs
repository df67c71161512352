//! What waits to be in a block, and what that costs.
use std::collections::BTreeMap;

use electrum::Service;

use crate::values::{Id, MempoolValue, RecentValue};

/// Numbers of blocks that fees are estimated for: electrs's.
const TARGETS: [u64; 28] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 144, 504, 1008];
/// Satoshis for a virtual byte are so many for a bitcoin for 1,000.
const RATE: f64 = 100_000.0;

/// How much waits.
pub fn value(service: &Service) -> MempoolValue {
    let mempool = service.mempool();
    let (vsize, total_fee) = mempool.size_and_fees();
    let fee_histogram = mempool.whole_histogram().into_iter().map(|(rate, size)| (rate as f64 / 10.0, size)).collect();
    MempoolValue { count: mempool.len(), vsize, total_fee, fee_histogram }
}

/// The hashes of all.
pub fn hashes(service: &Service) -> Vec<Id> {
    service.mempool().hashes().copied().map(Id).collect()
}

/// The transactions that came last, the last one first.
pub fn recent(service: &Service) -> Vec<RecentValue> {
    let mempool = service.mempool();
    let recent = mempool.recent().map(|waiting| RecentValue {
        txid: Id(waiting.hash),
        fee: waiting.fee,
        vsize: waiting.size,
        value: waiting.paid.iter().fold(0, |sum, coin| sum.saturating_add(coin.value)),
    });
    recent.collect()
}

/// By number of blocks the fee with which a transaction is in one of them, in satoshis for a virtual byte. Without a node, or
/// where it cannot tell, there is none.
pub fn estimates(service: &Service, edition: u64) -> BTreeMap<u64, f64> {
    let Some(node) = service.node() else { return BTreeMap::new() };
    let estimate = |target| Some((target, node.estimate_fee(edition, target, None)? * RATE));
    TARGETS.into_iter().filter_map(estimate).collect()
}
