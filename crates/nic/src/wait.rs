//! Waiting for what may come on several sockets, or on a device.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::backend::Waker;

/// What a backend waits for.
pub struct Wait {
    /// The sockets that datagrams come from.
    pub sockets: Vec<Arc<OwnedFd>>,
    /// Ends a wait.
    pub waker: Waker,
    /// Try again for so long before the thread sleeps.
    pub spin: Duration,
}

impl Wait {
    /// The same for more sockets.
    pub fn also(&self, more: impl Iterator<Item = Arc<OwnedFd>>) -> Self {
        let Self { sockets, waker, spin } = self;
        Self { sockets: sockets.iter().cloned().chain(more).collect(), waker: waker.clone(), spin: *spin }
    }

    /// Calls `receive` until it tells that something came, or fails. If nothing comes, the waker is used or `timeout` is over, it is
    /// called one last time.
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

/// Sleeps until one of them has something to read, the waker is used or the time is over.
pub fn wait_for<F: AsFd>(sources: &[F], waker: &Waker, timeout: Duration) -> io::Result<()> {
    let mut ready = vec![PollFd::new(waker, PollFlags::IN)];
    ready.extend(sources.iter().map(|source| PollFd::new(source, PollFlags::IN)));
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    match poll(&mut ready, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    if !ready[0].revents().is_empty() {
        waker.clear();
    }
    Ok(())
}
