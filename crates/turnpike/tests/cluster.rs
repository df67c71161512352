//! Four replicas of the real program, one of which is killed with SIGKILL again and again under load: no final reply is
//! lost, nothing is done twice, and all come to the same chain. `CLUSTER_KILLS=1000 cargo test --test cluster` kills
//! more often.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "common/disk.rs"]
mod disk;
#[path = "common/http.rs"]
mod http;
#[path = "common/load.rs"]
mod load;
#[path = "common/program.rs"]
mod program;
#[path = "common/testers.rs"]
mod testers;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use disk::Disk;
use program::{compare, status, turnpike};
use rustix::process::{Pid, Signal, kill_process};
use skip::Ability;
use testers::{BATCH, PATIENCE, Tester, Testers, connect, settle};
use wire::{AccountId, Status};

const REPLICAS: u32 = 4;

/// Replicas that end with this.
struct Cluster {
    dir: PathBuf,
    listen: Vec<SocketAddr>,
}

impl Cluster {
    fn init(dir: &Path) -> Self {
        Self::init_with(dir, &[])
    }

    fn init_with(dir: &Path, options: &[&str]) -> Self {
        let text = dir.to_str().unwrap();
        let usual = [
            "cluster",
            "init",
            "--dir",
            text,
            "--port",
            "0",
            "--trusted",
            "127.0.0.0/8",
            "--accounts",
            "4096",
            "--patience",
            "1000",
        ];
        let made = turnpike(&[&usual[..], options].concat());
        let listen = made[0]["replicas"].as_array().unwrap().iter();
        let listen = listen.map(|address| address.as_str().unwrap().parse().unwrap()).collect();
        let cluster = Self { dir: dir.to_owned(), listen };
        for number in 0..REPLICAS {
            // A replica that is killed may take its time to be back, and its clients ask again then.
            let file = cluster.folder(number).join("turnpike.toml");
            let config = std::fs::read_to_string(&file).unwrap().replace("retry_seconds = 10", "retry_seconds = 600");
            std::fs::write(&file, config).unwrap();
        }
        cluster
    }

    fn folder(&self, number: u32) -> PathBuf {
        self.dir.join(format!("replica-{number}"))
    }

    fn run(&self, command: &str) -> Vec<serde_json::Value> {
        turnpike(&["cluster", command, "--dir", self.dir.to_str().unwrap()])
    }

    fn process(&self, number: u32) -> Pid {
        let all = status(&self.dir);
        let process = all.iter().find(|report| report["replica"] == number).unwrap()["process"].as_i64().unwrap();
        Pid::from_raw(process.try_into().unwrap()).unwrap()
    }

    fn kill(&self, number: u32) {
        kill_process(self.process(number), Signal::KILL).unwrap();
    }

    /// Whether a replica reports that it is ready, and its text.
    fn ready(&self, number: u32) -> (bool, String) {
        let status = &status(&self.dir)[number as usize];
        let Some(http) = status["http"].as_str() else { return (false, "it does not run".into()) };
        let said = http::get(http.parse().unwrap(), "/ready");
        (said.contains("200 OK"), said)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for number in 0..=REPLICAS + 1 {
                let log = std::fs::read_to_string(self.folder(number).join("log")).unwrap_or_default();
                let lines = Vec::from_iter(log.lines());
                eprintln!("replica {number}:\n{}", lines[lines.len().saturating_sub(20)..].join("\n"));
            }
        }
        // Whatever became of the test. Those that it started know their configuration by its full path.
        let stop = ["cluster", "stop", "--dir", self.dir.to_str().unwrap()];
        let _ = Command::new(env!("CARGO_BIN_EXE_turnpike")).args(stop).output();
    }
}

