//! The dashboard and the alerts of `packages/monitoring`, compared with the metrics of running programs.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use skip::Ability;

use crate::electrum::Served;
use crate::{http_client, node, program};

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/monitoring")
}

/// Runs a command in the folder, which must succeed, and returns its output.
fn run(program: &str, arguments: &[&str]) -> String {
    // The folder of the source stays as it is.
    let output =
        Command::new(program).args(arguments).current_dir(folder()).env("PYTHONDONTWRITEBYTECODE", "1").output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// A program that is killed when this is dropped.
struct Running(Child);

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
        Self(command.args(["--log", "error"]).args(arguments).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// The metrics of a program, once it serves them.
fn metrics(http: SocketAddr) -> String {
    let since = Instant::now();
    loop {
        let answer = http_client::try_get(http, "/metrics").unwrap_or_default();
        if let Some((_, body)) = answer.split_once("\r\n\r\n")
            && answer.starts_with("HTTP/1.1 200 ")
        {
            return body.to_owned();
        }
        assert!(since.elapsed() < PATIENCE, "http://{http}/metrics: {answer:?}");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn panels_and_alerts_select_metrics_that_running_programs_print() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [listen, http, store] = order::free_addresses(3).unwrap().try_into().unwrap();

    let config = path("kv.toml");
    fs::write(&config, format!("[kv]\nlisten = [\"{listen}\"]\n")).unwrap();
    let arguments = ["--config", config.as_str(), "--accounts", "1000"];
    let node = node::start(&folder.path().join("data"), "127.0.0.1:0".parse().unwrap(), &arguments);
    let arguments = ["--accounts", "1000", "--follow", &node.address.to_string()];
    let follower = node::start(&folder.path().join("copy"), "127.0.0.1:0".parse().unwrap(), &arguments);
    let wallets = Served::start("");
    let port = store.port().to_string();
    let _store = Running::start(&["kv", "-l", "127.0.0.1", "-p", &port, "--http", &http.to_string()]);
    program::turnpike(&["cluster", "init", "--dir", &path("cluster"), "--replicas", "1", "--port", "0"]);
    let config = path("cluster/replica-0/turnpike.toml");
    let replica = ::node::Config::load(Path::new(&config)).unwrap().http.unwrap();
    let _replica = Running::start(&["serve", "--config", &config]);

    let mut arguments = vec!["generate.py".to_owned(), "--against".to_owned()];
    let pages = [
        ("node", node.http),
        ("follower", follower.http),
        ("wallets", wallets.process.http),
        ("store", http),
        ("replica", replica),
    ];
    for (name, http) in pages {
        fs::write(path(name), metrics(http)).unwrap();
        arguments.push(path(name));
    }
    run("python3", &Vec::from_iter(arguments.iter().map(String::as_str)));
}

#[test]
fn the_dashboard_is_generated_and_every_alert_has_tests_and_a_runbook() {
    run("python3", &["generate.py", "--check"]);
}

#[test]
fn prometheus_accepts_rules_and_expressions_and_alerts_fire_only_when_they_should() {
    if Command::new("promtool").arg("--version").output().is_err() {
        return skip::lacking(Ability::Peers, "promtool is not installed; scripts/setup installs it");
    }
    // This also checks the rules.
    run("promtool", &["check", "config", "prometheus.yml"]);
    run("promtool", &["test", "rules", "alerts.test.yml"]);
    let scratch = tempfile::tempdir().unwrap();
    let panels = scratch.path().join("panels.yml");
    fs::write(&panels, run("python3", &["generate.py", "--rules"])).unwrap();
    run("promtool", &["check", "rules", panels.to_str().unwrap()]);
}
