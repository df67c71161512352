//! Damaged files of a replica: each is refused with what to do, and that helps.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::cluster::{Cluster, REPLICAS};
use crate::http_client;
use crate::members::copy;

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);
/// The replica whose files are damaged.
const DAMAGED: usize = 3;
/// Bytes before the first vote of a file: the page of its header.
const VOTES_HEADER: usize = 4096;
/// What a replica is advised to do with votes that are lost.
const NEW_KEY: &str = "a replica with a new key join";

/// The newest of the files below a directory whose path has this in it.
fn file(data: &Path, part: &str) -> PathBuf {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), files);
            } else if entry.metadata().unwrap().len() > 0 {
                files.push(entry.path());
            }
        }
    }
    let mut files = Vec::new();
    walk(data, &mut files);
    files.retain(|path| path.strip_prefix(data).unwrap().to_str().unwrap().contains(part));
    files.sort();
    files.pop().unwrap_or_else(|| panic!("{part}: no such file"))
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn stop(cluster: &mut Cluster) {
    let process = &mut cluster.processes[DAMAGED];
    kill_process(Pid::from_child(process), Signal::TERM).unwrap();
    assert!(process.wait().unwrap().success());
}

/// Starts the replica, which refuses its data at once or when it reads it. Returns the reason.
fn refused(cluster: &mut Cluster) -> String {
    let before = cluster.log(DAMAGED).len();
    cluster.processes[DAMAGED] = cluster.spawn(DAMAGED, None);
    let since = Instant::now();
    while cluster.processes[DAMAGED].try_wait().unwrap().is_none() {
        let ready = http_client::try_get(cluster.http[DAMAGED], "/ready").unwrap_or_default();
        if ready.contains("engine has ended") {
            stop(cluster);
            return ready;
        }
        assert!(since.elapsed() < PATIENCE, "it runs: {}", cluster.log(DAMAGED));
        sleep(Duration::from_millis(20));
    }
    assert_eq!(cluster.processes[DAMAGED].wait().unwrap().code(), Some(1), "{}", &cluster.log(DAMAGED)[before..]);
    cluster.log(DAMAGED)[before..].to_owned()
}

fn sync(cluster: &Cluster) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    command.args(["cluster", "sync", "--replace", "--from", &cluster.http[0].to_string(), "--config"]);
    let output = command.arg(cluster.folders[DAMAGED].join("turnpike.toml")).output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8(output.stderr).unwrap()) }
}

/// Starts the replica again and has it take part.
fn runs(cluster: &mut Cluster) {
    cluster.processes[DAMAGED] = cluster.spawn(DAMAGED, None);
    cluster.open_account(DAMAGED);
    stop(cluster);
    // What the others have now is newer than what this one had.
    cluster.open_account(0);
}

