//! Sending transactions to the network.
use bitcoind::Error;
use electrum::Service;

use crate::{
    reader::Reader,
    reply::{Age, Answer, Failure, Reply},
    values,
};

/// Bytes added to a transaction's own when charging for it, for the node's work.
const NODE_BYTES: usize = 40_000;

/// Answers a POST: a transaction at `/tx` or a JSON list of them at `/txs/package`, in hexadecimal digits.
pub fn post(service: &Service, reader: &mut Reader<'_>, path: &str, posted: &[u8]) -> Answer {
    if !["/tx", "/txs/package"].contains(&path) {
        return Err(Failure::not_found(format!("endpoint does not exist {path:?}")));
    }
    let none = "no node is behind this server: broadcast it by another one";
    let node = service.node().ok_or_else(|| Failure::bad_request(none))?;
    // A node has to check every signature in what is posted.
    reader.cost += (NODE_BYTES + 10 * posted.len()) as u64 / 200;
    let text = str::from_utf8(posted).map_err(|_| Failure::bad_request("Invalid hex string"))?.trim();
    if path == "/tx" {
        let bytes = values::parse_all(text).ok_or_else(|| Failure::bad_request("Invalid hex string"))?;
        let sent = node.broadcast(&bytes).map_err(|error| refused("sendrawtransaction", error))?;
        return Ok(Reply::text(sent, Age::Short));
    }
    let transactions: Vec<String> =
        serde_json::from_str(text).map_err(|error| Failure::bad_request(format!("Invalid JSON: {error}")))?;
    let sent = node.broadcast_package(transactions.iter().map(String::as_str));
    let sent = sent.map_err(|error| refused("submitpackage", error))?;
    Ok(Reply::encoded_json(sent.whole))
}

/// In the words of electrs.
fn refused(method: &str, error: Error) -> Failure {
    match error {
        Error::Refused(failure) => {
            let error = serde_json::json!({ "code": failure.code, "message": failure.message });
            Failure::bad_request(format!("{method} RPC error: {error}"))
        }
        error => Failure::unavailable(&error),
    }
}
