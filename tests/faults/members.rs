//! Faults of a change of a cluster's members.

use std::fs;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use client::{Client, Options};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use wire::{Promise, Status};

use crate::http_client;
use crate::program::{status, turnpike};

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

/// Replicas that end with this.
struct Cluster(PathBuf);

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_turnpike")).args(arguments).output().unwrap()
}

impl Cluster {
    fn init(dir: &Path) -> Self {
        let options = ["--port", "0", "--trusted", "127.0.0.0/8", "--accounts", "4096", "--epoch", "32"];
        turnpike(&[&["cluster", "init", "--dir", dir.to_str().unwrap()][..], &options].concat());
        let cluster = Self(dir.to_owned());
        cluster.start();
        cluster
    }

    fn dir(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// A command of `turnpike cluster` on the directory.
    fn run(&self, command: &str, options: &[&str]) -> Output {
        run(&[&["cluster", command, "--dir", self.dir()][..], options].concat())
    }

    fn succeeds(&self, command: &str, options: &[&str]) {
        let output = self.run(command, options);
        assert!(output.status.success(), "{command} {options:?}: {output:?}");
    }

    /// What a command that fails prints as its error.
    fn fails(&self, command: &str, options: &[&str]) -> String {
        let output = self.run(command, options);
        assert!(!output.status.success(), "{command} {options:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn start(&self) {
        self.succeeds("start", &[]);
    }

    /// Starts all but some.
    fn start_but(&self, without: &[usize]) {
        let folders = without.iter().map(|replica| (self.folder(*replica), self.0.join(format!("kept-{replica}"))));
        let folders = Vec::from_iter(folders);
        folders.iter().for_each(|(folder, aside)| fs::rename(folder, aside).unwrap());
        self.start();
        folders.iter().for_each(|(folder, aside)| fs::rename(aside, folder).unwrap());
    }

    fn status(&self) -> Vec<Value> {
        status(&self.0)
    }

    fn kill(&self, replica: usize) {
        let process = self.status()[replica]["process"].as_i64().unwrap();
        kill_process(Pid::from_raw(process.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    }

    fn folder(&self, replica: usize) -> PathBuf {
        self.0.join(format!("replica-{replica}"))
    }

    fn log(&self, replica: usize) -> String {
        fs::read_to_string(self.folder(replica).join("log")).unwrap()
    }

    /// Creates an account at a replica, once a quorum made it final.
    fn create(&self, replica: usize, account: u32) {
        let listen: SocketAddr = self.status()[replica]["listen"].as_str().unwrap().parse().unwrap();
        let options = Options { promise: Promise::Final, give_up_after: PATIENCE, ..Options::default() };
        let receipt = Client::connect(listen, &options).unwrap().create(account.into()).unwrap();
        assert_eq!((receipt.status, receipt.promise), (Status::Ok, Promise::Final));
    }
}

/// A command that is killed.
struct Interrupted(Child);

impl Cluster {
    /// Runs a command, and kills it as soon as it has got somewhere, unless it ends before. Returns whether it was
    /// killed.
    fn interrupt(&self, command: &str, options: &[&str], mut is_there: impl FnMut(Duration) -> bool) -> bool {
        let mut run = Command::new(env!("CARGO_BIN_EXE_turnpike"));
        run.args(["cluster", command, "--dir", self.dir()]).args(options).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = Interrupted(run.spawn().unwrap());
        let started = Instant::now();
        loop {
            if let Some(status) = running.0.try_wait().unwrap() {
                let mut error = String::new();
                running.0.stderr.as_mut().unwrap().read_to_string(&mut error).unwrap();
                assert!(status.success(), "{command} {options:?}: {error}");
                return false;
            }
            assert!(started.elapsed() < 2 * PATIENCE, "{command} {options:?} gets nowhere");
            if is_there(started.elapsed()) {
                // As it is dropped.
                return true;
            }
        }
    }

    /// The names of the files of the directory that begin with some text.
    fn files(&self, start: &str) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names = Vec::from_iter(names.filter(|name| name.starts_with(start)));
        names.sort();
        names
    }
}

impl Drop for Interrupted {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if thread::panicking() {
            let logs = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path().join("log"));
            for (path, log) in logs.filter_map(|path| Some((path.clone(), fs::read_to_string(path).ok()?))) {
                let lines = Vec::from_iter(log.lines());
                eprintln!("{}:\n{}", path.display(), lines[lines.len().saturating_sub(10)..].join("\n"));
            }
        }
        let _ = self.run("stop", &[]);
    }
}

#[test]
fn members_change_one_right_after_the_other_down_to_one() {
    let data = tempfile::tempdir().unwrap();
    let cluster = Cluster::init(data.path());
    cluster.create(0, 1);
    cluster.succeeds("add", &[]);
    // Right after an `add` the replicas may not report the new set yet.
    cluster.succeeds("remove", &["--replica", "0"]);
    assert!(!cluster.log(4).contains("removed other users' access"), "{}", cluster.log(4));
    // Two at once: one waits for the other.
    let removals = [2, 3].map(|replica: u32| {
        let dir = cluster.dir().to_owned();
        thread::spawn(move || run(&["cluster", "remove", "--dir", &dir, "--replica", &replica.to_string()]))
    });
    for removal in removals {
        let output = removal.join().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let left = cluster.status();
    let is_newest = |report: &Value| report["replicas"] == 2 && report["generation"] == 4;
    assert!(left.len() == 2 && left.iter().any(is_newest), "{left:?}");
    cluster.create(1, 2);
    // Of two replicas both have to approve, the one that leaves as well.
    cluster.succeeds("remove", &["--replica", "1"]);
    let error = cluster.fails("remove", &["--replica", "4"]);
    assert!(error.contains("last replica"), "{error}");
    assert!(cluster.fails("remove", &["--replica", "9"]).contains("no replica 9"));
    cluster.create(0, 3);
}

#[test]
fn a_change_that_cannot_succeed_is_refused_at_once_and_status_shows_why() {
    let data = tempfile::tempdir().unwrap();
    let cluster = Cluster::init(data.path());
    let reports = cluster.status();
    for (number, report) in reports.iter().enumerate() {
        assert_eq!((&report["member"], &report["replicas"]), (&number.into(), &4.into()), "{report}");
        assert!(report["leader"].is_u64() && report["epoch"].is_u64() && report["behind"].is_u64(), "{report}");
        assert_eq!(report["evidence"], 0, "{report}");
        // No key seals what replicas order.
        assert!(!cluster.log(number).contains("chain key"), "{}", cluster.log(number));
    }
    cluster.succeeds("status", &[]);
    cluster.kill(3);
    let error = cluster.fails("status", &[]);
    assert!(error.contains("answering: 3"), "{error}");
    // Two of three would run, of which three are needed.
    let error = cluster.fails("remove", &["--replica", "0"]);
    assert!(error.contains("3 replicas need 3"), "{error}");
    // The one that is down can be removed, though it cannot approve.
    cluster.succeeds("remove", &["--replica", "3"]);
    cluster.kill(2);
    let error = cluster.fails("add", &[]);
    assert!(error.contains("needs 3 approvals, but only 2"), "{error}");
    // Once enough replicas run, it succeeds.
    cluster.start();
    cluster.succeeds("add", &[]);
    let reports = cluster.status();
    assert!(reports.len() == 4 && reports.iter().any(|report| report["replicas"] == 4), "{reports:?}");
}

#[test]
fn founders_make_their_keys_on_their_own_machines() {
    let data = tempfile::tempdir().unwrap();
    let cluster = Cluster(data.path().to_owned());
    let free = order::free_addresses(12).unwrap();
    let folder = |number| cluster.folder(number).to_str().unwrap().to_owned();
    let members = (0..4).map(|number| {
        let (folder, others) = (folder(number), free[number].to_string());
        let made = turnpike(&["cluster", "key", "--folder", &folder, "--others", &others]);
        made[0]["member"].as_str().unwrap().to_owned()
    });
    let founders = data.path().join("founders");
    fs::write(&founders, format!("# the founders\n{}\n", Vec::from_iter(members).join("\n"))).unwrap();
    let founders = founders.to_str().unwrap();
    let configure = |number: usize| {
        let [listen, http] = [4, 8].map(|first| free[first + number].to_string());
        let addresses = ["--founders", founders, "--began", "1700000000", "--listen", &listen, "--http", &http];
        let common = ["--trusted", "127.0.0.0/8", "--accounts", "4096"];
        run(&[&["--json", "cluster", "configure", "--folder", &folder(number)][..], &addresses, &common].concat())
    };
    let networks = Vec::from_iter((0..4).map(|number| {
        let output = configure(number);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["network"].as_str().unwrap().to_owned()
    }));
    assert!(networks.iter().all(|network| *network == networks[0]), "{networks:?}");
    let again = String::from_utf8(configure(0).stderr).unwrap();
    assert!(again.contains("exists"), "{again}");
    cluster.start();
    cluster.create(2, 1);
    let mut numbers = Vec::from_iter(cluster.status().iter().map(|report| report["member"].as_u64().unwrap()));
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3]);
}

