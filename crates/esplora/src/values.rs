//! The JSON values. The order of the fields is that of Blockstream's electrs.
pub use bitcoind::hex::{parse as parse_all, text as hex};
use serde::{Serialize, Serializer};
use spv::{Hash, bitcoin::display};

/// A hash as Bitcoin displays it, its last byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(pub Hash);

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&display(&self.0))
    }
}

/// The `N` bytes that a text shows; `None` if it is anything else.
pub fn parse<const N: usize>(text: &str) -> Option<[u8; N]> {
    parse_all(text).and_then(|bytes| bytes.try_into().ok())
}

#[derive(Debug, Serialize)]
pub struct BlockValue {
    pub id: Id,
    pub height: u32,
    pub version: u32,
    pub timestamp: u32,
    pub tx_count: u32,
    pub size: usize,
    pub weight: usize,
    pub merkle_root: Id,
    /// Null for genesis.
    pub previousblockhash: Option<Id>,
    pub mediantime: u32,
    pub nonce: u32,
    pub bits: u32,
    pub difficulty: f64,
}

#[derive(Debug, Default, Serialize)]
pub struct BlockStatus {
    pub in_best_chain: bool,
    pub height: Option<u32>,
    pub next_best: Option<Id>,
}

/// Where a transaction is; empty for one that is in no block.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Status {
    pub confirmed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_hash: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_time: Option<u32>,
}

#[derive(Debug, Serialize)]
pub struct TransactionValue {
    pub txid: Id,
    pub version: u32,
    pub locktime: u32,
    pub vin: Vec<InputValue>,
    pub vout: Vec<OutputValue>,
    pub size: usize,
    pub weight: usize,
    pub fee: u64,
    pub status: Status,
}

#[derive(Debug, Serialize)]
pub struct InputValue {
    pub txid: Id,
    pub vout: u32,
    /// Null for a coinbase's input.
    pub prevout: Option<OutputValue>,
    pub scriptsig: String,
    pub scriptsig_asm: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub witness: Vec<String>,
    pub is_coinbase: bool,
    pub sequence: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner_redeemscript_asm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner_witnessscript_asm: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct OutputValue {
    pub scriptpubkey: String,
    pub scriptpubkey_asm: String,
    pub scriptpubkey_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scriptpubkey_address: Option<String>,
    pub value: u64,
}

#[derive(Debug, Default, Serialize)]
pub struct SpendingValue {
    pub spent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txid: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vin: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

#[derive(Debug, Serialize)]
pub struct MerkleValue {
    pub block_height: u32,
    pub merkle: Vec<Id>,
    pub pos: u32,
}

/// A path in the tree of witness hashes.
#[derive(Debug, Serialize)]
pub struct WitnessMerkleValue {
    pub block_height: u32,
    pub merkle: Vec<Id>,
    pub pos: u32,
    pub witness_root: Id,
}

#[derive(Debug, Serialize)]
pub struct UnspentValue {
    pub txid: Id,
    pub vout: u32,
    pub status: Status,
    pub value: u64,
}

/// An address or a script hash, with what happened to it.
#[derive(Debug, Serialize)]
pub struct ScriptValue<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<&'a str>,
    pub chain_stats: Stats,
    pub mempool_stats: Stats,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scripthash: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Stats {
    pub funded_txo_count: u64,
    pub funded_txo_sum: u64,
    pub spent_txo_count: u64,
    pub spent_txo_sum: u64,
    pub tx_count: u64,
}

/// The size of the mempool.
#[derive(Debug, Default, Serialize)]
pub struct MempoolValue {
    pub count: usize,
    pub vsize: u64,
    pub total_fee: u64,
    /// Satoshis per virtual byte, and virtual bytes that pay that much.
    pub fee_histogram: Vec<(f64, u64)>,
}

/// One of the transactions that came last to the mempool.
#[derive(Debug, Serialize)]
pub struct RecentValue {
    pub txid: Id,
    pub fee: u64,
    pub vsize: u64,
    pub value: u64,
}
