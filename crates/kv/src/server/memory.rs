//! Memory that is held for clients: a bound over all connections and by prefix.
//!
//! - On a change of what a connection holds: count it in steps of 16 KiB, and nothing up to 4 KiB. If it has grown,
//!   make room.
//! - To make room: while the prefix of the connection holds more than half of the limit, take the worst connection of
//!   the prefix; while all hold more than the limit, together with copies of values in the store, the worst of all. The
//!   worst has the largest product of bytes and seconds since it last completed a request or read all replies.
//! - The worst connection is no longer counted, and its worker makes it refuse its incomplete request or closes it. If
//!   it is the one that asks, it does so itself, and is counted until it has let go.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use net::Prefix;

use super::worker::Inbox;
use crate::{clock::Seconds, service::Service};

/// Bytes of a connection that are not counted. `-c` bounds them, and nearly all requests need no more.
pub(super) const FREE: usize = 4096;

/// Bytes are counted in steps, so that most changes need no lock.
const STEP: usize = 16 << 10;

/// Seconds between two warnings.
const WARNINGS: Seconds = 10;

/// A client's prefix; none of a socket in the file system.
type Source = Option<Prefix>;

/// A connection that holds memory.
#[derive(Debug)]
struct Holder {
    source: Source,
    bytes: usize,
    /// When it last completed a request, or read all replies.
    since: Seconds,
    /// The inbox of its worker, which releases the memory.
    inbox: Inbox,
    slot: usize,
}

#[derive(Debug, Default)]
struct Holders {
    /// Bytes of all connections, and of replies in datagrams.
    bytes: usize,
    by_source: HashMap<Source, usize>,
    /// By the connections' numbers.
    connections: HashMap<u64, Holder>,
    /// When a closed connection was last logged.
    warned: Seconds,
}

/// The memory that is held for all connections.
#[derive(Debug)]
pub(super) struct Memory {
    service: Arc<Service>,
    connections: AtomicU64,
    holders: Mutex<Holders>,
}

/// The memory that one connection holds.
#[derive(Debug)]
pub(super) struct Account {
    memory: Arc<Memory>,
    /// The connection's number.
    pub(super) connection: u64,
    source: Source,
    pub(super) inbox: Inbox,
    pub(super) slot: usize,
    bytes: usize,
    since: Seconds,
}

impl Memory {
    pub(super) fn new(service: &Arc<Service>) -> Arc<Self> {
        Arc::new(Self { service: Arc::clone(service), connections: AtomicU64::new(0), holders: Mutex::default() })
    }

    /// An account for a new connection, in a slot of the worker with an inbox.
    pub(super) fn open(self: &Arc<Self>, source: Source, inbox: Inbox, slot: usize) -> Account {
        let connection = self.connections.fetch_add(1, Relaxed);
        Account { memory: Arc::clone(self), connection, source, inbox, slot, bytes: 0, since: 0 }
    }

    /// Counts the replies in datagrams of a thread, which had `before` bytes. They are sent at once, so they are never
    /// the ones that are released.
    pub(super) fn count_datagrams(&self, before: usize, bytes: usize, now: Seconds) {
        let mut holders = self.holders();
        holders.bytes = holders.bytes + bytes - before;
        if bytes > before {
            self.make_room(&mut holders, None, now);
        }
    }

    fn holders(&self) -> MutexGuard<'_, Holders> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    /// Counts the bytes that the connection holds now. Returns false if there is no room: the connection must release
    /// them.
    #[inline]
    pub(super) fn set(&mut self, bytes: usize, progressed: bool, now: Seconds) -> bool {
        if bytes <= FREE && self.bytes == 0 {
            return true;
        }
        self.count(bytes, progressed, now)
    }

    fn count(&mut self, bytes: usize, progressed: bool, now: Seconds) -> bool {
        let bytes = if bytes <= FREE { 0 } else { bytes.next_multiple_of(STEP) };
        let since = if progressed || self.bytes == 0 { now } else { self.since };
        if (bytes, since) == (self.bytes, self.since) {
            return true;
        }
        let before = std::mem::replace(&mut self.bytes, bytes);
        self.since = since;
        let mut holders = self.memory.holders();
        holders.remove(self.connection);
        if bytes == 0 {
            return true;
        }
        let Self { source, slot, .. } = *self;
        holders.add(self.connection, Holder { source, bytes, since, inbox: self.inbox.clone(), slot });
        bytes <= before || self.memory.make_room(&mut holders, Some(self), now)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.memory.holders().remove(self.connection);
        }
    }
}

impl Memory {
    /// Makes the worst connections release their memory until all keep within the bounds. Returns false if the
    /// connection that asks, if any, is the worst itself.
    fn make_room(&self, holders: &mut Holders, asks: Option<&Account>, now: Seconds) -> bool {
        let limit = self.service.settings.buffered;
        loop {
            let of_source = |asks: &&Account| holders.by_source.get(&asks.source).copied().unwrap_or(0);
            let worst = if let Some(asks) = asks.filter(|asks| of_source(asks) > limit / 2) {
                holders.worst(now, |holder| holder.source == asks.source)
            } else if holders.bytes + self.service.store.copies().used() > limit {
                holders.worst(now, |_| true)
            } else {
                return true;
            };
            let Some(worst) = worst else { return true };
            let Some(holder) = holders.remove(worst) else { return true };
            if asks.is_some_and(|asks| worst == asks.connection) {
                // Counted on until it has let go.
                holders.add(worst, holder);
                return false;
            }
            if now >= holders.warned.saturating_add(WARNINGS) {
                holders.warned = now;
                tracing::warn!(
                    source = ?holder.source.map(|prefix| prefix.to_string()),
                    bytes = holder.bytes,
                    limit,
                    "requests exceed the memory limit: closing the connections that hold the most for the longest"
                );
            }
            holder.inbox.release_memory(holder.slot, worst);
        }
    }
}

impl Holders {
    fn add(&mut self, connection: u64, holder: Holder) {
        self.bytes += holder.bytes;
        *self.by_source.entry(holder.source).or_insert(0) += holder.bytes;
        self.connections.insert(connection, holder);
    }

    fn remove(&mut self, connection: u64) -> Option<Holder> {
        let holder = self.connections.remove(&connection)?;
        self.bytes -= holder.bytes;
        if let Some(bytes) = self.by_source.get_mut(&holder.source) {
            *bytes -= holder.bytes;
            if *bytes == 0 {
                self.by_source.remove(&holder.source);
            }
        }
        Some(holder)
    }

    /// The connection that holds the most, by bytes and the time without progress.
    fn worst(&self, now: Seconds, counts: impl Fn(&Holder) -> bool) -> Option<u64> {
        let cost = |holder: &Holder| holder.bytes as u64 * (u64::from(now.saturating_sub(holder.since)) + 1);
        let holders = self.connections.iter().filter(|(_, holder)| counts(holder));
        holders.max_by_key(|(connection, holder)| (cost(holder), **connection)).map(|(connection, _)| *connection)
    }
}
