//! Somebody else on the machine, a copy that went wrong, or a disk: files of the data directory that are not what the node made.
#![allow(missing_docs, clippy::unwrap_used)]

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use client::{Client, Options};
use turnpike_attacks::Victim;
use wire::{AccountId, Operation, Promise, Status, TransactionId};

const SEGMENT: &str = "journal/journal-0000000000000001";

fn creates(numbers: std::ops::Range<u32>) -> Vec<Operation> {
    numbers.map(|n| Operation::create(TransactionId::from(n), AccountId::from(n))).collect()
}

/// Executes them, and gives how many were answered so.
fn submit(victim: &Victim, operations: &[Operation], status: Status) -> usize {
    let options = Options { promise: Promise::Durable, ..Options::default() };
    let receipts = Client::connect(victim.address(), &options).unwrap().submit(operations).unwrap();
    receipts.iter().filter(|receipt| receipt.status == status && receipt.promise == Promise::Durable).count()
}

/// A node that died with operations that it had acknowledged as durable, and that are in no block: what is on its disk.
fn died_with_operations_in_the_journal_alone() -> (Victim, PathBuf) {
    let mut victim = Victim::start(|config| config.blocks.interval = 3_600_000);
    assert_eq!(submit(&victim, &creates(0..2_000), Status::Ok), 2_000);
    let (data, died) = (victim.directory().join("data"), victim.directory().join("died"));
    for path in tree(&data) {
        let to = died.join(path.strip_prefix(&data).unwrap());
        if path.is_dir() {
            fs::create_dir(to).unwrap();
        } else if let Err(error) = fs::copy(path, to) {
            // The segment that comes next gets its name meanwhile.
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        }
    }
    victim.stop();
    victim.config().data.clone_from(&died);
    (victim, died)
}

/// Acknowledged operations are there again, or the node does not start and says what is missing where.
#[test]
fn a_cut_segment_is_damage() {
    let (mut victim, data) = died_with_operations_in_the_journal_alone();
    let segment = data.join(SEGMENT);
    let content = fs::read(&segment).unwrap();
    let written = content.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    assert!(written < content.len());
    // Half of what was written, between two pages too, and all of that and some of the rest.
    for length in [written / 2, (written / 2).next_multiple_of(4096), content.len() / 2, content.len() - 1] {
        File::options().write(true).open(&segment).unwrap().set_len(length as u64).unwrap();
        let error = victim.try_restart().unwrap_err().to_string();
        for told in [SEGMENT, "damaged", "Restore", &length.to_string(), &content.len().to_string()] {
            assert!(error.contains(told), "{told}: {error}");
        }
        fs::write(&segment, &content).unwrap();
    }
    victim.restart();
    let again = creates(10_000..12_000).into_iter().zip(creates(0..2_000));
    let again: Vec<_> = again.map(|(new, old)| Operation { source: old.source, ..new }).collect();
    assert_eq!(submit(&victim, &again, Status::AccountExists), 2_000, "all are there once the segment is whole");
}

/// Who can put a link in a file's place gets nothing written where it leads, nor read from there.
#[test]
fn planted_links_are_refused() {
    let (mut victim, data) = died_with_operations_in_the_journal_alone();
    let (aside, elsewhere) = (victim.directory().join("aside"), victim.directory().join("elsewhere"));
    for name in ["LOCK", "FORMAT", SEGMENT, "chain/records-000000", "journal", "catalog"] {
        let place = data.join(name);
        fs::rename(&place, &aside).unwrap();
        let is_file = aside.is_file();
        if is_file {
            fs::copy(&aside, &elsewhere).unwrap();
        }
        symlink(if is_file { &elsewhere } else { &aside }, &place).unwrap();
        let error = victim.try_restart().unwrap_err().to_string();
        assert!(error.contains(place.to_str().unwrap()) && error.contains("symbolic link"), "{error}");
        assert!(!is_file || fs::read(&elsewhere).unwrap() == fs::read(&aside).unwrap(), "{name} was written");
        fs::remove_file(&place).unwrap();
        fs::rename(&aside, &place).unwrap();
    }
    victim.restart();
}

/// All below a directory, and itself.
fn tree(root: &Path) -> Vec<PathBuf> {
    let mut paths = vec![root.to_path_buf()];
    let mut next = 0;
    while let Some(path) = paths.get(next).cloned() {
        if path.is_dir() {
            paths.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
        next += 1;
    }
    paths
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Nobody else on the machine reads what is in the data directory, let alone writes there, however careless the umask and whoever
/// made the directory.
#[test]
fn the_data_directory_is_its_owners_alone() {
    // Of the whole process: the other tests ask for no modes.
    rustix::process::umask(rustix::fs::Mode::empty());
    let mut victim = Victim::start(|_| {});
    assert_eq!(submit(&victim, &creates(0..100), Status::Ok), 100);
    let data = victim.directory().join("data");
    for path in tree(&data) {
        // Whatever the key-value store makes lies in a directory that nobody else can enter.
        let by_the_store = path.starts_with(data.join("catalog")) && path != data.join("catalog");
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert!(by_the_store || mode(&path) == expected, "{}: {:03o}", path.display(), mode(&path));
    }
    // What an older node, or somebody's chmod, left open is closed by the next start: the store's files too.
    victim.stop();
    // The chain's key alone is not: what others may have read is not secret any more (see `forged_chain`).
    let mut left = tree(&data);
    left.retain(|path| !path.ends_with("chain.key"));
    for path in &left {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    victim.restart();
    for path in left.into_iter().filter(|path| path.exists()) {
        assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}
