//! Addresses and script hashes: their histories, sums and unspent outputs.
use bitcoin::{Address, Network, address::NetworkUnchecked};
use chain::bitcoin::{is_spendable, script_hash};
use electrum::{Coin, GenerationCache, Sums};
use spv::{Hash, Locator};

use crate::{
    reader::{Reader, parse},
    reply::Failure,
    values::{self, Id, Stats, Status, UnspentValue},
};

/// Transactions of a history read at a time.
const PIECE: usize = 1024;
/// Bytes charged for an index entry and the lookups that it needs.
const ENTRY: usize = 100;

/// The hash of the script that an address pays to.
pub fn of_address(text: &str, network: Network) -> Result<Hash, Failure> {
    let address: Address<NetworkUnchecked> =
        text.parse().map_err(|error: bitcoin::address::ParseError| Failure::bad_request(error.to_string()))?;
    let invalid = |_| Failure::bad_request("Address on invalid network");
    let address = address.require_network(network).map_err(invalid)?;
    Ok(script_hash(address.script_pubkey().as_bytes()))
}

/// The script hash that a text shows, its first byte first; Electrum reverses it.
pub fn of_hash(text: &str) -> Result<Hash, Failure> {
    values::parse(text).ok_or_else(|| Failure::bad_request("Invalid scripthash"))
}

/// A script's transactions that come after `last_seen`, newest first, up to `limit`.
pub fn history(
    reader: &mut Reader<'_>,
    script: &Hash,
    last_seen: Option<&Hash>,
    limit: usize,
) -> Result<Vec<Locator>, Failure> {
    let view = reader.branch.view();
    let Some(last_seen) = last_seen else { return Ok(view.history(script, None, limit)?) };
    // Nothing comes after a transaction that is not in the history.
    let Some(seen) = view.transaction(last_seen)? else { return Ok(Vec::new()) };
    let behind = Locator { height: seen.height, position: seen.position + 1 };
    let found = view.history(script, Some(behind), 1)?;
    if found.first() != Some(&seen) {
        return Ok(Vec::new());
    }
    Ok(view.history(script, Some(seen), limit)?)
}

/// What was ever paid to a script and what of it was spent. Reads only what is new since the last request.
pub fn stats(
    reader: &mut Reader<'_>,
    cache: &GenerationCache<Sums>,
    edition: u64,
    script: &Hash,
) -> Result<Stats, Failure> {
    let (mut sums, is_whole) = cache.get(script, edition);
    if !is_whole {
        read_sums(reader, script, &mut sums)?;
        cache.put(script, sums, edition);
    }
    Ok(sums.into())
}

/// The same for the mempool.
pub fn waiting_stats(reader: &mut Reader<'_>, script: &Hash) -> Stats {
    let mut sums = Sums::default();
    for (waiting, _) in reader.service.mempool().of_script(script) {
        sums.transactions += 1;
        let of_script = |coin: &&Coin| coin.script == *script;
        waiting.paid.iter().filter(of_script).for_each(|coin| sums.funded.add(coin.value));
        waiting.spent.iter().map(|(_, coin)| coin).filter(of_script).for_each(|coin| sums.spent.add(coin.value));
    }
    sums.into()
}

impl From<Sums> for Stats {
    fn from(Sums { transactions, funded, spent, .. }: Sums) -> Self {
        Self {
            funded_txo_count: funded.count,
            funded_txo_sum: funded.value,
            spent_txo_count: spent.count,
            spent_txo_sum: spent.value,
            tx_count: transactions,
        }
    }
}

/// A script's transactions in the mempool, up to `limit`.
pub fn waiting(reader: &mut Reader<'_>, script: &Hash, limit: usize) -> Vec<Hash> {
    reader.service.mempool().of_script(script).iter().take(limit).map(|(waiting, _)| waiting.hash).collect()
}

/// Continues after the last transaction that was read.
fn read_sums(reader: &mut Reader<'_>, script: &Hash, sums: &mut Sums) -> Result<(), Failure> {
    loop {
        let piece = reader.branch.view().history_after(script, sums.last, PIECE)?;
        for locator in &piece {
            let (_, bytes) = reader.transaction(*locator)?;
            let Some(transaction) = parse(&bytes) else { continue };
            sums.transactions += 1;
            for output in transaction.outputs().filter(|output| script_hash(output.script) == *script) {
                sums.funded.add(output.amount);
                sums.is_unspendable = !is_spendable(output.script);
            }
        }
        sums.last = piece.last().copied().or(sums.last);
        if piece.len() < PIECE {
            break;
        }
    }
    // A spendable output that is not among the unspent ones was spent. Unspendable outputs are not among them either.
    if !sums.is_unspendable {
        sums.spent = sums.funded;
        for unspent in reader.branch.view().unspent(script, reader.entries(ENTRY).saturating_add(1))? {
            reader.charge(ENTRY)?;
            sums.spent.count = sums.spent.count.saturating_sub(1);
            sums.spent.value = sums.spent.value.saturating_sub(unspent.value);
        }
    }
    Ok(())
}

/// A script's unspent outputs. Fails if there are more than `limit`.
pub fn unspent(reader: &mut Reader<'_>, script: &Hash, limit: usize) -> Result<Vec<UnspentValue>, Failure> {
    let found = reader.branch.view().unspent(script, limit.saturating_add(1))?;
    if found.len() > limit {
        return Err(Failure::bad_request("Too many history entries"));
    }
    let mut values = Vec::with_capacity(found.len());
    for unspent in found {
        reader.charge(ENTRY)?;
        let Some(hash) = reader.branch.transaction_hash(unspent.locator)? else { continue };
        if reader.service.mempool().spender(&(hash, unspent.output)).is_some() {
            continue;
        }
        let status = reader.status(unspent.locator)?;
        values.push(UnspentValue { txid: Id(hash), vout: unspent.output, status, value: unspent.value });
    }
    let mempool = reader.service.mempool();
    for (waiting, _) in mempool.of_script(script) {
        for (vout, coin) in (0..).zip(&waiting.paid).filter(|(_, coin)| coin.script == *script) {
            if mempool.spender(&(waiting.hash, vout)).is_none() {
                let (txid, status) = (Id(waiting.hash), Status::default());
                values.push(UnspentValue { txid, vout, status, value: coin.value });
            }
        }
    }
    Ok(values)
}
