//! Waits for several sockets, or for a device.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use net::Waker;

/// Maximum number of sockets to wait for: those of an interface's queues, and the host's.
const MOST_SOURCES: usize = xdp::QUEUES as usize + 1;

/// The sockets of a backend, and how to wait for them.
pub struct Wait {
    /// The sockets that datagrams arrive on.
    pub sockets: Vec<Arc<OwnedFd>>,
    /// Ends a wait.
    pub waker: Waker,
    /// How long to retry before the thread sleeps.
    pub spin: Duration,
}

impl Wait {
    /// Returns the same wait with more sockets.
    pub fn also(&self, more: impl Iterator<Item = Arc<OwnedFd>>) -> Self {
        let Self { sockets, waker, spin } = self;
        Self { sockets: sockets.iter().cloned().chain(more).collect(), waker: waker.clone(), spin: *spin }
    }

    /// Calls `receive` until it returns true or fails. If nothing arrives before the waker is used or `timeout` passes,
    /// it is called one last time.
    pub fn until(&self, timeout: Duration, mut receive: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
        if receive()? {
            return Ok(());
        }
        if !self.spin.is_zero() && !timeout.is_zero() {
            let start = Instant::now();
            while start.elapsed() < self.spin {
                if self.waker.is_raised() {
                    self.waker.clear();
                    return Ok(());
                }
                if receive()? {
                    return Ok(());
                }
            }
        }
        wait_for(&self.sockets, &self.waker, timeout)?;
        receive()?;
        Ok(())
    }
}

/// Sleeps until a source is readable, the waker is used or the timeout passes. Allocates nothing, because a thread may
/// call this for each datagram.
///
/// # Panics
///
/// If there are more than [`MOST_SOURCES`].
pub fn wait_for<F: AsFd>(sources: &[F], waker: &Waker, timeout: Duration) -> io::Result<()> {
    let mut ready: [PollFd<'_>; 1 + MOST_SOURCES] = std::array::from_fn(|at| match at.checked_sub(1) {
        Some(at) if at < sources.len() => PollFd::new(&sources[at], PollFlags::IN),
        _ => PollFd::new(waker, PollFlags::IN),
    });
    let ready = &mut ready[..=sources.len()];
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    match poll(ready, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    if !ready[0].revents().is_empty() {
        waker.clear();
    }
    Ok(())
}
