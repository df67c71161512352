//! State shared by all connections: the store, the settings, the counts.

use std::sync::{
    Mutex, OnceLock, PoisonError,
    atomic::{
        AtomicBool, AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use net::{Waker, tls::Tls};

use crate::{
    clock::Seconds,
    host::{Access, NicHost, Position},
    store::Store,
    users::Users,
};

/// The reply to `version`: the version of memcached whose protocol this is. Clients compare it to choose commands, and
/// treat anything after the numbers as a pre-release.
pub const VERSION: &str = "1.6.27";

/// The permissions of requests.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether `flush_all` is allowed.
    pub flush: bool,
    /// Whether `shutdown` is allowed.
    pub shutdown: bool,
    /// Whether the keys may be listed.
    pub dump: bool,
    /// Whether connections may watch events.
    pub watch: bool,
    /// Protocols that connections may speak.
    pub protocol: Allowed,
    /// Bytes that are held for all connections together: half requests, unsent replies, and copies of values that
    /// changed while they were sent. One prefix gets half of it.
    pub buffered: usize,
    /// Maximum number of connections.
    pub connections: usize,
    /// Further lines of `stats settings`.
    pub told: Vec<(&'static str, String)>,
}

/// Protocols that connections may speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allowed {
    /// The protocol that the first byte of a connection selects.
    #[default]
    Any,
    /// The text protocol.
    Ascii,
    /// The binary protocol.
    Binary,
}

impl Allowed {
    /// All choices of protocols.
    pub const ALL: [Self; 3] = [Self::Any, Self::Ascii, Self::Binary];

    /// Returns the name, which is memcached's.
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
            watch: true,
            protocol: Allowed::Any,
            buffered: 128 << 20,
            connections: 1024,
            told: Vec::new(),
        }
    }
}

/// Counts that do not concern items.
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
    /// Connections that were closed as the client took no replies.
    pub stalled_kicks: AtomicU64,
    pub auth_cmds: AtomicU64,
    pub auth_errors: AtomicU64,
    pub cmd_flush: AtomicU64,
    pub bytes_read: AtomicU64,
    pub bytes_written: AtomicU64,
    pub conn_yields: AtomicU64,
}

/// State shared by all connections.
#[derive(Debug)]
pub struct Service {
    /// The items.
    pub store: Store,
    /// The permissions of requests.
    pub settings: Settings,
    /// Counts.
    pub counts: Counts,
    tls: Option<Tls>,
    /// Maximum number of connections: `settings.connections` until it is reloaded.
    connection_limit: AtomicUsize,
    users: Option<Users>,
    /// The NIC that answers for the store.
    nic: OnceLock<NicHost>,
    stopping: AtomicBool,
    /// Wakers of the threads that must notice a stop.
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
            users: None,
            nic: OnceLock::new(),
            stopping: AtomicBool::new(false),
            wakers: Mutex::default(),
        }
    }

    /// Enables TLS on TCP.
    pub fn secured(self, tls: Tls) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// TLS, where it is spoken.
    pub fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// Maximum number of connections.
    pub fn connection_limit(&self) -> usize {
        self.connection_limit.load(Relaxed)
    }

    /// Changes that limit. Connections that are open stay open.
    pub fn set_connection_limit(&self, connections: usize) {
        self.connection_limit.store(connections, Relaxed);
    }

    /// Puts a NIC before the store. Nothing may use the store yet.
    pub fn set_nic(&self, nic: NicHost) {
        self.store.set_ahead(Box::new(nic.ahead()));
        self.store.collect_evicted();
        // Once, when the server binds its socket for datagrams.
        let _ = self.nic.set(nic);
    }

    /// The NIC that answers for the store, if any.
    pub fn nic(&self) -> Option<&NicHost> {
        self.nic.get()
    }

    /// Waits until a request may be executed, ordered with those that the NIC executes. Nothing else is executed until
    /// the position is dropped.
    #[inline]
    pub(crate) fn order(&self, access: &Access<'_>) -> Position<'_> {
        self.nic().map_or_else(Position::default, |nic| nic.order(self, access))
    }

    /// Requires a login on every connection.
    pub fn with_users(self, users: Users) -> Self {
        Self { users: Some(users), ..self }
    }

    /// The users that may log in, if logins are required.
    pub fn users(&self) -> Option<&Users> {
        self.users.as_ref()
    }

    /// Reloads the users for later logins, and logs the outcome.
    pub fn reload_users(&self) {
        match self.users().map(Users::reload) {
            Some(Ok(())) => tracing::info!("reloaded the users of the key-value store"),
            Some(Err(error)) => {
                tracing::error!("cannot reload the users of the key-value store, so the present ones stay: {error}")
            }
            None => {}
        }
    }

    /// Whether a login with a name and a password succeeds. If no login is required, none does.
    pub(crate) fn authenticate(&self, credentials: Option<(&[u8], &[u8])>) -> bool {
        self.counts.auth_cmds.fetch_add(1, Relaxed);
        let is_user =
            |(name, password): (&[u8], &[u8])| self.users().is_some_and(|users| users.contains(name, password));
        let is_user = credentials.is_some_and(is_user);
        self.counts.auth_errors.fetch_add(u64::from(!is_user), Relaxed);
        is_user
    }

    /// Flushes all items, at the moment of an expiry time. Gives false if that is not allowed.
    pub(crate) fn flush(&self, delay: i64, now: Seconds) -> bool {
        self.counts.cmd_flush.fetch_add(1, Relaxed);
        if !self.settings.flush {
            return false;
        }
        let at = if delay > 0 { self.store.clock().expiry(delay, now) } else { now };
        let _position = self.order(&Access::Flush(at));
        self.store.flush(at, now);
        true
    }

    /// Resets the counts of events, but not those of present state.
    pub(crate) fn reset_counts(&self) {
        self.store.reset_counters();
        let counts = &self.counts;
        for count in [
            &counts.total_connections,
            &counts.rejected_connections,
            &counts.idle_kicks,
            &counts.memory_kicks,
            &counts.slow_kicks,
            &counts.stalled_kicks,
            &counts.auth_cmds,
            &counts.auth_errors,
            &counts.cmd_flush,
            &counts.bytes_read,
            &counts.bytes_written,
            &counts.conn_yields,
        ] {
            count.store(0, Relaxed);
        }
    }

    /// Requests the end of the service: requests that have arrived are answered first.
    pub fn stop(&self) {
        self.stopping.store(true, Release);
        if let Some(ahead) = self.store.ahead() {
            ahead.stop();
        }
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Waker::wake);
    }

    /// Registers a waker for the end of the service.
    pub(crate) fn wake_to_stop(&self, waker: Waker) {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// Whether the service must end.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Acquire)
    }
}
