//! The commands of the program, used as a person would.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{Process, start};
use serde_json::Value;
use wire::{CompactFrame, Operation};
use zerocopy::IntoBytes;

fn turnpike(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_turnpike")).args(["--json", "--log", "error"]).args(arguments).output().unwrap()
}

/// The first line printed by a command that must succeed.
fn json(arguments: &[&str]) -> Value {
    let output = turnpike(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(output.stdout.split(|&byte| byte == b'\n').next().unwrap()).unwrap()
}

/// The error of a command that must fail.
fn error(arguments: &[&str]) -> String {
    let output = turnpike(arguments);
    assert!(!output.status.success(), "{arguments:?} succeeded");
    String::from_utf8(output.stderr).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A proof, once the block is closed.
fn proof(arguments: &[&str]) -> Value {
    json(&[arguments, &["--wait", "60"]].concat())
}

/// Retries until the proof has the wanted state, since a block may have been closed before it.
fn proof_that(arguments: &[&str], wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let proved = proof(arguments);
        if wanted(&proved) {
            return proved;
        }
        assert!(Instant::now() < deadline, "{arguments:?}: {proved}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_session_from_an_account_to_a_verified_proof() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let bank = folder.path().join("bank.key");
    let issuer = json(&["key", "new", text(&bank)])["public_key"].clone();
    let config = folder.path().join("turnpike.toml");
    fs::write(&config, format!("issuers = [{issuer}]")).unwrap();
    let arguments = ["--accounts", "1000", "--config", text(&config)];
    let node = start(&data, "127.0.0.1:0".parse().unwrap(), &arguments);
    let address = node.address.to_string();
    let at = ["--node", &address];

    json(&[&["account", "create", "1"][..], &at].concat());
    json(&[&["account", "create", "2", "--tcp"][..], &at].concat());
    assert_eq!(json(&[&["account", "issue", "1", "1000"][..], &at].concat())["balance"], 1000);
    let transfer = [&["account", "transfer", "1", "2", "250", "--transaction", "77"][..], &at].concat();
    let first = json(&transfer);
    assert_eq!((&first["balance"], &first["promise"]), (&750.into(), &"durable".into()));
    assert_eq!(json(&transfer), first, "a retry returns the first result");
    assert_eq!(json(&[&["account", "refer", "2"][..], &at].concat())["balance"], 250);
    assert!(error(&[&["account", "transfer", "1", "2", "751"][..], &at].concat()).contains("INSUFFICIENT_BALANCE"));
    assert!(error(&[&["account", "transfer", "1", "3", "1"][..], &at].concat()).contains("DESTINATION_UNKNOWN"));

    // A keyed account: its own key can create it, nobody can debit it unsigned, and its key is no issuer.
    let key = folder.path().join("alice.key");
    let account = json(&["key", "new", text(&key)])["account"].as_str().unwrap().to_string();
    assert_eq!(json(&["key", "show", text(&key)])["account"], account.as_str());
    assert!(error(&["key", "new", text(&key)]).contains("alice.key"), "a key is never overwritten");
    let signed = [&at[..], &["--key", text(&key)]].concat();
    assert_eq!(json(&[&["account", "create"][..], &signed].concat())["account"], account.as_str());
    let issue = [&["account", "issue", &account, "90"][..], &at].concat();
    assert!(error(&issue).contains("NOT_AUTHORISED"));
    json(&[&issue[..], &["--key", text(&bank)]].concat());
    assert!(error(&[&["account", "transfer", &account, "1", "5"][..], &at].concat()).contains("NOT_AUTHORISED"));
    assert!(error(&[&["account", "issue", &account, "5"][..], &signed].concat()).contains("NOT_ISSUER"));
    assert_eq!(json(&[&["account", "transfer", &account, "1", "5"][..], &signed].concat())["balance"], 85);

    // Others' keyed accounts: an issuer or the payer of a deposit opens them.
    let [bob, carol] = ["bob.key", "carol.key"].map(|name| {
        let file = folder.path().join(name);
        json(&["key", "new", text(&file)])["account"].as_str().unwrap().to_string()
    });
    assert!(error(&[&["account", "create", &bob][..], &signed].concat()).contains("NOT_AUTHORISED"));
    let by_issuer = ["--issuer-key", text(&bank)];
    assert_eq!(json(&[&["account", "create", &bob][..], &at, &by_issuer].concat())["account"], bob.as_str());
    json(&[&["account", "issue", &account, "200"][..], &at, &["--key", text(&bank)]].concat());
    let pay = |deposit| {
        [&["account", "create", &carol][..], &at, &["--payer-key", text(&key), "--deposit", deposit]].concat()
    };
    assert!(error(&pay("99")).contains("a deposit of 100 or more"));
    assert!(error(&pay("1000")).contains("INSUFFICIENT_BALANCE"));
    assert_eq!(json(&pay("100"))["account"], carol.as_str());
    assert_eq!(json(&[&["account", "refer", &account][..], &signed].concat())["balance"], 185);
    assert!(error(&[&["account", "create", &carol, "--deposit", "100"][..], &at].concat()).contains("--payer-key"));

    // Proofs, with headers that are kept, and verified without a node.
    let (headers, kept) = (folder.path().join("headers"), folder.path().join("proof"));
    let keep = ["--headers", text(&headers), "--out", text(&kept)];
    let proved = proof(&[&["proof", "get", "--transaction", "77", "--source", "1"][..], &at, &keep].concat());
    assert_eq!((&proved["verified"], &proved["amount"]), (&true.into(), &250.into()));
    assert_eq!(json(&["proof", "verify", text(&kept), "--headers", text(&headers)]), proved);
    let mut tampered = fs::read(&kept).unwrap();
    *tampered.last_mut().unwrap() ^= 1;
    fs::write(&kept, tampered).unwrap();
    assert!(!turnpike(&["proof", "verify", text(&kept), "--headers", text(&headers)]).status.success());
    let balance = [&["proof", "get", "--balance", &account][..], &at, &keep].concat();
    let balance = proof_that(&balance, |balance| balance["exists"] == true);
    assert_eq!(json(&["proof", "verify", text(&kept), "--headers", text(&headers)]), balance);
    let absent = json(&[&["proof", "get", "--balance", "3"][..], &at, &keep].concat());
    assert_eq!(absent["exists"], false);
    assert!(json(&[&["headers", text(&headers)][..], &at].concat())["height"].as_u64() >= Some(1));

    // The report names the headers that a proof was verified against, and a given network id must match.
    let get = [&["proof", "get", "--balance", "1"][..], &at].concat();
    let pin = |id: &str| turnpike(&[&get[..], &["--network-id", id]].concat());
    let pinned: Value = serde_json::from_slice(&pin(&node.network).stdout).unwrap();
    assert_eq!(pinned["against"]["network"], node.network.as_str());
    assert_eq!((&pinned["against"]["pinned"], &balance["against"]["pinned"]), (&true.into(), &false.into()));
    assert!(!pin(&"7".repeat(64)).status.success() && !pin("77").status.success());
    let unpinned = Command::new(env!("CARGO_BIN_EXE_turnpike")).args(&get).output().unwrap();
    let told = String::from_utf8_lossy(&unpinned.stdout).into_owned();
    assert!(told.contains("not pinned") && told.contains(&format!("--network-id {}", node.network)), "{told}");
    let offline = ["proof", "verify", text(&kept), "--headers", text(&headers), "--network-id"];
    assert_eq!(json(&[&offline[..], &[&node.network]].concat())["against"]["pinned"], true);
    let other = "7".repeat(64);
    assert!(error(&[&offline[..], &[&other]].concat()).contains("another network"));
    assert!(error(&[&["account", "refer", "1", "--network-id", &other][..], &at].concat()).contains("is of network"));
    assert!(
        error(&[&["headers", text(&headers), "--network-id", &other][..], &at].concat()).contains("another network")
    );
    let old = folder.path().join("old");
    fs::write(&old, [&[0, 0, 0, 1][..], &[0; 380]].concat()).unwrap();
    assert!(error(&[&["headers", text(&old)][..], &at].concat()).contains("not sealed"));

    let info = json(&[&["info"][..], &at].concat());
    assert_eq!((&info["accounts"], &info["bitcoin_height"]), (&5.into(), &Value::Null));
    assert!(error(&["check", text(&data)]).contains("use"), "the node has the data directory");
    drop(node);
    let check = json(&["check", text(&data)]);
    assert_eq!((&check["accounts"], &check["total"]), (&5.into(), &"1190".into()));
    assert_eq!(check["chain_key"], balance["against"]["chain_key"]);
}

#[test]
fn what_is_not_in_a_block_yet_is_told_and_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let config = folder.path().join("turnpike.toml");
    let start = |interval: &str| {
        fs::write(&config, format!("[blocks]\ninterval = {interval}")).unwrap();
        start(&data, "127.0.0.1:0".parse().unwrap(), &["--accounts", "1000", "--config", text(&config)])
    };
    // No block is closed while this node runs.
    let node = start("60000");
    let address = node.address.to_string();
    let at = ["--node", &address];
    json(&[&["account", "create", "1", "--transaction", "5"][..], &at].concat());
    let get = |subject: &[&'static str]| [&["proof", "get"], subject, &at].concat();
    assert!(error(&get(&["--latest", "1"])).contains("none of its transactions is in a block yet"));
    assert!(error(&get(&["--latest", "2"])).contains("neither in a block nor in the node's ledger"));
    assert!(error(&get(&["--transaction", "5", "--source", "1"])).contains("is in no block, at least not yet"));
    assert!(error(&get(&["--locator", "7:0"])).contains("no block 7 yet: the last one is 0"));
    assert!(error(&get(&["--locator", "0:0"])).contains("no transaction at position 0"));
    let waited = error(&get(&["--latest", "1", "--wait", "0.2"]));
    assert!(waited.contains("200ms passed: account") && !waited.contains("NOT_FOUND"), "{waited}");
    assert_eq!(json(&get(&["--balance", "1", "--wait", "0.1"]))["exists"], false);
    assert!(error(&get(&["--bitcoin-script", "00", "--wait"])).contains("--wait"));
    drop(node);

    let node = start("500");
    let address = node.address.to_string();
    for (number, subject) in (2..).zip([&["--latest"][..], &["--balance"], &["--transaction", "9", "--source"]]) {
        let account = number.to_string();
        json(&["account", "create", &account, "--transaction", "9", "--node", &address]);
        let get = [&["proof", "get", "--node", &address], subject, &[&account], &["--wait"]].concat();
        assert_eq!(json(&get)["verified"], true);
    }
}

/// All lines printed by a command that must succeed.
fn lines(arguments: &[&str]) -> Vec<Value> {
    let output = turnpike(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn accounts_and_their_transactions_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(&folder.path().join("data"), "127.0.0.1:0".parse().unwrap(), &["--accounts", "4000"]);
    let (address, http) = (node.address.to_string(), node.http.to_string());
    let load = ["load", "--node", &address, "--accounts", "2500", "--operations", "20000"];
    json(&load);
    let transfer = ["account", "transfer", "1", "2", "5", "--transaction", "77", "--node", &address];
    let balance = json(&transfer)["balance"].as_u64().unwrap();
    let last = proof(&["proof", "get", "--transaction", "77", "--source", "1", "--node", &address]);

    // More than what the node gives at once.
    let list = ["account", "list", "--http", &http];
    let all = lines(&[&list[..], &["--all"]].concat());
    let ids: std::collections::BTreeSet<_> = all.iter().map(|account| account["account"].as_str().unwrap()).collect();
    assert_eq!((all.len(), ids.len()), (2500, 2500));
    let sum: u64 = all.iter().map(|account| account["balance"].as_u64().unwrap()).sum();
    assert_eq!(sum, 2500 * 1_000_000);
    let first = all.iter().find(|account| account["account"] == last["source"]).unwrap();
    assert_eq!((&first["balance"], &first["latest_height"]), (&balance.into(), &last["height"]));
    assert_eq!(lines(&list), all[..100]);
    let after = all[99]["account"].as_str().unwrap();
    assert_eq!(lines(&[&list[..], &["--after", after, "--count", "7"]].concat()), all[100..107]);

    let history = ["account", "history", "1", "--http", &http];
    let all = lines(&[&history[..], &["--all"]].concat());
    for key in ["height", "position", "command", "transaction", "source", "destination", "amount"] {
        assert_eq!(all[0][key], last[key], "{key}");
    }
    let create = all.last().unwrap();
    assert_eq!((&create["command"], &create["source"]), (&"CREATE".into(), &last["source"]));
    // The node's lists match its proofs, and add up.
    let mut sum = 0;
    for told in &all {
        let (amount, debits) = (told["amount"].as_i64().unwrap(), told["command"] == "TRANSFER");
        sum += if debits && told["source"] == last["source"] { -amount } else { amount };
        let place = format!("{}:{}", told["height"], told["position"]);
        let proved = json(&["proof", "get", "--locator", &place, "--node", &address]);
        assert!(["transaction", "source", "destination"].iter().all(|key| proved[key] == told[key]), "{proved} {told}");
    }
    assert_eq!(sum, balance as i64);
    assert_eq!(lines(&[&history[..], &["--count", "2"]].concat()), all[..2]);
    let before = format!("{}:{}", all[1]["height"], all[1]["position"]);
    assert_eq!(lines(&[&history[..], &["--before", &before]].concat()), all[2..]);

    // For people, with what to ask for next.
    let plain = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_turnpike")).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(plain(&[&history[..], &["--count", "2"]].concat()).contains(&format!("--before {before}")));
    assert!(plain(&list).contains(&format!("--after {after}")));
    assert!(plain(&[&list[..], &["--all"]].concat()).contains("end of list"));

    // Filters, over more than one page of what the node examines.
    let select = |options: &[&str]| lines(&[&history[..], options, &["--all"]].concat());
    let of = |select: &dyn Fn(&Value) -> bool| all.iter().filter(|row| select(row)).cloned().collect::<Vec<_>>();
    assert_eq!(select(&["--kind", "create,ISSUE"]), of(&|row| row["command"] != "TRANSFER"));
    assert_eq!(select(&["--role", "destination"]), of(&|row| row["source"] != last["source"]));
    let with_two = of(&|row| [&row["source"], &row["destination"]].contains(&&last["destination"]));
    assert!(!with_two.is_empty());
    assert_eq!(select(&["--counterpart", "2"]), with_two);
    let time = all[0]["time"].as_f64().unwrap() as u64;
    assert_eq!(select(&["--after", &format!("@{time}")]), of(&|row| row["time"].as_f64().unwrap() >= time as f64));
    assert_eq!(select(&["--after", &before]), all[..1]);
    let height = all[0]["height"].as_u64().unwrap();
    assert_eq!(select(&["--before", &height.to_string()]), of(&|row| row["height"].as_u64().unwrap() < height));
    assert!(select(&["--before", &height.to_string(), "--after", &height.to_string()]).is_empty());

    // Holds that are open.
    let holds = ["account", "holds", "1", "--http", &http];
    assert!(lines(&holds).is_empty());
    let hold = |id: &str, expiry: &str| {
        let hold = ["account", "hold", "1", "2", "7", "--transaction", id, "--expiry", expiry, "--node", &address];
        json(&hold);
    };
    hold("901", "0");
    hold("902", "4000000000");
    json(&["account", "release", "901", "1", "2", "--node", &address]);
    proof(&["proof", "get", "--transaction", "902", "--source", "1", "--node", &address]);
    proof(&["proof", "get", "--transaction", "901", "--source", "2", "--node", &address]);
    let open = lines(&holds);
    assert_eq!(open.len(), 1, "{open:?}");
    let expected: [(_, Value); 3] =
        [("amount", 7.into()), ("expiry", 4_000_000_000_u64.into()), ("expired", false.into())];
    assert!(expected.iter().all(|(key, value)| &open[0][key] == value), "{open:?}");
    assert_eq!(open[0]["transaction"], "00000000000000000000000000000386");
    assert_eq!(lines(&[&holds[..], &["--role", "source", "--counterpart", "2"]].concat()), open);
    assert!(lines(&[&holds[..], &["--role", "destination"]].concat()).is_empty());
    let text = plain(&holds);
    assert!(["HOLD of 7", "expiry       4000000000", "end of list"].iter().all(|part| text.contains(part)), "{text}");
    assert!(error(&[&history[..], &["--before", "1&count=7"]].concat()).contains("but must be HEIGHT:POSITION"));

    assert!(error(&["account", "history", "9999", "--http", &http]).contains("is in a block"));
    assert!(error(&[&history[..], &["--before", "0:0"]].concat()).contains("no transaction of account"));
    assert!(error(&[&history[..], &["--before", "soon"]].concat()).contains("HEIGHT:POSITION"));
    drop(node);
    assert!(error(&list).contains("--http"));
}

/// Of a node that prunes: balances, headers and a backup stay, old transactions are refused, and a restart needs none.
#[test]
fn transactions_of_pruned_blocks_are_refused_and_balances_are_proved() {
    let folder = tempfile::tempdir().unwrap();
    let [data, copy, config] = ["data", "copy", "turnpike.toml"].map(|name| folder.path().join(name));
    let run = |retention: u32| {
        fs::write(
            &config,
            format!("[blocks]\ninterval = 50\nsnapshot = 1\nretention = {retention}\n[proofs]\ncache = 0"),
        )
        .unwrap();
        start(&data, "127.0.0.1:0".parse().unwrap(), &["--accounts", "1000", "--config", text(&config)])
    };
    let node = run(0);
    let at = ["--node", &node.address.to_string()];
    for account in ["1", "2", "3"] {
        json(&[&["account", "create", account][..], &at].concat());
        json(&[&["account", "issue", account, "1000"][..], &at].concat());
    }
    json(&[&["account", "transfer", "1", "2", "5", "--transaction", "77"][..], &at].concat());
    proof(&[&["proof", "get", "--transaction", "77", "--source", "1"][..], &at].concat());
    assert!(node.stop().unwrap());
    json(&["backup", "--data", text(&data), text(&copy)]);

    let node = run(1);
    let (address, http) = (node.address.to_string(), node.http.to_string());
    let at = ["--node", &address];
    let latest = [&["proof", "get", "--latest", "1"][..], &at].concat();
    let deadline = Instant::now() + Duration::from_secs(120);
    // Each makes a block, and one of them is the first after the second snapshot.
    let refused = loop {
        json(&[&["account", "issue", "3", "1"][..], &at].concat());
        let output = turnpike(&latest);
        if !output.status.success() {
            break String::from_utf8(output.stderr).unwrap();
        }
        assert!(Instant::now() < deadline, "nothing was pruned");
    };
    assert!(refused.contains("PRUNED") && refused.contains("retains blocks for longer"), "{refused}");
    let by_id = error(&[&["proof", "get", "--transaction", "77", "--source", "1"][..], &at].concat());
    assert!(by_id.contains("PRUNED"), "{by_id}");
    assert_eq!(proof(&[&["proof", "get", "--balance", "1"][..], &at].concat())["balance"], 995);
    assert_eq!(json(&[&["info"][..], &at].concat())["pruned"], true);
    assert!(lines(&["account", "history", "1", "--http", &http]).is_empty());
    let plain =
        Command::new(env!("CARGO_BIN_EXE_turnpike")).args(["account", "history", "1", "--http", &http]).output();
    let plain = String::from_utf8(plain.unwrap().stdout).unwrap();
    assert!(plain.contains("are pruned"), "{plain}");
    let block =
        ureq::get(format!("http://{http}/blocks/1")).config().http_status_as_error(false).build().call().unwrap();
    assert_eq!(block.status(), 410);
    // An earlier copy keeps its blocks.
    json(&["backup", "--data", text(&data), text(&copy)]);
    drop(node);

    let audited = json(&["check", text(&data)]);
    let first = audited["first_retained"].as_u64().unwrap();
    assert!(first > 1 && audited["first_replayed"].as_u64().unwrap() >= first, "{audited}");
    let copied = json(&["check", text(&copy)]);
    assert_eq!((&copied["first_retained"], &copied["first_replayed"]), (&0.into(), &1.into()));
    assert_eq!(copied["network"], audited["network"]);
    let node = run(1);
    let address = node.address.to_string();
    assert_eq!(json(&["account", "refer", "1", "--node", &address])["balance"], 995);
    assert!(error(&["proof", "get", "--latest", "1", "--node", &address]).contains("PRUNED"));
}

/// Data directories that earlier versions of the program made, by `tests/upgrade/make`, and left as a crash does.
#[test]
fn data_directories_of_earlier_versions_are_served() {
    let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/upgrade");
    let archives = fs::read_dir(archives).unwrap().map(|entry| entry.unwrap().path());
    let archives = Vec::from_iter(archives.filter(|path| path.extension().is_some_and(|extension| extension == "gz")));
    assert!(!archives.is_empty());
    for archive in archives {
        let folder = tempfile::tempdir().unwrap();
        let unpacked = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(folder.path()).status().unwrap();
        assert!(unpacked.success());
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let expected = fs::read_to_string(path("expected.json")).unwrap();
        let expected = Vec::from_iter(expected.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        let (info, balances) = expected.split_first().unwrap();

        // A proof of then, against headers of then.
        json(&["proof", "verify", &path("transfer.proof"), "--headers", &path("old.headers")]);
        let audited = json(&["check", &path("data")]);
        assert_eq!((&audited["network"], &audited["height"]), (&info["network"], &info["height"]), "{archive:?}");
        let run = || start(path("data").as_ref(), "127.0.0.1:0".parse().unwrap(), &["--config", &path("node.toml")]);
        let node = run();
        assert_eq!(info["network"], node.network);
        let address = node.address.to_string();
        let at = |arguments: &[&str]| {
            Vec::from_iter([arguments, &["--node", &address]].concat().iter().map(|part| part.to_string()))
        };
        let ask = |arguments: &[&str]| json(&at(arguments).iter().map(String::as_str).collect::<Vec<_>>());
        for told in balances {
            let account = told["account"].as_str().unwrap();
            let keys = ["alice.key", "bob.key"].map(&path);
            let key = keys.iter().find(|key| json(&["key", "show", key])["account"] == *account);
            let key = key.map_or(vec![], |key| vec!["--key", key]);
            assert_eq!(ask(&[&["account", "refer", account][..], &key].concat())["balance"], told["balance"]);
        }
        // Of a block, by an old file of headers, and of the journal.
        let headers = path("old.headers");
        ask(&["proof", "get", "--transaction", "77", "--source", "1", "--wait", "60", "--headers", &headers]);
        ask(&["proof", "get", "--transaction", "78", "--source", "2", "--wait", "60", "--headers", &headers]);
        // The open hold and the frozen account are what they were.
        let before = ask(&["account", "refer", "2"])["balance"].as_u64().unwrap();
        ask(&["account", "capture", "901", "1", "2", "60"]);
        assert_eq!(ask(&["account", "refer", "2"])["balance"], before + 60);
        let frozen = at(&["account", "transfer", "4", "1", "1"]);
        assert!(error(&frozen.iter().map(String::as_str).collect::<Vec<_>>()).contains("ACCOUNT_FROZEN"));
        ask(&["account", "unfreeze", "4"]);
        ask(&["account", "transfer", "4", "1", "1"]);
        assert!(node.stop().unwrap());
        assert!(json(&["check", &path("data")])["height"].as_u64() > info["height"].as_u64());
        let node = run();
        assert_eq!(json(&["account", "refer", "2", "--node", &node.address.to_string()])["balance"], before + 60);
    }
}

#[test]
fn a_reorganisation_that_is_accepted_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let [data, copy, headers, other] = ["data", "copy", "headers", "other"].map(|name| folder.path().join(name));
    let serve = |data: &Path| start(data, "127.0.0.1:0".parse().unwrap(), &["--accounts", "1000"]);
    let node = serve(&data);
    let at = node.address.to_string();
    json(&["account", "create", "1", "--transaction", "1", "--node", &at]);
    let common = proof(&["proof", "get", "--transaction", "1", "--source", "1", "--node", &at]);
    assert!(node.stop().unwrap());
    assert!(Command::new("cp").args(["-a", text(&data), text(&copy)]).status().unwrap().success());

    // The chain goes on, and then again from the copy, with another block in the place of each.
    let seal = |at: &str, amount: &str, file: &Path| {
        json(&["account", "issue", "1", amount, "--transaction", amount, "--node", at]);
        let get = ["proof", "get", "--transaction", amount, "--source", "1", "--node", at, "--headers", text(file)];
        proof(&get)
    };
    let node = serve(&data);
    let sealed = seal(&node.address.to_string(), "10", &headers);
    assert_eq!(sealed["against"]["replaced"], Value::Null);
    drop(node);
    let node = serve(&copy);
    let at = node.address.to_string();
    let wanted = sealed["against"]["tip_height"].as_u64();
    let amounts = (20..).map(|amount: u32| amount.to_string());
    let reached = amounts.map(|amount| seal(&at, &amount, &other)["against"]["tip_height"].as_u64());
    assert!(reached.take(20).any(|height| height >= wanted), "as high as the headers that are kept");

    let get = ["proof", "get", "--transaction", "20", "--source", "1", "--node", &at, "--headers", text(&headers)];
    assert!(error(&get).contains("sealed two chains"));
    let accepted = json(&[&get[..], &["--accept-reorganisation"]].concat());
    let replaced = &accepted["against"]["replaced"];
    assert!(replaced["from"].as_u64() > common["height"].as_u64(), "{accepted}");
    assert_eq!(replaced["was_at"]["hash"], sealed["against"]["tip"]);
    assert_eq!(replaced["is_at"]["hash"], accepted["against"]["tip"]);
    let gone = replaced["gone"].as_array().unwrap();
    assert_eq!((&gone[0]["height"], gone.last().unwrap()), (&replaced["from"], &replaced["was_at"]));
    assert_eq!(json(&get)["against"]["replaced"], Value::Null, "the headers that came were kept");
}

/// A capture in the classic format, with Ethernet, IPv4 and UDP headers around the payloads.
fn capture(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend(word.to_le_bytes());
    }
    for (time, payload) in payloads.iter().enumerate() {
        let mut packet = vec![0; 12];
        packet.extend([0x08, 0x00, 0x45, 0x00]);
        packet.extend(((28 + payload.len()) as u16).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend([0x12, 0x34]);
        packet.extend(7400_u16.to_be_bytes());
        packet.extend(((8 + payload.len()) as u16).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload);
        for word in [0, time as u32 * 100, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// As in a pipe to `head`, which exits once it has its lines.
#[test]
fn whoever_reads_the_output_may_go() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    let output = command.args(["config", "default"]).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_capture_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let node = start(&data, "127.0.0.1:0".parse().unwrap(), &["--accounts", "1000"]);
    let address = node.address.to_string();
    let mut payloads = Vec::new();
    for account in 1..=20_u32 {
        let frames = [
            Operation::create(account.into(), account.into()),
            Operation::issue((100 + account).into(), account.into(), 50),
        ];
        payloads.extend(frames.map(|operation| CompactFrame::from_operation(&operation).unwrap().as_bytes().to_vec()));
    }
    payloads.push(b"not a transaction".to_vec());
    let file = folder.path().join("transactions.pcap");
    fs::write(&file, capture(&payloads)).unwrap();
    let report = json(&["replay", text(&file), "--node", &address]);
    assert_eq!((&report["requests"], &report["skipped"], &report["lost"]), (&40.into(), &1.into(), &0.into()));
    assert_eq!(report["statuses"]["OK"], 40);
    assert_eq!(json(&["replay", text(&file), "--node", &address, "--timed", "--port", "7400"])["statuses"]["OK"], 40);
    assert!(error(&["replay", text(&file), "--node", &address, "--port", "9"]).contains("no transactions"));
    assert_eq!(json(&["account", "refer", "20", "--node", &address])["balance"], 50, "retries changed nothing");
    fs::write(&file, b"no capture at all, whatever it is called").unwrap();
    assert!(error(&["replay", text(&file), "--node", &address]).contains("not a readable capture"));
}

#[test]
fn load_is_put_on_a_node() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let node = start(&data, "127.0.0.1:0".parse().unwrap(), &["--accounts", "2000"]);
    let address = node.address.to_string();
    let load = ["load", "--node", &address, "--accounts", "500", "--operations", "20000", "--check"];
    let refer = ["--mix", "refer", "--promise", "accepted"];
    for more in [&["--distribution", "hot-pair"][..], &["--batch", "0"], &refer, &["--tcp"]] {
        let report = json(&[&load[..], more].concat());
        assert_eq!((&report["statuses"]["OK"], &report["lost"]), (&20_000.into(), &0.into()), "{more:?}");
    }
    let open = ["--rate", "20000", "--distribution", "zipf"];
    assert_eq!(json(&[&load[..], &open].concat())["operations"], 20_000);
    let signed = ["--signed", "0.25", "--batch", "20"];
    for _ in 0..2 {
        assert_eq!(json(&[&load[..], &signed].concat())["statuses"]["OK"], 20_000);
    }
    assert!(error(&[&load[..], &["--signed", "1.5"]].concat()).contains("from 0 to 1"));
    drop(node);
    // The accounts with keys are created with a signature each.
    assert_eq!(json(&["check", text(&data)])["signatures"], 2 * (5_000 + 256));
}

#[test]
fn configuration_and_manuals() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("turnpike.toml");
    fs::write(&file, json(&["config", "default"])["toml"].as_str().unwrap()).unwrap();
    assert_eq!(json(&["config", "check", text(&file)])["promise"], "durable");
    fs::write(&file, "promise = \"final\"").unwrap();
    assert!(error(&["config", "check", text(&file)]).contains("promise"));
    assert!(error(&["serve", "--config", text(&file)]).contains("promise"));
    assert!(error(&["serve", "--data", text(folder.path()), "--trusted", "10.0.0.1/8"]).contains("10.0.0.0/8"));

    let pages = folder.path().join("man");
    assert!(turnpike(&["man", text(&pages)]).status.success());
    assert!(
        fs::read_to_string(pages.join("turnpike-proof-get.1")).unwrap().contains("Merkle")
            || pages.join("turnpike-proof-get.1").exists()
    );
    for shell in ["bash", "zsh", "fish"] {
        let script = turnpike(&["completions", shell]).stdout;
        assert!(String::from_utf8(script).unwrap().contains("transfer"), "{shell}");
    }
}

#[test]
fn data_directories_of_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    assert!(error(&["check", text(&data)]).contains("no such folder"));
    let node = start(&data, "127.0.0.1:0".parse().unwrap(), &["--accounts", "1000"]);
    let second = error(&["serve", "--data", text(&data), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
    assert!(second.contains("use"), "{second}");
    drop(node);
    let mark = fs::read_to_string(data.join("FORMAT")).unwrap();
    fs::write(data.join("FORMAT"), mark.replace(char::is_numeric, "999")).unwrap();
    let other = error(&["serve", "--data", text(&data), "--listen", "127.0.0.1:0"]);
    assert!(other.contains("format 999"), "{other}");
}

#[test]
fn all_of_a_data_directory_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let plain = Process::command(env!("CARGO_BIN_EXE_turnpike"), "serve", &data, "127.0.0.1:0".parse().unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
    let node = Process::run(command.args(["--trusted", "127.0.0.0/8", "--accounts", "1000"])).unwrap();
    assert!(node.stop().unwrap());
    let (mut folders, mut files) = (vec![data], 0);
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o7777, 0o700, "{}", folder.display());
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600, "{}", path.display());
        }
    }
    assert!(files > 5);
}

#[test]
fn bitcoin_blocks_are_imported_and_proved() {
    let Some(file) = skip::blocks("blk_0_to_14131.dat") else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let report = json(&["import", "bitcoin", text(&file), "--data", text(&data)]);
    assert_eq!((&report["height"], &report["transactions"]), (&14_131.into(), &14_247.into()));
    assert_eq!(json(&["import", "bitcoin", text(&file), "--data", text(&data)])["stored"], 0, "a second time is none");
    assert!(
        !turnpike(&["import", "bitcoin", text(&file), "--data", text(&data), "--network", "testnet"]).status.success()
    );

    let node = start(&data, "127.0.0.1:0".parse().unwrap(), &["--accounts", "1000"]);
    let address = node.address.to_string();
    let (headers, kept) = (folder.path().join("headers"), folder.path().join("proof"));
    // The first payment, in block 170, and the script of the one who got it.
    let transaction = "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16";
    let keep = ["--node", &address, "--headers", text(&headers), "--out", text(&kept)];
    let proved = json(&[&["proof", "get", "--bitcoin-transaction", transaction][..], &keep].concat());
    assert_eq!((&proved["height"], &proved["position"]), (&170.into(), &1.into()));
    assert_eq!(json(&["proof", "verify", text(&kept), "--headers", text(&headers)]), proved);
    let script = "4104ae1a62fe09c5f51b13905f07f06b99a2f7159b2225f374cd378d71302fa28414e7aab37397f554a7df5f142c21c1b7303b8a0626f1ba\
                  ded5c72a704f7e6cd84cac";
    let latest = json(&[&["proof", "get", "--bitcoin-script", script][..], &keep].concat());
    assert_eq!(latest["verified"], true);
    assert_eq!(json(&["headers", "--chain", "bitcoin", text(&headers), "--node", &address])["height"], 14_131);
    let unknown = "00".repeat(32);
    assert!(error(&["proof", "get", "--bitcoin-transaction", &unknown, "--node", &address]).contains("NOT_FOUND"));
    drop(node);
    assert_eq!(json(&["check", text(&data)])["bitcoin_transactions"], 14_247);
}

/// Exit status and report of `turnpike verify`.
fn verified(arguments: &[&str]) -> (i32, Value) {
    let output = turnpike(&[&["verify"], arguments].concat());
    let report = output.stdout.split(|&byte| byte == b'\n').next().unwrap();
    (output.status.code().unwrap(), serde_json::from_slice(report).unwrap_or(Value::Null))
}

#[test]
fn headers_of_zcash_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = include_str!("../../verify/tests/vectors/equihash.txt");
    let vector: Vec<&str> = vectors.lines().find(|line| line.starts_with("200 9 valid")).unwrap().split(' ').collect();
    let header = from_hex(&[vector[3], "fd4005", vector[4]].concat());
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        text(&path).to_string()
    };
    // A header, headers, and a block of which only the header is looked at.
    let (status, report) = verified(&["equihash", &write("header", &header), "--threads", "2"]);
    assert_eq!((status, &report["valid"], &report["invalid"]), (0, &1.into(), &0.into()));
    let headers = write("headers", &header.repeat(70));
    assert_eq!(verified(&["equihash", &headers]).1["checked"]["headers"]["valid"], 70);
    let (status, report) = verified(&["equihash", &write("block", &[&header[..], &[1; 100]].concat())]);
    assert_eq!((status, &report["valid"]), (0, &1.into()));
    assert!(!report["skipped"].as_object().unwrap().is_empty(), "the transactions");

    let mut bad = header.repeat(3);
    bad[header.len() + 300] ^= 1;
    let (status, report) = verified(&["equihash", &write("bad", &bad)]);
    assert_eq!((status, &report["valid"], &report["invalid"]), (1, &2.into(), &1.into()));
    assert_eq!(report["failures"][0]["item"], "number 1");
    assert!(report["failures"][0]["rule"].as_str().unwrap().contains("difficulty"));
    let records = write("records", &[&header[..140], &header[143..]].concat().repeat(2));
    let (status, report) = verified(&["equihash", "--parameters", "200,9", "--records", &records]);
    assert_eq!((status, &report["checked"]["solutions"]["valid"]), (0, &2.into()));
    let other = ["equihash", "--parameters", "200,9", "--records", &records, "--personalisation", "BgoldPoW"];
    assert_eq!(verified(&other).0, 1);

    for unusable in [
        &["equihash", &write("short", &header[1..])][..],
        &["equihash", "no/such/file"],
        &["equihash", &headers, "--parameters", "200,8"],
        &["equihash", &headers, "--parameters", "200"],
        &["equihash", &records, "--records", "--parameters", "144,5"],
        &["equihash"],
    ] {
        assert_eq!(verified(unusable).0, 2, "{unusable:?}");
    }
}

