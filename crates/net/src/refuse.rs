//! Refusing connections: clients above a limit, and clients for which no file descriptor is left.

use std::{
    fs::File,
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    net::{Shutdown, shutdown},
};

/// How often the same warning may be logged: often enough to be noticed, too seldom to fill a disk.
const QUIET: Duration = Duration::from_secs(10);

/// Bytes of a refused client's first requests read before its connection is closed.
const DISCARDED: usize = 4096;

/// Sends a client the reason for the refusal, without waiting. The caller closes the connection.
pub fn refuse(connection: impl AsFd, reason: &[u8]) {
    // The client may be gone or not reading; it is refused all the same.
    let _ = rustix::io::write(&connection, reason);
    let _ = shutdown(&connection, Shutdown::Write);
    // Closing a socket that has unread bytes resets the connection, and the client could lose the reason.
    let _ = rustix::io::read(&connection, &mut [0; DISCARDED]);
}

/// Advice for an address that cannot be listened on.
pub fn listen_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need CAP_NET_BIND_SERVICE (`AmbientCapabilities=` of systemd): add it, or choose a port above"
        }
        io::ErrorKind::AddrInUse => "stop the program that listens there, or choose another port",
        _ => "choose an address of this machine and a free port",
    }
}

/// Whether `accept` failed because this process, or the system, has no descriptor left.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// A descriptor held back, so that a client can be refused when no other descriptor is left. Without it, the client
/// would wait in the backlog until it gives up, and the listener would stay ready and keep its thread busy.
#[derive(Debug)]
pub(crate) struct SpareDescriptor(Option<File>);

impl SpareDescriptor {
    /// Opens the descriptor.
    pub(crate) fn new() -> io::Result<Self> {
        File::open("/dev/null").map(|file| Self(Some(file)))
    }

    /// Accepts one connection in place of the spare descriptor and passes it to `refuse`. Returns false if that failed:
    /// another thread may take the descriptor first.
    pub(crate) fn refuse<T>(&mut self, accept: impl FnOnce() -> io::Result<T>, refuse: impl FnOnce(T)) -> bool {
        self.0 = None;
        let accepted = accept();
        let is_refused = accepted.is_ok();
        if let Ok(connection) = accepted {
            refuse(connection);
        }
        self.0 = File::open("/dev/null").ok();
        is_refused
    }
}

/// Limits how often a warning is logged.
#[derive(Debug, Default)]
pub(crate) struct LogLimit {
    logged: Option<Instant>,
    suppressed: u64,
}

impl LogLimit {
    /// Whether the warning is due now. If so, returns how many were suppressed since the last one.
    pub(crate) fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.logged.is_some_and(|logged| now.saturating_duration_since(logged) < QUIET) {
            self.suppressed += 1;
            return None;
        }
        self.logged = Some(now);
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_logged_once_in_a_while() {
        let mut limit = LogLimit::default();
        let start = Instant::now();
        assert_eq!(limit.admit(start), Some(0));
        assert_eq!(limit.admit(start), None);
        assert_eq!(limit.admit(start + QUIET / 2), None);
        assert_eq!(limit.admit(start + QUIET), Some(2));
        assert_eq!(limit.admit(start + QUIET), None);
    }

    #[test]
    fn only_missing_descriptors_count_as_exhaustion() {
        assert!(is_exhausted(&Errno::MFILE.into()) && is_exhausted(&Errno::NFILE.into()));
        assert!(!is_exhausted(&Errno::AGAIN.into()) && !is_exhausted(&io::Error::other("no system call")));
    }
}
