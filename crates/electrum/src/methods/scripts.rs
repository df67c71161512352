//! `blockchain.scripthash.*`, and the same by script: `blockchain.scriptpubkey.*`.
use chain::bitcoin::{Unspent, script_hash};
use spv::Hash;

use super::{Call, Result, failed};
use crate::{
    client::Client,
    hex,
    mempool::{Coin, Outpoint, Unconfirmed},
    rpc::{RpcError, push_format},
    version::V1_7,
};

/// The most bytes that a transaction takes in a history, as ElectrumX counts them.
const HISTORY_BYTES: usize = 99;
/// The most bytes that an output takes in a list.
const UNSPENT_BYTES: usize = 150;

/// The script that a call is about.
fn script(client: &Client, call: &Call<'_>) -> std::result::Result<Hash, RpcError> {
    match client.version() >= V1_7 {
        true => Ok(script_hash(&call.arguments.bytes(0)?)),
        false => call.arguments.script_hash(0),
    }
}

/// Writes a list, which is inside a dictionary since version 1.7.
fn in_dictionary(
    client: &Client,
    call: &mut Call<'_>,
    name: &str,
    write: impl FnOnce(&mut Call<'_>) -> Result,
) -> Result {
    let is_wrapped = client.version() >= V1_7;
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

/// A script's outputs that no block spends. Fails if there are more than a reply holds.
fn outputs(client: &Client, call: &mut Call<'_>, script: Hash) -> std::result::Result<Vec<Unspent>, RpcError> {
    let limit = client.reply_limit() / UNSPENT_BYTES;
    let outputs = call.snapshot.branch.view().unspent(&script, limit.saturating_add(1)).map_err(failed)?;
    *call.cost += outputs.len() as u64;
    if outputs.len() > limit { Err(RpcError::history_too_large()) } else { Ok(outputs) }
}

pub fn balance(client: &mut Client, call: &mut Call<'_>) -> Result {
    let script = script(client, call)?;
    let outputs = outputs(client, call, script)?;
    // Values of made-up blocks may be anything.
    let sum = outputs.iter().fold(0_u64, |sum, output| sum.saturating_add(output.value));
    let mut unconfirmed = 0_i128;
    for (waiting, _) in client.service.mempool().of_script(&script) {
        let sum = |coin: &Coin| if coin.script == script { i128::from(coin.value) } else { 0 };
        unconfirmed += waiting.paid.iter().map(sum).sum::<i128>();
        unconfirmed -= waiting.spent.iter().map(|(_, coin)| sum(coin)).sum::<i128>();
        *call.cost += 1;
    }
    push_format(call.output, format_args!("{{\"confirmed\":{sum},\"unconfirmed\":{unconfirmed}}}"));
    Ok(())
}

pub fn history(client: &mut Client, call: &mut Call<'_>) -> Result {
    let script = script(client, call)?;
    let limit = client.reply_limit() / HISTORY_BYTES;
    let branch = &call.snapshot.branch;
    let history = branch.view().history_after(&script, None, limit.saturating_add(1)).map_err(failed)?;
    *call.cost += history.len() as u64;
    let mempool = client.service.mempool();
    let waiting = mempool.of_script(&script);
    *call.cost += waiting.len() as u64;
    if history.len() + waiting.len() > limit {
        return Err(RpcError::history_too_large());
    }
    in_dictionary(client, call, "history", |call| {
        for locator in history {
            let hash =
                call.snapshot.branch.transaction_hash(locator).map_err(failed)?.ok_or_else(RpcError::internal)?;
            call.output.extend_from_slice(b"{\"tx_hash\":\"");
            hex::push_reversed(call.output, &hash);
            push_format(call.output, format_args!("\",\"height\":{}}},", locator.height));
        }
        push_waiting(call.output, &waiting);
        Ok(())
    })
}

/// Appends transactions of the mempool, each preceded by a comma.
fn push_waiting(output: &mut Vec<u8>, waiting: &[(&Unconfirmed, i32)]) {
    for (waiting, height) in waiting {
        output.extend_from_slice(b"{\"tx_hash\":\"");
        hex::push_reversed(output, &waiting.hash);
        push_format(output, format_args!("\",\"height\":{height},\"fee\":{}}},", waiting.fee));
    }
}

pub fn mempool(client: &mut Client, call: &mut Call<'_>) -> Result {
    let script = script(client, call)?;
    let mempool = client.service.mempool();
    let waiting = mempool.of_script(&script);
    *call.cost += waiting.len() as u64;
    in_dictionary(client, call, "history", |call| {
        push_waiting(call.output, &waiting);
        Ok(())
    })
}

pub fn unspent(client: &mut Client, call: &mut Call<'_>) -> Result {
    let script = script(client, call)?;
    let outputs = outputs(client, call, script)?;
    let mempool = client.service.mempool();
    in_dictionary(client, call, "utxos", |call| {
        let push = |output: &mut Vec<u8>, (hash, number): Outpoint, height: u32, value: u64| {
            if mempool.spender(&(hash, number)).is_some() {
                return;
            }
            output.extend_from_slice(b"{\"tx_hash\":\"");
            hex::push_reversed(output, &hash);
            push_format(output, format_args!("\",\"tx_pos\":{number},\"height\":{height},\"value\":{value}}},"));
        };
        for Unspent { locator, output, value } in outputs {
            let hash =
                call.snapshot.branch.transaction_hash(locator).map_err(failed)?.ok_or_else(RpcError::internal)?;
            push(call.output, (hash, output), locator.height, value);
        }
        for (waiting, _) in mempool.of_script(&script) {
            for (number, coin) in (0..).zip(&waiting.paid).filter(|(_, coin)| coin.script == script) {
                push(call.output, (waiting.hash, number), 0, coin.value);
            }
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

pub fn subscribe(client: &mut Client, call: &mut Call<'_>) -> Result {
    let script = script(client, call)?;
    let (status, read) = client.service.status(call.snapshot, &script).map_err(failed)?;
    *call.cost += read;
    if !client.scripts.contains(&script) {
        client.subscribe()?;
        client.scripts.insert(script);
    }
    push_status(call.output, status);
    Ok(())
}

pub fn unsubscribe(client: &mut Client, call: &mut Call<'_>) -> Result {
    let script = script(client, call)?;
    let was_subscribed = client.scripts.remove(&script);
    client.share.unsubscribe(usize::from(was_subscribed));
    push_format(call.output, format_args!("{was_subscribed}"));
    Ok(())
}
