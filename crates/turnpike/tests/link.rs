//! `turnpike link` between processes, and the findings of `turnpike doctor` about channels.
#![allow(missing_docs, clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn turnpike(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    command.args(["--json", "--log", "error"]).args(arguments);
    command
}

fn report(arguments: &[&str]) -> Value {
    let Output { status, stdout, stderr } = turnpike(arguments).output().unwrap();
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    serde_json::from_slice(&stdout).unwrap()
}

/// A responder, and where it listens.
fn serve(address: &str, options: &[&str]) -> (Child, String) {
    let arguments = [&["link", "serve", "--address", address][..], options].concat();
    let mut child = turnpike(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    (child, ready["address"].as_str().unwrap().to_owned())
}

#[test]
fn channels_are_measured_between_processes() {
    for address in ["shm://", "tcp://127.0.0.1:0"] {
        let (mut server, at) = serve(address, &[]);
        let ping = report(&["link", "ping", "--address", &at, "--bytes", "100", "--count", "500"]);
        assert_eq!((&ping["bytes"], &ping["count"]), (&100.into(), &500.into()));
        let buckets = ping["histogram"].as_array().unwrap();
        assert_eq!(buckets.iter().map(|bucket| bucket["count"].as_u64().unwrap()).sum::<u64>(), 500);
        let times =
            ["min_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us"].map(|key| ping[key].as_f64().unwrap());
        assert!(times[0] > 0.0 && times.is_sorted(), "{times:?}");
        let mean = 1e6 / ping["round_trips_per_second"].as_f64().unwrap();
        assert!((times[0]..=times[5]).contains(&mean), "a mean of {mean} us, and {times:?}");
        let rate = report(&["link", "throughput", "--address", &at, "--bytes", "20000", "--count", "300"]);
        assert_eq!((&rate["bytes"], &rate["count"]), (&20_000.into(), &300.into()));
        assert!(rate["megabytes_per_second"].as_f64().unwrap() > 0.0);
        // It stops on a signal.
        let pid = rustix::process::Pid::from_child(&server);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(server.wait().unwrap().success());
        let failed = turnpike(&["link", "ping", "--address", &at]).output().unwrap();
        assert!(!failed.status.success());
        assert!(String::from_utf8_lossy(&failed.stderr).contains("is the peer listening there?"));
    }
    let long = turnpike(&["link", "ping", "--address", "shm://nobody", "--bytes", "200000"]).output().unwrap();
    assert!(String::from_utf8_lossy(&long.stderr).contains("--buffer-bytes 200000"));
}

#[test]
fn channels_with_keys_have_the_peers_that_they_name() {
    let folder = tempfile::tempdir().unwrap();
    let [near, far, other] = ["near", "far", "other"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let public = |file: &str| report(&["link", "key", file])["public_key"].as_str().unwrap().to_owned();
    let [near_public, far_public, other_public] = [&near, &far, &other].map(|file| public(file));
    // Made once.
    assert_eq!(public(&near), near_public);
    let (mut server, at) = serve("tcp://127.0.0.1:0", &["--key", &far, "--peer", &near_public]);
    let ping = |options: &[&str]| {
        turnpike(&[&["link", "ping", "--count", "9", "--address", &at][..], options].concat()).output().unwrap()
    };
    assert!(ping(&["--key", &near, "--peer", &far_public]).status.success());
    for (refused, reason) in [
        (&["--key", &other, "--peer", &far_public][..], "handshake"),
        (&["--key", &near, "--peer", &other_public], &far_public),
        (&[], "encrypt"),
        (&["--key", &near], "--peer"),
    ] {
        let output = ping(refused);
        assert!(!output.status.success());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(reason), "{refused:?}: {told}");
    }
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn the_doctor_tells_of_channels() {
    let report = report(&["doctor"]);
    for what in ["shared memory", "rdma devices", "locked memory"] {
        let finding = report["findings"].as_array().unwrap().iter().find(|finding| finding["what"] == what).unwrap();
        assert_eq!(finding["good"].as_bool().unwrap(), finding["advice"] == "", "{finding}");
    }
}