/// Gets a proof with a certificate, verifies it without a node, and asks where the first replica is gone.
fn what_is_final_is_proved(cluster: &Cluster, account: AccountId) {
    let (node, account) = (cluster.listen[0].to_string(), account.to_string());
    let folder = tempfile::tempdir().unwrap();
    let [headers, proof] = ["headers", "proof"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let info = &turnpike(&["info", "--node", &node])[0];
    assert_eq!((info["promise"].as_str(), info["order"]["replicas"].as_u64()), (Some("final"), Some(4)), "{info}");
    let network = info["network"].as_str().unwrap();
    let pin = ["--network-id", network, "--headers", &headers];
    let get = ["proof", "get", "--node", &node, "--final", "--latest", &account, "--out", &proof];
    let found = &turnpike(&[&get[..], &pin].concat())[0];
    let certificate = &found["against"]["certificate"];
    assert!(found["verified"] == true && certificate["signers"].as_array().unwrap().len() >= 3, "{found}");
    assert_eq!(certificate["replicas"], 4);
    let verify = [&["proof", "verify", &proof][..], &pin].concat();
    let again = &turnpike(&verify)[0];
    assert_eq!((&again["block"], &again["against"]), (&found["block"], &found["against"]), "{again}");
    // A certificate that was changed, or is not there, proves nothing.
    let whole = std::fs::read(&headers).unwrap();
    let mut forged = whole.clone();
    *forged.last_mut().unwrap() ^= 1;
    for bytes in [&forged[..], &whole[..192 * (whole.len() / 192 - 2)]] {
        std::fs::write(&headers, bytes).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_turnpike")).args(&verify).output().unwrap();
        assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    cluster.kill(0);
    let other = cluster.listen[2].to_string();
    let refer = &turnpike(&["account", "refer", "--node", &node, "--other", &other, &account])[0];
    assert_eq!(refer["status"], "OK", "{refer}");
    let all = status(&cluster.dir);
    assert!(all[0]["height"].is_null() && all[1]["height"].is_u64(), "{all:?}");
    cluster.run("start");
}

#[test]
fn no_final_reply_is_lost_where_one_of_four_is_killed() {
    let kills = std::env::var("CLUSTER_KILLS").map_or(12, |kills| kills.parse().unwrap());
    let data = tempfile::tempdir().unwrap();
    let cluster = Cluster::init(data.path());
    assert_eq!(cluster.run("start").len(), REPLICAS as usize);
    let testers = Testers::during(&cluster.listen, |testers| {
        testers.go_on(None);
        for kill in 0..kills {
            let victim = kill % REPLICAS;
            cluster.kill(victim);
            testers.go_on(Some(victim));
            cluster.run("start");
            testers.go_on(None);
        }
        println!("{kills} kills, {} batches of {BATCH} transfers", testers.answered().iter().sum::<u64>());
    });
    settle(&cluster.listen);
    for &replica in &cluster.listen {
        testers.iter().for_each(|tester| tester.check(replica));
    }
    what_is_final_is_proved(&cluster, testers[0].load.accounts().next().unwrap());
    let stopped = cluster.run("stop");
    assert!(stopped.iter().all(|replica| replica["process"].is_null()), "{stopped:?}");
    let directories = (0..REPLICAS).map(|number| cluster.folder(number).join("data").to_str().unwrap().to_owned());
    let compared = compare(&Vec::from_iter(directories));
    assert_eq!(compared["replicas"], REPLICAS, "{compared}");
    assert!(compared["same_height"].as_u64() > Some(10), "{compared}");
}

/// Whether a replica began on a floor, and not with the first block.
fn has_floor(folder: &Path) -> bool {
    folder.join("data/cluster/floor").exists()
}

/// Under load a fifth replica joins, one of five is killed and started again, a founder leaves, and another one joins
/// with a copy of a replica's data: no final reply is lost, and a client that knows the founders takes proofs of the
/// new set.
#[test]
fn replicas_join_and_leave_under_load() {
    let data = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::init_with(data.path(), &["--epoch", "32"]);
    cluster.run("start");
    let staying = cluster.listen[1..].to_vec();
    let dir = data.path().to_str().unwrap();
    let testers = Testers::during(&staying, |testers| {
        testers.go_on(None);
        let added = turnpike(&["cluster", "add", "--dir", dir]);
        assert_eq!(added.last().unwrap()["replica"], REPLICAS, "{added:?}");
        assert!(has_floor(&cluster.folder(REPLICAS)), "it was given the ledger of another one");
        cluster.listen.push(added[0]["listen"].as_str().unwrap().parse().unwrap());
        testers.go_on(None);
        for victim in [REPLICAS, 2] {
            cluster.kill(victim);
            // The tester's number is one less than its replica's.
            testers.go_on(Some(victim - 1));
            cluster.run("start");
            testers.go_on(None);
        }
        let removed = turnpike(&["cluster", "remove", "--dir", dir, "--replica", "0"]);
        assert!(removed.iter().any(|told| told["replicas"] == 4), "{removed:?}");
        testers.go_on(None);
        cluster.kill(REPLICAS);
        testers.go_on(None);
        cluster.run("start");
        let added = turnpike(&["cluster", "add", "--dir", dir, "--copy", "1"]);
        assert_eq!(added.last().unwrap()["replica"], REPLICAS + 1, "{added:?}");
        let listen = added.iter().rev().find_map(|told| told["listen"].as_str());
        cluster.listen.push(listen.unwrap().parse().unwrap());
        testers.go_on(None);
    });
    let present = [&staying[..], &cluster.listen[4..]].concat();
    settle(&present);
    for &replica in &present {
        testers.iter().for_each(|tester| tester.check(replica));
    }
    let node = cluster.listen[4].to_string();
    let info = &turnpike(&["info", "--node", &node])[0];
    assert_eq!((&info["order"]["replicas"], &info["order"]["generation"]), (&5.into(), &3.into()), "{info}");
    let account = testers[0].load.accounts().next().unwrap().to_string();
    let network = info["network"].as_str().unwrap();
    let found = turnpike(&["proof", "get", "--node", &node, "--final", "--latest", &account, "--network-id", network]);
    let certificate = &found[0]["against"]["certificate"];
    assert!(found[0]["verified"] == true && certificate["signers"].as_array().unwrap().len() >= 4, "{found:?}");
    cluster.run("stop");
    let directories = (1..=REPLICAS + 1).map(|number| cluster.folder(number).join("data").to_str().unwrap().to_owned());
    let compared = compare(&Vec::from_iter(directories));
    assert_eq!(compared["replicas"], REPLICAS + 1, "{compared}");
}

/// A set of one grows: by a replica that gets all blocks, and by two that are given the ledger, where nothing was
/// ordered since a restart. One of these gives it to one more.
#[test]
fn replicas_that_are_given_the_ledger_hand_it_on() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().to_str().unwrap();
    turnpike(&[
        "cluster",
        "init",
        "--replicas",
        "1",
        "--dir",
        dir,
        "--port",
        "0",
        "--epoch",
        "32",
        "--trusted",
        "127.0.0.0/8",
    ]);
    let start = || turnpike(&["cluster", "start", "--dir", dir]);
    let first: SocketAddr = start()[0]["listen"].as_str().unwrap().parse().unwrap();
    let mut tester = Tester::new(first, 0);
    tester.open_accounts();
    (0..5).for_each(|_| tester.transfer());
    let folder = |number: u32| data.path().join(format!("replica-{number}"));
    for (number, options, is_given) in [(1, &["--replay"][..], false), (2, &[], true), (3, &[], true)] {
        turnpike(&["cluster", "stop", "--dir", dir]);
        start();
        let added = turnpike(&[&["cluster", "add", "--dir", dir], options].concat());
        assert_eq!(added.last().unwrap()["replica"], number, "{added:?}");
        assert_eq!(has_floor(&folder(number)), is_given);
        let listen = added.iter().find_map(|told| told["listen"].as_str()).unwrap().parse().unwrap();
        settle(&[first, listen]);
        tester.transfer();
        settle(&[first, listen]);
        tester.check(listen);
    }
    // From the one that was given its ledger itself.
    let http = status(Path::new(dir))[2]["http"].as_str().unwrap().to_owned();
    let (like, joins) = (folder(0).join("turnpike.toml"), data.path().join("joins"));
    let [like, joins_at] = [&like, &joins].map(|path| path.to_str().unwrap());
    let node = first.to_string();
    let join = |http: &str, folder: &str| {
        let join = ["--json", "cluster", "join", "--like", like, "--folder", folder, "--node", &node, "--sync", http];
        let others = ["--others", "127.0.0.1:1", "--listen", "127.0.0.1:0"];
        Command::new(env!("CARGO_BIN_EXE_turnpike")).args(join).args(others).output().unwrap()
    };
    let joined = join(&http, joins_at);
    assert!(joined.status.success(), "{}", String::from_utf8_lossy(&joined.stderr));
    assert!(has_floor(&joins));
    // A server that is not a replica serves nothing, and the attempt leaves nothing.
    let elsewhere = data.path().join("elsewhere");
    let refused = join("127.0.0.1:1", elsewhere.to_str().unwrap());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("does not answer"), "{said}");
    assert!(!elsewhere.join("data/state-sync").exists());
    turnpike(&["cluster", "stop", "--dir", dir]);
    let mut directories = Vec::from_iter((0..4).map(|number| folder(number).join("data").to_str().unwrap().to_owned()));
    directories.push(joins.join("data").to_str().unwrap().to_owned());
    let compared = compare(&directories);
    assert_eq!(compared["replicas"], 5, "{compared}");
}

