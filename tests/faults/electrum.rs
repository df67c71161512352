//! Faults of the Electrum server, over TCP, TLS and WebSocket.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use bitcoin::OutPoint;
use serde_json::{Value, json};

use crate::{
    bitcoind::{Bitcoind, chain, payment},
    clock::Clock,
    http_client::get,
    node,
};

/// How long anything may take before a test fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(60);
const HOUR: i64 = 3600;

/// A node that serves wallets, and follows a Bitcoin node.
pub struct Served {
    pub process: node::Process,
    pub tcp: SocketAddr,
    pub web_socket: SocketAddr,
    pub bitcoind: Bitcoind,
    _folder: tempfile::TempDir,
}

impl Served {
    /// Starts both; `more` is more of the section `[electrum]`.
    pub fn start(more: &str) -> Self {
        let (folder, bitcoind) = (tempfile::tempdir().unwrap(), Bitcoind::start(chain(8)));
        let [tcp, web_socket] = order::free_addresses(2).unwrap().try_into().unwrap();
        let path = folder.path().join("turnpike.toml");
        let text = format!(
            "[bitcoin]\nnode = {:?}\ncookie = {:?}\ninterval = 50\n\
             [electrum]\nlisten = [\"{tcp}\"]\nlisten_ws = [\"{web_socket}\"]\nesplora = true\n{more}",
            bitcoind.url(),
            bitcoind.cookie(),
        );
        fs::write(&path, text).unwrap();
        let process = start(&folder.path().join("data"), &path);
        let served = Self { process, tcp, web_socket, bitcoind, _folder: folder };
        wait_until("the node has all blocks", || get(served.process.http, "/api/blocks/tip/height").ends_with("\r\n8"));
        served
    }

    fn esplora(&self, path: &str) -> Value {
        let answer = get(self.process.http, path);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    fn connect(&self) -> BufReader<TcpStream> {
        connect(self.tcp)
    }
}

fn connect(tcp: SocketAddr) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(tcp).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = BufReader::new(stream);
    exchange(&mut stream, r#"{"id":0,"method":"server.version","params":["","1.4"]}"#);
    stream
}

fn start(data: &Path, config: &Path) -> node::Process {
    let arguments = ["--config", config.to_str().unwrap(), "--accounts", "1000"];
    node::start(data, "127.0.0.1:0".parse().unwrap(), &arguments)
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a line, and reads the one that answers it.
fn exchange(stream: &mut BufReader<TcpStream>, line: &str) -> String {
    stream.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_line(&mut reply).unwrap();
    reply
}

fn ask(stream: &mut BufReader<TcpStream>, method: &str, params: Value) -> Value {
    let reply = exchange(stream, &json!({"id": 1, "method": method, "params": params}).to_string());
    let mut reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(reply["error"], Value::Null, "{method}: {reply}");
    reply["result"].take()
}

/// With `bitcoind -blocksonly` an estimate is an error. Electrum leaves a server that passes it on; -1 means no
/// estimate.
#[test]
fn a_bitcoin_node_without_estimates_loses_no_wallet() {
    let served = Served::start("");
    let mut wallet = served.connect();
    for blocks in [1, 2, 6, 25, 1008, 100_000] {
        assert_eq!(ask(&mut wallet, "blockchain.estimatefee", json!([blocks])), json!(-1), "{blocks}");
    }
    assert_eq!(served.esplora("/api/fee-estimates"), json!({}));
    assert_eq!(ask(&mut wallet, "blockchain.relayfee", json!([])), json!(0.00001));
    // Once there are estimates, wallets get them.
    served.bitcoind.state.lock().unwrap().estimate = Some(0.00025);
    wait_until("an estimate", || ask(&mut wallet, "blockchain.estimatefee", json!([6])) == json!(0.00025));
    assert_eq!(served.esplora("/api/fee-estimates")["6"], json!(25.0));
}

/// An id comes back with every digit, on its own and in a batch (JSON-RPC 2.0, section 5).
#[test]
fn an_id_comes_back_as_it_was_sent() {
    let served = Served::start("");
    let mut wallet = served.connect();
    for id in ["18446744073709551615", "18446744073709551616", "-9223372036854775809", "1.5", "\"x\"", "null"] {
        let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"server.ping"}}"#);
        let reply = format!(r#"{{"jsonrpc":"2.0","result":null,"id":{id}}}"#);
        assert_eq!(exchange(&mut wallet, &request).trim_end(), reply);
        assert_eq!(exchange(&mut wallet, &format!("[{request}]")).trim_end(), format!("[{reply}]"));
    }
}

/// Esplora's histogram has the last group, too, and an output that anybody spends (P2A) has its type and its address.
#[test]
fn what_waits_is_in_esploras_histogram() {
    let served = Served::start("");
    assert_eq!(served.esplora("/api/mempool")["fee_histogram"], json!([]));
    let coinbase = payment(None, 1, 50 * 100_000_000, &[0x51]).compute_txid();
    let spending = payment(Some(OutPoint::new(coinbase, 0)), 0, 49 * 100_000_000, &[0x51, 0x02, 0x4e, 0x73]);
    served.bitcoind.state.lock().unwrap().waiting.push(spending.clone());
    wait_until("the transaction waits", || served.esplora("/api/mempool")["count"] == json!(1));
    let mempool = served.esplora("/api/mempool");
    let histogram = mempool["fee_histogram"].as_array().unwrap();
    assert_eq!((histogram.len(), &histogram[0][1]), (1, &mempool["vsize"]), "{mempool}");
    let output = &served.esplora(&format!("/api/tx/{}", spending.compute_txid()))["vout"][0];
    assert_eq!(
        (&output["scriptpubkey_type"], &output["scriptpubkey_address"]),
        (&json!("anchor"), &json!("bcrt1pfeesnyr2tx"))
    );
}

/// A node follows, and serves wallets, whatever becomes of its clock.
#[test]
fn a_node_follows_bitcoin_through_steps_of_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let Some(clock) = Clock::new(folder.path(), "clock") else { return };
    let bitcoind = Bitcoind::start(chain(6));
    let [tcp] = order::free_addresses(1).unwrap().try_into().unwrap();
    let path = folder.path().join("turnpike.toml");
    let text = format!(
        "[bitcoin]\nnode = {:?}\ncookie = {:?}\ninterval = 50\n[electrum]\nlisten = [\"{tcp}\"]\nesplora = true\n",
        bitcoind.url(),
        bitcoind.cookie(),
    );
    fs::write(&path, text).unwrap();
    bitcoind.state.lock().unwrap().mined = Some(2);
    let program = env!("CARGO_BIN_EXE_turnpike");
    let listen = "127.0.0.1:0".parse().unwrap();
    let mut command = node::Process::command(program, "serve", &folder.path().join("data"), listen);
    command.args(["--config", path.to_str().unwrap(), "--accounts", "1000"]);
    let process = node::Process::run(clock.attach(&mut command)).unwrap();
    wait_until("the first block", || get(process.http, "/api/blocks/tip/height").ends_with("\r\n1"));
    let mut wallet = connect(tcp);
    assert_eq!(ask(&mut wallet, "blockchain.headers.subscribe", json!([]))["height"], json!(1));
    for (height, ahead) in [(2, HOUR), (3, 0), (4, -HOUR), (5, 600), (6, 0)] {
        clock.step(ahead);
        bitcoind.state.lock().unwrap().mined = Some(height + 1);
        let mut notification = String::new();
        wallet.read_line(&mut notification).unwrap();
        let sent: Value = serde_json::from_str(&notification).unwrap();
        assert_eq!(sent["params"][0]["height"], json!(height), "the clock is {ahead} s ahead: {notification}");
        assert_eq!(ask(&mut wallet, "server.ping", json!([])), Value::Null);
    }
    assert!(process.stop().unwrap());
}

