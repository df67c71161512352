//! Descriptor events: the `epoll` of selectors, drivers and server channels.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use rustix::{
    event::{Timespec, epoll},
    io::Errno,
};

use crate::error::{Error, Tried};

/// Maximum number of events per system call.
const EVENTS: usize = 256;

/// The peer is gone, or will send nothing more.
const OVER: epoll::EventFlags = epoll::EventFlags::RDHUP.union(epoll::EventFlags::HUP).union(epoll::EventFlags::ERR);

/// All events, edge-triggered.
const EDGES: epoll::EventFlags =
    epoll::EventFlags::IN.union(epoll::EventFlags::OUT).union(epoll::EventFlags::RDHUP).union(epoll::EventFlags::ET);

/// Longer than any machine runs.
const LONGEST: Timespec = Timespec { tv_sec: i32::MAX as i64, tv_nsec: 0 };

/// Watched descriptors, each with a token of the watcher.
#[derive(Debug)]
pub(crate) struct Events(OwnedFd);

impl Events {
    pub(crate) fn new() -> Result<Self, Error> {
        epoll::create(epoll::CreateFlags::CLOEXEC).tried("make an epoll; raise `ulimit -n`").map(Self)
    }

    /// Watches for edges. Those from before may go unreported.
    pub(crate) fn watch(&self, descriptor: BorrowedFd<'_>, token: u64) -> Result<(), Error> {
        self.add(descriptor, token, EDGES)
    }

    /// Watches for bytes, and signals as long as there are some.
    pub(crate) fn watch_level(&self, descriptor: BorrowedFd<'_>, token: u64) -> Result<(), Error> {
        self.add(descriptor, token, epoll::EventFlags::IN)
    }

    fn add(&self, descriptor: BorrowedFd<'_>, token: u64, flags: epoll::EventFlags) -> Result<(), Error> {
        epoll::add(&self.0, descriptor, epoll::EventData::new_u64(token), flags)
            .tried("watch a descriptor; raise fs.epoll.max_user_watches")
    }

    pub(crate) fn forget(&self, descriptor: BorrowedFd<'_>) -> Result<(), Error> {
        epoll::delete(&self.0, descriptor).tried("stop to watch a descriptor")
    }

    /// Waits for events, forever without a timeout, and reports each token with an event and whether its peer may be
    /// gone. Returns whether those were all events.
    pub(crate) fn wait(&self, timeout: Option<Duration>, mut happened: impl FnMut(u64, bool)) -> Result<bool, Error> {
        let timeout = timeout.map(|timeout| Timespec::try_from(timeout).unwrap_or(LONGEST));
        let nothing = epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut events = [nothing; EVENTS];
        let count = match epoll::wait(&self.0, &mut events[..], timeout.as_ref()) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(errno) => return Err(errno).tried("wait for events"),
        };
        for event in &events[..count] {
            let flags = event.flags;
            happened(event.data.u64(), flags.intersects(OVER));
        }
        Ok(count < EVENTS)
    }
}

impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
