//! `blockchain.transaction.*`.
use proof::Refusal;
use spv::{Hash, Locator, bitcoin::sha256d};

use super::{Call, Result, failed};
use crate::{
    arguments::grouped,
    client::Client,
    hex,
    node::daemon_error,
    rpc::{Parameter, Parameters, RpcError, push_format, push_text},
};

/// Bitcoin Core's error for an unknown transaction, as ElectrumX passes it on.
const UNKNOWN: &str = "daemon error: DaemonError({'code': -5, 'message': 'No such mempool or blockchain transaction. \
                       Use gettransaction for wallet transactions.'})";

/// The error of a broadcast without a node.
const NO_NODE: &str = "no node is behind this server: broadcast it by another one";

/// Bytes of a block read and hashed per microsecond.
const WITNESS_BYTES: u64 = 200;

/// Microseconds per call to the node.
pub const NODE_COST: u64 = 200;

/// Appends hashes as texts, with commas between.
pub fn push_hashes(hashes: &[Hash], output: &mut Vec<u8>) {
    for (place, hash) in hashes.iter().enumerate() {
        output.extend_from_slice(if place > 0 { b",\"" } else { b"\"" });
        hex::push_reversed(output, hash);
        output.push(b'"');
    }
}

/// Whether the node's description of a transaction is requested.
pub fn is_verbose(parameters: &Parameters<'_>) -> bool {
    let verbose = match parameters {
        Parameters::Listed(listed, _) => listed.get(1),
        Parameters::Named(named) => named.iter().find(|(name, _)| name == "verbose").map(|(_, value)| value),
    };
    verbose.is_some_and(|verbose| *verbose != Parameter::Boolean(false))
}

pub fn get(client: &mut Client, call: &mut Call<'_>) -> Result {
    let hash = call.arguments.transaction(0)?;
    if call.arguments.boolean(1, "verbose")? {
        let none = "verbose transactions are not served: ask for the raw one, and decode it";
        let node = client.service.node().ok_or_else(|| RpcError::bad_request(none))?;
        *call.cost += NODE_COST;
        call.output.extend_from_slice(node.verbose_transaction(&hash)?.as_bytes());
        return Ok(());
    }
    let push = |output: &mut Vec<u8>, bytes: &[u8]| {
        output.push(b'"');
        hex::push(output, bytes);
        output.push(b'"');
    };
    let unknown = || RpcError::daemon(UNKNOWN);
    let Some(locator) = call.snapshot.branch.view().transaction(&hash).map_err(failed)? else {
        let mempool = client.service.mempool();
        push(call.output, &mempool.get(&hash).ok_or_else(unknown)?.bytes);
        return Ok(());
    };
    let (_, bytes) = call.snapshot.branch.transaction(locator).map_err(failed)?.ok_or_else(unknown)?;
    push(call.output, &bytes);
    Ok(())
}

/// The error for a missing path.
fn refused(refusal: Refusal, not_found: impl FnOnce() -> RpcError) -> RpcError {
    match refusal {
        Refusal::NotFound => not_found(),
        Refusal::NotProvable => RpcError::bad_request(
            "the block has a transaction of 64 bytes, for which paths are ambiguous (CVE-2017-12842)",
        ),
        Refusal::NoSuchQuery | Refusal::Malformed | Refusal::Pruned | Refusal::Failed(_) => {
            tracing::error!(%refusal, "cannot build a Merkle path for an Electrum client");
            RpcError::internal()
        }
    }
}

pub fn merkle(client: &mut Client, call: &mut Call<'_>) -> Result {
    let (hash, height) = (call.arguments.transaction(0)?, call.arguments.number(1, 0)?);
    if height > call.snapshot.branch.tip().height.into() {
        return Err(RpcError::bad_request(format!("height {} out of range", grouped(height))));
    }
    let elsewhere = || {
        let text = format!("tx {} not in block at height {}", hex::reversed(&hash), grouped(height));
        RpcError::bad_request(text)
    };
    let mut path = client.service.paths.of_transaction(&hash).map_err(|refusal| refused(refusal, elsewhere))?;
    if u64::from(path.locator.height) != height {
        // Two blocks may have the same coinbase (BIP30), and the index has the later one. Other transactions are never
        // repeated.
        let coinbase = Locator { height: height as u32, position: 0 };
        path = client.service.paths.of_locator(coinbase).map_err(|refusal| refused(refusal, elsewhere))?;
        if path.hash != hash {
            return Err(elsewhere());
        }
    }
    push_format(call.output, format_args!("{{\"block_height\":{height},\"merkle\":["));
    push_hashes(&path.nodes, call.output);
    push_format(call.output, format_args!("],\"pos\":{}}}", path.locator.position));
    Ok(())
}

