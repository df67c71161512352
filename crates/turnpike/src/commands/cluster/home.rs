//! The folder of a replica, and the process that runs it.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use node::Config;
use rustix::process::Pid;
use storage::DataDirectory;

use super::PATIENCE;
use crate::error::Error;

/// A replica's folder.
pub struct Home {
    pub number: usize,
    pub folder: PathBuf,
}

impl Home {
    pub fn new(dir: &Path, number: usize) -> Self {
        Self { number, folder: dir.join(format!("replica-{number}")) }
    }

    /// All replicas of a directory, by number.
    pub fn all(dir: &Path) -> Result<Vec<Self>, Error> {
        let found = fs::read_dir(dir).map_err(|error| Error::file("read", dir, error))?;
        let number = |name: &str| name.strip_prefix("replica-")?.parse().ok();
        let numbers = found.filter_map(|entry| number(entry.ok()?.file_name().to_str()?));
        let mut numbers: Vec<usize> = numbers.collect();
        numbers.sort_unstable();
        let homes: Vec<_> = numbers.into_iter().map(|number| Self::new(dir, number)).collect();
        if homes.is_empty() {
            let text = format!("{} has no replicas: create them with `turnpike cluster init`", dir.display());
            return Err(Error::Input(text));
        }
        Ok(homes)
    }

    pub fn config_file(&self) -> PathBuf {
        self.folder.join("turnpike.toml")
    }

    pub fn config(&self) -> Result<Config, Error> {
        Config::load(&self.config_file()).map_err(Error::other)
    }

    /// The process that runs it: the recorded one, if it is still the one that was started.
    pub fn process(&self) -> Option<Pid> {
        let text = fs::read_to_string(self.folder.join("pid")).ok()?;
        if text.is_empty() {
            return self.unrecorded_process();
        }
        let pid = Pid::from_raw(text.trim().parse().ok()?)?;
        let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).ok()?;
        (self.is_named(&line) || (line.is_empty() && is_ending(pid)?)).then_some(pid)
    }

    /// Whether a command line, with a zero after each word, names the configuration.
    fn is_named(&self, line: &[u8]) -> bool {
        let file = self.config_file();
        line.split(|&byte| byte == 0).any(|word| word == file.as_os_str().as_encoded_bytes())
    }

    /// The process that a command started that was killed before it recorded the process id.
    fn unrecorded_process(&self) -> Option<Pid> {
        let entries = fs::read_dir("/proc").ok()?;
        let mut pids = entries.filter_map(|entry| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?));
        pids.find(|pid| {
            let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
            line.split(|&byte| byte == 0).nth(1) == Some(b"serve") && self.is_named(&line)
        })
    }

    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Whether a process holds its data: one that runs, or one that was killed and has not fully exited.
    pub fn is_held(&self) -> Result<bool, Error> {
        DataDirectory::is_held(self.config()?.data).map_err(Error::other)
    }

    /// Starts a process, unless there is one, or one holds the data, or another command is starting one.
    pub fn start(&self) -> Result<Option<Started>, Error> {
        let path = self.folder.join("pid");
        let file = |error| Error::file("write", &path, error);
        let mut pid = File::options().create(true).truncate(false).write(true).open(&path).map_err(file)?;
        if pid.try_lock().is_err() || self.process().is_some() || self.is_held()? {
            return Ok(None);
        }
        // Empty until the process is recorded: that of an earlier one would hide it if this command is killed.
        pid.set_len(0).map_err(file)?;
        let child = self.spawn()?;
        writeln!(pid, "{}", child.id()).map_err(file)?;
        Ok(Some(Started { child, _lock: pid }))
    }

    fn spawn(&self) -> Result<Child, Error> {
        let path = self.log();
        let file = |error| Error::file("write", &path, error);
        let log = File::options().create(true).append(true).open(&path).map_err(file)?;
        let program = std::env::current_exe().map_err(|error| Error::file("find", Path::new("turnpike"), error))?;
        let child = Command::new(program)
            .arg("serve")
            .arg("--config")
            .arg(self.config_file())
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(file)?)
            .stderr(log)
            // Signals from the terminal's keyboard are not for it.
            .process_group(0)
            .spawn();
        child.map_err(|error| Error::Failed(format!("replica {} does not start: {error}", self.number)))
    }

    /// The error of a replica that did not finish a step in time.
    pub fn overdue(&self, what: &str) -> Result<(), Error> {
        let why = match self.process() {
            Some(pid) => format!("process {} is working on it: see {}", pid.as_raw_nonzero(), self.log().display()),
            None => {
                let lock = self.config()?.data.join("LOCK");
                format!("another process, or one that has not exited, holds its data: see `fuser {}`", lock.display())
            }
        };
        Err(Error::Failed(format!("replica {} does not {what} within {PATIENCE:?}; {why}", self.number)))
    }
}

/// Whether a process was killed and still has files and sockets: the kernel frees its memory first, and with it its
/// command line.
fn is_ending(pid: Pid) -> Option<bool> {
    /// Flag of a task: it is exiting (Linux, include/linux/sched.h).
    const EXITING: u64 = 4;
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // After the name, which may contain anything, the state comes first (proc_pid_stat(5)).
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let (state, flags, threads) = (*fields.first()?, fields.get(6)?, fields.get(17)?);
    // The last thread to end closes the files; the first one is a zombie until then.
    let has_ended = matches!(state, "Z" | "X") && threads.parse::<u32>().ok()? <= 1;
    Some(flags.parse::<u64>().ok()? & EXITING != 0 && !has_ended)
}

/// A process that this command started.
pub struct Started {
    pub child: Child,
    /// Lock of the file with its process id: no other command starts one meanwhile. Its command line, which identifies
    /// it, is not visible from the first moment on.
    _lock: File,
}