/// A replica that was away while the others pruned the blocks that it missed syncs their ledger, and continues with its
/// votes.
#[test]
fn who_was_away_for_too_long_is_given_the_ledger() {
    const AWAY: u32 = 3;
    let data = tempfile::tempdir().unwrap();
    let cluster = Cluster::init_with(data.path(), &["--epoch", "32", "--transport", "shm"]);
    for number in 0..REPLICAS {
        let file = cluster.folder(number).join("turnpike.toml");
        let config = std::fs::read_to_string(&file).unwrap().replace("keep = 16384", "keep = 64");
        std::fs::write(&file, config).unwrap();
    }
    cluster.run("start");
    let mut tester = Tester::new(cluster.listen[0], 0);
    tester.open_accounts();
    settle(&cluster.listen);
    cluster.kill(AWAY);
    let height = || status(&cluster.dir)[0]["height"].as_u64().unwrap();
    let begin = height();
    while height() < begin + 5 * 32 {
        tester.transfer();
    }
    let http = status(&cluster.dir)[1]["http"].as_str().unwrap().to_owned();
    let config = cluster.folder(AWAY).join("turnpike.toml");
    let sync = ["cluster", "sync", "--config", config.to_str().unwrap(), "--from", &http];
    let synced = turnpike(&sync);
    assert!(synced.last().unwrap()["height"].as_u64() > Some(begin + 4 * 32), "{synced:?}");
    assert!(has_floor(&cluster.folder(AWAY)));
    cluster.run("start");
    settle(&cluster.listen);
    tester.check(cluster.listen[AWAY as usize]);
    // Its votes count.
    cluster.kill(1);
    for _ in 0..5 {
        tester.transfer();
    }
    cluster.run("start");
    settle(&cluster.listen);
    cluster.run("stop");
    let directories = (0..REPLICAS).map(|number| cluster.folder(number).join("data").to_str().unwrap().to_owned());
    assert_eq!(compare(&Vec::from_iter(directories))["replicas"], REPLICAS);
}

