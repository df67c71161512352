//! Faults of the HTTP server: metrics, Esplora's API.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::Duration,
};

use crate::{electrum::Served, http_client::get, node};

/// How long an answer may take before a test fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// A request that is the last one of its connection.
const LAST: &str = "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// All that is answered to bytes, until the connection ends.
fn send(to: SocketAddr, bytes: &str) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut answer = String::new();
    // One that is closed with bytes unread may be reset after the answer.
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// The statuses of the answers.
fn statuses(answer: &str) -> Vec<&str> {
    let answers = answer.split("HTTP/1.1 ").filter(|answer| answer.starts_with(|first: char| first.is_ascii_digit()));
    answers.map(|answer| &answer[..3]).collect()
}

/// A request whose end two readers could see at different places is refused, and the bytes after it are not a request.
#[test]
fn no_request_is_smuggled_in_a_body() {
    let data = tempfile::tempdir().unwrap();
    let node = node::start(data.path(), "127.0.0.1:0".parse().unwrap(), &["--accounts", "1000"]);
    let post = |headers: &str, body: &str| {
        send(node.http, &format!("POST /metrics HTTP/1.1\r\nHost: a\r\n{headers}\r\n\r\n{body}{LAST}"))
    };
    for (headers, body) in [
        ("Content-Length: 4\r\nContent-Length: 60", "0102"),
        ("Content-Length: 4, 5", "0102"),
        ("Content-Length: +4", "0102"),
        ("Content-Length: 0x4", "0102"),
        ("Content-Length:", ""),
        ("Content-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked", "+4\r\n0102\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked", "4\n0102\n0\n\n"),
    ] {
        let answer = post(headers, body);
        assert_eq!(statuses(&answer), ["400"], "{headers}: {answer}");
    }
    // With one length, however often it is said, or in chunks a body is a body: nothing can be posted there, and the
    // next is answered.
    for (headers, body) in [
        ("Content-Length: 4\r\nContent-Length: 4", "0102"),
        ("Transfer-Encoding: chunked", "2;a=b\r\n01\r\n2\r\n02\r\n0\r\nTrailer: x\r\n\r\n"),
    ] {
        assert_eq!(statuses(&post(headers, body)), ["405", "200"], "{headers}");
    }
    for (request, status) in [
        ("GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", "400"),
        ("GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"),
        ("GET http://a/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "200"),
        ("GET /health HTTP/1.1\r\nHost: a\r\nExpect: magic\r\n\r\n", "417"),
        ("POST /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "501"),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "405"),
    ] {
        assert_eq!(statuses(&send(node.http, request)), [status], "{request}");
    }
    // A client that waits for it gets 100 Continue before it sends the body.
    let mut stream = TcpStream::connect(node.http).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head =
        "POST /metrics HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(interim, *b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"0102").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(statuses(&answer), ["405"]);
}

/// `/api` and nothing that only begins with it is Esplora's API; other origins read it where they are allowed to.
#[test]
fn esploras_api_is_where_it_says() {
    let served = Served::start("esplora_origins = [\"https://wallet.example\"]\n");
    let http = served.process.http;
    assert!(get(http, "/apiblocks").starts_with("HTTP/1.1 404 "));
    for path in ["/api", "/api/"] {
        let answer = get(http, path);
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("/api/blocks/tip/height"), "{answer}");
    }
    let ask = |method: &str, origin: &str| {
        let path = "/api/blocks/tip/height";
        send(http, &format!("{method} {path} HTTP/1.1\r\nHost: a\r\nOrigin: {origin}\r\nConnection: close\r\n\r\n"))
    };
    let allowed = "\r\nAccess-Control-Allow-Origin: https://wallet.example\r\n";
    let (own, other) = (ask("GET", "https://wallet.example"), ask("GET", "https://other.example"));
    assert!(own.contains(allowed) && own.contains("\r\nVary: Origin\r\n") && own.ends_with("\r\n8"), "{own}");
    assert!(!other.contains("Access-Control-Allow-Origin") && other.contains("\r\nVary: Origin\r\n"), "{other}");
    let preflight = ask("OPTIONS", "https://wallet.example");
    assert_eq!(statuses(&preflight), ["204"]);
    assert!(preflight.contains(allowed) && preflight.contains("Access-Control-Allow-Methods: GET, HEAD, POST\r\n"));
    assert!(!preflight.contains("Content-Length"));
    drop(served);
    // By default CORS is off.
    let served = Served::start("");
    let preflight = send(served.process.http, "OPTIONS /api/tx HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(statuses(&preflight), ["405"]);
    assert!(!get(served.process.http, "/api/blocks/tip/height").contains("Access-Control"));
}

/// A body that comes a byte at a time is whole in the end.
#[test]
fn a_body_may_come_slowly() {
    let served = Served::start("");
    let mut stream = TcpStream::connect(served.process.http).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = "POST /api/tx HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nzz\r\n0\r\n\r\n";
    for byte in request.bytes() {
        stream.write_all(&[byte]).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("Invalid hex string"), "{answer}");
}