/// A replica on each host, and one more on a host of its own.
#[test]
fn replicas_of_several_hosts_are_made_at_once_and_one_more_is_added() {
    const PORT: u16 = 7400;
    let data = tempfile::tempdir().unwrap();
    let cluster = Cluster(data.path().to_owned());
    let free = order::free_addresses(7).unwrap();
    // Hosts are addresses of loopback here, so each replica's HTTP needs a port of its own.
    let SocketAddr::V4(first) = free[0] else { unreachable!("loopback is IPv4") };
    let [a, b, c, d] = first.ip().octets();
    let hosts = [0, 50, 100, 150].map(|step| Ipv4Addr::new(a, b, c, d.wrapping_add(step).clamp(1, 254)).to_string());
    let options = ["--port", &PORT.to_string(), "--trusted", "127.0.0.0/8", "--accounts", "4096", "--epoch", "32"];
    cluster.succeeds("init", &[&["--hosts", &hosts.join(",")][..], &options].concat());
    for (number, host) in hosts.iter().enumerate() {
        let path = cluster.folder(number).join("turnpike.toml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(&format!("listen = \"{host}:{PORT}\"")), "{text}");
        assert!(text.contains(&format!("listen = \"{host}:{}\"", PORT + 2)), "{text}");
        let http = format!("http = \"127.0.0.1:{}\"", PORT + 1);
        assert!(text.contains(&http), "{text}");
        fs::write(&path, text.replace(&http, &format!("http = \"{}\"", free[number]))).unwrap();
    }
    cluster.start();
    cluster.create(2, 1);
    let [listen, http, others] = [4, 5, 6].map(|number: usize| free[number].to_string());
    cluster.succeeds("add", &["--listen", &listen, "--http", &http, "--others", &others]);
    let added = &cluster.status()[4];
    assert_eq!((&added["listen"], &added["http"]), (&listen.into(), &http.into()), "{added}");
    let config = fs::read_to_string(cluster.folder(4).join("turnpike.toml")).unwrap();
    assert!(config.contains(&format!("listen = \"{others}\"")), "{config}");
    cluster.create(4, 2);
}