/// One flipped byte stopped a replica for good, or left it running with a dead engine, and the advice was circular.
#[test]
fn a_damaged_replica_is_replaced_but_for_its_votes() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(folder.path(), [None; REPLICAS]);
    for number in 0..2 * REPLICAS {
        cluster.open_account(number % REPLICAS);
    }
    stop(&mut cluster);
    cluster.open_account(0);
    let data = cluster.folders[DAMAGED].join("data");
    // Files of the chain, its catalog, the journal, the engine's caches and its blocks.
    for part in [
        "catalog/version",
        "chain/records-",
        "journal/journal-",
        "order/replica-blocks-values/",
        "order/replica-certificates-metadata/",
        "order/replica-marshal-application-metadata/",
        "order/replica-marshal-cache-",
    ] {
        flip(&file(&data, part), 0);
        let log = refused(&mut cluster);
        assert!(log.contains("turnpike cluster sync --replace"), "{part}: {log}");
        sync(&cluster).unwrap_or_else(|error| panic!("{part}: {error}"));
        runs(&mut cluster);
    }
    // Votes cannot be replaced: another key is the only way, unless the file itself comes back.
    // The engine creates the file of a view before its first vote, and may be stopped between the two.
    let (votes, whole) = loop {
        let votes = file(&data, "order/replica-votes-");
        let whole = fs::read(&votes).unwrap();
        if whole.len() > VOTES_HEADER {
            break (votes, whole);
        }
        runs(&mut cluster);
    };
    let damage: [(&str, &dyn Fn()); 3] = [
        ("flipped", &|| flip(&votes, VOTES_HEADER)),
        ("cut", &|| fs::write(&votes, &whole[..VOTES_HEADER]).unwrap()),
        ("deleted", &|| fs::remove_file(&votes).unwrap()),
    ];
    for (what, damage) in damage {
        damage();
        let (log, error) = (refused(&mut cluster), sync(&cluster).unwrap_err());
        for text in [&log, &error] {
            assert!(text.contains(NEW_KEY) && text.contains(votes.to_str().unwrap()), "{what}: {text}");
        }
        let checked = Command::new(env!("CARGO_BIN_EXE_turnpike")).arg("check").arg(&data).output().unwrap();
        assert!(String::from_utf8_lossy(&checked.stderr).contains(NEW_KEY), "{what}: {checked:?}");
        fs::write(&votes, &whole).unwrap();
    }
    let incarnation = file(&data, "order/incarnation");
    flip(&incarnation, 0);
    let log = refused(&mut cluster);
    assert!(log.contains(NEW_KEY), "{log}");
    flip(&incarnation, 0);
    // The advice for the file that names the format is to write a line that it prints.
    let format = data.join("FORMAT");
    flip(&format, 0);
    let log = refused(&mut cluster);
    let line = log.split('`').nth(1).unwrap();
    fs::write(&format, line).unwrap();
    runs(&mut cluster);
}

/// The files below a directory, one of each kind: numbers in paths, and names of the engine's caches, are all the same.
fn file_of_each_kind(data: &Path) -> Vec<PathBuf> {
    let mut kinds = BTreeMap::new();
    let mut folders = vec![data.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if entry.metadata().unwrap().len() > 0 {
                let text = path.strip_prefix(data).unwrap().to_str().unwrap().to_owned();
                let caches = ["certified", "finalizations", "notarizations", "notarized", "verified"];
                let kind = caches.iter().fold(text, |text, name| text.replace(name, "cache"));
                kinds.entry(kind.replace(|c: char| c.is_ascii_hexdigit(), "")).or_insert(path);
            }
        }
    }
    kinds.into_values().collect()
}

/// Some damage in the middle of a file ended in a panic, or left a process whose engine had ended.
#[test]
fn a_replica_with_a_flipped_byte_in_any_file_runs_or_says_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(folder.path(), [None; REPLICAS]);
    for number in 0..2 * REPLICAS {
        cluster.open_account(number % REPLICAS);
    }
    stop(&mut cluster);
    cluster.open_account(0);
    let (own, whole) = (cluster.folders[DAMAGED].clone(), folder.path().join("whole"));
    copy(&own, &whole);
    let files = file_of_each_kind(&own.join("data"));
    assert!(files.len() >= 20, "{files:?}");
    for path in files {
        // With the mark beside the key: what a start writes is undone as well.
        fs::remove_dir_all(&own).unwrap();
        copy(&whole, &own);
        let bytes = fs::read(&path).unwrap();
        let written = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        flip(&path, written / 2);
        let before = cluster.log(DAMAGED).len();
        cluster.processes[DAMAGED] = cluster.spawn(DAMAGED, None);
        let since = Instant::now();
        let status = loop {
            if let Some(status) = cluster.processes[DAMAGED].try_wait().unwrap() {
                break Some(status);
            }
            let ready = http_client::try_get(cluster.http[DAMAGED], "/ready").unwrap_or_default();
            if ready.contains("200 OK") {
                break None;
            }
            assert!(since.elapsed() < PATIENCE, "{path:?}: neither ready nor ended: {ready}");
            sleep(Duration::from_millis(20));
        };
        match status {
            None => stop(&mut cluster),
            Some(status) => {
                let log = &cluster.log(DAMAGED)[before..];
                assert_eq!(status.code(), Some(1), "{path:?}: {log}");
                let helps = ["turnpike cluster sync --replace", NEW_KEY, "must hold the line `"];
                assert!(helps.iter().any(|help| log.contains(help)), "{path:?}: {log}");
            }
        }
    }
}
