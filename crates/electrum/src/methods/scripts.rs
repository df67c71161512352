//! `blockchain.scripthash.*`, and the same by script: `blockchain.scriptpubkey.*`.
use chain::bitcoin::{Unspent, script_hash};
use spv::Hash;

use super::{Call, Result, failed};
use crate::{
    hex,
    rpc::{RpcError, push_format},
    session::Session,
    version::V1_7,
};

/// Bytes of a transaction in a history, at most: what ElectrumX counts with.
const HISTORY_BYTES: usize = 99;
/// Bytes of an output in a list, at most.
const UNSPENT_BYTES: usize = 150;

/// The script that is asked for.
fn script(session: &Session, call: &Call<'_>) -> std::result::Result<Hash, RpcError> {
    match session.version() >= V1_7 {
        true => Ok(script_hash(&call.arguments.bytes(0)?)),
        false => call.arguments.script_hash(0),
    }
}

/// Writes a list, since 1.7 inside of a dictionary.
fn in_dictionary(
    session: &Session,
    call: &mut Call<'_>,
    name: &str,
    write: impl FnOnce(&mut Call<'_>) -> Result,
) -> Result {
    let is_wrapped = session.version() >= V1_7;
    if is_wrapped {
        push_format(call.output, format_args!("{{\"{name}\":"));
    }
    call.output.push(b'[');
    write(call)?;
    if call.output.last() == Some(&b',') {
        call.output.pop();
    }
    call.output.push(b']');
    if is_wrapped {
        call.output.push(b'}');
    }
    Ok(())
}

/// What is not spent of a script; more than a reply holds is an error.
fn outputs(session: &Session, call: &mut Call<'_>) -> std::result::Result<Vec<Unspent>, RpcError> {
    let script = script(session, call)?;
    let limit = session.reply_limit() / UNSPENT_BYTES;
    let outputs = call.state.branch.view().unspent(&script, limit.saturating_add(1)).map_err(failed)?;
    *call.cost += outputs.len() as u64;
    if outputs.len() > limit { Err(RpcError::history_too_large()) } else { Ok(outputs) }
}

pub fn balance(session: &mut Session, call: &mut Call<'_>) -> Result {
    let outputs = outputs(session, call)?;
    // Values of made-up blocks may be anything.
    let sum = outputs.iter().fold(0_u64, |sum, output| sum.saturating_add(output.value));
    push_format(call.output, format_args!("{{\"confirmed\":{sum},\"unconfirmed\":0}}"));
    Ok(())
}

pub fn history(session: &mut Session, call: &mut Call<'_>) -> Result {
    let script = script(session, call)?;
    let limit = session.reply_limit() / HISTORY_BYTES;
    let branch = &call.state.branch;
    let history = branch.view().history_after(&script, None, limit.saturating_add(1)).map_err(failed)?;
    *call.cost += history.len() as u64;
    if history.len() > limit {
        return Err(RpcError::history_too_large());
    }
    in_dictionary(session, call, "history", |call| {
        for locator in history {
            let hash = call.state.branch.transaction_hash(locator).map_err(failed)?.ok_or_else(RpcError::internal)?;
            call.output.extend_from_slice(b"{\"tx_hash\":\"");
            hex::push_reversed(call.output, &hash);
            push_format(call.output, format_args!("\",\"height\":{}}},", locator.height));
        }
        Ok(())
    })
}

/// Nothing waits: there is no node behind this server.
pub fn mempool(session: &mut Session, call: &mut Call<'_>) -> Result {
    script(session, call)?;
    in_dictionary(session, call, "history", |_| Ok(()))
}

pub fn unspent(session: &mut Session, call: &mut Call<'_>) -> Result {
    let outputs = outputs(session, call)?;
    in_dictionary(session, call, "utxos", |call| {
        for Unspent { locator, output, value } in outputs {
            let hash = call.state.branch.transaction_hash(locator).map_err(failed)?.ok_or_else(RpcError::internal)?;
            call.output.extend_from_slice(b"{\"tx_hash\":\"");
            hex::push_reversed(call.output, &hash);
            let height = locator.height;
            push_format(call.output, format_args!("\",\"tx_pos\":{output},\"height\":{height},\"value\":{value}}},"));
        }
        Ok(())
    })
}

/// Appends a status: null for a script without a history.
pub fn push_status(output: &mut Vec<u8>, status: Option<Hash>) {
    match status {
        None => output.extend_from_slice(b"null"),
        Some(status) => {
            output.push(b'"');
            hex::push(output, &status);
            output.push(b'"');
        }
    }
}

pub fn subscribe(session: &mut Session, call: &mut Call<'_>) -> Result {
    let script = script(session, call)?;
    let (status, read) = session.service.status(call.state, &script).map_err(failed)?;
    *call.cost += read;
    if !session.scripts.contains(&script) {
        session.subscribe()?;
        session.scripts.insert(script);
    }
    push_status(call.output, status);
    Ok(())
}

pub fn unsubscribe(session: &mut Session, call: &mut Call<'_>) -> Result {
    let script = script(session, call)?;
    let was_subscribed = session.scripts.remove(&script);
    session.share.unsubscribe(usize::from(was_subscribed));
    push_format(call.output, format_args!("{was_subscribed}"));
    Ok(())
}