/// A new version or configuration is installed on one replica after the other (docs/operations.md), beside a client.
#[test]
fn a_rolling_restart_pauses_no_client_that_knows_several_replicas() {
    let data = tempfile::tempdir().unwrap();
    let cluster = Cluster::init(data.path());
    let address = |report: &Value, key: &str| -> SocketAddr { report[key].as_str().unwrap().parse().unwrap() };
    let reports = cluster.status();
    let nodes = Vec::from_iter(reports.iter().map(|report| address(report, "listen")));
    let (stop, created) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let client = thread::spawn({
        let (stop, created) = (Arc::clone(&stop), Arc::clone(&created));
        move || {
            let options = Options {
                others: nodes[1..].to_vec(),
                promise: Promise::Final,
                give_up_after: PATIENCE,
                ..Options::default()
            };
            let mut client = Client::connect(nodes[0], &options).unwrap();
            while !stop.load(Relaxed) {
                let account = 1 + created.load(Relaxed);
                let receipt = client.create(account.into()).unwrap();
                assert_eq!((receipt.status, receipt.promise), (Status::Ok, Promise::Final));
                created.store(account, Relaxed);
            }
        }
    });
    let await_true = |what: &str, is_so: &dyn Fn() -> bool| {
        let since = Instant::now();
        while !is_so() {
            assert!(since.elapsed() < PATIENCE && !client.is_finished(), "{what}");
            thread::sleep(Duration::from_millis(20));
        }
    };
    for (replica, report) in reports.iter().enumerate() {
        let before = created.load(Relaxed);
        await_true("operations become final", &|| created.load(Relaxed) > before);
        let process =
            Pid::from_raw(cluster.status()[replica]["process"].as_i64().unwrap().try_into().unwrap()).unwrap();
        kill_process(process, Signal::TERM).unwrap();
        await_true("the replica ends", &|| test_kill_process(process).is_err());
        cluster.start();
        let http = address(report, "http");
        await_true("the replica is ready", &|| {
            http_client::try_get(http, "/ready").is_ok_and(|answer| answer.contains("200 OK"))
        });
        await_true("it does not lag", &|| {
            cluster.status()[replica]["behind"].as_u64().is_some_and(|behind| behind < 5)
        });
    }
    stop.store(true, Relaxed);
    client.join().unwrap();
    assert!(created.load(Relaxed) >= 4);
    assert!(cluster.status().iter().all(|report| report["evidence"] == 0));
}

