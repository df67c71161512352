//! A driver's event loop on tokio: its reactor tells when there is something to look for, and a worker looks.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use tokio::{
    io::{Interest, unix::AsyncFd},
    task::yield_now,
    time::timeout_at,
};

use super::{EventLoop, Next};

impl EventLoop {
    /// Turns as a task of tokio, whose runtime has I/O and time, until driver, halves and servers are gone.
    ///
    /// # Errors
    ///
    /// What the system says where it watches no more descriptors.
    pub async fn run_on_tokio(mut self) -> io::Result<()> {
        let descriptor = watched(self.as_fd().try_clone_to_owned()?)?;
        loop {
            match self.turn() {
                Next::Now => yield_now().await,
                Next::Readable { until } => {
                    // Cleared before the turn: what happens during one makes it readable again.
                    let readable = async { descriptor.readable().await.map(|mut guard| guard.clear_ready()) };
                    match until {
                        None => readable.await?,
                        // Late is a reason to turn as well.
                        Some(until) => timeout_at(until.into(), readable).await.unwrap_or(Ok(()))?,
                    }
                }
                Next::Over => return Ok(()),
            }
        }
    }
}

fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` has the same open descriptor until it is dropped, which the `AsyncFd` that owns it does last.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }?)
}
