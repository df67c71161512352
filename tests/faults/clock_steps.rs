//! Steps of the system's clock under a single node and the key-value store.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use client::{Client, Options};
use wire::{Operation, Status};

use crate::clock::Clock;
use crate::node::Process;

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);
const HOUR: i64 = 3600;

/// Opens an account. The id carries no time: that would be ahead of a clock that is set back.
fn create(account: u32) -> Operation {
    Operation::create(account.into(), account.into())
}

/// A block that was open when the clock was set back stayed open for as long as the step.
#[test]
fn a_single_node_closes_blocks_whatever_becomes_of_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let Some(clock) = Clock::new(folder.path(), "clock") else { return };
    let listen = "127.0.0.1:0".parse().unwrap();
    let program = env!("CARGO_BIN_EXE_turnpike");
    let mut command = Process::command(program, "serve", &folder.path().join("data"), listen);
    let node = Process::run(clock.attach(command.args(["--trusted", "127.0.0.0/8"]))).unwrap();
    let options = Options { give_up_after: PATIENCE, ..Options::default() };
    let mut client = Client::connect(node.address, &options).unwrap();
    let mut account = 0_u32;
    for ahead in [600, 0, -HOUR, HOUR, 0] {
        clock.step(ahead);
        // A block is open when the process sees the step.
        let since = Instant::now();
        while since.elapsed() < Duration::from_millis(500) {
            account += 1;
            assert_eq!(client.execute(&create(account)).unwrap().status, Status::Ok);
            sleep(Duration::from_millis(5));
        }
        let height = client.info().unwrap().tip_height.get();
        account += 1;
        assert_eq!(client.execute(&create(account)).unwrap().status, Status::Ok);
        while client.info().unwrap().tip_height.get() <= height {
            assert!(since.elapsed() < PATIENCE, "no block is closed with the clock {ahead} s ahead");
            sleep(Duration::from_millis(20));
        }
    }
    assert!(node.stop().unwrap());
}

/// A store that ends with this.
struct Kv(Child);

impl Drop for Kv {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

fn ask(socket: &Path, request: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "{request}quit\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

/// Items with a time to live kept it, but those that expire at a time of day were taken by the clock of the store's
/// start: with one that had been an hour ahead then, they were over at once or lived an hour too long.
#[test]
fn items_expire_by_the_clock_that_clients_see() {
    let folder = tempfile::tempdir().unwrap();
    let Some(clock) = Clock::new(folder.path(), "clock") else { return };
    let socket = folder.path().join("socket");
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    clock.attach(command.args(["kv", "-t", "1", "-m", "64", "-s"]).arg(&socket));
    let _kv = Kv(command.spawn().unwrap());
    let since = Instant::now();
    while UnixStream::connect(&socket).is_err() {
        assert!(since.elapsed() < PATIENCE, "the store does not start");
        sleep(Duration::from_millis(20));
    }
    assert_eq!(ask(&socket, "set relative 0 600 1\r\n1\r\n"), "STORED\r\n");
    let true_time = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    for ahead in [HOUR, -HOUR, 0] {
        clock.step(ahead);
        // The store sees it within 100 ms.
        sleep(Duration::from_millis(300));
        let at = |seconds: i64| true_time() + ahead + seconds;
        let set = format!(
            "set later 0 {} 1\r\n2\r\nset over 0 {} 1\r\n3\r\nset soon 0 {} 1\r\n4\r\n",
            at(600),
            at(-5),
            at(2)
        );
        assert_eq!(ask(&socket, &set), "STORED\r\n".repeat(3));
        let get = || ask(&socket, "get relative later over soon\r\n");
        assert!(get().starts_with("VALUE relative 0 1\r\n1\r\nVALUE later 0 1\r\n2\r\n"), "{ahead} s ahead");
        assert!(!get().contains("VALUE over"), "{ahead} s ahead");
        let since = Instant::now();
        while get().contains("VALUE soon") {
            assert!(since.elapsed() < PATIENCE, "an item does not expire with the clock {ahead} s ahead");
            sleep(Duration::from_millis(100));
        }
    }
}
