//! The methods of the protocol: their names, parameters, versions and implementations.
mod blocks;
mod outpoints;
mod scripts;
mod server;
mod transactions;

use crate::{
    arguments::{Arguments, Signature},
    client::Client,
    rpc::{Parameters, RpcError},
    service::Snapshot,
    version::{V1_4, V1_4_2, V1_6, V1_7, V1_8, Version},
};

pub use blocks::push_tip;
pub use outpoints::{push as push_outpoint, script as outpoint_script};
pub use scripts::push_status;

/// The method that must come first.
pub const VERSION: &str = "server.version";

/// A method call: its arguments, and where its result goes.
pub struct Call<'a> {
    pub arguments: Arguments<'a>,
    pub snapshot: &'a Snapshot,
    /// The result is appended as JSON.
    pub output: &'a mut Vec<u8>,
    /// Cost in microseconds of work, approximately.
    pub cost: &'a mut u64,
}

pub type Result = std::result::Result<(), RpcError>;

/// A method of the protocol.
pub struct Method {
    pub name: &'static str,
    pub signature: Signature,
    since: Version,
    /// The first version without it.
    until: Version,
    pub run: for<'a> fn(&mut Client, &mut Call<'a>) -> Result,
    /// Whether answering takes a call to the node, which may take arbitrarily long.
    pub asks_node: fn(&Parameters<'_>) -> bool,
}

/// A version that does not exist yet.
const NEVER: Version = Version([u32::MAX; 3]);

const fn method(
    name: &'static str,
    names: &'static [&'static str],
    required: usize,
    run: for<'a> fn(&mut Client, &mut Call<'a>) -> Result,
) -> Method {
    let signature = Signature { names, required, is_lenient: false };
    Method { name, signature, since: V1_4, until: NEVER, run, asks_node: |_| false }
}

impl Method {
    const fn since(self, since: Version) -> Self {
        Self { since, ..self }
    }

    const fn until(self, until: Version) -> Self {
        Self { until, ..self }
    }

    const fn asks_node(self) -> Self {
        Self { asks_node: |_| true, ..self }
    }

    /// Accepts additional parameters.
    const fn lenient(self) -> Self {
        Self { signature: Signature { is_lenient: true, ..self.signature }, ..self }
    }
}

const SCRIPT_HASH: &[&str] = &["scripthash"];
const SCRIPT: &[&str] = &["spk"];
const OUTPOINT: &[&str] = &["tx_hash", "txout_idx", "spk_hint"];
/// Ignored before 1.7, as in ElectrumX.
const PING: &[&str] = &["pong_len", "data"];

/// All methods.
static METHODS: [Method; 38] = [
    method("blockchain.block.header", &["height", "cp_height"], 1, blocks::header),
    method("blockchain.block.headers", &["start_height", "count", "cp_height"], 2, blocks::headers),
    // npm's @mempool/electrum-client sends an extra parameter.
    method("blockchain.headers.subscribe", &[], 0, blocks::subscribe).lenient(),
    method("blockchain.estimatefee", &["number", "mode"], 1, server::estimate_fee).asks_node(),
    method("blockchain.relayfee", &[], 0, server::relay_fee).until(V1_6),
    method("blockchain.scripthash.get_balance", SCRIPT_HASH, 1, scripts::balance).until(V1_7),
    method("blockchain.scripthash.get_history", SCRIPT_HASH, 1, scripts::history).until(V1_7),
    method("blockchain.scripthash.get_mempool", SCRIPT_HASH, 1, scripts::mempool).until(V1_7),
    method("blockchain.scripthash.listunspent", SCRIPT_HASH, 1, scripts::unspent).until(V1_7),
    method("blockchain.scripthash.subscribe", SCRIPT_HASH, 1, scripts::subscribe).until(V1_7),
    method("blockchain.scripthash.unsubscribe", SCRIPT_HASH, 1, scripts::unsubscribe).since(V1_4_2).until(V1_7),
    method("blockchain.scriptpubkey.get_balance", SCRIPT, 1, scripts::balance).since(V1_7),
    method("blockchain.scriptpubkey.get_history", SCRIPT, 1, scripts::history).since(V1_7),
    method("blockchain.scriptpubkey.get_mempool", SCRIPT, 1, scripts::mempool).since(V1_7),
    method("blockchain.scriptpubkey.listunspent", SCRIPT, 1, scripts::unspent).since(V1_7),
    method("blockchain.scriptpubkey.subscribe", SCRIPT, 1, scripts::subscribe).since(V1_7),
    method("blockchain.scriptpubkey.unsubscribe", SCRIPT, 1, scripts::unsubscribe).since(V1_7),
    method("blockchain.outpoint.get_status", OUTPOINT, 3, outpoints::get_status).since(V1_7),
    method("blockchain.outpoint.subscribe", OUTPOINT, 3, outpoints::subscribe).since(V1_7),
    method("blockchain.outpoint.unsubscribe", &["tx_hash", "txout_idx"], 2, outpoints::unsubscribe).since(V1_7),
    method("blockchain.transaction.broadcast", &["raw_tx"], 1, transactions::broadcast).asks_node(),
    method("blockchain.transaction.broadcast_package", &["raw_txs", "verbose"], 1, transactions::broadcast_package)
        .since(V1_6)
        .asks_node(),
    method("blockchain.transaction.testmempoolaccept", &["raw_txs"], 1, transactions::test_accept)
        .since(V1_7)
        .asks_node(),
    Method {
        asks_node: transactions::is_verbose,
        ..method("blockchain.transaction.get", &["tx_hash", "verbose"], 1, transactions::get)
    },
    method("blockchain.transaction.get_merkle", &["tx_hash", "height"], 2, transactions::merkle),
    method("blockchain.transaction.get_merkle_witness", &["tx_hash", "height"], 1, transactions::merkle_witness)
        .since(V1_8),
    method("blockchain.transaction.id_from_pos", &["height", "tx_pos", "merkle"], 2, transactions::id_from_position),
    method("mempool.get_fee_histogram", &[], 0, server::fee_histogram),
    method("mempool.get_info", &[], 0, server::mempool_info).since(V1_6),
    method("mempool.recent", &[], 0, server::recent).since(V1_7),
    method("server.add_peer", &["features"], 1, server::add_peer),
    method("server.banner", &[], 0, server::banner),
    method("server.donation_address", &[], 0, server::donation_address),
    method("server.features", &[], 0, server::features),
    method("server.peers.subscribe", &[], 0, server::peers),
    method("server.ping", PING, 0, server::ping).until(V1_7),
    method("server.ping", PING, 0, server::padded_ping).since(V1_7),
    method(VERSION, &["client_name", "protocol_version"], 0, server::version).lenient(),
];

/// Finds a method by name in a version.
pub fn find(name: &str, version: Version) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name && (method.since..method.until).contains(&version))
}

/// The error for a client if the store fails; logs the reason for the operator.
pub(crate) fn failed(error: chain::bitcoin::Error) -> RpcError {
    tracing::error!(%error, "request of an Electrum client failed");
    RpcError::internal()
}
