//! The program's commands, and what they report.

use std::process::Command;

/// Runs a command of the program, and gives its lines of JSON.
pub fn turnpike(arguments: &[&str]) -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_turnpike")).arg("--json").args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The state of the replicas of a directory, whether or not all run.
#[allow(dead_code, reason = "not every test needs all of it")]
pub fn status(dir: &std::path::Path) -> Vec<serde_json::Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    let output = command.args(["--json", "cluster", "status", "--dir"]).arg(dir).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[allow(dead_code, reason = "not every test needs all of it")]
/// Audits replicas that are stopped, and gives what their chains have in common.
pub fn compare(directories: &[String]) -> serde_json::Value {
    let mut check = vec!["check", &directories[0], "--compare"];
    check.extend(directories[1..].iter().map(String::as_str));
    turnpike(&check).pop().unwrap()
}