/// A WebSocket as bytes.
struct Frames(TcpStream);

impl Frames {
    fn open(to: SocketAddr) -> Self {
        let (stream, answer) = shake_hands(to, "dGhlIHNhbXBsZSBub25jZQ==", "13");
        assert!(answer.starts_with("HTTP/1.1 101 ") && answer.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{answer}");
        Self(stream)
    }

    /// Sends a frame whose mask is 0.
    fn send(&mut self, first: u8, payload: &[u8]) {
        let head = [first, 0x80 | u8::try_from(payload.len()).unwrap(), 0, 0, 0, 0];
        self.0.write_all(&[&head, payload].concat()).unwrap();
    }

    /// Code of the Close frame that comes, and whether the stream ends with it.
    fn read_close(&mut self) -> (u16, bool) {
        let mut bytes = Vec::new();
        let has_ended = self.0.read_to_end(&mut bytes).is_ok();
        assert_eq!(bytes.first(), Some(&0x88), "{bytes:?}");
        (u16::from_be_bytes([bytes[2], bytes[3]]), has_ended && bytes.len() == 2 + usize::from(bytes[1]))
    }
}

/// Asks for a WebSocket, and reads the answer's head.
fn shake_hands(to: SocketAddr, key: &str, version: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n\
         Sec-WebSocket-Version: {version}\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    (stream, String::from_utf8(answer).unwrap())
}

/// A bad handshake is answered (RFC 6455, section 4.2), and a broken frame gets a Close with its code (section
/// 7.4).
#[test]
fn a_web_socket_says_what_is_wrong() {
    let served = Served::start("");
    let status = |key: &str, version: &str| shake_hands(served.web_socket, key, version).1;
    assert!(status("xx", "13").starts_with("HTTP/1.1 400 "));
    let old = status("dGhlIHNhbXBsZSBub25jZQ==", "8");
    assert!(old.starts_with("HTTP/1.1 426 ") && old.contains("\r\nSec-WebSocket-Version: 13\r\n"), "{old}");
    assert!(get(served.web_socket, "/").starts_with("HTTP/1.1 426 "));
    let wrong: [(&str, u8, &[u8], u16); 8] = [
        ("a reserved bit", 0xc1, b"{}", 1002),
        ("opcode 3", 0x83, b"", 1002),
        ("a continuation of nothing", 0x80, b"{}", 1002),
        ("a ping in parts", 0x09, b"x", 1002),
        ("a Close of one byte", 0x88, b"\x03", 1002),
        ("a Close with code 999", 0x88, b"\x03\xe7", 1002),
        ("a text that is not UTF-8", 0x81, b"\xff\xfe", 1007),
        ("a Close with code 1000", 0x88, b"\x03\xe8", 1000),
    ];
    for (what, first, payload, code) in wrong {
        let mut frames = Frames::open(served.web_socket);
        frames.send(first, payload);
        assert_eq!(frames.read_close(), (code, true), "{what}");
    }
}
