//! `turnpike delay`, from outside.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const ITERATIONS: &str = "400000";

fn delay(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    command.current_dir(directory).args(["--json", "delay"]).args(args);
    command
}

fn run(directory: &Path, args: &[&str]) -> Output {
    delay(directory, args).output().unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn an_evaluation_that_is_killed_goes_on_and_its_proof_verifies() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let evaluate =
        ["evaluate", "message", "--iterations", ITERATIONS, "--modulus", "rsa-1024", "--out", "proof", "--keep", "way"];
    let way = || std::fs::metadata(directory.join("way")).map_or(0, |way| way.len());
    let (mut kills, mut kept) = (0, 0);
    while kills < 5 {
        let mut child = delay(directory, &evaluate).stdout(Stdio::null()).spawn().unwrap();
        // Each run must save some progress, or five kills could end the test early.
        while way() < kept + 50_000 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        (kills, kept) = (kills + 1, way());
    }
    let report = json(&run(directory, &evaluate));
    assert!(report["resumed_at"].as_u64().unwrap() > 0, "{report}");

    let verify = ["verify", "proof", "--message", "message", "--iterations", ITERATIONS, "--modulus", "rsa-1024"];
    let verified = json(&run(directory, &verify));
    assert_eq!((&verified["verified"], &verified["output"]), (&true.into(), &report["output"]));
    for (place, other) in [(3, "massage"), (5, "400001"), (7, "rsa-2048")] {
        let mut verify = verify;
        verify[place] = other;
        let refused = run(directory, &verify);
        assert_eq!(refused.status.code(), Some(1), "{other}");
    }
    let mut proof = std::fs::read(directory.join("proof")).unwrap();
    *proof.last_mut().unwrap() ^= 1;
    std::fs::write(directory.join("proof"), proof).unwrap();
    let refused = run(directory, &verify);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("wrong"));
}

#[test]
fn the_time_lock_of_the_description_of_lcs35_opens() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    std::fs::write(directory.join("n"), "253\n").unwrap();
    let unlock = ["unlock", "--iterations", "10", "--modulus", "n", "--ciphertext", "13", "--keep", "state"];
    for _ in 0..2 {
        let report = json(&run(directory, &unlock));
        assert_eq!((&report["number"], &report["message"]), (&"47".into(), &"T".into()));
    }
    std::fs::write(directory.join("n"), "254\n").unwrap();
    let refused = run(directory, &unlock);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("odd"));
}
