//! A chain of regtest, and a Bitcoin node that serves it by RPC: as much of bitcoind as a node that follows it asks
//! for.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use bitcoin::{
    Amount, Block, CompactTarget, Network, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxMerkleNode, TxOut,
    Witness,
    absolute::LockTime,
    block::{Header, Version},
    consensus::encode::serialize_hex,
    constants::genesis_block,
    transaction,
};
use serde_json::{Value, json};

/// Seconds between two blocks.
const SPACING: u32 = 600;
/// Satoshis of a coinbase.
const SUBSIDY: u64 = 50 * 100_000_000;

/// Pays to a script. Without `spent` it is the coinbase of the block at `height`.
pub fn payment(spent: Option<OutPoint>, height: u32, value: u64, script: &[u8]) -> Transaction {
    let input = TxIn {
        previous_output: spent.unwrap_or_else(OutPoint::null),
        // A coinbase holds the height, so that no two are the same.
        script_sig: ScriptBuf::from_bytes(match spent {
            Some(_) => Vec::new(),
            None => [&[4], &height.to_le_bytes()[..], &[0]].concat(),
        }),
        sequence: Sequence::MAX,
        witness: Witness::new(),
    };
    let output = TxOut { value: Amount::from_sat(value), script_pubkey: ScriptBuf::from_bytes(script.to_vec()) };
    Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![input],
        output: vec![output],
    }
}

/// A chain of genesis and `length` blocks, whose coinbases anybody may spend (`OP_TRUE`).
pub fn chain(length: u32) -> Vec<Block> {
    let mut blocks = vec![genesis_block(Network::Regtest)];
    for height in 1..=length {
        let previous = &blocks[blocks.len() - 1];
        let coinbase = payment(None, height, SUBSIDY, &[0x51]);
        let mut header = Header {
            version: Version::TWO,
            prev_blockhash: previous.block_hash(),
            merkle_root: TxMerkleNode::from_raw_hash(coinbase.compute_txid().to_raw_hash()),
            time: previous.header.time + SPACING,
            bits: CompactTarget::from_consensus(0x207f_ffff),
            nonce: 0,
        };
        while header.validate_pow(header.target()).is_err() {
            header.nonce += 1;
        }
        blocks.push(Block { header, txdata: vec![coinbase] });
    }
    blocks
}

/// Answers of the node, apart from its blocks.
#[derive(Default)]
pub struct State {
    /// Transactions that wait to be in a block.
    pub waiting: Vec<Transaction>,
    /// The answer to `estimatesmartfee`; an error without one, as of `bitcoind -blocksonly`.
    pub estimate: Option<f64>,
    /// The number of blocks that are mined so far; all, if it is not given.
    pub mined: Option<usize>,
}

/// A Bitcoin node, whose threads end with the process.
pub struct Bitcoind {
    address: SocketAddr,
    /// Answers that a test may change.
    pub state: Arc<Mutex<State>>,
    folder: tempfile::TempDir,
}

impl Bitcoind {
    /// Serves a chain.
    pub fn start(blocks: Vec<Block>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, state) = (listener.local_addr().unwrap(), Arc::<Mutex<State>>::default());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cookie"), "user:password").unwrap();
        let (blocks, shared) = (Arc::new(blocks), Arc::clone(&state));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (blocks, state) = (Arc::clone(&blocks), Arc::clone(&shared));
                // A client may leave early.
                thread::spawn(move || drop(serve(stream, &blocks, &state)));
            }
        });
        Self { address, state, folder }
    }

    /// Its address, for `bitcoin.node`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The file for `bitcoin.cookie`.
    pub fn cookie(&self) -> PathBuf {
        self.folder.path().join("cookie")
    }
}

/// Answers one request: a call, or a batch of calls.
fn serve(stream: TcpStream, blocks: &[Block], state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let request: Value = serde_json::from_slice(&body)?;
    let answer = match request.as_array() {
        Some(calls) => calls.iter().map(|call| answer(call, blocks, state)).collect(),
        None => answer(&request, blocks, state),
    };
    let body = answer.to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    reader.get_mut().write_all((head + &body).as_bytes())
}

fn answer(call: &Value, blocks: &[Block], state: &Mutex<State>) -> Value {
    let parameter = &call["params"][0];
    let state = state.lock().unwrap();
    let blocks = &blocks[..state.mined.unwrap_or(blocks.len())];
    let not_found = || Err((-5, "not found"));
    let result = match call["method"].as_str().unwrap() {
        "getblockchaininfo" => {
            let best = blocks[blocks.len() - 1].block_hash().to_string();
            Ok(json!({"chain": "regtest", "blocks": blocks.len() - 1, "bestblockhash": best}))
        }
        "getblockhash" => {
            let block = blocks.get(parameter.as_u64().unwrap() as usize);
            block.map_or_else(not_found, |block| Ok(json!(block.block_hash().to_string())))
        }
        "getblock" => {
            let block = blocks.iter().find(|block| json!(block.block_hash().to_string()) == *parameter);
            block.map_or_else(not_found, |block| Ok(json!(serialize_hex(block))))
        }
        "waitfornewblock" => {
            drop(state);
            thread::sleep(Duration::from_millis(200));
            Ok(json!({}))
        }
        "getrawmempool" => {
            Ok(state.waiting.iter().map(|transaction| json!(transaction.compute_txid().to_string())).collect())
        }
        "getrawtransaction" => {
            let found = state.waiting.iter().find(|found| json!(found.compute_txid().to_string()) == *parameter);
            found.map_or_else(not_found, |transaction| Ok(json!(serialize_hex(transaction))))
        }
        "getmempoolinfo" => {
            Ok(json!({"mempoolminfee": 0.00001, "minrelaytxfee": 0.00001, "incrementalrelayfee": 0.00001}))
        }
        "estimatesmartfee" => match state.estimate {
            Some(fee) => Ok(json!({"feerate": fee, "blocks": 2})),
            None => Err((-32603, "Fee estimation disabled")),
        },
        _ => Err((-32601, "Method not found")),
    };
    match result {
        Ok(result) => json!({"result": result, "error": null, "id": call["id"]}),
        Err((code, message)) => json!({"result": null, "error": {"code": code, "message": message}, "id": call["id"]}),
    }
}
