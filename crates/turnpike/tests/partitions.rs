//! Four replicas of the real program, each in a network namespace: one is cut off, two are cut off from two, packets
//! are lost.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "common/bridge.rs"]
mod bridge;
#[path = "common/http.rs"]
mod http;
#[path = "common/load.rs"]
mod load;
#[path = "common/program.rs"]
mod program;
#[path = "common/testers.rs"]
mod testers;

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bridge::Bridge;
use client::{Client, Options};
use node::Config;
use program::{compare, turnpike};
use rustix::process::{Pid, Signal, kill_process};
use skip::Ability;
use testers::{Testers, settle, tips};
use wire::{Operation, Promise, Status, TransactionId};

const REPLICAS: u8 = 4;
/// Limit for replicas to report that they are stuck: after eight timeouts for a leader. Views that a busy machine loses
/// make these as long as 16 s.
const STUCK: Duration = Duration::from_secs(180);

/// Replicas that end with this.
struct Cluster {
    folders: Vec<PathBuf>,
    listen: Vec<SocketAddr>,
    http: Vec<SocketAddr>,
    processes: Vec<Child>,
}

impl Cluster {
    /// Starts the replicas, as an operator does on machines of their own.
    fn start(bridge: &Bridge, dir: &Path) -> Self {
        turnpike(&[
            "cluster",
            "init",
            "--dir",
            dir.to_str().unwrap(),
            "--trusted",
            bridge::PREFIX,
            "--accounts",
            "4096",
        ]);
        let at = |port| Vec::from_iter((0..REPLICAS).map(|number| SocketAddr::from((bridge.address(number), port))));
        let (listen, http, others) = (at(7400), at(7480), at(7500));
        let folders = Vec::from_iter((0..REPLICAS).map(|number| dir.join(format!("replica-{number}"))));
        let processes = (0..REPLICAS).map(|number| {
            let at = usize::from(number);
            let file = folders[at].join("turnpike.toml");
            let mut config = Config::load(&file).unwrap();
            (config.listen, config.http) = (listen[at], Some(http[at]));
            config.cluster.listen = Some(others[at]);
            config.cluster.replicas.iter_mut().zip(&others).for_each(|(member, &other)| member.address = other);
            // Clients ask again for as long as replicas are cut off.
            config.ledger.retry_seconds = 600;
            fs::write(&file, toml::to_string(&config).unwrap()).unwrap();
            let log = File::create(folders[at].join("log")).unwrap();
            let mut command = bridge.command(number, env!("CARGO_BIN_EXE_turnpike"));
            command.args(["serve", "--config"]).arg(file).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
        });
        let processes = processes.collect();
        Self { folders, listen, http, processes }
    }

    /// Waits until these replicas say that they cannot reach a quorum, and the others that they are ready.
    fn await_stuck(&self, stuck: &[usize]) {
        let since = Instant::now();
        loop {
            let said = Vec::from_iter(self.http.iter().map(|&http| http::get(http, "/ready")));
            let is_right = |(number, said): (usize, &String)| match stuck.contains(&number) {
                true => said.contains("503") && said.contains("cannot reach a quorum"),
                false => said.contains("200 OK"),
            };
            if said.iter().enumerate().all(is_right) {
                return;
            }
            assert!(since.elapsed() < STUCK, "{stuck:?} should be stuck: {said:?}");
            sleep(Duration::from_millis(50));
        }
    }

    fn stop(mut self) {
        for process in &mut self.processes {
            kill_process(Pid::from_child(process), Signal::TERM).unwrap();
            assert!(process.wait().unwrap().success());
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (process, folder) in self.processes.iter_mut().zip(&self.folders) {
            // It may have ended.
            let _ = (process.kill(), process.wait());
            if std::thread::panicking() {
                eprintln!("{}", fs::read_to_string(folder.join("log")).unwrap_or_default());
            }
        }
    }
}

/// Two replicas of four cannot make anything final, and say so; they answer reads.
fn nothing_is_final_without_a_quorum(bridge: &Bridge, cluster: &Cluster, testers: &Testers<'_>) {
    let halves = ["{ port0, port1 }", "{ port2, port3 }"];
    let [there, back] = [[0, 1], [1, 0]].map(|[from, to]| format!("iifname {} oifname {}", halves[from], halves[to]));
    bridge.drop_packets(&[&there, &back]);
    cluster.await_stuck(&[0, 1, 2, 3]);
    let before = (tips(&cluster.listen), testers.answered());
    for &replica in &cluster.listen {
        let options =
            Options { promise: Promise::Final, give_up_after: Duration::from_millis(500), ..Options::default() };
        let mut client = Client::connect(replica, &options).unwrap();
        // An account that is there.
        assert_eq!(client.refer(1_u32.into()).unwrap().status, Status::Ok);
        let create = Operation::create(TransactionId::timed(1, 1), u32::MAX.into()).timed();
        assert!(matches!(client.submit(&[create]), Err(client::Error::NoReply { .. })));
    }
    assert_eq!((tips(&cluster.listen), testers.answered()), before);
    // By now TCP would repeat lost packets after 6 s and more only.
    sleep(Duration::from_secs(10));
    assert!(bridge.heal() > 0);
    let healed = Instant::now();
    testers.go_on(None);
    println!("all replicas answer at promise final {:?} after the partition", healed.elapsed());
    cluster.await_stuck(&[]);
}

fn replicas_agree_whatever_the_network_does(bridge: &Bridge) {
    let data = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(bridge, data.path());
    settle(&cluster.listen);
    let testers = Testers::during(&cluster.listen, |testers| {
        testers.go_on(None);
        // One is cut off: the others go on, and when it is back it answers its client again.
        bridge.drop_packets(&["iifname port3", "oifname port3"]);
        cluster.await_stuck(&[3]);
        let before = tips(&cluster.listen);
        testers.go_on(Some(3));
        let after = tips(&cluster.listen);
        assert!(before[3] == after[3] && before[0].0 < after[0].0, "{before:?} {after:?}");
        assert!(bridge.heal() > 0);
        testers.go_on(None);
        nothing_is_final_without_a_quorum(bridge, &cluster, testers);
        // A tenth of what they send each other is lost.
        bridge.drop_packets(&["numgen random mod 10 == 0"]);
        testers.go_on(None);
        assert!(bridge.heal() > 0);
        testers.go_on(None);
    });
    settle(&cluster.listen);
    for &replica in &cluster.listen {
        testers.iter().for_each(|tester| tester.check(replica));
    }
    let directories =
        Vec::from_iter(cluster.folders.iter().map(|folder| folder.join("data").to_str().unwrap().to_owned()));
    cluster.stop();
    let compared = compare(&directories);
    assert_eq!(compared["replicas"], REPLICAS, "{compared}");
    assert!(compared["same_height"].as_u64() > Some(10), "{compared}");
}

#[test]
fn replicas_agree_with_partitions_and_loss() {
    match Bridge::new(REPLICAS) {
        Ok(bridge) => bridge.within(|| replicas_agree_whatever_the_network_does(&bridge)),
        Err(reason) => skip::lacking(Ability::Namespaces, reason),
    }
}
