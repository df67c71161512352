//! `turnpike top` without a terminal: one picture, and the errors of addresses that have none.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use super::{error, json, node, run};

/// A server that gives one answer to all requests, then closes the connection.
fn server(answer: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            // A client that got enough may be gone.
            let _ = stream.read(&mut [0; 4096]).and_then(|_| stream.write_all(answer.as_bytes()));
        }
    });
    address
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nConnection: close\r\n\r\n{body}")
}

#[test]
fn one_picture_of_a_node_has_figures_rates_and_the_status() {
    let folder = tempfile::tempdir().unwrap();
    let node = node(folder.path());
    let (at, http) = (node.address.to_string(), node.http.to_string());
    let http = http.as_str();
    json(&["account", "create", "1", "--node", &at]);

    let picture = json(&["top", "--http", http]);
    assert_eq!(picture["http"], http);
    assert_eq!(picture["status"]["ready"], true, "{picture}");
    assert_eq!(picture["figures"]["create_total"], 1.0, "{picture}");
    assert!(picture["rates"]["create_total"].as_f64().unwrap() >= 0.0, "{picture}");
    assert!(picture["figures"]["disk_free_bytes"].as_f64().unwrap() > 0.0, "{picture}");
    // Neither applies to this node.
    assert!(picture["figures"]["kv_get_total"].is_null() && picture["rates"]["kv_get_total"].is_null(), "{picture}");
    assert!(picture["status"].get("configuration").is_none(), "{picture}");

    for arguments in [&["top", "--once", "--http", http][..], &["top", "--http", http]] {
        let output = run(arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("Requests") && text.contains("Latency") && text.contains(http), "{text}");
        assert!(!text.contains('\x1b') && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn top_names_the_reason_if_an_address_has_no_figures() {
    let [address] = order::free_addresses(1).unwrap().try_into().unwrap();
    let off = error(&["top", "--http", &address.to_string()]);
    assert!(off.contains("nothing listens") && off.contains("--http"), "{off}");

    let not_found = server(answer("404 Not Found", "there is /, /metrics and /health\n"));
    let older = error(&["top", "--http", &not_found.to_string()]);
    assert!(older.contains("/figures/events does not exist") && older.contains("version"), "{older}");

    let forbidden = server(answer("403 Forbidden", "only this machine may see the page\n"));
    let refused = error(&["top", "--http", &forbidden.to_string()]);
    assert!(refused.contains("only this machine may see the page"), "{refused}");

    // A ledger's port, for example.
    let other = server("no HTTP\n".into());
    let other = error(&["top", "--http", &other.to_string()]);
    assert!(other.contains("cannot reach http://127.0.0.1"), "{other}");
}

#[test]
fn figures_that_are_cut_too_long_or_invalid_are_errors() {
    for (body, expected) in [
        (String::new(), "closed the connection"),
        ("event: figures\ndata: {\"names\":[\"time\"],\"row\":[1]}".into(), "closed the connection"),
        ("data: {}\n\n".into(), "missing field"),
        ("data: {\"names\":[\"time\"],\"row\":[]}\n\n".into(), "1 names for 0 figures"),
        (": nothing\n".repeat(100_000), "without a row"),
        ("a".repeat(1 << 20), "too long"),
        (format!("data: {}\n", "a".repeat(1000)).repeat(900), "too long"),
    ] {
        let found = error(&["top", "--once", "--http", &server(answer("200 OK", &body)).to_string()]);
        assert!(found.contains(expected), "{expected}: {found}");
    }
}
