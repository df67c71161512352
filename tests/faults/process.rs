//! Faults of the program as a process: signals, open files, metrics.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream, UdpSocket},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use client::{Client, Options};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::Value;
use skip::Ability;
use wire::{AccountId, CompactFrame, Operation, Promise, Reply, Status, TransactionId};
use zerocopy::IntoBytes;

use crate::http_client::get;

#[path = "../../crates/turnpike/tests/common/disk.rs"]
mod disk;

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

const LACKING_OPENSSL: &str = "openssl is not installed; scripts/setup installs it";

/// A process of the program, with its log in a file.
struct Program {
    child: Child,
    ready: Value,
    log: PathBuf,
}

impl Program {
    /// Starts the program under a hard limit of open files and a soft one below, and waits until it serves.
    fn start(folder: &Path, open_files: u32, arguments: &[&str]) -> Self {
        let log = folder.join("log");
        let mut child = Self::command(open_files, arguments)
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{}", fs::read_to_string(&log).unwrap()));
        Self { child, ready, log }
    }

    fn command(open_files: u32, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        let script = format!("ulimit -Sn 64 && ulimit -Hn {open_files} && exec \"$0\" --json \"$@\"");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_turnpike")]).args(arguments);
        command
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    fn await_log(&self, words: &str) -> String {
        await_text(|| self.log(), words)
    }

    /// The address, or the first of the addresses, that it reports under a key.
    fn address(&self, key: &str) -> SocketAddr {
        let reported = &self.ready[key];
        reported.get(0).unwrap_or(reported).as_str().unwrap().parse().unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// Waits until a text has these words in it.
fn await_text(mut read: impl FnMut() -> String, words: &str) -> String {
    let since = Instant::now();
    loop {
        let text = read();
        if text.contains(words) {
            return text;
        }
        assert!(since.elapsed() < PATIENCE, "{words:?} never appears in: {text}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Opens connections, sends a request on each, and counts the first lines of the replies; none at all is "closed".
fn crowd(address: SocketAddr, clients: usize, request: &[u8]) -> (Vec<TcpStream>, BTreeMap<String, usize>) {
    // Clients need descriptors as well.
    ::node::open_files::raise();
    let mut streams = Vec::new();
    for _ in 0..clients {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A client that is refused may be disconnected by now.
        let _ = stream.write_all(request);
        streams.push(stream);
    }
    let mut replies = BTreeMap::new();
    for stream in &streams {
        let mut line = String::new();
        match BufReader::new(stream).read_line(&mut line) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("a client waits without an answer"),
            _ if line.is_empty() => *replies.entry("closed".to_owned()).or_default() += 1,
            _ => *replies.entry(line.trim_end().to_owned()).or_default() += 1,
        }
    }
    (streams, replies)
}

#[test]
fn a_store_serves_as_many_clients_as_open_files_allow_and_refuses_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = Program::start(folder.path(), 300, &["kv", "-l", "127.0.0.1:0", "-U", "0", "-t", "2"]);
    let log = store.log();
    assert!(log.contains("kv.connections") && log.contains("limit of open files is too low"), "{log}");
    let (_clients, replies) = crowd(store.address("listen"), 400, b"mn\r\n");
    let count = |reply: &str| replies.get(reply).copied().unwrap_or(0);
    let (served, refused) = (count("MN"), count("ERROR Too many open connections"));
    // More than the soft limit, which is raised.
    assert!(served > 100 && refused > 0, "{replies:?}");
    assert_eq!(served + refused, 400, "{replies:?}");
    assert!(store.log().lines().count() < 20, "the log is not flooded: {}", store.log());
}

#[test]
fn a_node_answers_health_while_every_listener_is_crowded() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("turnpike.toml");
    let [kv] = order::free_addresses(1).unwrap().try_into().unwrap();
    fs::write(&config, format!("[ledger]\naccounts = 1000\n[kv]\nlisten = [\"{kv}\"]\n")).unwrap();
    let node = serve(folder.path(), 700, &config);
    let http = node.address("http");
    // Clients that hold connections to HTTP without a request.
    let _idle: Vec<_> = (0..200).map(|_| TcpStream::connect(http).unwrap()).collect();
    let (_clients, replies) = crowd(kv, 600, b"mn\r\n");
    assert_eq!(replies.values().sum::<usize>(), 600);
    assert!(replies["MN"] > 50 && replies.contains_key("ERROR Too many open connections"), "{replies:?}");
    // No request, so that each stays open for as long as its place is not needed.
    let ledger: Vec<_> = (0..400).map(|_| TcpStream::connect(node.address("listen")).unwrap()).collect();
    assert!(get(http, "/health").contains("200 OK"));
    await_text(|| get(http, "/metrics"), "turnpike_connections_total 400\n");
    assert!(get(http, "/ready").contains("200 OK"));
    drop(ledger);
    assert!(node.log().lines().count() < 30, "the log is not flooded: {}", node.log());
}

/// Starts a node on a configuration.
fn serve(folder: &Path, open_files: u32, config: &Path) -> Program {
    let data = folder.join("data");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--trusted", "127.0.0.0/8"];
    let files = ["--config", config.to_str().unwrap(), "--data", data.to_str().unwrap()];
    Program::start(folder, open_files, &[&arguments[..], &files[..]].concat())
}

#[test]
fn a_limit_of_open_files_that_is_far_too_low_is_refused_with_what_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", data.to_str().unwrap()];
    let ran = Program::command(200, &arguments).output().unwrap();
    let log = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success(), "{log}");
    assert!(log.contains("the limit of open files is 200") && log.contains("limits.connections"), "{log}");
}

#[test]
fn a_terminal_that_closes_ends_no_store_and_loses_no_items() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Program::start(folder.path(), 1024, &["kv", "-l", "127.0.0.1:0", "-U", "0"]);
    let (_client, stored) = crowd(store.address("listen"), 1, b"set a 0 0 5\r\nhello\r\n");
    assert_eq!(stored["STORED"], 1);
    store.signal(Signal::HUP);
    store.await_log("SIGHUP");
    assert!(store.is_running());
    let (_client, found) = crowd(store.address("listen"), 1, b"get a\r\n");
    assert_eq!(found["VALUE a 0 5"], 1);
}

