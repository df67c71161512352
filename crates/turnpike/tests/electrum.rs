//! A node with `[electrum]`, as a wallet's connection sees it.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/http.rs"]
mod http;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::Command,
    time::Duration,
};

use http::get;
use serde_json::{Value, json};

/// How long a reply may take before the test fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The script hash of `12higDjoCCNXSA95xZMWUdPvXNmkAduhWv`, which is paid most in the blocks, as the protocol has it:
/// backwards.
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
    // The configuration is written before the node starts.
    let [address, web_socket] = order::free_addresses(2).unwrap().try_into().unwrap();
    fs::write(
        &config,
        format!("[electrum]\nlisten = [\"{address}\"]\nlisten_ws = [\"{web_socket}\"]\nesplora = true\n"),
    )
    .unwrap();
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

    let (mut socket, _) = tungstenite::client("ws://localhost/", TcpStream::connect(web_socket).unwrap()).unwrap();
    let request = json!({"id": 1, "method": "server.version", "params": ["test", "1.6"]});
    socket.send(tungstenite::Message::text(request.to_string())).unwrap();
    let reply: Value = serde_json::from_str(socket.read().unwrap().to_text().unwrap()).unwrap();
    assert_eq!(reply["result"][1], "1.6");
    drop(socket);

    // Esplora's API on the other address, over the same blocks.
    let tip = get(node.http, "/api/blocks/tip/height");
    assert!(tip.starts_with("HTTP/1.1 200 OK\r\n") && tip.contains("Cache-Control: public, max-age=10\r\n"), "{tip}");
    assert!(tip.ends_with("\r\n\r\n14131"), "{tip}");
    let path = format!("/api/tx/{}/merkle-proof", transaction["tx_hash"].as_str().unwrap());
    let esplora = get(node.http, &path);
    let body: Value = serde_json::from_str(esplora.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(body, proved);
    assert!(get(node.http, "/api/tx/0").starts_with("HTTP/1.1 400 Bad Request\r\n"));

    // The load tool finds out by itself what there is to ask for.
    let load = |methods: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
        command.args(["--json", "load", "--electrum", &address.to_string(), "--methods", methods]);
        command.args(["--operations", "5000", "--connections", "3", "--depth", "50", "--sample", "200"]);
        command.args(["--pid", &node.id().to_string()]).output().unwrap()
    };
    let output = load("merkle=3,history,subscribe,balance,unspent,transaction,header,header-proof,ping");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["requests"], &report["errors"]), (&json!(5000), &json!(0)), "{report}");
    let methods = report["methods"].as_object().unwrap();
    let asked = |name: &str| methods[name].as_u64().unwrap();
    assert_eq!((methods.len(), methods.values().filter_map(Value::as_u64).sum::<u64>()), (9, 5000));
    assert!(asked("merkle") > 2 * asked("history") && asked("ping") > 100, "{report}");
    let figures = ["latency_p50_us", "latency_p99_us", "processor_seconds", "requests_per_processor_second"];
    assert!(figures.iter().all(|figure| report[*figure].as_f64().is_some_and(|value| value > 0.0)), "{report}");
    let wrong = load("merkel");
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("not one of merkle, history"));

    let text = get(node.http, "/metrics");
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    assert_eq!(value("turnpike_electrum_connections "), Some(1), "{text}");
    assert!(value("turnpike_electrum_requests_total ").is_some_and(|requests| requests >= 5), "{text}");
    drop(wallet);
    assert!(node.stop().unwrap());
}
