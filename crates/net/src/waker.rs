//! Ends a thread's wait from another thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

/// Ends a thread's wait from another thread: wait until its descriptor is readable.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Signal>);

#[derive(Debug)]
struct Signal {
    event: OwnedFd,
    /// The same for a thread that spins: reading it costs nothing.
    raised: AtomicBool,
}

impl Waker {
    /// A waker that nothing waits for yet.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self(Arc::new(Signal { event, raised: AtomicBool::new(false) })))
    }

    /// Wakes the thread, now or as soon as it would wait.
    pub fn wake(&self) {
        self.0.raised.store(true, Ordering::Release);
        // Writing only fails for a counter near 2^64, and then the thread is woken already.
        let _ = rustix::io::write(&self.0.event, &1u64.to_ne_bytes());
    }

    /// Whether it was used.
    pub fn is_raised(&self) -> bool {
        self.0.raised.load(Ordering::Acquire)
    }

    /// Resets it. In this order, a use meanwhile is not lost: it leaves the event readable.
    pub fn clear(&self) {
        self.0.raised.store(false, Ordering::Release);
        let _ = rustix::io::read(&self.0.event, &mut [0u8; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}
