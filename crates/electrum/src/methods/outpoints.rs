//! `blockchain.outpoint.*`: the funding and the spending of an output.
use chain::bitcoin::{Branch, Error, Transaction};
use spv::{Hash, Locator, bitcoin::Encoding};

use super::{Call, Result, failed};
use crate::{
    client::Client,
    hex,
    mempool::{Coin, Mempool, Outpoint, outputs},
    rpc::{RpcError, push_format},
    service::Snapshot,
};

/// The requested outpoint. No transaction has a number beyond 32 bits.
fn outpoint(call: &Call<'_>) -> std::result::Result<Outpoint, RpcError> {
    let (transaction, number) = (call.arguments.transaction(0)?, call.arguments.number(1, 0)?);
    Ok((transaction, u32::try_from(number).unwrap_or(u32::MAX)))
}

/// A confirmed output and its transaction's location.
fn output_in_block(branch: &Branch, outpoint: &Outpoint) -> std::result::Result<Option<(Locator, Coin)>, Error> {
    let Some(locator) = branch.view().transaction(&outpoint.0)? else { return Ok(None) };
    let Some((_, bytes)) = branch.transaction(locator)? else { return Ok(None) };
    // It was parsed without error when it was read.
    let transaction = Transaction::read(&mut Encoding::new(&bytes)).ok();
    let coin = transaction.and_then(|transaction| outputs(&transaction).nth(outpoint.1 as usize));
    Ok(coin.map(|coin| (locator, coin)))
}

/// The height of an output, and its script; from the mempool if it is unconfirmed.
fn funder(
    snapshot: &Snapshot,
    mempool: &Mempool,
    outpoint: Outpoint,
) -> std::result::Result<Option<(i64, Option<Locator>, Hash)>, Error> {
    if let Some((locator, coin)) = output_in_block(&snapshot.branch, &outpoint)? {
        return Ok(Some((locator.height.into(), Some(locator), coin.script)));
    }
    let waiting = mempool.get(&outpoint.0).zip(mempool.output(&outpoint));
    Ok(waiting.map(|(waiting, coin)| (mempool.height(waiting).into(), None, coin.script)))
}

/// The transaction that spends an output, and its height.
fn spender(
    snapshot: &Snapshot,
    mempool: &Mempool,
    (outpoint, locator): (Outpoint, Option<Locator>),
) -> std::result::Result<Option<(i64, Hash)>, Error> {
    if let Some(locator) = locator
        && let Some((spender, _)) = snapshot.branch.view().spender(locator, outpoint.1)?
    {
        return Ok(snapshot.branch.transaction_hash(spender)?.map(|hash| (spender.height.into(), hash)));
    }
    Ok(mempool.spender(&outpoint).map(|waiting| (mempool.height(waiting).into(), waiting.hash)))
}

/// Appends the status of an outpoint. Returns its script, if the output exists.
pub fn push(
    snapshot: &Snapshot,
    mempool: &Mempool,
    outpoint: Outpoint,
    output: &mut Vec<u8>,
) -> std::result::Result<Option<Hash>, Error> {
    output.push(b'{');
    let funder = funder(snapshot, mempool, outpoint)?;
    if let Some((height, locator, _)) = funder {
        push_format(output, format_args!("\"funder_height\":{height}"));
        if let Some((height, hash)) = spender(snapshot, mempool, (outpoint, locator))? {
            output.extend_from_slice(b",\"spender_txhash\":\"");
            hex::push_reversed(output, &hash);
            push_format(output, format_args!("\",\"spender_height\":{height}"));
        }
    }
    output.push(b'}');
    Ok(funder.map(|(_, _, script)| script))
}

/// The script of an outpoint; `None` if the output exists neither in a block nor in the mempool.
pub fn script(snapshot: &Snapshot, mempool: &Mempool, outpoint: Outpoint) -> std::result::Result<Option<Hash>, Error> {
    Ok(funder(snapshot, mempool, outpoint)?.map(|(_, _, script)| script))
}

pub fn get_status(client: &mut Client, call: &mut Call<'_>) -> Result {
    let outpoint = outpoint(call)?;
    call.arguments.bytes(2)?;
    push(call.snapshot, &client.service.mempool(), outpoint, call.output).map(drop).map_err(failed)
}

pub fn subscribe(client: &mut Client, call: &mut Call<'_>) -> Result {
    let outpoint = outpoint(call)?;
    call.arguments.bytes(2)?;
    let script = push(call.snapshot, &client.service.mempool(), outpoint, call.output).map_err(failed)?;
    if !client.outpoints.contains_key(&outpoint) {
        client.subscribe()?;
        client.outpoints.insert(outpoint, script);
    }
    Ok(())
}

pub fn unsubscribe(client: &mut Client, call: &mut Call<'_>) -> Result {
    let was_subscribed = client.outpoints.remove(&outpoint(call)?).is_some();
    client.share.unsubscribe(usize::from(was_subscribed));
    push_format(call.output, format_args!("{was_subscribed}"));
    Ok(())
}