/// Writes a file until the disk is full, then frees `left` bytes.
fn fill(path: &Path, left: u64) {
    let mut file = std::fs::File::create(path).unwrap();
    let mut length = 0;
    while let Ok(written @ 1..) = file.write(&[1; 1 << 16]) {
        length += written as u64;
    }
    file.set_len(length - left).unwrap();
}

/// Lets the disk of a replica's directory run full, which had `left` bytes free.
fn a_full_disk_is_survived(directory: &str, left: u64) {
    const VICTIM: u32 = 3;
    let data = tempfile::tempdir().unwrap();
    // Taken away once the replicas have ended.
    let _disk;
    let cluster = Cluster::init(data.path());
    cluster.run("start");
    cluster.run("stop");
    // The directory as it is, on a disk of its own.
    let (folder, copy) = (cluster.folder(VICTIM).join(directory), data.path().join("copy"));
    let copies = |from: &Path, to: &Path| {
        let from = from.join(".");
        assert!(Command::new("cp").arg("--archive").args([&from, to]).status().unwrap().success());
    };
    copies(&folder, &copy);
    let Some(mounted) = Disk::mount(&folder, "size=1g,mode=700") else {
        return skip::lacking(Ability::Root, "a file system can be mounted by root only");
    };
    _disk = mounted;
    copies(&copy, &folder);
    cluster.run("start");
    let mut tester = Tester::new(cluster.listen[0], 0);
    tester.open_accounts();
    settle(&cluster.listen);
    let filler = folder.join("filler");
    fill(&filler, left);
    let since = Instant::now();
    let said = loop {
        tester.transfer();
        let (is_ready, said) = cluster.ready(VICTIM);
        if !is_ready {
            break said;
        }
        assert!(since.elapsed() < 2 * PATIENCE, "its disk is never full");
    };
    assert!(said.contains("stor") || said.contains("cannot write"), "{said}");
    // The others go on without it, and it answers as of the last block that it has.
    for _ in 0..5 {
        tester.transfer();
    }
    let account = tester.load.accounts().next().unwrap();
    assert_eq!(connect(cluster.listen[VICTIM as usize]).refer(account).unwrap().status, Status::Ok);
    std::fs::remove_file(filler).unwrap();
    cluster.kill(VICTIM);
    cluster.run("start");
    settle(&cluster.listen);
    tester.check(cluster.listen[VICTIM as usize]);
    assert!(cluster.ready(VICTIM).0);
}

