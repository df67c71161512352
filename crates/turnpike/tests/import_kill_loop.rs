//! Kills `turnpike import bitcoin` with SIGKILL, again and again, while the folder of blocks grows: what an import that
//! was never disturbed makes of it is the same to the last byte. `KILLS=50 cargo test --test import_kill_loop` kills
//! more often.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MAGIC: [u8; 4] = [0xf9, 0xbe, 0xb4, 0xd9];

/// The blocks of a blk*.dat file, cut into `count` parts of whole blocks. Zeros follow the last block, as Bitcoin Core
/// leaves them.
fn parts(file: &[u8], count: usize) -> Vec<&[u8]> {
    let mut ends = Vec::new();
    let mut at = 0;
    while file[at..].starts_with(&MAGIC) {
        at += 8 + u32::from_le_bytes(file[at + 4..at + 8].try_into().unwrap()) as usize;
        ends.push(at);
    }
    let mut start = 0;
    let cut = |end: &usize| &file[std::mem::replace(&mut start, *end)..*end];
    (1..=count).map(|part| &ends[ends.len() * part / count - 1]).map(cut).collect()
}

fn import(blocks: &Path, data: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_turnpike"))
        .args(["--json", "import", "bitcoin"])
        .arg(blocks)
        .arg("--data")
        .arg(data)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets an import come to its end; gives its report.
fn finish(import: Child) -> serde_json::Value {
    let output = import.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Keys with their values.
type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// All that the index holds, by keyspace.
fn index(data: &Path) -> BTreeMap<String, Entries> {
    let database = fjall::Database::builder(data.join("bitcoin/index")).open().unwrap();
    let entries = |name: &str| {
        let keyspace = database.keyspace(name, fjall::KeyspaceCreateOptions::default).unwrap();
        let pair = |entry: fjall::Guard| entry.into_inner().map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap();
        keyspace.iter().map(pair).collect()
    };
    database.list_keyspace_names().iter().map(|name| (name.to_string(), entries(name))).collect()
}

/// The flat files, by name.
fn flat_files(data: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(data.join("bitcoin")).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files.map(|file| (file.file_name().into(), fs::read(file.path()).unwrap())).collect()
}

#[test]
fn an_import_that_is_killed_goes_on_to_the_same_chain() {
    let Some(path) = skip::blocks("blk_0_to_14131.dat") else { return };
    let all = fs::read(path).unwrap();
    let kills: usize = std::env::var("KILLS").ok().map_or(12, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (blocks, data, undisturbed) =
        (folder.path().join("blocks"), folder.path().join("data"), folder.path().join("undisturbed"));
    fs::create_dir(&blocks).unwrap();

    // One commit for each part, and a kill at any moment of an import, which is as long as the last that was let to its
    // end.
    let parts = parts(&all, 8);
    assert!(parts.concat().len() > 3_000_000);
    let (mut killed, mut random) = (0, 1_u64);
    for (number, part) in parts.iter().enumerate() {
        fs::write(blocks.join(format!("blk{number:05}.dat")), part).unwrap();
        let mut longest = Duration::from_millis(500);
        while killed < kills * (number + 1) / parts.len() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut import = import(&blocks, &data);
            let (started, life) = (Instant::now(), longest.mul_f64((random >> 33) as f64 / (1_u64 << 31) as f64));
            while started.elapsed() < life && import.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            if import.try_wait().unwrap().is_some() {
                // It ended before the kill, so this part is imported. The test needs a run from its beginning.
                longest = started.elapsed();
                finish(import);
            } else {
                import.kill().unwrap();
                let output = import.wait_with_output().unwrap();
                assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
            }
            killed += 1;
        }
        finish(import(&blocks, &data));
    }
    assert_eq!(finish(import(&blocks, &data))["stored"], 0);

    let report = finish(import(&blocks, &undisturbed));
    assert_eq!((&report["height"], &report["stored"]), (&14_131.into(), &14_132.into()));
    assert!(flat_files(&data) == flat_files(&undisturbed), "the flat files differ");
    let (found, expected) = (index(&data), index(&undisturbed));
    assert!(expected.values().flatten().count() > 4 * 14_132, "the index is there");
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, entries) in &expected {
        assert!(found[name] == *entries, "{name} differs");
    }
    println!("{killed} kills, the same {} entries in the index", expected.values().flatten().count());
}
