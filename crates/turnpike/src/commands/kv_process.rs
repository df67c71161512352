//! Process settings of memcached's options: another user, the background, a file with the process id, locked memory.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Gid, Resource, Rlimit, Uid, getrlimit, getuid, setrlimit, setsid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::cli::KvCompatibleArgs;
use crate::error::Error;

/// Set in the environment of the process that serves in the background.
const DETACHED: &str = "TURNPIKE_KV_DETACHED";

/// The list of this machine's users (passwd(5)).
const USERS: &str = "/etc/passwd";

/// The file with the process's id, which is removed at the end.
pub struct PidFile(PathBuf);

impl Drop for PidFile {
    fn drop(&mut self) {
        if fs::read_to_string(&self.0).is_ok_and(|text| text.trim() == std::process::id().to_string()) {
            let _ = fs::remove_file(&self.0);
        }
    }
}

/// Applies the options before any thread runs. Returns the file with the process id.
pub fn prepare(args: &KvCompatibleArgs) -> Result<Option<PidFile>, Error> {
    if is_detached() {
        setsid().map_err(|error| Error::Failed(format!("cannot detach from the terminal: {error}")))?;
    }
    if args.enable_coredumps {
        allow_core_dumps()?;
    }
    if let Some(name) = args.user.as_ref().filter(|_| getuid().is_root()) {
        become_user(name)?;
    }
    if args.lock_memory
        && let Err(error) = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)
    {
        tracing::warn!("cannot lock memory: {error}; raise the limit of locked memory (ulimit -l)");
    }
    for (option, reason) in args.without_effect() {
        tracing::info!("{option} has no effect: {reason}");
    }
    args.pidfile.as_deref().map(write_pid).transpose()
}

fn write_pid(path: &Path) -> Result<PidFile, Error> {
    fs::write(path, format!("{}\n", std::process::id()))
        .map_err(|error| Error::Input(format!("-P {}: cannot write the process id: {error}", path.display())))?;
    Ok(PidFile(path.to_owned()))
}

fn allow_core_dumps() -> Result<(), Error> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    setrlimit(Resource::Core, Rlimit { current: maximum, maximum })
        .map_err(|error| Error::Failed(format!("-r: cannot raise the limit of core dumps: {error}")))
}

/// Drops the rights of root for those of a user, also for later threads.
fn become_user(name: &str) -> Result<(), Error> {
    let users = fs::read_to_string(USERS).map_err(|error| Error::Failed(format!("cannot read {USERS}: {error}")))?;
    let unknown = || Error::Input(format!("-u {name}: {USERS} has no such user; create it, or start as that user"));
    let (uid, gid) = find_user(&users, name).ok_or_else(unknown)?;
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    let refused = |error| Error::Failed(format!("-u {name}: cannot become that user: {error}"));
    // In this order: each step needs rights that the next one drops.
    set_thread_groups(&[]).map_err(refused)?;
    set_thread_res_gid(gid, gid, gid).map_err(refused)?;
    set_thread_res_uid(uid, uid, uid).map_err(refused)
}

/// Numbers of a user and its group: of the third and fourth of a line's fields.
fn find_user(users: &str, name: &str) -> Option<(u32, u32)> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_it = fields.next() == Some(name);
        let (uid, gid) = (fields.nth(1)?, fields.next()?);
        is_it.then(|| Some((uid.parse().ok()?, gid.parse().ok()?)))?
    })
}

/// Whether this process was started by [`detach`].
pub fn is_detached() -> bool {
    std::env::var_os(DETACHED).is_some_and(|value| value == OsStr::new("1"))
}

/// Starts the same command in the background, and returns the line that it prints when it serves.
pub fn detach(verbose: bool) -> Result<String, Error> {
    let failed = |error: io::Error| Error::Failed(format!("-d: cannot start the store in the background: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(std::env::args_os().skip(1)).env(DETACHED, "1").stdin(Stdio::null()).stdout(Stdio::piped());
    // Its log ends with this process, which reports why a store does not start; with -v it continues.
    command.stderr(if verbose { Stdio::inherit() } else { Stdio::piped() });
    let mut child = command.spawn().map_err(failed)?;
    let log = child.stderr.take().map(|mut log| std::thread::spawn(move || io::copy(&mut log, &mut io::stderr())));
    let mut ready = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut ready).map_err(failed)?;
    }
    if !ready.is_empty() {
        return Ok(ready.trim_end().to_owned());
    }
    let status = child.wait().map_err(failed)?;
    // All of its messages precede the last one.
    let _ = log.map(std::thread::JoinHandle::join);
    Err(Error::Failed(format!("-d: the store did not start ({status}); its messages are above")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name() {
        let users = "root:x:0:0:root:/root:/bin/bash\nmemcache:x:101:102::/nonexistent:/bin/false\nbad:x:y:1::/:\n";
        assert_eq!(find_user(users, "memcache"), Some((101, 102)));
        assert_eq!(find_user(users, "root"), Some((0, 0)));
        for name in ["bad", "mem", ""] {
            assert_eq!(find_user(users, name), None, "{name}");
        }
    }
}