#[test]
fn a_replica_whose_disk_is_full_answers_reads_and_catches_up() {
    // With its log.
    a_full_disk_is_survived("", 1 << 20);
}

#[test]
fn a_replica_whose_chain_finds_no_room_answers_reads_and_catches_up() {
    a_full_disk_is_survived("data/chain", 1 << 16);
}

/// Starts the replicas that are down, and returns the output as it arrives.
struct Starting(Child);

impl Starting {
    fn spawn(cluster: &Cluster) -> Self {
        let start = ["--json", "cluster", "start", "--dir", cluster.dir.to_str().unwrap()];
        let start = Command::new(env!("CARGO_BIN_EXE_turnpike")).args(start).stdout(Stdio::piped()).spawn();
        Self(start.unwrap())
    }

    /// Waits until all replicas except the last serve, runs `act`, and then returns the last one's process.
    fn last(mut self, act: impl FnOnce()) -> Option<i64> {
        let mut lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        for _ in 1..REPLICAS {
            lines.next().unwrap().unwrap();
        }
        act();
        let mut last = lines.map(|line| serde_json::from_str::<serde_json::Value>(&line.unwrap()).unwrap());
        let process = last.next().and_then(|last| last["process"].as_i64());
        assert_eq!(self.0.wait().unwrap().success(), process.is_some());
        process
    }
}

#[test]
fn a_replica_that_is_still_ending_is_waited_for() {
    const LAST: u32 = REPLICAS - 1;
    let data = tempfile::tempdir().unwrap();
    let cluster = Cluster::init(data.path());
    cluster.run("start");
    // It is there when others are looked at, and ends then.
    kill_process(cluster.process(LAST), Signal::STOP).unwrap();
    let second = Starting::spawn(&cluster).last(|| cluster.kill(LAST));
    assert!(second.is_some(), "{second:?}");
    // Only its lock is left, as while the system still frees its memory.
    let lock = File::open(cluster.folder(LAST).join("data/LOCK")).unwrap();
    cluster.kill(LAST);
    lock.lock().unwrap();
    let third = Starting::spawn(&cluster).last(|| drop(lock));
    assert!(third.is_some() && third != second, "{third:?}");
    // A replica that cannot start is reported.
    cluster.kill(LAST);
    std::fs::remove_file(cluster.folder(LAST).join("replica.key")).unwrap();
    let start = ["cluster", "start", "--dir", cluster.dir.to_str().unwrap()];
    let output = Command::new(env!("CARGO_BIN_EXE_turnpike")).args(start).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("replica 3 exited before it served"), "{told}");
}