#[test]
fn items_in_a_file_outlive_a_closed_terminal_and_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("items");
    let arguments = ["kv", "-l", "127.0.0.1:0", "-U", "0", "-m", "64", "-e", file.to_str().unwrap()];
    let mut store = Program::start(folder.path(), 1024, &arguments);
    let (client, stored) = crowd(store.address("listen"), 1, b"set a 0 0 5\r\nhello\r\n");
    assert_eq!(stored["STORED"], 1);
    store.signal(Signal::HUP);
    store.await_log("SIGHUP");
    assert!(store.is_running());
    drop(client);
    store.signal(Signal::TERM);
    assert!(store.child.wait().unwrap().success());
    let store = Program::start(folder.path(), 1024, &arguments);
    let (_client, found) = crowd(store.address("listen"), 1, b"get a\r\n");
    assert_eq!(found["VALUE a 0 5"], 1);
}

/// Replies to clients that did not read took memory until an allocation failed, which ended the ledger as well.
#[test]
fn clients_of_the_store_that_take_no_replies_leave_the_ledger_its_memory() {
    const VALUE: usize = 30_000_000;
    const CLIENTS: usize = 300;
    // More than the store holds for its items and all clients (128 MiB each), and far less than copies of all replies.
    const ROOM: u64 = 512 << 20;
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("turnpike.toml");
    let [kv] = order::free_addresses(1).unwrap().try_into().unwrap();
    let store = format!("[kv]\nlisten = [\"{kv}\"]\nmemory = 128\nitem_size = 33554432\n");
    fs::write(&config, format!("[ledger]\naccounts = 1000\n{store}")).unwrap();
    let node = serve(folder.path(), 4096, &config);
    let status = fs::read_to_string(format!("/proc/{}/status", node.child.id())).unwrap();
    let data = status.lines().find_map(|line| line.strip_prefix("VmData:")?.split_whitespace().next()).unwrap();
    let limit = Some((data.parse::<u64>().unwrap() << 10) + ROOM);
    prlimit(Some(Pid::from_child(&node.child)), Resource::Data, Rlimit { current: limit, maximum: limit }).unwrap();
    let set = |fill: u8| [format!("set big 0 0 {VALUE}\r\n").as_bytes(), &vec![fill; VALUE], b"\r\n"].concat();
    assert_eq!(crowd(kv, 1, &set(b'1')).1["STORED"], 1);
    let (_lazy, replies) = crowd(kv, CLIENTS, b"get big\r\n");
    assert_eq!(replies[&format!("VALUE big 0 {VALUE}")], CLIENTS, "{replies:?}");
    // The value changes while it is sent, to clients that hold on to the old one.
    for fill in [b'2', b'3'] {
        assert_eq!(crowd(kv, 1, &set(fill)).1["STORED"], 1);
    }
    let options = Options { promise: Promise::Durable, give_up_after: PATIENCE, ..Options::default() };
    let mut client = Client::connect(node.address("listen"), &options).unwrap();
    let receipts = client.submit(&[Operation::create(1_u32.into(), AccountId::from(7_u32))]).unwrap();
    assert_eq!(receipts[0].status, Status::Ok);
    assert!(get(node.address("http"), "/ready").contains("200 OK"));
}

