//! `blockchain.outpoint.*`: who pays an output, and who spends it.
use chain::bitcoin::{Error, Transaction, script_hash};
use spv::{Hash, Locator, bitcoin::Encoding};

use super::{Call, Result, failed};
use crate::{
    hex,
    rpc::{RpcError, push_format},
    service::State,
    session::Session,
};

/// An output by the hash of its transaction and its number.
type Outpoint = (Hash, u32);

/// The outpoint that is asked for. A number beyond 32 bits is one that no transaction has.
fn outpoint(call: &Call<'_>) -> std::result::Result<Outpoint, RpcError> {
    let (transaction, number) = (call.arguments.transaction(0)?, call.arguments.number(1, 0)?);
    Ok((transaction, u32::try_from(number).unwrap_or(u32::MAX)))
}

/// Where an output is, and the hash of its script.
fn funder(state: &State, (hash, number): Outpoint) -> std::result::Result<Option<(Locator, Hash)>, Error> {
    let Some(locator) = state.branch.view().transaction(&hash)? else { return Ok(None) };
    let Some((_, bytes)) = state.branch.transaction(locator)? else { return Ok(None) };
    // It was parsed without error when it was read.
    let transaction = Transaction::read(&mut Encoding::new(&bytes)).ok();
    let output = transaction.and_then(|transaction| transaction.outputs().nth(number as usize));
    Ok(output.map(|output| (locator, script_hash(output.script))))
}

/// Appends the status of an outpoint.
pub fn push(state: &State, outpoint: Outpoint, output: &mut Vec<u8>) -> std::result::Result<(), Error> {
    output.push(b'{');
    if let Some((locator, _)) = funder(state, outpoint)? {
        push_format(output, format_args!("\"funder_height\":{}", locator.height));
        if let Some((spender, _)) = state.branch.view().spender(locator, outpoint.1)?
            && let Some(hash) = state.branch.transaction_hash(spender)?
        {
            output.extend_from_slice(b",\"spender_txhash\":\"");
            hex::push_reversed(output, &hash);
            push_format(output, format_args!("\",\"spender_height\":{}", spender.height));
        }
    }
    output.push(b'}');
    Ok(())
}

/// Whether a change touched the script of an outpoint. One that is not there has gone with its block, perhaps.
pub fn touched(state: &State, outpoint: Outpoint, scripts: &[Hash]) -> std::result::Result<bool, Error> {
    Ok(funder(state, outpoint)?.is_none_or(|(_, script)| scripts.binary_search(&script).is_ok()))
}

pub fn get_status(_: &mut Session, call: &mut Call<'_>) -> Result {
    let outpoint = outpoint(call)?;
    call.arguments.bytes(2)?;
    push(call.state, outpoint, call.output).map_err(failed)
}

pub fn subscribe(session: &mut Session, call: &mut Call<'_>) -> Result {
    let outpoint = outpoint(call)?;
    get_status(session, call)?;
    if !session.outpoints.contains(&outpoint) {
        session.subscribe()?;
        session.outpoints.insert(outpoint);
    }
    Ok(())
}

pub fn unsubscribe(session: &mut Session, call: &mut Call<'_>) -> Result {
    let was_subscribed = session.outpoints.remove(&outpoint(call)?);
    session.share.unsubscribe(usize::from(was_subscribed));
    push_format(call.output, format_args!("{was_subscribed}"));
    Ok(())
}
