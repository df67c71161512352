//! Faults of commands, their options and their messages.

mod documents;
mod top;
mod txoutproof;

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use wire::{BatchEntries, Frame, Operation};

use crate::node::{Process, start};

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    command.args(arguments).env_remove("TURNPIKE_NODE").env_remove("TURNPIKE_HTTP").output().unwrap()
}

/// The result of a command that succeeds.
fn json(arguments: &[&str]) -> Value {
    let output = run(&[&["--json"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(output.stdout.split(|&byte| byte == b'\n').next().unwrap()).unwrap()
}

/// The message of a command that fails.
fn error(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{arguments:?} succeeded");
    String::from_utf8(output.stderr).unwrap()
}

fn node(data: &Path) -> Process {
    start(data, "127.0.0.1:0".parse().unwrap(), &["--accounts", "1000"])
}

/// A port where nothing answers over UDP, and that stays reserved over TCP meanwhile.
fn closed() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[test]
fn a_node_that_does_not_listen_is_reported_at_once() {
    let (_reserved, address) = closed();
    let at = address.to_string();
    // Without the report of the system both would wait until they give up, and say so.
    let read = error(&["info", "--node", &at]);
    assert!(read.contains("no node listens") && !read.contains("executed"), "{read}");
    let paid = error(&["account", "transfer", "1", "2", "5", "--node", &at]);
    assert!(paid.contains("no node listens") && paid.contains("--transaction "), "{paid}");
    let listed = error(&["account", "list", "--node", &at]);
    assert!(listed.contains("no node listens"), "{listed}");
    let loaded = error(&["load", "--node", &at]);
    assert!(loaded.contains("no node listens"), "{loaded}");
}

#[test]
fn an_operation_without_an_answer_names_its_transaction_id_and_is_repeated_with_it() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    let at = silent.local_addr().unwrap().to_string();
    let transfer = |more: &[&str]| run(&[&["account", "transfer", "1", "2", "5", "--node", &at], more].concat());

    let (as_text, as_json) = thread::scope(|scope| {
        let as_text = scope.spawn(|| transfer(&[]));
        let as_json = scope.spawn(|| transfer(&["--json"]));
        let read = scope.spawn(|| error(&["account", "refer", "1", "--node", &at]));
        let read = read.join().unwrap();
        assert!(read.contains("did not answer") && !read.contains("executed"), "{read}");
        (as_text.join().unwrap(), as_json.join().unwrap())
    });
    let text = String::from_utf8(as_text.stderr).unwrap();
    assert!(text.contains("may have been executed"), "{text}");
    let named = text.split_once("--transaction ").unwrap().1.trim();
    let report: Value = serde_json::from_slice(&as_json.stderr).unwrap();
    assert_eq!(report["transaction"].as_str().unwrap().len(), named.len(), "{report}");

    // Repeated with the id, it is the same operation to the last bit, its flag for the time in the id included.
    let sent = |id: &str| sent_operations(&silent).into_iter().find(|sent| sent.transaction.to_string() == id).unwrap();
    let first = sent(named);
    thread::scope(|scope| {
        scope.spawn(|| transfer(&["--transaction", named]));
        assert_eq!(sent(named), first);
    });
    assert!(first.time().is_some());
}

/// The operations of the datagrams that have come, of which there is one at least.
fn sent_operations(socket: &UdpSocket) -> Vec<Operation> {
    let (mut operations, mut buffer) = (Vec::new(), [0; 1 << 16]);
    let mut wait = PATIENCE;
    loop {
        socket.set_read_timeout(Some(wait)).unwrap();
        let Ok(length) = socket.recv(&mut buffer) else { break };
        if let Ok(Frame::Batch(batch)) = Frame::parse(&buffer[..length])
            && let BatchEntries::Operation(entries) = batch.entries
        {
            operations.extend(entries);
            wait = Duration::from_millis(10);
        }
    }
    operations
}

#[test]
fn nodes_have_names_and_the_environment_names_one() {
    let folder = tempfile::tempdir().unwrap();
    let node = node(folder.path());
    let named = format!("localhost:{}", node.address.port());
    let accounts = |output: Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["accounts"].clone()
    };
    assert_eq!(accounts(run(&["--json", "info", "--node", &named])), 0);
    assert_eq!(accounts(run(&["--json", "info", "--tcp", "--node", &named])), 0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    assert_eq!(accounts(command.args(["--json", "info"]).env("TURNPIKE_NODE", &named).output().unwrap()), 0);

    let wrong = error(&["info", "--node", "http://localhost:7400"]);
    assert!(wrong.contains("HOST:PORT"), "{wrong}");
    let unknown = error(&["info", "--node", "host.invalid"]);
    assert!(unknown.contains("host.invalid"), "{unknown}");
}

#[test]
fn a_command_can_wait_for_a_node_that_starts() {
    let folder = tempfile::tempdir().unwrap();
    let (reserved, address) = closed();
    let at = address.to_string();
    thread::scope(|scope| {
        let info = scope.spawn(|| json(&["info", "--wait", "60", "--node", &at]));
        thread::sleep(Duration::from_millis(300));
        drop(reserved);
        let _node = start(folder.path(), address, &["--accounts", "1000"]);
        assert_eq!(info.join().unwrap()["accounts"], 0);
    });
}

#[test]
fn an_issue_to_a_keyed_account_gets_advice_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("alice.key");
    let key = key.to_str().unwrap();
    let node = node(&folder.path().join("data"));
    let at = ["--node", &node.address.to_string()];
    json(&["key", "new", key]);
    let account = String::from_utf8(run(&["key", "show", key, "--account"]).stdout).unwrap();
    let account = account.trim();
    json(&[&["account", "create", "--key", key][..], &at].concat());

    let issue = [&["account", "issue", account, "90"][..], &at].concat();
    for text in [error(&issue), error(&[&issue[..], &["--key", key]].concat())] {
        assert!(text.contains("issuers") && text.contains("transfer"), "{text}");
        assert!(!text.contains("sign it with that key"), "{text}");
    }
    // As it says.
    json(&[&["account", "create", "1"][..], &at].concat());
    json(&[&["account", "issue", "1", "90"][..], &at].concat());
    json(&[&["account", "transfer", "1", account, "90"][..], &at].concat());
    assert_eq!(json(&[&["account", "refer", account, "--key", key][..], &at].concat())["balance"], 90);
}

#[test]
fn amounts_are_exact_in_json() {
    /// Above 2^53, and odd.
    const AMOUNT: &str = "1152921504606846977";
    let folder = tempfile::tempdir().unwrap();
    let node = node(folder.path());
    let (address, http) = (node.address.to_string(), format!("localhost:{}", node.http.port()));
    let at = ["--node", &address];
    json(&[&["account", "create", "1"][..], &at].concat());
    assert_eq!(json(&[&["account", "issue", "1", AMOUNT][..], &at].concat())["balance_text"], AMOUNT);
    let balance = json(&[&["proof", "get", "--latest", "1", "--wait", "60"][..], &at].concat());
    assert!(balance["amount_text"].is_string(), "{balance}");
    // Both commands go on until the block with the ISSUE is closed.
    let amounts = |arguments: &[&str], field: &str| {
        let started = std::time::Instant::now();
        loop {
            let row = run(&[&["--json"], arguments, &["--http", &http]].concat()).stdout;
            let row: Value = serde_json::from_slice(&row).unwrap_or_default();
            if row[field] == AMOUNT {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{row}");
            thread::sleep(Duration::from_millis(50));
        }
    };
    amounts(&["account", "list"], "balance_text");
    amounts(&["account", "history", "1", "--count", "1"], "amount_text");
    // The HTTP address is named where that of the default port is not the node's.
    let reserved = error(&["account", "list", "--http", &closed().1.to_string()]);
    assert!(reserved.contains("set --http"), "{reserved}");
}

#[test]
fn a_promise_that_serve_refuses_is_not_offered() {
    let help = String::from_utf8(run(&["serve", "--help"]).stdout).unwrap();
    let promise = help.split_once("--promise").unwrap().1.split_once("--http").unwrap().0;
    assert!(promise.contains("durable") && !promise.contains("final"), "{promise}");
    assert_eq!(run(&["serve", "--promise", "final"]).status.code(), Some(2));
}

#[test]
fn load_reports_the_promise_of_the_replies() {
    let folder = tempfile::tempdir().unwrap();
    let node = node(folder.path());
    let at = node.address.to_string();
    let load =
        |more: &[&'static str]| [&["load", "--accounts", "10", "--operations", "100", "--node", &at], more].concat();
    let refused = error(&load(&["--batch", "0", "--promise", "accepted"]));
    assert!(refused.contains("carry no promise") && refused.contains("durable"), "{refused}");
    assert_eq!(json(&load(&["--batch", "0"]))["promise"], "durable");
    assert_eq!(json(&load(&["--batch", "1", "--promise", "accepted"]))["promise"], "accepted");
    // A node without replicas does not answer at `final`.
    assert_eq!(json(&load(&["--promise", "final"]))["promise"], "durable");
    assert_eq!(json(&load(&["--mix", "proof"]))["promise"], Value::Null);
}

#[test]
fn help_has_groups_examples_and_global_options_of_their_own() {
    let text = |arguments: &[&str]| String::from_utf8(run(arguments).stdout).unwrap();
    let help = text(&["--help"]);
    assert!(help.contains("\nClient:\n  account ") && help.contains("\nExit status:\n"), "{help}");
    let help = text(&["account", "transfer", "--help"]);
    let (own, global) = help.split_once("\nGlobal options:\n").unwrap();
    assert!(own.contains("--node") && !own.contains("--json") && global.contains("--json"), "{help}");
    assert!(global.contains("Examples:\n  turnpike account transfer 1 2 250\n"), "{help}");

    let folder = tempfile::tempdir().unwrap();
    assert!(run(&["man", folder.path().to_str().unwrap()]).status.success());
    let page = std::fs::read_to_string(folder.path().join("turnpike-key-new.1")).unwrap();
    for section in ["SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"] {
        assert!(page.contains(&format!(".SH {section}")) || page.contains(&format!(".SH \"{section}\"")), "{page}");
    }
}