/// Makes a certificate for a name, in place of the one before. Returns whether this machine has openssl.
fn certify(folder: &Path, name: &str) -> bool {
    let mut command = Command::new("openssl");
    command.current_dir(folder).args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    command.args(["-nodes", "-days", "2", "-subj", &format!("/CN={name}"), "-keyout", "key.pem", "-out", "chain.pem"]);
    command.output().is_ok_and(|ran| ran.status.success())
}

/// The subject of the certificate that a server shows.
fn subject(address: SocketAddr) -> String {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", &address.to_string()]).stdin(Stdio::null());
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

#[test]
fn a_store_serves_the_certificate_that_a_reload_reads() {
    let folder = tempfile::tempdir().unwrap();
    if !certify(folder.path(), "first") {
        return skip::lacking(Ability::Peers, LACKING_OPENSSL);
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    let files = format!("ssl_chain_cert={},ssl_key={}", path("chain.pem"), path("key.pem"));
    let store = Program::start(folder.path(), 1024, &["kv", "-l", "127.0.0.1:0", "-U", "0", "-Z", "-o", &files]);
    let address = store.address("listen");
    assert!(subject(address).contains("first"));
    certify(folder.path(), "second");
    store.signal(Signal::HUP);
    await_text(|| subject(address), "second");
    // Files that cannot be used change nothing.
    fs::write(path("chain.pem"), "none").unwrap();
    store.signal(Signal::HUP);
    store.await_log("so the present ones stay");
    assert!(subject(address).contains("second"));
}

#[test]
fn electrum_serves_the_certificate_that_a_reload_reads() {
    let Some(blocks) = skip::blocks("blk_0_to_14131.dat") else { return };
    let folder = tempfile::tempdir().unwrap();
    if !certify(folder.path(), "first") {
        return skip::lacking(Ability::Peers, LACKING_OPENSSL);
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut import = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    let imported = import.args(["import", "bitcoin"]).arg(blocks).args(["--data", &path("data")]).output().unwrap();
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    let [tls] = order::free_addresses(1).unwrap().try_into().unwrap();
    let config = folder.path().join("turnpike.toml");
    let text = format!(
        "[ledger]\naccounts = 1000\n[electrum]\nlisten_tls = [\"{tls}\"]\n[electrum.tls]\nchain = \"{}\"\nkey = \"{}\"\n",
        path("chain.pem"),
        path("key.pem")
    );
    fs::write(&config, text).unwrap();
    let node = serve(folder.path(), 4096, &config);
    assert!(subject(tls).contains("first"));
    certify(folder.path(), "second");
    node.signal(Signal::HUP);
    await_text(|| subject(tls), "second");
}

#[test]
fn a_node_reloads_limits_and_keeps_them_where_the_configuration_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("turnpike.toml");
    let [kv] = order::free_addresses(1).unwrap().try_into().unwrap();
    let write = |head: &str, connections: usize| {
        let ledger = "[ledger]\naccounts = 1000\n";
        fs::write(&config, format!("{head}\n{ledger}[kv]\nlisten = [\"{kv}\"]\nconnections = {connections}\n"))
            .unwrap();
    };
    write("log = \"error\"", 100);
    let mut node = serve(folder.path(), 4096, &config);
    assert_eq!(node.log(), "", "only errors are logged");
    let (first, replies) = crowd(kv, 3, b"mn\r\n");
    assert_eq!(replies["MN"], 3);

    write("network = \"another\"\nlog = \"debug\"", 3);
    node.signal(Signal::HUP);
    let log = node.await_log("takes effect when the node is started again");
    assert!(
        log.contains("network") && !log.contains("key=\"log\"") && !log.contains("key=\"kv.connections\""),
        "{log}"
    );
    assert_eq!(crowd(kv, 1, b"mn\r\n").1["ERROR Too many open connections"], 1);

    write("", 0);
    node.signal(Signal::HUP);
    node.await_log("`kv.connections` is 0");
    assert!(node.is_running());
    drop(first);
    await_text(|| format!("{:?}", crowd(kv, 1, b"mn\r\n").1), "MN");

    // The end of the process is that of SIGTERM.
    node.signal(Signal::TERM);
    assert!(node.child.wait().unwrap().success());
}

#[test]
fn a_replica_that_cannot_write_answers_storage_failed_and_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_disk) = disk::Disk::mount(folder.path(), "size=180m") else {
        return skip::lacking(Ability::Root, "a file system can be mounted by root only");
    };
    let cluster = folder.path().join("cluster");
    let mut init = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    init.args(["cluster", "init", "--replicas", "1", "--port", "0", "--trusted", "127.0.0.0/8", "--accounts", "1000"]);
    let made = init.arg("--dir").arg(&cluster).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let log = tempfile::tempdir().unwrap();
    let config = cluster.join("replica-0/turnpike.toml");
    let replica = Program::start(log.path(), 4096, &["serve", "--config", config.to_str().unwrap()]);
    // A client that asks again gets the answer of the replica as it is by then.
    let patience = Duration::from_secs(3);
    let options = Options { promise: Promise::Final, give_up_after: patience, ..Options::default() };
    let mut client = Client::connect(replica.address("listen"), &options).unwrap();
    let mut create = |number: u32| {
        let operation = Operation::create(TransactionId::from(number), AccountId::from(number));
        client.submit(&[operation]).map(|receipts| receipts[0].status)
    };
    let since = Instant::now();
    while create(1).ok() != Some(Status::Ok) {
        assert!(since.elapsed() < PATIENCE, "nothing becomes final: {}", replica.log());
    }
    let metrics = get(replica.address("http"), "/metrics");
    assert!(metrics.contains("turnpike_order_"), "{metrics}");
    lint(metrics.split_once("\r\n\r\n").unwrap().1);

    let mut ballast = fs::File::create(folder.path().join("ballast")).unwrap();
    while ballast.write_all(&[1; 1 << 16]).is_ok() {}
    // Every request has an answer, including those of the block that cannot be stored.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let ask = |number: u32| {
        let operation = Operation::create(TransactionId::from(number), AccountId::from(number));
        let mut frame = CompactFrame::from_operation(&operation).unwrap().as_bytes().to_vec();
        socket.send_to(&frame, replica.address("listen")).unwrap();
        let length = socket.recv(&mut frame).unwrap_or_else(|_| panic!("{number} has no reply: {}", replica.log()));
        let Reply::Compact(reply) = Reply::parse(&frame[..length]).unwrap() else { panic!("{frame:?}") };
        reply.status().unwrap()
    };
    let mut number = 2;
    loop {
        match ask(number) {
            Status::StorageFailed => break,
            Status::Ok | Status::NotFinal => number += 1,
            status => panic!("{status}"),
        }
        assert!(since.elapsed() < 4 * PATIENCE, "storage does not fail: {}", replica.log());
    }
    let http = replica.address("http");
    assert!(get(http, "/ready").contains("503"));
    assert!(get(http, "/metrics").contains("turnpike_storage_failed{reason=\"error\"} 1\n"));
}

