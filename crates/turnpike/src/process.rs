//! A node of the program in its own process.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running node. Dropping it ends it as a crash would: with SIGKILL.
pub struct Process {
    child: Child,
    pub address: SocketAddr,
    /// The address of metrics and health.
    pub http: SocketAddr,
    /// The network id: a different one after a restart shows that the data directory was lost.
    pub network: String,
}

impl Process {
    /// Starts a node on a data directory and waits until it serves. Port 0 chooses a free one.
    pub fn start(
        program: impl AsRef<OsStr>,
        data: &Path,
        listen: SocketAddr,
        arguments: &[&str],
    ) -> Result<Self, io::Error> {
        Self::run(Self::command(program, "serve", data, listen).args(["--trusted", "127.0.0.0/8"]).args(arguments))
    }

    /// The command that starts a node, or an in-NIC ledger.
    pub fn command(program: impl AsRef<OsStr>, kind: &str, data: &Path, listen: SocketAddr) -> Command {
        let mut command = Command::new(program);
        command.args(["--json", "--log", "warn", kind, "--http", "127.0.0.1:0", "--listen", &listen.to_string()]);
        command.arg("--data").arg(data);
        command
    }

    /// Runs such a command, and waits until it serves.
    pub fn run(command: &mut Command) -> Result<Self, io::Error> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let read = child.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut line));
        let ready: Option<serde_json::Value> = serde_json::from_str(&line).ok();
        let address = |key: &str| ready.as_ref()?.get(key)?.as_str()?.parse().ok();
        let network = ready.as_ref().and_then(|ready| Some(ready.get("network")?.as_str()?.to_owned()));
        match (address("listen"), address("http"), network) {
            (Some(address), Some(http), Some(network)) => Ok(Self { child, address, http, network }),
            _ => {
                // Both fail where it has ended already.
                let _ = (child.kill(), child.wait());
                read.transpose()?;
                Err(io::Error::other("the process ended before it served: see its log above"))
            }
        }
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, like a crash.
    pub fn kill(&mut self) -> Result<(), io::Error> {
        self.child.kill()?;
        self.child.wait().map(|_| ())
    }

    /// Stops it as an operator would, with SIGTERM. Returns whether it exited cleanly.
    pub fn stop(mut self) -> Result<bool, io::Error> {
        let terminated = Command::new("kill").arg(self.id().to_string()).status()?;
        Ok(self.child.wait()?.success() && terminated.success())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail where it has ended already.
        let _ = (self.child.kill(), self.child.wait());
    }
}
