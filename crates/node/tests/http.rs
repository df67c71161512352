//! Metrics and health.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use common::{account, config, connect};
use turnpike_node::Node;
use wire::Promise;

fn request(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut reply = String::new();
    // A connection that is closed before all was read may be reset.
    let _ = stream.read_to_string(&mut reply);
    reply
}

fn get(address: SocketAddr, path: &str) -> String {
    request(address, &format!("GET {path} HTTP/1.1\r\nHost: node\r\n\r\n"))
}

#[test]
fn metrics_and_health_are_served() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.http = Some("127.0.0.1:0".parse().unwrap());
    let node = Node::start(&config).unwrap();
    let address = node.http_address().unwrap();
    connect(&node, Promise::Durable).create(account(1)).unwrap();
    let metrics = get(address, "/metrics");
    assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
    for line in ["turnpike_executed_total 1\n", "turnpike_accounts 1\n", "turnpike_durable_sequence 1\n"] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    assert!(get(address, "/health").ends_with("\r\n\r\nok\n"));
    assert!(get(address, "/ready?verbose").ends_with("\r\n\r\nready\n"));
    let root = get(address, "/");
    assert!(["/metrics", "/health", "The book"].iter().all(|part| root.contains(part)), "{root}");
    let head = request(address, "HEAD /health HTTP/1.1\r\n\r\n");
    assert!(head.contains("Content-Length: 3\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(get(address, "/etc/passwd").starts_with("HTTP/1.1 404 "));
    assert!(request(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    assert!(request(address, "\u{1}\u{2} nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
    let endless = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
    assert!(!request(address, &endless).contains("200 OK"));
    assert!(get(address, "/health").contains("200 OK"));
}

#[test]
fn silent_clients_keep_nobody_waiting() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.http = Some("127.0.0.1:0".parse().unwrap());
    let node = Node::start(&config).unwrap();
    let address = node.http_address().unwrap();
    // More than there are places for, half of them with a request that never ends.
    let mut silent = Vec::from_iter((0..150).map(|number| {
        let mut stream = TcpStream::connect(address).unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET /health HT").unwrap();
        }
        stream
    }));
    let start = Instant::now();
    for _ in 0..20 {
        assert!(get(address, "/health").ends_with("ok\n"));
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    // The first ones are closed, and the last may still ask.
    silent[0].set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    assert!(matches!(silent[0].read(&mut [0; 1]), Ok(0) | Err(_)));
    let last = silent.last_mut().unwrap();
    last.write_all(b"GET /health HTTP/1.1\r\n\r\n").unwrap();
    let mut reply = String::new();
    last.read_to_string(&mut reply).unwrap();
    assert!(reply.ends_with("ok\n"), "{reply}");
}