/// The value of a metric; 0 if it is missing.
fn figure(metrics: &str, name: &str) -> f64 {
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).unwrap_or(0.0)
}

#[test]
fn metrics_have_latencies_and_base_units_and_pass_the_linter_of_prometheus() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("turnpike.toml");
    let [kv] = order::free_addresses(1).unwrap().try_into().unwrap();
    fs::write(&config, format!("[ledger]\naccounts = 1000\n[kv]\nlisten = [\"{kv}\"]\n")).unwrap();
    let node = serve(folder.path(), 4096, &config);
    let options = Options { promise: Promise::Durable, give_up_after: PATIENCE, ..Options::default() };
    let mut client = Client::connect(node.address("listen"), &options).unwrap();
    client.submit(&[Operation::create(1_u32.into(), AccountId::from(7_u32))]).unwrap();
    // Beside much load the client may have sent it more than once.
    let counts = [
        "turnpike_request_duration_seconds_count{promise=\"durable\"}",
        "turnpike_operations_total{command=\"CREATE\"}",
        "turnpike_journal_sync_duration_seconds_count",
    ];
    let since = Instant::now();
    let answer = loop {
        let answer = get(node.address("http"), "/metrics");
        if counts.iter().all(|count| figure(&answer, count) > 0.0) {
            break answer;
        }
        assert!(since.elapsed() < PATIENCE, "the operation is not counted: {answer}");
        thread::sleep(Duration::from_millis(20));
    };
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    for expected in [
        "turnpike_journal_sync_duration_seconds_bucket{le=\"+Inf\"} ",
        "turnpike_build_info{version=\"",
        "turnpike_disk_free_bytes ",
        "turnpike_storage_failed{reason=\"full\"} 0\n",
        "process_resident_memory_bytes ",
        "process_open_fds ",
        "process_max_fds 4096\n",
        "memcached_uptime_seconds ",
    ] {
        assert!(body.contains(expected), "{expected} is not in {body}");
    }
    lint(body);
}

/// Has Prometheus's linter look at metrics.
fn lint(metrics: &str) {
    let promtool =
        Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut promtool) = promtool else {
        return skip::lacking(Ability::Peers, "promtool is not installed; scripts/setup installs it");
    };
    promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let mut findings = String::new();
    promtool.stderr.take().unwrap().read_to_string(&mut findings).unwrap();
    assert!(promtool.wait().unwrap().success(), "{findings}");
}
