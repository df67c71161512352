//! Replicas as processes of their own.

use std::{
    error::Error,
    fmt,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use link::Address;
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::{genesis::REPLICAS, replica::Replica};

/// What carries messages between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Transport {
    /// TCP on loopback
    Tcp,
    /// Shared memory
    Shm,
}

impl Transport {
    /// An address that no other process has: the backend chooses it.
    pub fn any(self) -> Address {
        match self {
            Self::Tcp => Address::Tcp(([127, 0, 0, 1], 0).into()),
            Self::Shm => Address::Shm(String::new()),
        }
    }
}

/// Options of a replica.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// The replica's number
    #[arg(long)]
    pub number: u8,
    /// Number of accounts in the genesis
    #[arg(long)]
    pub accounts: u32,
    /// Directory of the lock journal
    #[arg(long)]
    pub directory: PathBuf,
    /// Transport
    #[arg(long)]
    pub transport: Transport,
}

/// What a replica reports at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Orders that it applied.
    pub applied: u64,
    /// The sum of all balances.
    pub total: i128,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.applied, self.total)
    }
}

impl FromStr for Report {
    type Err = Box<dyn Error>;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (applied, total) = text.trim().split_once(' ').ok_or("a report has two numbers")?;
        Ok(Self { applied: applied.parse()?, total: total.parse()? })
    }
}

/// Runs a replica in this process. It prints its address, reads those of all replicas in a line, and ends with its
/// standard input; then it prints its [`Report`].
pub fn replica(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let Arguments { number, accounts, directory, transport } = arguments;
    let mut replica = Replica::open(*number, *accounts, directory, &transport.any())?;
    println!("{}", replica.address());
    let mut addresses = String::new();
    std::io::stdin().read_line(&mut addresses)?;
    let addresses = addresses.split_whitespace().map(str::parse).collect::<Result<Vec<Address>, _>>()?;
    let (is_over, waker) = (Arc::new(AtomicBool::new(false)), replica.waker());
    let stop = Arc::clone(&is_over);
    thread::spawn(move || {
        // It ends where the process that holds the other end does.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        stop.store(true, Relaxed);
        waker.wake();
    });
    replica.run(&addresses, &is_over)?;
    println!("{}", Report { applied: replica.state().applied(), total: replica.state().total() });
    Ok(())
}

/// Four replicas. They end with this.
#[derive(Debug)]
pub struct Cluster {
    replicas: Vec<(Child, ChildStdin, BufReader<ChildStdout>)>,
    addresses: Vec<Address>,
}

impl Cluster {
    /// Starts four replicas of `program`, each with a directory of its own in `directory`.
    pub fn start(
        program: &Path,
        directory: &Path,
        accounts: u32,
        transport: Transport,
    ) -> Result<Self, Box<dyn Error>> {
        let mut cluster = Self { replicas: Vec::new(), addresses: Vec::new() };
        for number in 0..REPLICAS {
            let directory = directory.join(number.to_string());
            std::fs::create_dir_all(&directory)?;
            let transport = match transport {
                Transport::Tcp => "tcp",
                Transport::Shm => "shm",
            };
            let mut child = Command::new(program)
                .args(["replica", "--number", &number.to_string(), "--accounts", &accounts.to_string()])
                .args(["--transport", transport, "--directory"])
                .arg(&directory)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let pipes = child.stdin.take().zip(child.stdout.take());
            let (input, output) = pipes.ok_or("a child has pipes")?;
            cluster.replicas.push((child, input, BufReader::new(output)));
        }
        for (_, _, output) in &mut cluster.replicas {
            let mut address = String::new();
            output.read_line(&mut address)?;
            cluster.addresses.push(address.trim().parse()?);
        }
        let line = Vec::from_iter(cluster.addresses.iter().map(Address::to_string)).join(" ") + "\n";
        cluster.replicas.iter_mut().try_for_each(|(_, input, _)| input.write_all(line.as_bytes()))?;
        Ok(cluster)
    }

    /// The addresses of the replicas, by number.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Kills a replica.
    pub fn kill(&mut self, number: usize) -> std::io::Result<()> {
        let (child, ..) = &mut self.replicas[number];
        child.kill()?;
        child.wait().map(drop)
    }

    /// Stops all replicas. Returns the reports of those that run.
    pub fn stop(mut self) -> Result<Vec<Report>, Box<dyn Error>> {
        let mut reports = Vec::new();
        for (mut child, input, mut output) in self.replicas.drain(..) {
            drop(input);
            let mut line = String::new();
            output.read_line(&mut line)?;
            child.wait()?;
            if !line.is_empty() {
                reports.push(line.parse()?);
            }
        }
        Ok(reports)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (child, ..) in &mut self.replicas {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
