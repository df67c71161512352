//! The mempool, and estimates of fees.
use std::collections::BTreeMap;

use electrum::Service;

use crate::values::{Id, MempoolValue, RecentValue};

/// The targets, in blocks, that fees are estimated for: those of electrs.
const TARGETS: [u64; 28] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 144, 504, 1008];
/// Satoshis per virtual byte in one bitcoin per 1,000 virtual bytes.
const RATE: f64 = 100_000.0;

/// The size of the mempool.
pub fn value(service: &Service) -> MempoolValue {
    let mempool = service.mempool();
    let (vsize, total_fee) = mempool.size_and_fees();
    let fee_histogram = mempool.whole_histogram().into_iter().map(|(rate, size)| (rate as f64 / 10.0, size)).collect();
    MempoolValue { count: mempool.len(), vsize, total_fee, fee_histogram }
}

/// The hashes of all its transactions.
pub fn hashes(service: &Service) -> Vec<Id> {
    service.mempool().hashes().copied().map(Id).collect()
}

/// The transactions that came last, the latest first.
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

/// For each target in blocks, the fee to be in one of that many blocks, in satoshis per virtual byte.
///
/// A target for which there is no node, or the node cannot tell, is left out.
pub fn estimates(service: &Service, edition: u64) -> BTreeMap<u64, f64> {
    let Some(node) = service.node() else { return BTreeMap::new() };
    let estimate = |target| Some((target, node.estimate_fee(edition, target, None)? * RATE));
    TARGETS.into_iter().filter_map(estimate).collect()
}
