//! Faults of configurations: findings, addresses that are taken, what a node would run with.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

fn turnpike(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_turnpike")).args(arguments).output().unwrap()
}

/// What the program reports when it fails.
fn failure(arguments: &[&str]) -> String {
    let ran = turnpike(arguments);
    let text = String::from_utf8(ran.stderr).unwrap();
    assert!(!ran.status.success(), "{arguments:?} succeeds: {text}");
    text
}

/// Writes a configuration and returns its path.
fn write(folder: &Path, text: &str) -> String {
    let file = folder.join("turnpike.toml");
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn a_check_reports_everything_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("file"), "").unwrap();
    let values = "data = \"\"\nhttp = \"127.0.0.1:7400\"\n[ledger]\naccounts = 1\n[kv]\nmemory = 1\nlisten = [\"127.0.0.1:7400\"]\n";
    let report = failure(&["config", "check", &write(folder.path(), values)]);
    for part in [
        "`data` is empty",
        "`http` is 127.0.0.1:7400, but must be an address of its own: `listen` uses its port",
        "`kv.listen` is 127.0.0.1:7400",
        "`ledger.accounts` is 1",
        "`kv.item_size` is 1048576",
        "raise `kv.memory` (-m)",
    ] {
        assert!(report.contains(part), "{part:?} is not in {report}");
    }
    let keys = "datta = \"x\"\n[ledger]\naccounts = \"many\"\n[blocks]\ninterval = 0\n";
    let report = failure(&["config", "check", &write(folder.path(), keys)]);
    for part in ["datta", "`ledger.accounts`", "`blocks.interval` is 0"] {
        assert!(report.contains(part), "{part:?} is not in {report}");
    }
    let files = format!(
        "data = \"{}\"\nchain_key = \"{}\"\nlog = \"node=loud\"\n[kv]\nlisten = [\"127.0.0.1:1\"]\n[kv.tls]\nchain = \"{}\"\n",
        path("file"),
        folder.path().display(),
        path("missing.pem")
    );
    let report = failure(&["config", "check", &write(folder.path(), &files)]);
    for part in ["`data`", "must be a directory", "`chain_key`", "a file, not a directory", "missing.pem", "`log`"] {
        assert!(report.contains(part), "{part:?} is not in {report}");
    }
}

#[test]
fn nothing_is_created_while_an_address_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let config = write(folder.path(), &format!("[kv]\nlisten = [\"{address}\"]\n"));
    let start = ["serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", data.to_str().unwrap()];
    let report = failure(&[&start[..], &["--config", &config]].concat());
    assert!(report.contains("kv.listen") && report.contains(&address.to_string()), "{report}");
    assert!(report.contains("another port"), "{report}");
    assert!(!data.exists());
}

#[test]
fn the_configuration_that_results_is_printed_and_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let config = write(folder.path(), "network = \"mine\"\n[limits]\nrate = 7\n");
    let shown = turnpike(&["config", "show", "--config", &config, "--listen", "127.0.0.1:1", "--accounts", "5000"]);
    assert!(shown.status.success());
    let text = String::from_utf8(shown.stdout).unwrap();
    for line in ["network = \"mine\"", "rate = 7", "listen = \"127.0.0.1:1\"", "accounts = 5000"] {
        assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
    }
    let again = turnpike(&["--json", "config", "show", "--config", &write(folder.path(), &text)]);
    let value: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&value["ledger"]["accounts"], &value["network"]), (&5000.into(), &"mine".into()));
}

#[test]
fn the_doctor_measures_the_disk_of_a_data_directory() {
    let folder = tempfile::tempdir().unwrap();
    // It need not exist yet.
    let data = folder.path().join("data");
    let ran = turnpike(&["--json", "doctor", "--data", data.to_str().unwrap()]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let finding = |what: &str| {
        let found = report["findings"].as_array().unwrap().iter().find(|finding| finding["what"] == what);
        found.unwrap_or_else(|| panic!("{what} is not in {report}"))["how"].as_str().unwrap().to_owned()
    };
    assert!(finding("fdatasync").contains("p99"));
    assert!(finding("space").contains("GB free"));
    assert!(finding("open files").starts_with("limit "));
    assert!(finding("clock").contains("NTP") || finding("clock").contains("unknown"));
    assert!(!data.exists() && fs::read_dir(folder.path()).unwrap().next().is_none(), "files are left over");
}
