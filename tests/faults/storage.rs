//! Faults of files on disk: damage, backups, block files of Bitcoin.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use spv::{
    Hash,
    bitcoin::{BlockHeader, Network, U256, sha256d},
};
use zerocopy::IntoBytes;

use crate::{
    http_client::get,
    node::{Process, start},
    program::turnpike,
};

/// How long something may take before the test fails rather than hangs, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

fn listen() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_turnpike")).args(["--json", "--log", "warn"]).args(arguments).output().unwrap()
}

/// What a command prints that must fail.
fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{arguments:?} succeeded");
    String::from_utf8(output.stderr).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Accounts that the load tool does not use.
const FROM: &str = "900001";
const TO: &str = "900002";

/// A node with two accounts, the first of which has 1,000.
fn node_with_accounts(data: &Path) -> Process {
    let node = start(data, listen(), &["--accounts", "100000"]);
    let address = node.address.to_string();
    for command in [&["create", FROM][..], &["create", TO], &["issue", FROM, "1000"]] {
        turnpike(&[&["account"], command, &["--node", &address]].concat());
    }
    node
}

fn transfer(node: &Process, amount: u64) -> u64 {
    let (amount, address) = (amount.to_string(), node.address.to_string());
    turnpike(&["account", "transfer", FROM, TO, &amount, "--node", &address])[0]["balance"].as_u64().unwrap()
}

fn balance(node: &Process, account: &str) -> u64 {
    turnpike(&["account", "refer", account, "--node", &node.address.to_string()])[0]["balance"].as_u64().unwrap()
}

/// Waits until all durable operations are in blocks.
fn wait_for_blocks(node: &Process) {
    let deadline = Instant::now() + PATIENCE;
    while figure(node, "turnpike_height") == 0 || figure(node, "turnpike_builder_behind") > 0 {
        assert!(Instant::now() < deadline, "no block");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn figure(node: &Process, name: &str) -> u64 {
    let text = get(node.http, "/metrics");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or_else(|| panic!("no {name}: {text}"))
}

/// Changes a byte of a file.
fn flip(path: &Path, offset: u64) {
    let file = fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 4], offset).unwrap();
}

/// The segments of a journal, with the offsets of the batches in them that have operations.
fn batches(data: &Path) -> Vec<(PathBuf, Vec<u64>)> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(data.join("journal")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("journal-"));
    files.sort();
    let of = |path: &PathBuf| {
        let content = fs::read(path).unwrap();
        let mut offsets = Vec::new();
        for (page, bytes) in content.chunks(4096).enumerate() {
            if bytes.starts_with(b"TPJB") && bytes[4..8] != [0; 4] {
                offsets.push(page as u64 * 4096);
            }
        }
        offsets
    };
    files.into_iter().map(|path| (path.clone(), of(&path))).collect()
}

