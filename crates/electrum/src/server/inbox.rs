//! What a worker is told by other threads.
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nic::Waker;

use crate::{service::Announcement, session::Session};

/// A connection of a worker: where an answer goes, for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The place of the connection.
    pub number: usize,
    /// Tells connections apart that had the same place.
    pub connection: u64,
}

/// An answer, with the session that the question came with.
pub struct Answer {
    pub session: Session,
    pub reply: Vec<u8>,
    pub to: Asked,
}

/// Where a worker is told of changes, and of answers to what its clients asked the node.
#[derive(Clone)]
pub struct Inbox {
    announcements: Arc<Mutex<Vec<Arc<Announcement>>>>,
    answers: Arc<Mutex<Vec<Answer>>>,
    /// Connections that are to be closed.
    evicted: Arc<Mutex<Vec<Asked>>>,
    waker: Waker,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inbox {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            announcements: Arc::default(),
            answers: Arc::default(),
            evicted: Arc::default(),
            waker: Waker::new()?,
        })
    }

    pub fn announce(&self, announcement: &Arc<Announcement>) {
        lock(&self.announcements).push(Arc::clone(announcement));
        self.wake();
    }

    pub fn answer(&self, answer: Answer) {
        lock(&self.answers).push(answer);
        self.wake();
    }

    /// Has a connection closed, as it holds more bytes than any other.
    pub fn evict(&self, connection: Asked) {
        lock(&self.evicted).push(connection);
        self.wake();
    }

    /// The connections that are to be closed.
    pub fn take_evicted(&self) -> Vec<Asked> {
        std::mem::take(&mut *lock(&self.evicted))
    }

    pub fn wake(&self) {
        self.waker.wake();
    }

    /// What has come since.
    pub fn take(&self) -> (Vec<Answer>, Vec<Arc<Announcement>>) {
        // In this order one that comes meanwhile leaves the waker readable.
        let _ = rustix::io::read(self.waker.as_fd(), &mut [0; 8]);
        let answers = std::mem::take(&mut *lock(&self.answers));
        let announcements = std::mem::take(&mut *lock(&self.announcements));
        (answers, announcements)
    }
}

impl AsFd for Inbox {
    /// Readable where something has come.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}
