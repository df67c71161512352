//! The subjects of requests: transactions sampled from the server's whole chain, as the server reports them.

use chain::bitcoin::{Transaction, script_hash};
use serde::Deserialize;
use serde_json::{Value, json};
use spv::bitcoin::{Encoding, display};

use crate::hex;

use super::{
    connection::{Connection, Failed},
    draw::Draw,
};

/// Requests in flight during sampling.
const DEPTH: usize = 100;

/// A transaction of the sample.
pub struct Sampled {
    /// Its hash, in the protocol's form.
    pub id: String,
    pub height: u32,
    /// The hash of the script of its first output, as the protocol has it.
    pub script: String,
}

/// A sample of a chain.
pub struct Sample {
    pub tip: u32,
    /// One at least.
    pub transactions: Vec<Sampled>,
}

#[derive(Deserialize)]
struct Tip {
    height: u32,
}

impl Sample {
    /// Samples the first transactions of `count` blocks.
    pub fn take(connection: &mut Connection, count: u32, seed: u64) -> Result<Self, Failed> {
        let Tip { height: tip } = connection.ask("blockchain.headers.subscribe", &json!([]))?;
        let mut draw = Draw::new(seed, 0);
        // Genesis's coinbase is not served by everybody.
        let heights: Vec<u32> = (0..count).map(|_| 1 + (draw.next() % u64::from(tip.max(1))) as u32).collect();
        let mut transactions = Vec::with_capacity(heights.len());
        for heights in heights.chunks(DEPTH) {
            let places: Vec<Value> = heights.iter().map(|height| json!([height, 0])).collect();
            let ids: Vec<String> = connection.ask_all("blockchain.transaction.id_from_pos", &places)?;
            let asked: Vec<Value> = ids.iter().map(|id| json!([id])).collect();
            let raw: Vec<String> = connection.ask_all("blockchain.transaction.get", &asked)?;
            for ((id, raw), height) in ids.into_iter().zip(raw).zip(heights) {
                let script = script(&raw).ok_or_else(|| Failed::NoTransaction(id.clone()))?;
                transactions.push(Sampled { id, height: *height, script });
            }
        }
        Ok(Self { tip, transactions })
    }
}

/// The hash of the script of a transaction's first output.
fn script(raw: &str) -> Option<String> {
    let bytes = hex::decode(raw)?;
    let transaction = Transaction::read(&mut Encoding::new(&bytes)).ok()?;
    Some(display(&script_hash(transaction.outputs().next()?.script)).to_string())
}