/// The tail of the journal is damaged after a kill: the node refuses to start, names file, offset and remedy, and
/// changes nothing.
#[test]
fn a_lost_tail_of_the_journal_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut node = node_with_accounts(&data);
    transfer(&node, 7);
    node.kill().unwrap();
    let (path, offsets) = batches(&data).into_iter().rfind(|(_, offsets)| !offsets.is_empty()).unwrap();
    let last = *offsets.last().unwrap();
    // The disk lost the last batch and its seal: no intact batch follows.
    let file = fs::File::options().write(true).open(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    file.write_all_at(&[0; 3 * 4096], last).unwrap();
    let damaged = fs::read(&path).unwrap();
    for arguments in [
        &["check", text(&data)][..],
        &["serve", "--data", text(&data), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"],
    ] {
        let error = refused(arguments);
        let expected = format!("{}: damaged at byte {last}", path.display());
        assert!(error.contains(&expected) && error.contains("whole data directory from a backup"), "{error}");
    }
    assert!(fs::read(&path).unwrap() == damaged, "the damaged journal was changed");
    file.write_all_at(&whole[last as usize..][..3 * 4096], last).unwrap();
    let node = start(&data, listen(), &["--accounts", "100000"]);
    assert_eq!((balance(&node, FROM), balance(&node, TO)), (993, 7));
    assert!(node.stop().unwrap());
}

/// The amount of a transfer is changed on disk under a running node: it is never served as true.
#[test]
fn a_damaged_block_is_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let node = node_with_accounts(&data);
    transfer(&node, 7);
    wait_for_blocks(&node);
    let history = format!("/accounts/{TO}/history");
    let deadline = Instant::now() + PATIENCE;
    while !get(node.http, &history).contains("\"amount\":7") {
        assert!(Instant::now() < deadline, "the transfer is in no block");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(get(node.http, "/health").starts_with("HTTP/1.1 200"));
    assert_eq!(figure(&node, "turnpike_damaged_blocks"), 0);

    let blocks = data.join("chain/blocks-000000");
    let amount = 7_u64.to_be_bytes();
    let content = fs::read(&blocks).unwrap();
    let at = content.chunks(64).position(|operation| operation[56..] == amount).unwrap() as u64 * 64;
    flip(&blocks, at + 63);
    let answer = get(node.http, &history);
    let place = format!("{} from byte ", blocks.display());
    assert!(answer.starts_with("HTTP/1.1 500") && answer.contains(&place), "{answer}");
    let health = get(node.http, "/health");
    assert!(health.starts_with("HTTP/1.1 503") && health.contains(&place), "{health}");
    assert_eq!(figure(&node, "turnpike_damaged_blocks"), 1);
    // The ledger itself is not touched by it.
    assert_eq!(transfer(&node, 1), 992);
    assert!(node.stop().unwrap());
    let error = refused(&["check", text(&data)]);
    assert!(error.contains(&place), "{error}");
    flip(&blocks, at + 63);
    turnpike(&["check", text(&data)]);
}

/// What nobody reads is found by the scrub that runs in the background.
#[test]
fn a_damaged_block_that_nobody_reads_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let node = node_with_accounts(&data);
    wait_for_blocks(&node);
    assert!(node.stop().unwrap());
    // A byte of the table of ids, which recovery does not read if a snapshot of the index exists.
    let blocks = data.join("chain/blocks-000000");
    let length = fs::metadata(&blocks).unwrap().len();
    flip(&blocks, length - 1);
    let node = start(&data, listen(), &["--accounts", "100000"]);
    let deadline = Instant::now() + PATIENCE;
    while !get(node.http, "/health").starts_with("HTTP/1.1 503") {
        assert!(Instant::now() < deadline, "the scrub found nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(get(node.http, "/health").contains(&format!("{} from byte ", blocks.display())));
    assert!(node.stop().unwrap());
}

/// Backups of a node under load: each passes the audit, and a node starts from it with all earlier replies.
#[test]
fn a_loaded_node_is_backed_up() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let node = node_with_accounts(&data);
    let address = node.address.to_string();
    let mut load = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    // Not more than a check and a start redo in seconds, however long the test takes.
    load.args(["load", "--node", &address, "--operations", "100000000", "--accounts", "1000", "--batch", "100"]);
    load.args(["--rate", "5000"]);
    let mut load = load.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut before = figure(&node, "turnpike_durable_sequence");
    for round in 1..=2 {
        let deadline = Instant::now() + PATIENCE;
        while figure(&node, "turnpike_durable_sequence") < before + 3_000 {
            assert!(Instant::now() < deadline, "no load");
            std::thread::sleep(Duration::from_millis(10));
        }
        let left = transfer(&node, 10);
        before = figure(&node, "turnpike_durable_sequence");
        let copy = folder.path().join(format!("copy-{round}"));
        let report = turnpike(&["backup", "--data", text(&data), text(&copy)]).remove(0);
        assert!(report["operations"].as_u64().unwrap() >= before, "{report}");
        assert_eq!(report["has_key"], true);
        let audit = turnpike(&["check", text(&copy)]).remove(0);
        assert_eq!((&audit["height"], &audit["journal_to"]), (&report["height"], &report["operations"]));
        let restored = start(&copy, listen(), &["--accounts", "100000"]);
        assert_eq!(restored.network, node.network);
        assert_eq!((balance(&restored, FROM), balance(&restored, TO)), (left, 1000 - left));
        transfer(&restored, 1);
        assert!(restored.stop().unwrap());
        turnpike(&["check", text(&copy)]);
        // The node has made blocks of its own there, so it is no copy of the other ledger.
        assert!(refused(&["backup", "--data", text(&data), text(&copy)]).contains("is not in the chain to copy"));
    }
    load.kill().unwrap();
    load.wait().unwrap();
    assert!(node.stop().unwrap());
    // Also of a node that is stopped.
    let copy = folder.path().join("stopped");
    turnpike(&["backup", "--data", text(&data), text(&copy)]);
    let [audit, original] = [&copy, &data].map(|path| turnpike(&["check", text(path)]).remove(0));
    assert_eq!((&audit["tip"], &audit["journal_to"]), (&original["tip"], &original["journal_to"]));
    assert!(refused(&["backup", "--data", text(&data), text(&data)]).contains("already exists"));
    assert!(
        refused(&["backup", "--data", text(folder.path()), text(&folder.path().join("new"))]).contains("no such file")
    );
}

/// A backup is brought up to date under load, while nodes and backups are killed. It passes the audit each time, has
/// everything that was answered before, and a node that starts from it recognises retries.
#[test]
fn a_backup_is_brought_up_to_date_over_kills() {
    let folder = tempfile::tempdir().unwrap();
    let (data, copy) = (folder.path().join("data"), folder.path().join("copy"));
    let arguments = ["--accounts", "100000"];
    let mut node = node_with_accounts(&data);
    let address = node.address;
    let mut load = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    load.args(["load", "--node", &address.to_string(), "--operations", "100000000", "--accounts", "1000"]);
    load.args(["--batch", "100", "--rate", "5000"]);
    let backup = ["backup", "--data", text(&data), text(&copy)];
    let (mut blocks, mut left) = (0, 1000);
    for round in 0..5 {
        let mut load = load.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let before = figure(&node, "turnpike_height");
        let deadline = Instant::now() + PATIENCE;
        while figure(&node, "turnpike_height") < before + 2 {
            assert!(Instant::now() < deadline, "no blocks");
            std::thread::sleep(Duration::from_millis(10));
        }
        left = transfer(&node, 10);
        // Ended at any point, a backup leaves the previous one, or none, or is complete.
        let mut killed =
            Command::new(env!("CARGO_BIN_EXE_turnpike")).args(backup).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(15 * round));
        killed.kill().unwrap();
        killed.wait().unwrap();
        if round > 0 {
            turnpike(&["check", text(&copy)]);
        }
        if round % 2 == 1 {
            drop(node);
            node = start(&data, address, &arguments);
        }
        let durable = figure(&node, "turnpike_durable_sequence");
        let report = turnpike(&backup).remove(0);
        assert!(report["operations"].as_u64().unwrap() >= durable, "{report}");
        let audit = turnpike(&["check", text(&copy)]).remove(0);
        assert_eq!((&audit["height"], &audit["journal_to"]), (&report["height"], &report["operations"]));
        let height = report["height"].as_u64().unwrap();
        assert!(height >= blocks + 2 && report["copied"].as_u64().unwrap() <= height - blocks, "{report}");
        blocks = height;
        load.kill().unwrap();
        load.wait().unwrap();
    }
    // A named transfer is in the backup: a node that starts from it returns its first result.
    let name = turnpike(&["account", "transfer", FROM, TO, "7", "--node", &address.to_string()]).remove(0);
    turnpike(&backup);
    drop(node);
    let restored = start(&copy, address, &arguments);
    let repeated = ["account", "transfer", FROM, TO, "7", "--node", &address.to_string(), "--transaction"];
    let again = turnpike(&[&repeated[..], &[name["transaction"].as_str().unwrap()]].concat()).remove(0);
    assert_eq!((&again["status"], &again["balance"]), (&name["status"], &name["balance"]));
    assert_eq!((balance(&restored, FROM), balance(&restored, TO)), (left - 7, 1007 - left));
    assert!(restored.stop().unwrap());
}