/// The folder of a new replica had no mark yet, or no configuration, so that it stayed a replica that never joins, and
/// `stop` and `start` failed.
#[test]
fn commands_that_change_the_members_are_resumed_wherever_they_were_killed() {
    let data = tempfile::tempdir().unwrap();
    let cluster = Cluster::init(data.path());
    cluster.create(0, 1);
    // Of a command that was killed while it made the folder.
    let (half, folder) = (data.path().join("new-replica-4"), cluster.folder(4));
    fs::create_dir(&half).unwrap();
    fs::write(half.join("replica.key"), "0123").unwrap();
    let is_member = |replicas: u64| {
        let members = cluster.status();
        members.iter().any(|report| report["replicas"] == replicas)
    };
    let points: [&dyn Fn() -> bool; 7] = [
        // It may be renamed between two looks.
        &|| half.join("turnpike.toml").exists() || folder.exists(),
        &|| folder.exists(),
        &|| folder.join("data").exists(),
        &|| folder.join("pid").exists(),
        &|| folder.join("log").exists(),
        &|| fs::read_to_string(folder.join("log")).is_ok_and(|log| log.len() > 1000),
        &|| is_member(5),
    ];
    let mut kills = 0;
    for (number, point) in points.iter().enumerate() {
        if !cluster.interrupt("add", &[], |_| point()) {
            break;
        }
        kills += 1;
        assert_eq!(cluster.files("replica-").len(), if folder.exists() { 5 } else { 4 }, "point {number}");
        cluster.succeeds("start", &[]);
    }
    assert!(kills >= 5, "{kills}");
    if folder.join("joining").exists() {
        cluster.succeeds("add", &[]);
    }
    assert!(!folder.join("joining").exists());
    assert_eq!(cluster.files("new-"), [""; 0]);
    assert_eq!(cluster.files("replica-").len(), 5);
    cluster.create(4, 2);
    assert!(is_member(5));
    for delay in [1, 20, 60, 150, 400, 1000, 2000, 4000] {
        let is_late = |elapsed: Duration| {
            thread::sleep(Duration::from_millis(1));
            elapsed >= Duration::from_millis(delay)
        };
        if !cluster.interrupt("remove", &["--replica", "0"], is_late) {
            break;
        }
        // It was killed after the last step.
        if !cluster.folder(0).exists() {
            break;
        }
    }
    if cluster.folder(0).exists() {
        cluster.succeeds("remove", &["--replica", "0"]);
    }
    assert_eq!(cluster.files("removed-"), ["removed-0-0"]);
    let error = cluster.fails("remove", &["--replica", "0"]);
    assert!(error.contains("no replica 0"), "{error}");
    cluster.succeeds("stop", &[]);
    cluster.start();
    assert_eq!(cluster.status().len(), 4);
    cluster.create(3, 3);
    assert!(is_member(4));
}

/// Copies a folder with everything in it.
pub fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_replica_whose_votes_were_deleted_or_set_back_does_not_start() {
    let data = tempfile::tempdir().unwrap();
    let cluster = Cluster::init(data.path());
    cluster.create(0, 1);
    cluster.succeeds("stop", &[]);
    let (votes, old, newest) = (cluster.folder(0).join("data"), data.path().join("old"), data.path().join("newest"));
    copy(&votes, &old);
    cluster.start();
    cluster.create(0, 2);
    cluster.succeeds("stop", &[]);
    fs::rename(&votes, &newest).unwrap();
    copy(&old, &votes);
    let error = cluster.fails("start", &[]);
    assert!(error.contains("replica 0"), "{error}");
    assert!(cluster.log(0).contains("is an older copy of this replica's data"), "{}", cluster.log(0));
    fs::remove_dir_all(&votes).unwrap();
    cluster.fails("start", &[]);
    assert!(cluster.log(0).contains("were deleted"), "{}", cluster.log(0));
    let config = cluster.folder(0).join("turnpike.toml");
    cluster.start_but(&[0]);
    let http = cluster.status()[1]["http"].as_str().unwrap().to_owned();
    // Nor is it given the ledger of another one, with which it would vote.
    let synced = run(&["cluster", "sync", "--config", config.to_str().unwrap(), "--from", &http]);
    assert!(String::from_utf8_lossy(&synced.stderr).contains("were deleted"), "{synced:?}");
    // The others go on, and so does the replica with its newest data.
    cluster.create(1, 3);
    fs::remove_dir_all(&votes).unwrap();
    fs::rename(&newest, &votes).unwrap();
    cluster.start();
    cluster.create(0, 4);
}
