//! Replicas that are started, killed and looked at.
use crate::replica::{Engine, Line};
use order::Transport;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How replicas order.
#[derive(Clone, Copy)]
pub struct Shape {
    pub replicas: usize,
    pub body: usize,
    pub term: u32,
    /// How long they wait for a leader, in milliseconds.
    pub patience: u64,
    pub transport: Transport,
    pub engine: Engine,
    /// Threads of a replica.
    pub threads: usize,
}

/// Replicas, each a process of its own. They end with this.
pub struct Cluster {
    program: PathBuf,
    directory: PathBuf,
    shape: Shape,
    addresses: Vec<SocketAddr>,
    running: Vec<Option<Child>>,
}

impl Cluster {
    /// Starts all, with their data in directories of `directory`.
    pub fn start(program: &Path, directory: &Path, shape: Shape) -> std::io::Result<Self> {
        let addresses = order::free_addresses(shape.replicas)?;
        let running = (0..shape.replicas).map(|_| None).collect();
        let (program, directory) = (program.to_owned(), directory.to_owned());
        let mut cluster = Self { program, directory, shape, addresses, running };
        (0..shape.replicas).try_for_each(|number| cluster.restart(number))?;
        Ok(cluster)
    }

    fn directory(&self, number: usize) -> PathBuf {
        self.directory.join(number.to_string())
    }

    /// Starts one that does not run.
    pub fn restart(&mut self, number: usize) -> std::io::Result<()> {
        let Shape { body, term, patience, transport, engine, threads, .. } = self.shape;
        let addresses: Vec<_> = self.addresses.iter().map(SocketAddr::to_string).collect();
        let directory = self.directory(number);
        std::fs::create_dir_all(&directory)?;
        let errors = File::options().create(true).append(true).open(directory.join("stderr"))?;
        let child = Command::new(&self.program)
            .args(["replica", "--number", &number.to_string(), "--addresses", &addresses.join(",")])
            .args(["--body", &body.to_string(), "--term", &term.to_string(), "--patience", &patience.to_string()])
            .args(["--transport", &transport.to_string(), "--engine", &engine.to_string()])
            .args(["--threads", &threads.to_string()])
            .arg("--directory")
            .arg(&directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()?;
        self.running[number] = Some(child);
        Ok(())
    }

    /// Ends one with SIGKILL.
    pub fn kill(&mut self, number: usize) {
        if let Some(mut child) = self.running[number].take() {
            // It may have ended on its own, which a look at its log tells.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops one where it is, or lets it go on.
    pub fn signal(&self, number: usize, signal: Signal) {
        if let Some(child) = &self.running[number] {
            kill_process(Pid::from_child(child), signal).expect("the replica runs");
        }
    }

    /// What a replica wrote down.
    pub fn lines(&self, number: usize) -> Vec<Line> {
        Line::read_all(&self.directory(number))
    }

    /// The height up to which a replica has what is final.
    pub fn height(&self, number: usize) -> u64 {
        self.lines(number).last().map_or(0, |line| line.height)
    }

    /// Waits until all that run have so much.
    ///
    /// # Panics
    /// Where it takes longer than `limit`.
    pub fn reach(&self, height: u64, limit: Duration) {
        let running = (0..self.running.len()).filter(|&number| self.running[number].is_some());
        running.for_each(|number| self.reach_at(number, height, limit));
    }

    /// Waits until one has so much.
    ///
    /// # Panics
    /// Where it takes longer than `limit`.
    pub fn reach_at(&self, number: usize, height: u64, limit: Duration) {
        let since = Instant::now();
        while self.height(number) < height {
            let found = self.height(number);
            if since.elapsed() > limit {
                let errors = std::fs::read_to_string(self.directory(number).join("stderr")).unwrap_or_default();
                let last: Vec<_> = errors.lines().rev().take(5).collect();
                panic!("replica {number} is at {found} and not at {height}: {last:#?}");
            }
            sleep(Duration::from_millis(20));
        }
    }

    /// Checks that no two replicas have different blocks of a height, and no replica two; gives the highest.
    pub fn agree(&self) -> u64 {
        let mut known: BTreeMap<u64, String> = BTreeMap::new();
        for number in 0..self.running.len() {
            for line in self.lines(number) {
                let first = known.entry(line.height).or_insert_with(|| line.hash.clone());
                assert_eq!(*first, line.hash, "replica {number} has another block {}", line.height);
            }
        }
        known.last_key_value().map_or(0, |(height, _)| *height)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (0..self.running.len()).for_each(|number| self.kill(number));
    }
}