/// A coinbase that pays to a script.
fn coinbase(tag: &[u8], script: &[u8]) -> Vec<u8> {
    let mut bytes =
        [&1_u32.to_le_bytes()[..], &[1], &[0; 32], &[0xff; 4], &[tag.len() as u8], tag, &[0xff; 4]].concat();
    bytes.extend([&[1][..], &5_000_000_000_u64.to_le_bytes(), &[script.len() as u8], script, &[0; 4]].concat());
    bytes
}

/// Puts a coinbase into a block after another one, with the proof of work, which on regtest takes two tries.
fn mine(previous: &BlockHeader, coinbase: &[u8]) -> (BlockHeader, Vec<u8>) {
    let merkle_root: Hash = sha256d(&[coinbase]);
    let time = previous.time.get() + 600;
    let mut header =
        BlockHeader { previous: previous.hash(), merkle_root, time: time.into(), ..Network::Regtest.genesis() };
    let target = header.target().unwrap();
    while U256::from_le_bytes(&header.hash()) > target {
        header.nonce = (header.nonce.get() + 1).into();
    }
    (header, [header.as_bytes(), &[1], coinbase].concat())
}

fn framed(block: &[u8]) -> Vec<u8> {
    [&Network::Regtest.magic()[..], &(block.len() as u32).to_le_bytes(), block].concat()
}

