//! The threads that answer pages that must be read from disk.

use std::{
    collections::VecDeque,
    net::IpAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use net::Waker;

use super::{
    reply::{Encoded, Reply},
    request::{Method, Request},
    site::{Get, Site},
};
use crate::{
    Error,
    threads::{join, spawn},
};

/// Maximum size of unread replies in bytes: above it, readers wait until clients have read some. A reply that is being
/// built is not counted.
pub const HELD: usize = 256 << 20;

/// A request of a connection, for a thread that may wait for the disk.
pub struct ReadRequest {
    /// The connection's number.
    pub number: u64,
    /// The client's address.
    pub from: IpAddr,
    /// The request.
    pub request: Request,
}

impl ReadRequest {
    /// What the site is asked.
    pub fn get(&self) -> Get<'_> {
        let target = self.request.target.as_str();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Request { method, fields, posted, .. } = &self.request;
        let is_preflight = *method == Method::Options;
        Get { path, query, posted: posted.as_deref(), is_preflight, fields, from: self.from }
    }

    /// The encoded reply of the site.
    pub fn answer(&self, site: &impl Site) -> Encoded {
        let get = self.get();
        let takes_posts = site.takes_posts(get.path);
        let allow = if takes_posts { "GET, HEAD, POST" } else { "GET, HEAD" };
        let refused = |text: &str| Reply::text(text).with_status("405 Method Not Allowed").with_header("Allow", allow);
        let reply = if get.is_preflight {
            site.preflight(&get).unwrap_or_else(|| refused("no other origin is allowed here\n"))
        } else if get.posted.is_none() || takes_posts {
            site.answer(&get)
        } else {
            refused("there is nothing to POST here\n")
        };
        self.encode(reply)
    }

    fn encode(&self, reply: Reply) -> Encoded {
        let request = &self.request;
        if request.is_message { reply.into_message() } else { reply.encode(request.with_body(), request.is_last) }
    }
}

/// The threads, which end when this is dropped.
pub struct Readers {
    queue: Arc<ReadQueue>,
    threads: Vec<JoinHandle<()>>,
}

/// The queues of requests and replies.
struct ReadQueue {
    state: Mutex<Backlog>,
    /// There may be something for a thread to do.
    changed: Condvar,
    /// Wakes the connections' thread when there are replies.
    waker: Waker,
}

#[derive(Default)]
struct Backlog {
    /// At most one per connection.
    requests: VecDeque<ReadRequest>,
    replies: Vec<(u64, Encoded)>,
    /// Bytes of these, and of what clients take.
    held: usize,
    is_closed: bool,
}

impl ReadQueue {
    fn state(&self) -> MutexGuard<'_, Backlog> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, site: &impl Site) {
        let mut state = self.state();
        while !state.is_closed {
            let read = if state.held < HELD { state.requests.pop_front() } else { None };
            let Some(read) = read else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            // The panic itself is reported by the panic hook.
            let reply = catch_unwind(AssertUnwindSafe(|| read.answer(site))).unwrap_or_else(|_| {
                let failed = Reply::text("the request failed: see the node's log\n");
                read.encode(failed.with_status("500 Internal Server Error"))
            });
            state = self.state();
            state.held += reply.bytes.len();
            state.replies.push((read.number, reply));
            self.waker.wake();
        }
    }
}

impl Readers {
    /// Starts the threads: one per processor, and at least two, since they wait for the disk.
    pub fn start<S: Site>(site: &Arc<S>) -> Result<Self, Error> {
        let waker = Waker::new().map_err(|source| Error::System { what: "an event", source })?;
        let queue = Arc::new(ReadQueue { state: Mutex::default(), changed: Condvar::new(), waker });
        // Dropping it, should a thread fail to start, ends those that did.
        let mut readers = Self { queue, threads: Vec::new() };
        for number in 0..thread::available_parallelism().map_or(2, usize::from).clamp(2, 8) {
            let (queue, site) = (Arc::clone(&readers.queue), Arc::clone(site));
            readers.threads.push(spawn(&format!("http-read-{number}"), None, move || {
                // Reading is many times the work of a transfer, and may wait for it.
                net::yield_to_others();
                queue.read(&*site);
            })?);
        }
        Ok(readers)
    }

    /// The descriptor that is readable when there are replies.
    pub fn waker(&self) -> &Waker {
        &self.queue.waker
    }

    /// Has a request answered.
    pub fn ask(&self, request: ReadRequest) {
        self.queue.state().requests.push_back(request);
        self.queue.changed.notify_one();
    }

    /// Drops the request of a closed connection.
    pub fn forget(&self, number: u64) {
        self.queue.state().requests.retain(|request| request.number != number);
    }

    /// The replies that were made, by the numbers of their connections.
    pub fn take(&self) -> Vec<(u64, Encoded)> {
        // In this order one that is made meanwhile leaves the waker readable.
        self.queue.waker.clear();
        std::mem::take(&mut self.queue.state().replies)
    }

    /// Sets the bytes of replies that were taken from here but not yet read by clients.
    pub fn set_held(&self, bytes: usize) {
        let mut state = self.queue.state();
        state.held = bytes + state.replies.iter().map(|(_, reply)| reply.bytes.len()).sum::<usize>();
        if state.held < HELD && !state.requests.is_empty() {
            self.queue.changed.notify_all();
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.queue.state().is_closed = true;
        self.queue.changed.notify_all();
        self.threads.drain(..).for_each(join);
    }
}