/// The draft for version 1.8: the path in the witness tree, with the coinbase that commits to its root. If there is no
/// witness to prove, in a block without any and for the coinbase, it is the path in the header's tree.
pub fn merkle_witness(client: &mut Client, call: &mut Call<'_>) -> Result {
    let hash = call.arguments.transaction(0)?;
    let shown = || hex::reversed(&hash);
    let not_in_block = || RpcError::bad_request(format!("tx {} not in any block", shown()));
    let locator = call.snapshot.branch.view().transaction(&hash).map_err(failed)?.ok_or_else(not_in_block)?;
    let asked = call.arguments.number(1, locator.height.into())?;
    if asked != u64::from(locator.height) {
        return Err(RpcError::bad_request(format!("tx {} not in block at height {}", shown(), grouped(asked))));
    }
    let Locator { height, position } = locator;
    let tree = client.service.witness_tree((&call.snapshot.branch, call.snapshot.edition), height).map_err(failed)?;
    let (tree, read) = tree.ok_or_else(not_in_block)?;
    *call.cost += read as u64 / WITNESS_BYTES;
    let proved = tree.leaf_and_path(position).filter(|_| tree.is_committed() && position > 0);
    let (kind, wtxid, nodes) = match proved {
        Some((leaf, nodes)) => ("wmerkle", leaf, nodes),
        None => {
            let path = client.service.paths.of_locator(locator).map_err(|refusal| refused(refusal, not_in_block))?;
            let bytes = call.snapshot.branch.transaction(locator).map_err(failed)?.ok_or_else(not_in_block)?.1;
            ("merkle", sha256d(&[&bytes]), path.nodes)
        }
    };
    let coinbase_place = Locator { height, position: 0 };
    let coinbase = client.service.paths.of_locator(coinbase_place).map_err(|refusal| refused(refusal, not_in_block))?;
    let block = call.snapshot.branch.headers().hash(height).ok_or_else(not_in_block)?;
    let output = &mut *call.output;
    output.extend_from_slice(b"{\"wtxid\":");
    push_hashes(&[wtxid], output);
    push_format(output, format_args!(",\"block_height\":{height},\"block_hash\":"));
    push_hashes(&[*block], output);
    push_format(output, format_args!(",\"pos\":{position},\"{kind}\":["));
    push_hashes(&nodes, output);
    output.extend_from_slice(b"],\"cb_tx\":\"");
    hex::push(output, tree.coinbase());
    output.extend_from_slice(b"\",\"cb_proof\":[");
    push_hashes(&coinbase.nodes, output);
    output.extend_from_slice(b"]}");
    Ok(())
}

pub fn id_from_position(client: &mut Client, call: &mut Call<'_>) -> Result {
    let (height, position) = (call.arguments.number(0, 0)?, call.arguments.number(1, 0)?);
    let wants_path = call.arguments.boolean(2, "merkle")?;
    let tip = u64::from(call.snapshot.branch.tip().height);
    if height > tip {
        let [height, tip] = [height, tip].map(grouped);
        return Err(RpcError::bad_request(format!("db error: DBError('block {height} not on disk (>{tip})')")));
    }
    let none = || {
        let [position, height] = [position, height].map(grouped);
        RpcError::bad_request(format!("no tx at position {position} in block at height {height}"))
    };
    let (Ok(height), Ok(place)) = (u32::try_from(height), u32::try_from(position)) else { return Err(none()) };
    let locator = Locator { height, position: place };
    if !wants_path {
        let hash = call.snapshot.branch.transaction_hash(locator).map_err(failed)?.ok_or_else(none)?;
        push_hashes(&[hash], call.output);
        return Ok(());
    }
    let path = client.service.paths.of_locator(locator).map_err(|refusal| refused(refusal, none))?;
    call.output.extend_from_slice(b"{\"tx_hash\":");
    push_hashes(&[path.hash], call.output);
    call.output.extend_from_slice(b",\"merkle\":[");
    push_hashes(&path.nodes, call.output);
    call.output.extend_from_slice(b"]}");
    Ok(())
}

