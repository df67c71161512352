//! A node of the real program in a process of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running node. Dropping it ends it as a crash would: with SIGKILL.
pub struct Process {
    child: Child,
    pub address: SocketAddr,
    /// Where metrics and health are.
    #[allow(dead_code, reason = "not every test looks at them")]
    pub http: SocketAddr,
}

impl Process {
    /// Starts a node on a data directory and waits until it serves. Port 0 takes any that is free.
    pub fn start(data: &Path, listen: SocketAddr, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_turnpike"))
            .args(["--json", "--log", "warn", "serve", "--trusted", "127.0.0.0/8", "--http", "127.0.0.1:0"])
            .arg("--data")
            .arg(data)
            .args(["--listen", &listen.to_string()])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no node: {line:?}"));
        let [address, http] = ["listen", "http"].map(|key| ready[key].as_str().unwrap().parse().unwrap());
        Self { child, address, http }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