#[test]
fn signatures_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        text(&path).to_string()
    };
    // By this machine, and by a node over UDP and TCP.
    let node = start(&folder.path().join("data"), "127.0.0.1:0".parse().unwrap(), &["--accounts", "1000"]);
    let address = node.address.to_string();
    let by: [&[&str]; 3] = [&[], &["--server", &address], &["--server", &address, "--tcp"]];
    let secret = secp256k1::SecretKey::from_byte_array([7; 32]).unwrap();
    let pair = secp256k1::Keypair::from_secret_key(secp256k1::SECP256K1, &secret);
    let (mut lines, mut ecdsa, mut schnorr) = ("# digest key signature\n\n".to_string(), Vec::new(), Vec::new());
    for number in 0..1500_u32 {
        let digest: [u8; 32] = std::array::from_fn(|at| (number.wrapping_mul(at as u32 + 7) >> 3) as u8);
        let signature = secp256k1::SECP256K1.sign_ecdsa(secp256k1::Message::from_digest(digest), &secret);
        let key = match number % 2 {
            0 => pair.public_key().serialize().to_vec(),
            _ => pair.public_key().serialize_uncompressed().to_vec(),
        };
        let der = signature.serialize_der();
        lines.push_str(&format!("{} {} {}\n", hex(&digest), hex(&key), hex(&der)));
        ecdsa.extend([&digest[..], &[key.len() as u8], &key, &[der.len() as u8], &der].concat());
        let signature = secp256k1::SECP256K1.sign_schnorr_no_aux_rand(&digest, &pair);
        schnorr.extend([&digest[..], &pair.x_only_public_key().0.serialize(), &signature.to_byte_array()].concat());
    }
    for (kind, name, bytes) in
        [("ecdsa", "lines", lines.as_bytes()), ("ecdsa", "records", &ecdsa), ("schnorr", "bip340", &schnorr)]
    {
        for by in by {
            let (status, report) = verified(&[&[kind, &write(name, bytes)], by].concat());
            assert_eq!((status, &report["checked"]["signatures"]["valid"]), (0, &1500.into()), "{name} {by:?}");
        }
    }
    let mut bad = schnorr.clone();
    bad[128 * 1100 + 70] ^= 1;
    for by in by {
        let (status, report) = verified(&[&["schnorr", &write("bad", &bad)], by].concat());
        assert_eq!((status, &report["invalid"], &report["failures"][0]["item"]), (1, &1.into(), &"number 1100".into()));
    }
    let mut bad = ecdsa.clone();
    bad[0] ^= 1;
    assert_eq!(verified(&["ecdsa", &write("bad", &bad)]).1["failures"][0]["item"], "number 0");
    assert_eq!(verified(&["ecdsa", &write("cut", &ecdsa[..ecdsa.len() - 1])]).0, 2);
    assert_eq!(verified(&["ecdsa", &write("words", b"00 01 02\n")]).0, 2);
}

