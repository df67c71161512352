//! Four replicas of the real program, one of which is killed with SIGKILL again and again under load: no final reply is lost,
//! nothing is done twice, and all come to the same chain. `CLUSTER_KILLS=1000 cargo test --test cluster` kills more often.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "common/disk.rs"]
mod disk;
#[path = "common/http.rs"]
mod http;
#[path = "common/load.rs"]
mod load;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use client::{Client, Options};
use disk::Disk;
use load::Load;
use model::{Model, Outcome};
use skip::Ability;
use wire::{AccountId, Operation, Promise, Status};

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);
const REPLICAS: u32 = 4;
const ACCOUNTS: u32 = 20;
const BATCH: u64 = 20;

/// Runs a command of the program, and gives its lines of JSON.
fn turnpike(arguments: &[&str]) -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_turnpike")).arg("--json").args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Replicas that end with this.
struct Cluster {
    dir: PathBuf,
    listen: Vec<SocketAddr>,
}

impl Cluster {
    fn init(dir: &Path) -> Self {
        let text = dir.to_str().unwrap();
        let made = turnpike(&[
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
        ]);
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

    fn kill(&self, number: u32) {
        let pid = self.run("status")[number as usize]["process"].as_i64().unwrap().to_string();
        assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        // Until it is gone, it counts as one that runs.
        let since = Instant::now();
        while Path::new("/proc").join(&pid).exists() {
            assert!(since.elapsed() < PATIENCE, "process {pid} does not end");
            sleep(Duration::from_millis(5));
        }
    }

    /// Whether a replica says that it is ready, and what it says.
    fn ready(&self, number: u32) -> (bool, String) {
        let status = &self.run("status")[number as usize];
        let Some(http) = status["http"].as_str() else { return (false, "it does not run".into()) };
        let said = http::get(http.parse().unwrap(), "/ready");
        (said.contains("200 OK"), said)
    }

    fn client(&self, number: u32) -> Client {
        let options = Options {
            promise: Promise::Final,
            retry_after: Duration::from_millis(100),
            give_up_after: 2 * PATIENCE,
            ..Options::default()
        };
        Client::connect(self.listen[number as usize], &options).unwrap()
    }

    /// Waits until all have the same blocks.
    fn settle(&self) {
        let since = Instant::now();
        loop {
            let tips = Vec::from_iter((0..REPLICAS).map(|number| {
                let info = self.client(number).info().unwrap();
                (info.tip_height.get(), info.tip_hash, info.network, info.accounts.get())
            }));
            if tips.iter().all(|tip| *tip == tips[0]) {
                return;
            }
            assert!(since.elapsed() < PATIENCE, "{tips:?}");
            sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Whatever became of the test. Those that it started know their configuration by its full path.
        let stop = ["cluster", "stop", "--dir", self.dir.to_str().unwrap()];
        let _ = Command::new(env!("CARGO_BIN_EXE_turnpike")).args(stop).output();
    }
}

/// A client, and what its accounts have to be.
struct Tester {
    client: Client,
    load: Load,
    ledger: Model,
}

impl Tester {
    fn new(cluster: &Cluster, number: u32) -> Self {
        Self { client: cluster.client(number), load: Load::new(number, ACCOUNTS), ledger: Model::default() }
    }

    fn submit(&mut self, operations: &[Operation]) {
        let receipts = self.client.submit(operations).unwrap();
        assert_eq!(receipts.len(), operations.len());
        for (receipt, operation) in receipts.iter().zip(operations) {
            let Outcome { status, value, .. } = self.ledger.execute(operation);
            assert_eq!((receipt.status, receipt.value, receipt.promise), (status, value, Promise::Final));
        }
    }

    fn open_accounts(&mut self) {
        for account in self.load.accounts() {
            let operations = self.load.open(account);
            self.submit(&operations);
        }
    }

    /// Sends a batch of transfers, and checks every reply.
    fn transfer(&mut self) {
        let operations = Vec::from_iter((0..BATCH).map(|_| self.load.transfer()));
        self.submit(&operations);
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
    let all = cluster.run("status");
    assert!(all[0]["height"].is_null() && all[1]["height"].is_u64(), "{all:?}");
    cluster.run("start");
}

#[test]
fn no_final_reply_is_lost_where_one_of_four_is_killed() {
    let kills = std::env::var("CLUSTER_KILLS").map_or(3, |kills| kills.parse().unwrap());
    let data = tempfile::tempdir().unwrap();
    let cluster = Cluster::init(data.path());
    assert_eq!(cluster.run("start").len(), REPLICAS as usize);
    let (done, batches) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; REPLICAS as usize]);
    let testers = thread::scope(|scope| {
        let testers = Vec::from_iter((0..REPLICAS).map(|number| {
            let (cluster, done, batches) = (&cluster, &done, &batches[number as usize]);
            scope.spawn(move || {
                let mut tester = Tester::new(cluster, number);
                tester.open_accounts();
                while !done.load(Ordering::Relaxed) {
                    tester.transfer();
                    batches.fetch_add(1, Ordering::Relaxed);
                }
                tester
            })
        }));
        // Each client gets so many answers more, but for that of one that is away.
        let go_on = |away: Option<u32>| {
            let before = batches.each_ref().map(|batches| batches.load(Ordering::Relaxed));
            let since = Instant::now();
            for number in (0..REPLICAS).filter(|number| Some(*number) != away) {
                let number = number as usize;
                while batches[number].load(Ordering::Relaxed) < before[number] + 5 {
                    assert!(since.elapsed() < PATIENCE, "the client of replica {number} gets no answers");
                    assert!(!testers[number].is_finished(), "the client of replica {number} got a wrong answer");
                    sleep(Duration::from_millis(10));
                }
            }
        };
        go_on(None);
        for kill in 0..kills {
            let victim = kill % REPLICAS;
            cluster.kill(victim);
            go_on(Some(victim));
            cluster.run("start");
            go_on(None);
        }
        done.store(true, Ordering::Relaxed);
        testers.into_iter().map(|tester| tester.join().unwrap()).collect::<Vec<_>>()
    });
    cluster.settle();
    for number in 0..REPLICAS {
        let mut client = cluster.client(number);
        for tester in &testers {
            for account in tester.load.accounts() {
                let receipt = client.refer(account).unwrap();
                assert_eq!((receipt.status, receipt.value), (Status::Ok, tester.ledger.balance(account)), "{account}");
            }
        }
    }
    what_is_final_is_proved(&cluster, testers[0].load.accounts().next().unwrap());
    let stopped = cluster.run("stop");
    assert!(stopped.iter().all(|replica| replica["process"].is_null()), "{stopped:?}");
    let directories = (0..REPLICAS).map(|number| cluster.folder(number).join("data").to_str().unwrap().to_owned());
    let directories = Vec::from_iter(directories);
    let mut check = vec!["check", &directories[0], "--compare"];
    check.extend(directories[1..].iter().map(String::as_str));
    let checked = turnpike(&check);
    let [.., compared] = &checked[..] else { panic!("{checked:?}") };
    assert_eq!(compared["replicas"], REPLICAS, "{compared}");
    assert!(compared["same_height"].as_u64() > Some(10), "{compared}");
}

/// Writes a file until the disk is full, and gives back so many bytes of it.
fn fill(path: &Path, left: u64) {
    let mut file = std::fs::File::create(path).unwrap();
    let mut length = 0;
    while let Ok(written @ 1..) = file.write(&[1; 1 << 16]) {
        length += written as u64;
    }
    file.set_len(length - left).unwrap();
}

#[test]
fn a_replica_whose_disk_is_full_answers_reads_and_catches_up() {
    const VICTIM: u32 = 3;
    let data = tempfile::tempdir().unwrap();
    // Taken away once the replicas have ended.
    let _disk;
    let cluster = Cluster::init(data.path());
    // Its folder as it is, with its log, on a disk of its own.
    let (folder, copy) = (cluster.folder(VICTIM), data.path().join("copy"));
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
    let mut tester = Tester::new(&cluster, 0);
    tester.open_accounts();
    cluster.settle();
    let filler = folder.join("filler");
    fill(&filler, 1 << 20);
    let since = Instant::now();
    let said = loop {
        tester.transfer();
        let (is_ready, said) = cluster.ready(VICTIM);
        if !is_ready {
            break said;
        }
        assert!(since.elapsed() < 2 * PATIENCE, "its disk is never full");
    };
    assert!(said.contains("stor") || said.contains("orders nothing"), "{said}");
    // The others go on without it, and it answers as of the last block that it has.
    for _ in 0..5 {
        tester.transfer();
    }
    let account = tester.load.accounts().next().unwrap();
    assert_eq!(cluster.client(VICTIM).refer(account).unwrap().status, Status::Ok);
    std::fs::remove_file(filler).unwrap();
    cluster.kill(VICTIM);
    cluster.run("start");
    cluster.settle();
    let mut client = cluster.client(VICTIM);
    for account in tester.load.accounts() {
        let receipt = client.refer(account).unwrap();
        assert_eq!((receipt.status, receipt.value), (Status::Ok, tester.ledger.balance(account)), "{account}");
    }
    assert!(cluster.ready(VICTIM).0);
}
