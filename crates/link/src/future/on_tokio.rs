//! A driver's event loop on tokio: the reactor reports events, and a worker thread handles them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use tokio::{
    io::{Interest, unix::AsyncFd},
    task::yield_now,
    time::timeout_at,
};

use super::{EventLoop, NextTurn};

impl EventLoop {
    /// Turns as a task on a tokio runtime with I/O and time enabled, until driver, halves and servers are gone.
    ///
    /// # Errors
    ///
    /// The operating system's error if it refuses to watch another descriptor.
    pub async fn run_on_tokio(mut self) -> io::Result<()> {
        let descriptor = watched(self.as_fd().try_clone_to_owned()?)?;
        loop {
            match self.turn() {
                NextTurn::Now => yield_now().await,
                NextTurn::Readable { until } => {
                    // Clear before the turn: events during the turn make it readable again.
                    let readable = async { descriptor.readable().await.map(|mut guard| guard.clear_ready()) };
                    match until {
                        None => readable.await?,
                        // A passed deadline is a reason to turn as well.
                        Some(until) => timeout_at(until.into(), readable).await.unwrap_or(Ok(()))?,
                    }
                }
                NextTurn::Over => return Ok(()),
            }
        }
    }
}

fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` keeps the same open descriptor until it is dropped, which the `AsyncFd` that owns it does
    // last.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }?)
}
