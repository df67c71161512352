//! What all connections share: the store, the settings, the counts.

use std::sync::{
    Mutex, PoisonError,
    atomic::{
        AtomicBool, AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use nic::Waker;

use crate::{clock::Seconds, store::Store, tls::Tls};

/// What `version` tells: memcached's version whose protocol this is, since clients look at it to know what they may send.
pub const VERSION: &str = "1.6.18-turnpike";

/// What requests may do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether `flush_all` is allowed.
    pub flush: bool,
    /// Whether `shutdown` is allowed.
    pub shutdown: bool,
    /// Whether the keys may be listed.
    pub dump: bool,
    /// Protocols that connections may speak.
    pub protocol: Allowed,
    /// Bytes that are held for all connections together: half requests, unsent replies, and copies of values that
    /// changed while they were sent. One prefix gets half of it.
    pub buffered: usize,
    /// Connections at once.
    pub connections: usize,
    /// What `stats settings` tells besides.
    pub told: Vec<(&'static str, String)>,
}

/// Protocols that connections may speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allowed {
    /// Each what its first byte says.
    #[default]
    Any,
    /// Text.
    Ascii,
    /// Binary.
    Binary,
}

impl Allowed {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Any, Self::Ascii, Self::Binary];

    /// Its name (memcached's).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "auto",
            Self::Ascii => "ascii",
            Self::Binary => "binary",
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            flush: true,
            shutdown: false,
            dump: true,
            protocol: Allowed::Any,
            buffered: 128 << 20,
            connections: 1024,
            told: Vec::new(),
        }
    }
}

/// Counts of what is not about items.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the names are those of memcached's stats")]
pub struct Counts {
    pub curr_connections: AtomicU64,
    pub total_connections: AtomicU64,
    pub rejected_connections: AtomicU64,
    pub idle_kicks: AtomicU64,
    /// Connections that were closed as they held too much memory.
    pub memory_kicks: AtomicU64,
    /// Connections that were closed as a request or a handshake took too long.
    pub slow_kicks: AtomicU64,
    pub cmd_flush: AtomicU64,
    pub bytes_read: AtomicU64,
    pub bytes_written: AtomicU64,
    pub conn_yields: AtomicU64,
}

/// What all connections share.
#[derive(Debug)]
pub struct Service {
    /// The items.
    pub store: Store,
    /// What requests may do.
    pub settings: Settings,
    /// Counts.
    pub counts: Counts,
    tls: Option<Tls>,
    /// Most connections at once: `settings.connections` until it is reloaded.
    connection_limit: AtomicUsize,
    stopping: AtomicBool,
    /// Of the threads that are to notice.
    wakers: Mutex<Vec<Waker>>,
}

impl Service {
    /// A service over a store.
    pub fn new(store: Store, settings: Settings) -> Self {
        store.copies().set_limit(settings.buffered / 2);
        Self {
            store,
            connection_limit: AtomicUsize::new(settings.connections),
            settings,
            counts: Counts::default(),
            tls: None,
            stopping: AtomicBool::new(false),
            wakers: Mutex::default(),
        }
    }

    /// Has TLS spoken on TCP.
    pub fn secured(self, tls: Tls) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// TLS, where it is spoken.
    pub fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// Most connections at once.
    pub fn connection_limit(&self) -> usize {
        self.connection_limit.load(Relaxed)
    }

    /// Changes that limit. Connections that are open stay open.
    pub fn set_connection_limit(&self, connections: usize) {
        self.connection_limit.store(connections, Relaxed);
    }

    /// Flushes all items, at the moment of an expiry time. Gives false if that is not allowed.
    pub(crate) fn flush(&self, delay: i64, now: Seconds) -> bool {
        self.counts.cmd_flush.fetch_add(1, Relaxed);
        if !self.settings.flush {
            return false;
        }
        let at = if delay > 0 { self.store.clock().expiry(delay, now) } else { now };
        self.store.flush(at, now);
        true
    }

    /// Sets the counts to 0 that tell what happened, not what there is.
    pub(crate) fn reset_counts(&self) {
        self.store.reset_counters();
        let counts = &self.counts;
        for count in [
            &counts.total_connections,
            &counts.rejected_connections,
            &counts.idle_kicks,
            &counts.memory_kicks,
            &counts.slow_kicks,
            &counts.cmd_flush,
            &counts.bytes_read,
            &counts.bytes_written,
            &counts.conn_yields,
        ] {
            count.store(0, Relaxed);
        }
    }

    /// Asks for the service to end: what has arrived is answered first.
    pub fn stop(&self) {
        self.stopping.store(true, Release);
        if let Some(ahead) = self.store.ahead() {
            ahead.stop();
        }
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Waker::wake);
    }

    /// Has a thread woken when the service is to end.
    pub(crate) fn wake_to_stop(&self, waker: Waker) {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// Whether it is to end.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Acquire)
    }
}