/// The coinbase of Bitcoin's genesis blocks.
fn genesis_block() -> Vec<u8> {
    let message = b"The Times 03/Jan/2009 Chancellor on brink of second bailout for banks";
    let key = "04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d57\
               8a4c702b6bf11d5f";
    let key = Vec::from_iter((0..65).map(|at| u8::from_str_radix(&key[2 * at..][..2], 16).unwrap()));
    let tag = [&[4, 0xff, 0xff, 0, 0x1d, 1, 4, 69][..], message].concat();
    let coinbase = coinbase(&tag, &[&[65][..], &key, &[0xac]].concat());
    let header = Network::Regtest.genesis();
    assert_eq!(header.merkle_root, sha256d(&[&coinbase]));
    [header.as_bytes(), &[1], &coinbase].concat()
}

/// The blocks of a chain from genesis on, whose coinbases `tag` names.
fn chain(length: u32, tag: impl Fn(u32) -> Vec<u8>) -> Vec<Vec<u8>> {
    let (mut header, mut blocks) = (Network::Regtest.genesis(), vec![genesis_block()]);
    for height in 1..length {
        let (next, block) = mine(&header, &coinbase(&tag(height), &[0x51]));
        header = next;
        blocks.push(block);
    }
    blocks
}

fn import(file: &Path, data: &Path) -> Output {
    run(&["import", "bitcoin", text(file), "--network", "regtest", "--data", text(data)])
}

