//! `blockchain.block.*` and `blockchain.headers.*`.
use super::{Call, Result, failed};
use crate::{
    arguments::grouped,
    client::Client,
    hex,
    rpc::{RpcError, push_format},
    service::Snapshot,
    version::V1_6,
};

/// Maximum number of headers per reply: a retarget interval, which Electrum needs to synchronise.
const MAX_HEADERS: u64 = 2016;

/// A height beyond 32 bits does not exist.
fn height(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn push_header(snapshot: &Snapshot, height: u64, output: &mut Vec<u8>) -> Result {
    let header = u32::try_from(height).ok().map(|height| snapshot.branch.header(height)).transpose().map_err(failed)?;
    let header =
        header.flatten().ok_or_else(|| RpcError::bad_request(format!("height {} out of range", grouped(height))))?;
    output.push(b'"');
    hex::push(output, &header);
    output.push(b'"');
    Ok(())
}

/// Appends `"branch":[...],"root":"..."`.
fn push_proof(snapshot: &Snapshot, header: u64, checkpoint: u64, output: &mut Vec<u8>) -> Result {
    let tip = u64::from(snapshot.branch.tip().height);
    let refused = || {
        let [header, checkpoint, tip] = [header, checkpoint, tip].map(grouped);
        let text = format!("require header height {header} <= cp_height {checkpoint} <= chain height {tip}");
        RpcError::bad_request(text)
    };
    if checkpoint > tip {
        return Err(refused());
    }
    let path = snapshot.branch.headers().path(height(header), height(checkpoint) + 1);
    let (branch, root) = path.ok_or_else(refused)?;
    output.extend_from_slice(b"\"branch\":[");
    super::transactions::push_hashes(&branch, output);
    output.extend_from_slice(b"],\"root\":\"");
    hex::push_reversed(output, &root);
    output.push(b'"');
    Ok(())
}

pub fn header(_: &mut Client, call: &mut Call<'_>) -> Result {
    let [height, checkpoint] = [call.arguments.number(0, 0)?, call.arguments.number(1, 0)?];
    if checkpoint == 0 {
        return push_header(call.snapshot, height, call.output);
    }
    call.output.extend_from_slice(b"{\"header\":");
    push_header(call.snapshot, height, call.output)?;
    call.output.push(b',');
    push_proof(call.snapshot, height, checkpoint, call.output)?;
    call.output.push(b'}');
    Ok(())
}

pub fn headers(client: &mut Client, call: &mut Call<'_>) -> Result {
    let [first, count, checkpoint] =
        [call.arguments.number(0, 0)?, call.arguments.number(1, 0)?, call.arguments.number(2, 0)?];
    let there = (u64::from(call.snapshot.branch.tip().height) + 1).saturating_sub(first);
    let count = count.min(MAX_HEADERS).min(there);
    *call.cost += count / 4;
    push_format(call.output, format_args!("{{\"count\":{count},\"max\":{MAX_HEADERS},"));
    if count > 0 && checkpoint > 0 {
        push_proof(call.snapshot, first + count - 1, checkpoint, call.output)?;
        call.output.push(b',');
    }
    let heights = first..first + count;
    if client.version() >= V1_6 {
        call.output.extend_from_slice(b"\"headers\":[");
        for height in heights {
            push_header(call.snapshot, height, call.output)?;
            call.output.push(b',');
        }
        if count > 0 {
            call.output.pop();
        }
        call.output.push(b']');
    } else {
        call.output.extend_from_slice(b"\"hex\":\"");
        for height in heights {
            let header = call.snapshot.branch.header(self::height(height)).map_err(failed)?;
            hex::push(call.output, &header.ok_or_else(RpcError::internal)?);
        }
        call.output.push(b'"');
    }
    call.output.push(b'}');
    Ok(())
}

/// Appends the tip in the form of `headers.subscribe`. There must be no other key: Electrum would disconnect.
pub fn push_tip(snapshot: &Snapshot, output: &mut Vec<u8>) -> Result {
    let height = snapshot.branch.tip().height;
    output.extend_from_slice(b"{\"hex\":");
    push_header(snapshot, height.into(), output)?;
    push_format(output, format_args!(",\"height\":{height}}}"));
    Ok(())
}

pub fn subscribe(client: &mut Client, call: &mut Call<'_>) -> Result {
    client.headers = true;
    push_tip(call.snapshot, call.output)
}