/// Cost of the bytes of a transaction that the node must check.
fn check_cost(bytes: usize) -> u64 {
    NODE_COST + bytes as u64 / 20
}

pub fn broadcast(client: &mut Client, call: &mut Call<'_>) -> Result {
    let bytes = call.arguments.bytes(0)?;
    let rejected = |message: &str, shown: String| {
        RpcError::bad_request(format!("the transaction was rejected by network rules.\n\n{message}{shown}"))
    };
    let node = client.service.node().ok_or_else(|| rejected(NO_NODE, String::new()))?;
    *call.cost += check_cost(bytes.len());
    match node.broadcast(&bytes) {
        Ok(hash) => push_text(call.output, &hash),
        Err(bitcoind::Error::Refused(failure)) => {
            return Err(rejected(&failure.message, format!("\n[{}]", hex::text(&bytes))));
        }
        Err(error) => return Err(daemon_error(error)),
    }
    Ok(())
}

pub fn broadcast_package(client: &mut Client, call: &mut Call<'_>) -> Result {
    let transactions = call.arguments.byte_texts(0)?;
    let is_verbose = call.arguments.boolean(1, "verbose")?;
    let rejected =
        |message: &str| RpcError::bad_request(format!("the tx package was rejected by network rules.\n\n{message}."));
    let node = client.service.node().ok_or_else(|| rejected(NO_NODE))?;
    *call.cost += transactions.iter().map(|text| check_cost(text.len() / 2)).sum::<u64>();
    let sent = match node.broadcast_package(transactions.iter().map(|text| &**text)) {
        Ok(sent) => sent,
        Err(bitcoind::Error::Refused(failure)) => return Err(rejected(&failure.message)),
        Err(error) => return Err(daemon_error(error)),
    };
    if is_verbose {
        call.output.extend_from_slice(sent.whole.as_bytes());
        return Ok(());
    }
    push_format(call.output, format_args!("{{\"success\":{}", sent.is_success));
    for (place, (txid, error)) in sent.errors.iter().enumerate() {
        call.output.extend_from_slice(if place == 0 { b",\"errors\":[{\"txid\":" } else { b",{\"txid\":" });
        push_text(call.output, txid);
        call.output.extend_from_slice(b",\"error\":");
        push_text(call.output, error);
        call.output.push(b'}');
    }
    call.output.extend_from_slice(if sent.errors.is_empty() { b"}" } else { b"]}" });
    Ok(())
}

pub fn test_accept(client: &mut Client, call: &mut Call<'_>) -> Result {
    let transactions = call.arguments.byte_texts(0)?;
    let node = client.service.node().ok_or_else(|| RpcError::daemon(format!("daemon error: {NO_NODE}")))?;
    *call.cost += transactions.iter().map(|text| check_cost(text.len() / 2)).sum::<u64>();
    let results = node.test(transactions.iter().map(|text| &**text))?;
    call.output.push(b'[');
    for (place, result) in results.iter().enumerate() {
        call.output.extend_from_slice(if place == 0 { b"{\"txid\":" } else { b",{\"txid\":" });
        push_text(call.output, &result.txid);
        call.output.extend_from_slice(b",\"wtxid\":");
        push_text(call.output, &result.wtxid);
        if let Some(allowed) = result.allowed {
            push_format(call.output, format_args!(",\"allowed\":{allowed}"));
        }
        if let Some(reason) = result.refusal() {
            call.output.extend_from_slice(b",\"reason\":");
            push_text(call.output, reason);
        }
        call.output.push(b'}');
    }
    call.output.push(b']');
    Ok(())
}
