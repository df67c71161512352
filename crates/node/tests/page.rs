//! The page for people, and its data over HTTP.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use common::{
    account, config, connect,
    http::{Reply, get, send},
    id,
};
use serde_json::Value;
use turnpike_node::{Config, Node};
use wire::{Chain, CompactFrame, InfoFrame, Promise, ProofRequest, Query, Status};
use zerocopy::{FromBytes, IntoBytes};

/// How long the builder may take to write a block on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node with HTTP, and its address.
fn start(data: &tempfile::TempDir, change: impl FnOnce(&mut Config)) -> (Node, SocketAddr) {
    let mut config = Config { http: Some("127.0.0.1:0".parse().unwrap()), ..config(data.path()) };
    change(&mut config);
    let node = Node::start(&config).unwrap();
    let address = node.http_address().unwrap();
    (node, address)
}

/// Asks until the reply is as expected.
fn wait_for(address: SocketAddr, path: &str, is_expected: impl Fn(&Reply) -> bool) -> Reply {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let reply = get(address, path);
        if is_expected(&reply) {
            return reply;
        }
        assert!(Instant::now() < deadline, "{path}: {}{}", reply.head, reply.text());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_browser_gets_the_page_and_others_a_text() {
    let data = tempfile::tempdir().unwrap();
    let (_node, address) = start(&data, |_| ());
    let page = |headers: &str| send(address, "GET /", &format!("Host: localhost\r\n{headers}"), b"");
    let browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
    let plain = page(browser);
    assert!(plain.text().starts_with("<!doctype html>"), "{}", plain.text());
    assert!(plain.head.contains("Content-Security-Policy: default-src 'self';"), "{}", plain.head);
    let tag = plain.head.split_once("ETag: ").unwrap().1.split_once("\r\n").unwrap().0;
    let packed = page(&format!("{browser}Accept-Encoding: gzip, br\r\n"));
    assert!(packed.head.contains("Content-Encoding: gzip\r\n") && packed.head.contains(tag), "{}", packed.head);
    assert_eq!(packed.body[..2], [0x1f, 0x8b]);
    let same = page(&format!("{browser}If-None-Match: {tag}\r\n"));
    assert_eq!((same.status(), same.body.len()), ("304", 0));
    assert!(same.head.contains(tag) && !same.head.contains("Content-Length"), "{}", same.head);
    assert!(page("").text().starts_with("Turnpike "));
    assert!(page("Accept: */*\r\n").text().contains("/metrics"));
    assert!(get(address, "/page/page.js").head.contains("Content-Type: text/javascript"));
    for path in ["/page/", "/page/none.js", "/page/../index.html", "/page/index.html.gz"] {
        assert_eq!(get(address, path).status(), "404", "{path}");
    }
}

#[test]
fn strangers_and_foreign_names_are_refused() {
    let data = tempfile::tempdir().unwrap();
    let (_node, address) = start(&data, |config| {
        config.page.clients = vec!["127.0.1.0/24".parse().unwrap()];
        config.page.hosts = vec!["node.example".into()];
    });
    for path in ["/status", "/figures", "/figures/events", "/frames", "/page/page.js"] {
        let refused = get(address, path);
        assert!(refused.status() == "403" && refused.text().contains("`page.clients`"), "{path}: {}", refused.text());
    }
    let html = send(address, "GET /", "Host: localhost\r\nAccept: text/html\r\n", b"");
    assert_eq!(html.status(), "403");
    // Figures for machines, and lists, are for everyone who reaches the address.
    for path in ["/", "/metrics", "/health", "/ready", "/accounts", "/assets", "/blocks"] {
        assert_eq!(get(address, path).status(), "200", "{path}");
    }
    let lists = |host: &str| send(address, "GET /accounts", &format!("Host: {host}\r\n"), b"");
    assert_eq!(lists("node.example:7480").status(), "200");
    let refused = lists("evil.example");
    assert!(refused.status() == "421" && refused.text().contains("`page.hosts`"), "{}", refused.text());
    assert_eq!(send(address, "GET /metrics", "Host: evil.example\r\n", b"").status(), "200");
}

#[test]
fn blocks_and_their_transactions_are_listed() {
    let data = tempfile::tempdir().unwrap();
    let (node, address) = start(&data, |_| ());
    let genesis = get(address, "/blocks").json();
    assert_eq!((&genesis["height"], genesis["blocks"].as_array().unwrap().len()), (&Value::from(0), 1));
    let mut client = connect(&node, Promise::Durable);
    for number in 1..=5 {
        client.create(account(number)).unwrap();
    }
    let total = |reply: &Reply| {
        let list = reply.json();
        let blocks = list["blocks"].as_array().unwrap().clone();
        blocks.iter().map(|block| block["transactions"].as_u64().unwrap()).sum::<u64>()
    };
    let blocks = wait_for(address, "/blocks", |reply| total(reply) == 5).json();
    let heights =
        Vec::from_iter(blocks["blocks"].as_array().unwrap().iter().map(|block| block["height"].as_u64().unwrap()));
    assert!(heights.is_sorted_by(|one, other| *one == other + 1) && heights.last() == Some(&0), "{heights:?}");
    for pair in blocks["blocks"].as_array().unwrap().windows(2) {
        assert_eq!(pair[0]["parent"], pair[1]["hash"]);
    }
    assert_eq!(blocks["blocks"][0]["sealed"], true);
    let time = blocks["blocks"][0]["time"].as_f64().unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    assert!((now - 300.0..now + 1.0).contains(&time), "{time} is not about {now}");
    // All transactions, a page of one at a time.
    let mut found = Vec::new();
    for height in heights.iter().rev() {
        let mut after = String::new();
        loop {
            let page = get(address, &format!("/blocks/{height}?count=1{after}")).json();
            assert_eq!(page["block"]["height"].as_u64(), Some(*height));
            for row in page["transactions"].as_array().unwrap() {
                assert_eq!((row["command"].as_str(), row["height"].as_u64()), (Some("CREATE"), Some(*height)));
                found.push(row["source"].as_str().unwrap().to_owned());
                after = format!("&after={}", row["position"]);
            }
            if page["more"] == false {
                break;
            }
        }
    }
    assert_eq!(found, Vec::from_iter((1..=5).map(|number| account(number).to_string())));
    let below = get(address, "/blocks?count=1&before=1").json();
    assert_eq!((&below["blocks"][0]["height"], &below["more"]), (&Value::from(0), &Value::from(false)));
    for (path, status, text) in [
        ("/blocks/99999", "404", "there is no block 99999"),
        ("/blocks/first", "400", "is no block's height"),
        ("/blocks/0?before=1", "400", "takes no `before`"),
        ("/blocks?before=x", "400", "must be a number"),
        ("/blocks?after=1", "400", "takes no `after`"),
    ] {
        let reply = get(address, path);
        assert!(reply.status() == status && reply.text().contains(text), "{path}: {}{}", reply.head, reply.text());
    }
}

#[test]
fn a_transaction_is_found_by_the_id_that_its_account_gave_it() {
    let data = tempfile::tempdir().unwrap();
    let (node, address) = start(&data, |_| ());
    let mut client = connect(&node, Promise::Durable);
    client.create(account(1)).unwrap();
    let issue = wire::Operation::issue(id(77), account(1), 5);
    client.execute(&issue).unwrap();
    let path = format!("/accounts/{}/transactions/{}", account(1), id(77));
    let found = wait_for(address, &path, |reply| reply.status() == "200").json();
    assert_eq!(
        (&found["transaction"]["command"], &found["transaction"]["amount_text"]),
        (&"ISSUE".into(), &"5".into())
    );
    assert_eq!(get(address, &format!("/accounts/1/transactions/{}", id(78))).status(), "404");
    assert_eq!(get(address, "/accounts/1/transactions/x").status(), "400");
}

#[test]
fn figures_are_kept_and_sent_each_second() {
    let data = tempfile::tempdir().unwrap();
    let (node, address) = start(&data, |_| ());
    let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
    stream.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    stream.get_mut().write_all(b"GET /figures/events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut line = || {
        let mut line = String::new();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0);
        line.trim_end().to_owned()
    };
    let mut head = Vec::new();
    loop {
        match line() {
            end if end.is_empty() => break,
            field => head.push(field),
        }
    }
    assert!(
        head[0].starts_with("HTTP/1.1 200") && head.contains(&"Content-Type: text/event-stream".to_owned()),
        "{head:?}"
    );
    let mut event = || {
        assert_eq!(line(), "event: figures");
        let data: Value = serde_json::from_str(line().strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(line(), "");
        let (names, row) = (data["names"].as_array().unwrap(), data["row"].as_array().unwrap());
        assert_eq!(names.len(), row.len());
        let figures = names.iter().zip(row).map(|(name, value)| (name.as_str().unwrap().to_owned(), value.as_f64()));
        std::collections::HashMap::<_, _>::from_iter(figures)
    };
    let first = event();
    assert_eq!((first["create_total"], first["kv_get_total"], first["final_height"]), (Some(0.0), None, None));
    assert_eq!(first["durable_p50_seconds"], None, "nothing was measured");
    connect(&node, Promise::Durable).create(account(1)).unwrap();
    let later = std::iter::repeat_with(&mut event).take(60).find(|row| row["create_total"] == Some(1.0)).unwrap();
    assert!(later["durable_p99_seconds"].unwrap() > 0.0 && later["time"] > first["time"], "{later:?}");
    assert_eq!(later["accounts"], Some(1.0));
    // The history has the first row; the others of an interval are left out.
    let history = get(address, "/figures").json();
    assert_eq!(history["names"].as_array().unwrap().len(), history["rows"][0].as_array().unwrap().len());
    assert_eq!(history["interval"], 5);
    // Other requests are served beside the stream, and the node ends although it is open.
    assert_eq!(get(address, "/health").status(), "200");
}

#[test]
fn queries_are_answered_over_http() {
    let data = tempfile::tempdir().unwrap();
    let (node, address) = start(&data, |_| ());
    connect(&node, Promise::Durable).create(account(1)).unwrap();
    let post = |frame: &[u8]| send(address, "POST /frames", "Host: localhost\r\n", frame);
    let reply = post(InfoFrame::new(7).as_bytes());
    let info = InfoFrame::read_from_bytes(&reply.body).unwrap();
    assert_eq!((info.header.id.get(), info.status(), info.accounts.get()), (7, Ok(Status::Ok), 1));
    wait_for(address, "/accounts", |reply| reply.json()["accounts"].as_array().unwrap().len() == 1);
    let mut key = [0; 32];
    key[..16].copy_from_slice(&account(1).0);
    let request = ProofRequest::new(8, Chain::Own, Query::Latest, key);
    // The reply is at most as long as the request; a second one comes from the cache.
    for _ in 0..2 {
        let mut frame = vec![0; 1472];
        frame[..ProofRequest::LENGTH].copy_from_slice(request.as_bytes());
        let reply = post(&frame);
        let (head, body) = ProofRequest::ref_from_prefix(&reply.body).unwrap();
        assert_eq!((head.header.id.get(), head.status()), (8, Ok(Status::Ok)));
        assert_eq!(body.len(), head.body_length.get() as usize);
    }
    let short = post(request.as_bytes());
    assert_eq!(wire::ErrorFrame::ref_from_prefix(&short.body).unwrap().0.status(), Ok(Status::ReplyTooLarge));
    let operation = CompactFrame::new(wire::Command::Create, 9, 2, 0, 0);
    for frame in [operation.as_bytes(), b"", b"garbage", &[0; 70_000]] {
        assert_eq!(post(frame).status(), "400");
    }
    assert_eq!(get(address, "/frames").status(), "405");
    assert_eq!(get(address, "/accounts/2/history").status(), "404", "no operation is executed");
}

#[test]
fn the_state_of_a_node_is_reported() {
    let data = tempfile::tempdir().unwrap();
    let (_node, address) = start(&data, |config| config.kv.listen = vec!["127.0.0.1:0".parse().unwrap()]);
    let status = get(address, "/status").json();
    assert_eq!(
        (&status["ready"], &status["healthy"], &status["promise"]),
        (&true.into(), &true.into(), &"durable".into())
    );
    assert_eq!(status["network"].as_str().unwrap().len(), 64);
    let sections = status["sections"].as_array().unwrap();
    let names = Vec::from_iter(sections.iter().map(|section| section["name"].as_str().unwrap()));
    assert_eq!(names, ["ledger", "storage", "clients", "kv", "process", "machine"]);
    for row in sections.iter().flat_map(|section| section["rows"].as_array().unwrap()) {
        assert!(!row["name"].as_str().unwrap().is_empty() && !row["value"].as_str().unwrap().is_empty(), "{row}");
        let advised = ["warning", "error"].iter().any(|state| row["state"] == *state);
        assert!(advised || row["advice"].is_null(), "{row}");
    }
    let configuration: Config = toml::from_str(status["configuration"].as_str().unwrap()).unwrap();
    assert_eq!(configuration.data, data.path());
}
