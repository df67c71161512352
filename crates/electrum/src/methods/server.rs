//! `server.*`, and the methods on fees that take a full node.
use bitcoind::Fees;

use super::{Call, Result, transactions::NODE_COST};
use crate::{
    arguments::shown,
    client::Client,
    rpc::{Parameter, RpcError, push_format, push_text},
    version::{V1_7, Version},
};

/// Name of this server.
const SOFTWARE: &str = concat!("Turnpike ", env!("CARGO_PKG_VERSION"));

/// Default minimum relay fee of Bitcoin Core, in bitcoins per 1,000 virtual bytes.
const RELAY_FEE: f64 = 0.00001;

pub fn version(client: &mut Client, call: &mut Call<'_>) -> Result {
    if client.has_version {
        return Err(RpcError::bad_request("server.version already sent"));
    }
    client.has_version = true;
    let asked = call.arguments.value(1);
    let range = match asked {
        Parameter::Null => Some((Version::OLDEST, Version::OLDEST)),
        Parameter::Text(text) => Version::parse(text).map(|version| (version, version)),
        Parameter::List(texts) => match &texts[..] {
            [oldest, newest] => Version::parse(oldest).zip(Version::parse(newest)),
            _ => None,
        },
        Parameter::Boolean(_) | Parameter::Integer(_) | Parameter::Float(_) | Parameter::Object => None,
    };
    let Some(version) = range.and_then(|(oldest, newest)| Version::negotiate(oldest, newest)) else {
        client.closing = true;
        let asked = match asked {
            Parameter::List(texts) => format!("{texts:?}"),
            asked => shown(asked).into_owned(),
        };
        return Err(RpcError::bad_request(format!("unsupported protocol version: {asked}")));
    };
    client.version = Some(version);
    push_format(call.output, format_args!("[\"{SOFTWARE}\",\"{version}\"]"));
    Ok(())
}

pub fn features(client: &mut Client, call: &mut Call<'_>) -> Result {
    let genesis = call.snapshot.branch.headers().hash(0).copied().unwrap_or_default();
    let genesis = crate::hex::reversed(&genesis);
    let (oldest, newest) = (Version::OLDEST, Version::NEWEST);
    push_format(
        call.output,
        format_args!(
            "{{\"hosts\":{{}},\"pruning\":null,\"server_version\":\"{SOFTWARE}\",\"protocol_min\":\"{oldest}\",\
             \"protocol_max\":\"{newest}\",\"genesis_hash\":\"{genesis}\",\"services\":[]"
        ),
    );
    if client.version() < V1_7 {
        call.output.extend_from_slice(b",\"hash_function\":\"sha256\"");
    }
    call.output.push(b'}');
    Ok(())
}

pub fn banner(client: &mut Client, call: &mut Call<'_>) -> Result {
    push_text(call.output, &client.service.settings.banner);
    Ok(())
}

pub fn donation_address(client: &mut Client, call: &mut Call<'_>) -> Result {
    push_text(call.output, &client.service.settings.donation_address);
    Ok(())
}

/// No other servers are known or announced.
pub fn peers(_: &mut Client, call: &mut Call<'_>) -> Result {
    call.output.extend_from_slice(b"[]");
    Ok(())
}

pub fn add_peer(_: &mut Client, call: &mut Call<'_>) -> Result {
    call.output.extend_from_slice(b"false");
    Ok(())
}

pub fn ping(_: &mut Client, call: &mut Call<'_>) -> Result {
    call.output.extend_from_slice(b"null");
    Ok(())
}

/// A ping whose reply has the length that the client requests, against traffic analysis.
pub fn padded_ping(client: &mut Client, call: &mut Call<'_>) -> Result {
    let length = call.arguments.number(0, 0)?;
    match call.arguments.get(1) {
        None => {}
        Some(Parameter::Text(data)) if data.bytes().all(|byte| byte.is_ascii_hexdigit()) => {}
        Some(other) => return Err(RpcError::bad_request(format!("{} should be a hex string", shown(other)))),
    }
    // Trusted clients have no reply limit, but nobody needs more than that here.
    let length = usize::try_from(length).ok().filter(|length| *length <= client.share.limits().reply);
    let length = length.ok_or_else(|| RpcError::bad_request("pong_len value too high"))?;
    call.output.extend_from_slice(b"{\"data\":\"");
    call.output.resize(call.output.len() + length, b'0');
    call.output.extend_from_slice(b"\"}");
    Ok(())
}

/// The estimate, or -1 without one, for whatever reason: Electrum leaves a server that replies with an error here.
pub fn estimate_fee(client: &mut Client, call: &mut Call<'_>) -> Result {
    let blocks = call.arguments.number(0, 0)?;
    // A value other than a text counts as missing, as in ElectrumX.
    let mode = match call.arguments.value(1) {
        Parameter::Text(mode) => Some(mode.to_uppercase()),
        _ => None,
    };
    if let Some(mode) = &mode
        && !["ECONOMICAL", "CONSERVATIVE"].contains(&mode.as_str())
    {
        return Err(RpcError::bad_request(format!("unknown estimatefee mode: {mode}")));
    }
    let mut fee = None;
    if let Some(node) = client.service.node() {
        *call.cost += NODE_COST;
        fee = node.estimate_fee(call.snapshot.edition, blocks, mode);
    }
    match fee {
        Some(fee) => push_format(call.output, format_args!("{fee}")),
        None => call.output.extend_from_slice(b"-1"),
    }
    Ok(())
}

/// Minimum fees of transactions: without a node, Bitcoin Core's defaults.
fn fees(client: &Client) -> Fees {
    client.service.mempool().fees().unwrap_or(Fees { mempool: RELAY_FEE, relay: RELAY_FEE, increment: RELAY_FEE })
}

pub fn relay_fee(client: &mut Client, call: &mut Call<'_>) -> Result {
    push_format(call.output, format_args!("{}", fees(client).relay));
    Ok(())
}

pub fn mempool_info(client: &mut Client, call: &mut Call<'_>) -> Result {
    let Fees { mempool, relay, increment } = fees(client);
    push_format(
        call.output,
        format_args!("{{\"mempoolminfee\":{mempool},\"minrelaytxfee\":{relay},\"incrementalrelayfee\":{increment}}}"),
    );
    Ok(())
}

pub fn fee_histogram(client: &mut Client, call: &mut Call<'_>) -> Result {
    call.output.push(b'[');
    for (place, (rate, size)) in client.service.mempool().histogram().into_iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        push_format(call.output, format_args!("{comma}[{}.{},{size}]", rate / 10, rate % 10));
        *call.cost += 1;
    }
    call.output.push(b']');
    Ok(())
}

pub fn recent(client: &mut Client, call: &mut Call<'_>) -> Result {
    call.output.push(b'[');
    for (place, waiting) in client.service.mempool().recent().enumerate() {
        call.output.extend_from_slice(if place == 0 { b"{\"txid\":\"" } else { b",{\"txid\":\"" });
        crate::hex::push_reversed(call.output, &waiting.hash);
        push_format(call.output, format_args!("\",\"fee\":{},\"vsize\":{}}}", waiting.fee, waiting.size));
    }
    call.output.push(b']');
    Ok(())
}