/// Block files after crashes of bitcoind: junk is skipped and reported, and all blocks are imported.
#[test]
fn block_files_with_junk_are_imported() {
    let blocks = chain(30, |height| [b"block".to_vec(), height.to_le_bytes().to_vec()].concat());
    let framed = Vec::from_iter(blocks.iter().map(|block| framed(block)));
    let (begin, whole) = (framed[..12].concat(), framed.concat());
    let mut broken = framed[12].clone();
    broken[8 + 40] ^= 1;
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("blocks.dat"), folder.path().join("data"));
    for (name, content, height, skipped) in [
        ("whole", whole.clone(), 29, 0),
        (
            "a block that was written in part, then again",
            [&begin, &framed[12][..100], &framed[12..].concat()].concat(),
            29,
            100,
        ),
        ("junk between two blocks", [&begin, &b"junk"[..], &framed[12..].concat()].concat(), 29, 4),
        (
            "a block with a wrong root before the right one",
            [&begin, &broken[..], &framed[12..].concat()].concat(),
            29,
            broken.len(),
        ),
        ("zeros after the last block", [&whole[..], &[0; 1 << 20]].concat(), 29, 0),
        ("the last block is cut", whole[..whole.len() - 50].to_vec(), 28, framed[29].len() - 50),
        ("a magic and no more", [&whole[..], &Network::Regtest.magic()].concat(), 29, 4),
    ] {
        fs::write(&file, content).unwrap();
        let output = import(&file, &data);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {errors}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["height"], height, "{name}: {report}");
        assert_eq!(report["skipped_bytes"], skipped, "{name}: {report} {errors}");
        assert_eq!(errors.contains("skipped bytes that are not a block"), skipped > 0, "{name}: {errors}");
        fs::remove_dir_all(&data).unwrap();
    }
    // A block is missing for good: what comes before it is imported, and the error names what waits.
    fs::write(&file, [&begin, &framed[12][..100], &framed[13..].concat()].concat()).unwrap();
    let output = import(&file, &data);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("17 blocks do not follow an imported block"), "{errors}");
}

/// A path without blocks leaves no data directory, and the error names the content.
#[test]
fn a_wrong_path_for_an_import_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("blk00000.dat"), folder.path().join("data"));
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let error = String::from_utf8(import(&empty, &data).stderr).unwrap();
    assert!(error.contains("no blocks here") && !data.exists(), "{error}");
    fs::write(&file, vec![0x5a; 1000]).unwrap();
    let error = String::from_utf8(import(&file, &data).stderr).unwrap();
    let expected = "byte 0: expected a block of regtest, which begins with fa bf b5 da, but found 5a 5a 5a 5a";
    assert!(error.contains(expected) && !data.exists(), "{error}");
}

/// Two blocks have the same coinbase (BIP30, as on the main network): each has its path.
#[test]
fn a_coinbase_that_is_there_twice_has_two_paths() {
    let tag = |height| if height == 10 || height == 20 { b"twice".to_vec() } else { vec![1, height as u8] };
    let blocks = chain(25, tag);
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("blk00000.dat"), folder.path().join("data"));
    fs::write(&file, blocks.iter().flat_map(|block| framed(block)).collect::<Vec<_>>()).unwrap();
    assert!(import(&file, &data).status.success());
    let [address] = order::free_addresses(1).unwrap().try_into().unwrap();
    let config = folder.path().join("turnpike.toml");
    fs::write(&config, format!("[electrum]\nlisten = [\"{address}\"]\n")).unwrap();
    let node = start(&data, listen(), &["--config", text(&config), "--accounts", "1000"]);
    let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
    stream.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    let mut ask = |method: &str, params: Value| -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        stream.get_mut().write_all(format!("{request}\n").as_bytes()).unwrap();
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    ask("server.version", json!(["test", "1.4"]));
    let mut hash = sha256d(&[&coinbase(b"twice", &[0x51])]);
    hash.reverse();
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    for height in [10, 20] {
        let reply = ask("blockchain.transaction.get_merkle", json!([hash, height]));
        assert_eq!(reply["result"], json!({"block_height": height, "merkle": [], "pos": 0}), "{reply}");
    }
    let reply = ask("blockchain.transaction.get_merkle", json!([hash, 11]));
    assert!(reply["error"]["message"].as_str().unwrap().contains("not in block at height 11"), "{reply}");
    assert!(node.stop().unwrap());
}
