//! The client against four replicas, of which one is killed.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::Command as Program;
use std::ptr::null_mut;
use std::time::{Duration, Instant};
use std::{fs, thread};

use common::{PATIENCE, TestChain, TestClient, account, create, issue, message, no_error, patient, program, transfer};
use rustix::process::{Pid, Signal, kill_process};
use turnpike::ClientStatus as Code;
use turnpike::*;

/// A cluster on loopback, which is stopped at the end.
struct Cluster<'a> {
    program: &'a Path,
    folder: &'a Path,
}

impl Cluster<'_> {
    fn run(&self, arguments: &[&str]) -> String {
        let output = Program::new(self.program)
            .args(["--json", "cluster"])
            .args(arguments)
            .arg("--dir")
            .arg(self.folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        let _ = Program::new(self.program).args(["cluster", "stop", "--dir"]).arg(self.folder).output();
    }
}

#[test]
fn a_client_follows_replicas_and_proves_what_is_final() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster { program: &program, folder: &folder.path().join("cluster") };
    cluster.run(&["init", "--port", "0", "--trusted", "127.0.0.0/8", "--accounts", "10000"]);
    for entry in fs::read_dir(cluster.folder).unwrap().flatten() {
        let config = entry.path().join("turnpike.toml");
        if let Ok(text) = fs::read_to_string(&config) {
            fs::write(&config, text.replace("retry_seconds = 10\n", "retry_seconds = 600\n")).unwrap();
        }
    }
    cluster.run(&["start"]);
    let lines = cluster.run(&["status"]);
    let replicas = Vec::from_iter(lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()));
    assert_eq!(replicas.len(), 4);
    let nodes = Vec::from_iter(replicas.iter().map(|replica| replica["listen"].as_str().unwrap().parse().unwrap()));
    let client = TestClient::open(&nodes, Options { promise: Promise::Final as u8, connections: 2, ..patient() });

    let (alice, bob) = (account(1), account(2));
    assert_eq!(client.submit(&mut [create(alice), create(bob), issue(alice, 1000)], 0).0, Code::TurnpikeOk);
    let process = replicas[0]["process"].as_i64().unwrap() as i32;
    thread::scope(|scope| {
        let load = scope.spawn(|| {
            for _ in 0..4 {
                let mut operations = [transfer(alice, bob, 1); 25];
                let (status, results, error) = client.submit(&mut operations, 0);
                assert_eq!(status, Code::TurnpikeOk, "{}", message(&error));
                assert!(results.iter().all(|result| result.promise == Promise::Final as u8));
            }
        });
        thread::sleep(Duration::from_millis(100));
        kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
        load.join().unwrap();
    });
    let mut id = Id::default();
    assert_eq!(client.transfer(alice, bob, 1, &mut id).ok().value, 899);
    assert_eq!((client.balance(alice), client.balance(bob)), (899, 101));
    assert!(client.counters().turns > 0, "it has turned to another replica");

    let network: [u8; 32] = client.info().network;
    let chain = client.chain(&network);
    let transaction = client.wait_for_transaction(&chain, id, alice);
    let since = Instant::now();
    let (balance, proof) = loop {
        match client.prove_balance(&chain, bob) {
            Ok((balance, _)) if balance.height < transaction.height => {}
            Ok(proved) => break proved,
            Err(status) => assert!(matches!(status, Code::TurnpikeNotFound | Code::TurnpikeUnknownBlock), "{status:?}"),
        }
        assert!(since.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(balance.balance, 101);

    // A certificate makes headers final, and the saved bytes contain it.
    let (saved, state) = (chain.save(), chain.state());
    assert!(state.is_ordered && state.trusted_height >= balance.height);
    let restored = TestChain::restore(&network, &saved).unwrap();
    assert_eq!((restored.state(), restored.verify_balance(bob, &proof)), (state, Ok(balance)));
    // Without the certificate nobody vouches for the headers.
    let headers = TestChain::restore(&network, &saved[..(state.height as usize + 1) * 192]).unwrap();
    assert_eq!(headers.verify_balance(bob, &proof), Err(Code::TurnpikeUnknownBlock));

    let (mut certificate, mut length, mut error) = (vec![0; 1 << 16], 0, no_error());
    // SAFETY: all pointers are to local values, and an info about finality is integers.
    unsafe {
        let mut finality = std::mem::zeroed::<Finality>();
        let status = turnpike_read_finality(
            client.0,
            &raw mut finality,
            certificate.as_mut_ptr(),
            certificate.len(),
            &raw mut length,
            &raw mut error,
        );
        assert_eq!((status, finality.replicas), (Code::TurnpikeOk, 4), "{}", message(&error));
        assert!(length > 0 && finality.height >= balance.height);
        assert_eq!(turnpike_chain_sync(client.0, chain.0, null_mut(), &raw mut error), Code::TurnpikeOk);
        let mut height = 0;
        let certify =
            |bytes: &[u8], height, error| turnpike_chain_certify(chain.0, bytes.as_ptr(), bytes.len(), height, error);
        let status = certify(&certificate[..length], &raw mut height, &raw mut error);
        assert_eq!(status, Code::TurnpikeOk, "{}", message(&error));
        assert!(height > 0);
        certificate[length - 1] ^= 1;
        let status = certify(&certificate[..length], &raw mut height, &raw mut error);
        assert_eq!(status, Code::TurnpikeInvalidCertificate);
    }
}
