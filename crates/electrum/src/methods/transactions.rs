//! `blockchain.transaction.*`.
use proof::Refusal;
use spv::{Hash, Locator};

use super::{Call, Result, failed};
use crate::{
    arguments::grouped,
    hex,
    rpc::{RpcError, push_format},
    session::Session,
};

/// What Bitcoin Core says of a transaction that it does not know, as ElectrumX passes it on.
const UNKNOWN: &str = "daemon error: DaemonError({'code': -5, 'message': 'No such mempool or blockchain transaction. \
                       Use gettransaction for wallet transactions.'})";

/// Why nothing can be broadcast.
const NO_NODE: &str =
    "the transaction was rejected by network rules.\n\nno node is behind this server: broadcast it by another one";

/// Appends hashes as texts, with commas between.
pub fn push_hashes(hashes: &[Hash], output: &mut Vec<u8>) {
    for (place, hash) in hashes.iter().enumerate() {
        output.extend_from_slice(if place > 0 { b",\"" } else { b"\"" });
        hex::push_reversed(output, hash);
        output.push(b'"');
    }
}

pub fn get(_: &mut Session, call: &mut Call<'_>) -> Result {
    let hash = call.arguments.transaction(0)?;
    if call.arguments.boolean(1, "verbose")? {
        return Err(RpcError::bad_request("verbose transactions are not served: ask for the raw one, and decode it"));
    }
    let unknown = || RpcError::daemon(UNKNOWN);
    let locator = call.state.branch.view().transaction(&hash).map_err(failed)?.ok_or_else(unknown)?;
    let (_, bytes) = call.state.branch.transaction(locator).map_err(failed)?.ok_or_else(unknown)?;
    call.output.push(b'"');
    hex::push(call.output, &bytes);
    call.output.push(b'"');
    Ok(())
}

/// What a client is told where there is no path.
fn refused(refusal: Refusal, not_found: impl FnOnce() -> RpcError) -> RpcError {
    match refusal {
        Refusal::NotFound => not_found(),
        Refusal::NotProvable => RpcError::bad_request(
            "the block has a transaction of 64 bytes, for which paths are ambiguous (CVE-2017-12842)",
        ),
        Refusal::NoSuchQuery | Refusal::Malformed | Refusal::Failed(_) => {
            tracing::error!(%refusal, "a path for an Electrum client failed");
            RpcError::internal()
        }
    }
}

pub fn merkle(session: &mut Session, call: &mut Call<'_>) -> Result {
    let (hash, height) = (call.arguments.transaction(0)?, call.arguments.number(1, 0)?);
    if height > call.state.branch.tip().height.into() {
        return Err(RpcError::bad_request(format!("height {} out of range", grouped(height))));
    }
    let elsewhere = || {
        let text = format!("tx {} not in block at height {}", hex::reversed(&hash), grouped(height));
        RpcError::bad_request(text)
    };
    let path = session.service.paths.of_transaction(&hash).map_err(|refusal| refused(refusal, elsewhere))?;
    if u64::from(path.locator.height) != height {
        return Err(elsewhere());
    }
    push_format(call.output, format_args!("{{\"block_height\":{height},\"merkle\":["));
    push_hashes(&path.nodes, call.output);
    push_format(call.output, format_args!("],\"pos\":{}}}", path.locator.position));
    Ok(())
}

pub fn id_from_position(session: &mut Session, call: &mut Call<'_>) -> Result {
    let (height, position) = (call.arguments.number(0, 0)?, call.arguments.number(1, 0)?);
    let wants_path = call.arguments.boolean(2, "merkle")?;
    let tip = u64::from(call.state.branch.tip().height);
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
        let hash = call.state.branch.transaction_hash(locator).map_err(failed)?.ok_or_else(none)?;
        push_hashes(&[hash], call.output);
        return Ok(());
    }
    let path = session.service.paths.of_locator(locator).map_err(|refusal| refused(refusal, none))?;
    call.output.extend_from_slice(b"{\"tx_hash\":");
    push_hashes(&[path.hash], call.output);
    call.output.extend_from_slice(b",\"merkle\":[");
    push_hashes(&path.nodes, call.output);
    call.output.extend_from_slice(b"]}");
    Ok(())
}

pub fn broadcast(_: &mut Session, call: &mut Call<'_>) -> Result {
    call.arguments.bytes(0)?;
    Err(RpcError::bad_request(NO_NODE))
}

pub fn broadcast_package(_: &mut Session, _: &mut Call<'_>) -> Result {
    Err(RpcError::bad_request(NO_NODE))
}

pub fn test_accept(_: &mut Session, _: &mut Call<'_>) -> Result {
    Err(RpcError::daemon("daemon error: no node is behind this server"))
}