/// By this machine, and by a node.
#[test]
fn proofs_of_delays_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(&folder.path().join("data"), "127.0.0.1:0".parse().unwrap(), &["--accounts", "1000"]);
    let (address, path) = (node.address.to_string(), folder.path().join("proof"));
    let by: [&[&str]; 3] = [&[], &["--server", &address], &["--server", &address, "--tcp"]];
    let verify =
        ["delay", "verify", text(&path), "--message", "message", "--iterations", "70000", "--modulus", "rsa-1024"];
    let vectors = include_str!("../../../vectors/delay/proofs.txt");
    let write = |name: &str| {
        let record = vectors.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
        fs::write(&path, from_hex(record.split(' ').nth(2).unwrap())).unwrap();
    };
    for by in by {
        write("good");
        assert_eq!(json(&[&verify, by].concat())["verified"], true, "{by:?}");
        write("proof_changed");
        assert!(error(&[&verify, by].concat()).contains("wrong"), "{by:?}");
    }
}

/// Mainnet's first blocks: what they spend was made in them.
#[test]
fn blocks_are_verified() {
    let Some(path) = skip::blocks("blk_0_to_14131.dat") else { return };
    let (status, report) = verified(&["block", text(&path)]);
    assert_eq!(status, 0, "{report}");
    for kind in ["proofs of work", "Merkle roots"] {
        assert_eq!(report["checked"][kind]["valid"], 14_132, "{kind}");
    }
    assert!(report["checked"]["signatures"]["valid"].as_u64().unwrap() > 100, "{report}");
    // The 171st block holds the first payment: its signature, its output, the nonce of its header.
    let blocks = fs::read(&path).unwrap();
    let payment = from_hex("47304402204e45e16932b8af514961a1d3a1a25fdf3f4f7732e9d624c6c61548ab5fb8cd41");
    let at = blocks.windows(payment.len()).position(|window| window == payment).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("blk00000.dat");
    let mut changed = blocks.clone();
    changed[at + 30] ^= 1;
    fs::write(&bad, &changed).unwrap();
    let (status, report) = verified(&["block", text(&bad)]);
    assert_eq!((status, &report["invalid"]), (1, &2.into()), "{report}");
    assert_eq!(report["checked"]["Merkle roots"]["invalid"], 1);
    assert!(report["failures"].to_string().contains("transaction 1, input 0"), "{report}");
    assert_eq!(verified(&["block", text(&bad), "--network", "testnet"]).0, 2);
}

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn pairings_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        text(&path).to_string()
    };
    let rule = |report: &Value| report["failures"][0]["rule"].as_str().unwrap_or_default().to_string();

    // Proofs of mainnet, and a verifying key out of a file.
    let spends = include_bytes!("../../../vectors/bls12_381/sapling/spends.bin");
    let good = write("spends", spends);
    let (status, report) = verified(&["groth16", "--key", "sapling-spend", &good]);
    assert_eq!((status, &report["checked"]["proofs"]["valid"]), (0, &23.into()));
    let key = concat!(env!("CARGO_MANIFEST_DIR"), "/../verify/src/bls12_381/groth16/keys/sapling-spend.vk");
    assert_eq!(verified(&["groth16", "--key", key, &good]).0, 0);
    let mut bad = spends.to_vec();
    bad[416 * 5 + 192] ^= 1;
    let (status, report) = verified(&["groth16", "--key", "sapling-spend", &write("bad", &bad)]);
    assert_eq!((status, &report["valid"], &report["failures"][0]["item"]), (1, &22.into(), &"number 5".into()));
    assert!(rule(&report).contains("is not valid for these public inputs"));
    assert_eq!(verified(&["groth16", "--key", &good, &good]).0, 2, "a file that is no key");
    assert_eq!(verified(&["groth16", "--key", "sapling-output", &good]).0, 2, "records of another length");

    // A line of text: message, key, signature.
    let vectors: Value = serde_json::from_str(include_str!("../../../vectors/bls12_381/ethereum/verify.json")).unwrap();
    let line = |case: &Value| {
        let field = |name: &str| case["input"][name].as_str().unwrap();
        format!("{} {} {}\n", field("message"), field("pubkey"), field("signature"))
    };
    let cases = vectors.as_object().unwrap();
    let (good, bad): (Vec<_>, Vec<_>) = cases.values().partition(|case| case["output"] == true);
    let lines = good.into_iter().chain(bad).map(line).collect::<String>();
    let (status, report) = verified(&["bls", &write("signatures", lines.as_bytes())]);
    assert_eq!((status, &report["valid"], &report["invalid"]), (1, &10.into(), &19.into()));

    // Products of pairings, and one that is cut.
    let vectors = include_str!("../../../vectors/bls12_381/eip2537/pairing_check.json");
    let vectors: Value = serde_json::from_str(vectors).unwrap();
    let lines = |one: bool| -> String {
        let cases = vectors.as_array().unwrap().iter();
        let expected = |case: &&Value| case["Expected"].as_str().unwrap().ends_with('1') == one;
        cases.filter(expected).map(|case| format!("{}\n", case["Input"].as_str().unwrap())).collect()
    };
    let (status, report) = verified(&["pairing", &write("one", lines(true).as_bytes())]);
    assert_eq!((status, &report["valid"]), (0, &7.into()));
    let (status, report) = verified(&["pairing", &write("other", lines(false).as_bytes())]);
    assert_eq!((status, &report["invalid"]), (1, &3.into()));
    let (_, report) = verified(&["pairing", &write("cut", b"0123")]);
    assert!(rule(&report).contains("length"));
}

