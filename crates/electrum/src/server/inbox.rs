//! Messages from other threads to a worker.
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use net::Waker;

use crate::{service::Announcement, session::Session};

/// A connection of a worker, for example the destination of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its slot.
    pub number: usize,
    /// Distinguishes connections that had the same slot.
    pub connection: u64,
}

/// An answer, with the session of its question.
pub struct Answer {
    pub session: Session,
    pub reply: Vec<u8>,
    pub to: Asked,
}

/// A worker's inbox of changes, and of answers from the node.
#[derive(Clone)]
pub struct Inbox {
    announcements: Arc<Mutex<Vec<Arc<Announcement>>>>,
    answers: Arc<Mutex<Vec<Answer>>>,
    /// Connections to be closed.
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

    /// Closes a connection that holds more bytes than any other.
    pub fn evict(&self, connection: Asked) {
        lock(&self.evicted).push(connection);
        self.wake();
    }

    /// Takes the connections to be closed.
    pub fn take_evicted(&self) -> Vec<Asked> {
        std::mem::take(&mut *lock(&self.evicted))
    }

    pub fn wake(&self) {
        self.waker.wake();
    }

    /// Takes everything received.
    pub fn take(&self) -> (Vec<Answer>, Vec<Arc<Announcement>>) {
        // In this order a message that arrives meanwhile leaves the waker readable.
        self.waker.clear();
        let answers = std::mem::take(&mut *lock(&self.answers));
        let announcements = std::mem::take(&mut *lock(&self.announcements));
        (answers, announcements)
    }
}

impl AsFd for Inbox {
    /// Readable if there are messages.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}
