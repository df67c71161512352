//! Metrics and health.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    io::{BufRead, BufReader, Read, Write},
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

#[test]
fn lists_tell_what_is_in_blocks() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.http = Some("127.0.0.1:0".parse().unwrap());
    let node = Node::start(&config).unwrap();
    let address = node.http_address().unwrap();
    let body = |path: &str| get(address, path).split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!(body("/accounts"), "{\"height\":0,\"accounts\":[],\"more\":false}\n");
    let mut client = connect(&node, Promise::Durable);
    for number in 1..=3 {
        client.create(account(number)).unwrap();
        client.issue(account(number), 7).unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while body("/accounts").matches("\"balance\":7").count() < 3 {
        assert!(Instant::now() < deadline, "{}", body("/accounts"));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(get(address, "/accounts").contains("Content-Type: application/json\r\n"));
    let first = body("/accounts?count=1");
    assert!(first.contains("\"more\":true") && first.matches("balance").count() == 1, "{first}");
    let id = &first[first.find("\"account\":\"").unwrap() + 11..][..32];
    let rest = body(&format!("/accounts?after={id}&count=2"));
    assert!(rest.contains("\"more\":false") && rest.matches("balance").count() == 2 && !rest.contains(id), "{rest}");
    let history = body("/accounts/2/history");
    assert!(history.find("ISSUE").unwrap() < history.find("CREATE").unwrap(), "{history}");
    assert!(body("/accounts/2/history?count=1").contains("\"more\":true"));
    for (path, said) in [
        ("/accounts?count=0", "from 1 to 1000"),
        ("/accounts?count=1001", "from 1 to 1000"),
        ("/accounts?before=1:1", "takes no `before`"),
        ("/accounts?page=1", "no parameter page"),
        ("/accounts?after=me", "is no account"),
        ("/accounts/me/history", "is no account"),
        ("/accounts/1/history?after=2", "takes no `after`"),
        ("/accounts/1/history?before=1", "HEIGHT:POSITION"),
        ("/accounts/1/history?before=0:0", "is no transaction of account"),
        ("/accounts/1/history?before=99999:0", "is no transaction of account"),
    ] {
        assert!(get(address, path).starts_with("HTTP/1.1 400 ") && body(path).contains(said), "{path}: {}", body(path));
    }
    for path in ["/accounts/9/history", "/accounts/1", "/accounts/1/history/2", "/accountsx"] {
        assert!(get(address, path).starts_with("HTTP/1.1 404 "), "{path}");
    }
}

#[test]
fn a_key_value_store_beside_the_ledger() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.http = Some("127.0.0.1:0".parse().unwrap());
    config.kv.listen = vec!["127.0.0.1:0".parse().unwrap()];
    let node = Node::start(&config).unwrap();
    let mut client = BufReader::new(TcpStream::connect(node.kv().unwrap().tcp()[0]).unwrap());
    client.get_mut().write_all(b"set key 7 0 5\r\nvalue\r\nget key\r\nget none\r\nincr key 1\r\n").unwrap();
    let mut line = || {
        let mut line = String::new();
        client.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let number = "CLIENT_ERROR cannot increment or decrement non-numeric value";
    for expected in ["STORED", "VALUE key 7 5", "value", "END", "END", number] {
        assert_eq!(line(), expected);
    }
    let metrics = get(node.http_address().unwrap(), "/metrics");
    for line in [
        "turnpike_accounts 0\n",
        "memcached_up 1\n",
        "memcached_commands_total{command=\"get\",status=\"hit\"} 1\n",
        "memcached_commands_total{command=\"get\",status=\"miss\"} 1\n",
        "memcached_commands_total{command=\"set\",status=\"hit\"} 1\n",
        "memcached_current_items 1\n",
        "memcached_current_connections 1\n",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
}

#[test]
fn a_store_that_cannot_listen_keeps_the_node_from_starting() {
    let data = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = config(data.path());
    config.kv.listen = vec![taken.local_addr().unwrap()];
    let error = Node::start(&config).unwrap_err().to_string();
    assert!(error.contains("key-value store") && error.contains("choose another"), "{error}");
}
