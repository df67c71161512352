//! A node with `[electrum]`, as a wallet's connection sees it.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};

/// How long a reply may take before the test fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The script hash of `12higDjoCCNXSA95xZMWUdPvXNmkAduhWv`, which is paid most in the blocks, as the protocol has it: backwards.
const BUSIEST: &str = "d71ed039e053a393120487d7526b4416c00f38cbaf43716de918b435c629112c";

struct Wallet(BufReader<TcpStream>);

impl Wallet {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        self.0.get_mut().write_all(format!("{request}\n").as_bytes()).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        let mut reply: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(reply["id"], 7, "{line}");
        reply["result"].take()
    }
}

/// An address that is free, as the configuration is written before the node starts.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn metrics(http: SocketAddr) -> String {
    let mut stream = TcpStream::connect(http).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_wallet_is_served_from_imported_blocks() {
    let Some(file) = skip::blocks("blk_0_to_14131.dat") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (data, config) = (folder.path().join("data"), folder.path().join("turnpike.toml"));
    let import = |data: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
        let output = command.args(["import", "bitcoin"]).arg(&file).arg("--data").arg(data).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let address = free_address();
    fs::write(&config, format!("[electrum]\nlisten = [\"{address}\"]\n")).unwrap();
    let arguments = ["--config", config.to_str().unwrap(), "--accounts", "1000"];

    // There is nothing to serve yet, and the node says so instead of serving an empty chain.
    let listen = "127.0.0.1:0".parse().unwrap();
    let refused = common::Process::start(env!("CARGO_BIN_EXE_turnpike"), &data, listen, &arguments);
    assert!(refused.is_err());

    import(&data);
    let node = common::start(&data, listen, &arguments);
    let mut wallet = Wallet::connect(address);
    assert_eq!(wallet.ask("server.version", json!(["test", "1.4"]))[1], "1.4");
    assert_eq!(wallet.ask("blockchain.headers.subscribe", json!([]))["height"], 14_131);
    let history = wallet.ask("blockchain.scripthash.get_history", json!([BUSIEST]));
    assert_eq!(history.as_array().unwrap().len(), 21);
    let balance = wallet.ask("blockchain.scripthash.get_balance", json!([BUSIEST]));
    assert_eq!(balance, json!({"confirmed": 2_317_533_000_000_u64, "unconfirmed": 0}));
    let transaction = &history[0];
    let proved =
        wallet.ask("blockchain.transaction.get_merkle", json!([transaction["tx_hash"], transaction["height"]]));
    assert_eq!(proved["block_height"], transaction["height"]);

    let text = metrics(node.http);
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    assert_eq!(value("turnpike_electrum_connections "), Some(1), "{text}");
    assert!(value("turnpike_electrum_requests_total ").is_some_and(|requests| requests >= 5), "{text}");
    drop(wallet);
    assert!(node.stop().unwrap());
}
