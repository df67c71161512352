//! A server of ours, and memcached beside it where the machine has it.
#![allow(dead_code, clippy::unwrap_used)]

use std::{
    io::{ErrorKind, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use tempfile::TempDir;
use turnpike_kv::{
    server::{Config, Deadlines, Server},
    service::{Service, Settings},
    store::{self, Store},
};

/// How long a reply may take before a test fails rather than hangs.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What a store of tests is made for.
pub fn small_store() -> store::Config {
    store::Config { memory: 64 << 20, largest_item: 1 << 20, evict: true, threads: 1 }
}

/// Where a server of tests listens: on a port and in the file system.
pub fn everywhere(folder: &Path) -> Config {
    Config {
        tcp: vec!["127.0.0.1:0".parse().unwrap()],
        tcp_plain: Vec::new(),
        unix: Some((folder.join("ours"), 0o700)),
        udp: vec!["127.0.0.1:0".parse().unwrap()],
        udp_trusted: vec!["127.0.0.0/8".parse().unwrap()],
        nic: None,
        threads: 2,
        backlog: 1024,
        idle: None,
        deadlines: Deadlines::default(),
    }
}

/// A server of ours.
pub struct Ours {
    pub server: Option<Server>,
    pub folder: TempDir,
}

impl Ours {
    pub fn start() -> Self {
        Self::with(small_store(), Settings::default(), |_| {})
    }

    pub fn with(store: store::Config, settings: Settings, change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = everywhere(folder.path());
        change(&mut config);
        let service = Arc::new(Service::new(Store::new(store).unwrap(), settings));
        Self { server: Some(Server::start(&config, service).unwrap()), folder }
    }

    pub fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("ours")
    }

    pub fn connect(&self) -> UnixStream {
        connect(&self.path())
    }
}

/// memcached, with a socket in a folder of its own.
pub struct Theirs {
    child: Child,
    folder: TempDir,
}

impl Theirs {
    /// None where the machine does not have it.
    pub fn start(arguments: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("memcached");
        // As root it needs an option to stay root.
        command.args(["-u", "root", "-t", "1", "-s"]).arg(folder.path().join("theirs")).args(arguments);
        let child = match command.stderr(Stdio::null()).spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => panic!("memcached does not start: {error}"),
        };
        let theirs = Self { child, folder };
        for _ in 0..600 {
            if UnixStream::connect(theirs.path()).is_ok() {
                return Some(theirs);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("memcached does not listen")
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("theirs")
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

pub fn connect(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// All that a server says to some bytes, until it closes the connection.
pub fn converse(path: &Path, requests: &[u8]) -> Vec<u8> {
    let stream = connect(path);
    let mut replies = Vec::new();
    std::thread::scope(|scope| {
        // A server does not read on while its replies are not taken. It may close before it has taken all.
        scope.spawn(|| {
            let _ = (&stream).write_all(requests);
            let _ = stream.shutdown(Shutdown::Write);
        });
        let _ = (&stream).read_to_end(&mut replies);
    });
    replies
}

/// Sends a request, and reads a reply of the expected length.
pub fn ask(stream: &UnixStream, request: &[u8], reply: &[u8]) {
    let mut stream = stream;
    stream.write_all(request).unwrap();
    expect(stream, reply);
}

pub fn expect(mut stream: &UnixStream, reply: &[u8]) {
    let mut got = vec![0; reply.len()];
    let mut len = 0;
    while len < got.len() {
        match stream.read(&mut got[len..]).unwrap() {
            0 => break,
            count => len += count,
        }
    }
    assert_eq!(String::from_utf8_lossy(&got[..len]), String::from_utf8_lossy(reply));
}