#[test]
fn programs_of_the_coprocessor_run() {
    let folder = tempfile::tempdir().unwrap();
    let source = |name: &str| format!("{}/../coproc/programs/{name}.s", env!("CARGO_MANIFEST_DIR"));
    let report = json(&["coproc", "run", &source("groth16")]);
    assert_eq!((&report["state"], &report["interrupts"][0]["index"]), (&"waiting".into(), &1.into()));
    let image = folder.path().join("image");
    let report = json(&["coproc", "assemble", &source("pairing"), "--out", text(&image)]);
    assert_eq!(
        (&report["instructions"], fs::metadata(&image).unwrap().len()),
        (&13.into(), report["bytes"].as_u64().unwrap())
    );
    assert_eq!(json(&["coproc", "run", text(&image)])["interrupts"][1]["index"], 1);
    let printed = turnpike(&["coproc", "disassemble", text(&image)]).stdout;
    let again = folder.path().join("again.s");
    fs::write(&again, printed).unwrap();
    assert_eq!(json(&["coproc", "run", text(&again)]), json(&["coproc", "run", &source("pairing")]));
    assert!(error(&["coproc", "run", &source("pairing"), "--instructions", "3"]).contains("NOOP_WAIT"));
    fs::write(&again, ".text\nJUMP nowhere\n").unwrap();
    assert!(error(&["coproc", "run", text(&again)]).contains("line 2: there is no label"));
}

#[test]
fn a_plan_is_for_the_accounts_and_the_rate() {
    let plan = json(&["plan", "--accounts", "1000000", "--rate", "1000", "--signed-rate", "500", "--days", "10"]);
    let number = |name: &str| plan[name].as_u64().unwrap();
    // A tenth of the accounts is reserved for trusted senders; retries are recognised for 10 and 120 seconds.
    assert_eq!(plan["settings"]["accounts"], 1_111_112);
    assert_eq!(
        (&plan["settings"]["retry_operations"], &plan["settings"]["signed_operations"]),
        (&10_000.into(), &60_000.into())
    );
    let of =
        |uses: &str| plan[uses].as_array().unwrap().iter().map(|part| part["bytes"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(of("memory"), number("memory_bytes"));
    assert_eq!(of("disk") + 10 * number("daily"), number("disk_bytes"));
    // Between an unsigned transaction and a signed one, see docs/operations.md.
    let each = plan["bytes_per_transaction"].as_f64().unwrap();
    assert!((92.0..216.5).contains(&each), "{each}");
    assert!(error(&["plan", "--accounts", "0"]).contains("--accounts"));
}
