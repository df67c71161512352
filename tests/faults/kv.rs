//! Faults of connections to the key-value store: turns, memory, fairness.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

/// `turnpike kv` on a socket in a directory, ended when dropped.
struct Store {
    child: Child,
    directory: tempfile::TempDir,
}

impl Store {
    fn start(arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
        command.args(["--log", "error", "kv", "-t", "2", "-s"]).arg(socket(directory.path())).args(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("serving"), "{line}");
        Self { child, directory }
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(socket(self.directory.path())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// MiB of its memory that are resident.
    fn resident(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() >> 10
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

fn socket(directory: &Path) -> std::path::PathBuf {
    directory.join("kv")
}

fn ask(mut stream: &UnixStream, request: &[u8], reply: &[u8]) {
    stream.write_all(request).unwrap();
    let mut got = vec![0; reply.len()];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(reply));
}

fn set(key: &str, fill: u8, len: usize) -> Vec<u8> {
    [format!("set {key} 0 0 {len}\r\n").into_bytes(), vec![fill; len], b"\r\n".to_vec()].concat()
}

/// Replies were copied for each connection, without a bound over all of them.
#[test]
fn clients_that_take_no_replies_share_one_value() {
    let store = Store::start(&["-m", "64"]);
    let honest = store.connect();
    ask(&honest, &set("large", b'1', 1_000_000), b"STORED\r\n");
    let before = store.resident();
    let lazy = Vec::from_iter((0..300).map(|_| store.connect()));
    lazy.iter().for_each(|mut stream| stream.write_all(&b"get large\r\n".repeat(3)).unwrap());
    // Each reply has begun.
    let head = b"VALUE large 0 1000000\r\n";
    lazy.iter().for_each(|stream| ask(stream, b"", head));
    let waiting = store.resident();
    // Those that wait get the value that they were promised, of which there is one copy.
    ask(&honest, &set("large", b'2', 1_000_000), b"STORED\r\n");
    ask(&honest, b"delete large\r\n", b"DELETED\r\n");
    let after = store.resident();
    for stream in lazy.iter().step_by(20) {
        let mut value = vec![0; 1_000_000];
        { stream }.read_exact(&mut value).unwrap();
        assert!(value.iter().all(|byte| *byte == b'1'), "a value changed on its way");
    }
    assert!(waiting.max(after) < before + 60, "{before} MiB became {waiting}, then {after}");
}

/// Small values, and values that are all different, took as much.
#[test]
fn memory_for_replies_is_bounded_over_all_connections() {
    let store = Store::start(&["-m", "64"]);
    let honest = store.connect();
    let key = |number: usize| format!("key{number:02}");
    (0..40).for_each(|number| ask(&honest, &set(&key(number), b'v', 60_000), b"STORED\r\n"));
    let before = store.resident();
    let lazy = Vec::from_iter((0..900).map(|_| store.connect()));
    let keys = String::from_iter((0..40).map(|number| format!(" {}", key(number))));
    let requests = format!("get{keys}\r\n").repeat(20);
    // Some are closed meanwhile.
    lazy.iter().for_each(|mut stream| drop(stream.write_all(requests.as_bytes())));
    let started = Instant::now();
    ask(&honest, &set("other", b'o', 500_000), b"STORED\r\n");
    assert!(started.elapsed() < PATIENCE);
    let after = store.resident();
    assert!(after < before + 120, "{before} MiB became {after}");
}

/// A node whose clients asked for the sizes of all items took more than a minute to end.
#[test]
fn sigterm_ends_the_store_whatever_is_in_flight() {
    let mut store = Store::start(&["-m", "128"]);
    let filling = store.connect();
    for some in Vec::from_iter(0..200_000).chunks(1000) {
        let sets = some.iter().flat_map(|key| format!("set key{key} 0 0 1 noreply\r\nx\r\n").into_bytes());
        ask(&filling, &[sets.collect(), b"mn\r\n".to_vec()].concat(), b"MN\r\n");
    }
    let busy = Vec::from_iter((0..4).map(|_| store.connect()));
    busy.iter().for_each(|mut stream| stream.write_all(&b"stats sizes\r\n".repeat(1000)).unwrap());
    busy.iter().for_each(|stream| ask(stream, b"", b"STAT "));
    let pid = store.child.id().to_string();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    let started = Instant::now();
    while store.child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(20), "the store goes on after SIGTERM");
        thread::sleep(Duration::from_millis(10));
    }
}
