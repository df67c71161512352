//! Log lines of events, for connections that `watch` (memcached's protocol.txt).
//!
//! The thread that causes an event formats the line, and copies it to the queue of each watcher that is interested.
//! Queues are bounded: a watcher that reads too slowly loses lines, and learns how many. Without watchers an event
//! costs the load of one number.

use std::{
    cell::Cell,
    fmt::{Debug, Formatter, Write as _},
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU16, AtomicU64, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

/// Bytes of lines that wait for a watcher (memcached's `watcher_logbuf_size`).
const QUEUE: usize = 256 << 10;

/// Bytes that the line about skipped lines may take.
const SKIPPED: usize = 32;

/// Maximum number of watchers (memcached's).
const MOST_WATCHERS: usize = 20;

/// Capacity of a line: a key of 250 bytes has up to 750 when encoded.
const LINE: usize = 1024;

thread_local! {
    /// The connection whose requests this thread executes.
    static CONNECTION: Cell<i32> = const { Cell::new(0) };
}

/// Sets the connection whose requests this thread executes: its descriptor, as memcached's `cfd`.
#[inline]
pub(crate) fn set_connection(descriptor: i32) {
    CONNECTION.set(descriptor);
}

/// A set of kinds of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interests(u16);

impl Interests {
    /// No events.
    pub const NONE: Self = Self(0);
    /// Pages moved to another class.
    pub const SYSTEM: Self = Self(1 << 1);
    /// Reads of items.
    pub const FETCHERS: Self = Self(1 << 2);
    /// Writes of items.
    pub const MUTATIONS: Self = Self(1 << 3);
    /// Connections that begin and end.
    pub const CONNECTIONS: Self = Self(1 << 5);
    /// Items evicted before they expired.
    pub const EVICTIONS: Self = Self(1 << 6);
    /// Items that clients deleted.
    pub const DELETIONS: Self = Self(1 << 7);

    /// The events that a word of `watch` names. Nothing is logged for `rawcmds` and the proxy's words, as in a
    /// memcached without proxy.
    pub fn named(word: &[u8]) -> Option<Self> {
        match word {
            b"sysevents" => Some(Self::SYSTEM),
            b"fetchers" => Some(Self::FETCHERS),
            b"mutations" => Some(Self::MUTATIONS),
            b"connevents" => Some(Self::CONNECTIONS),
            b"evictions" => Some(Self::EVICTIONS),
            b"deletions" => Some(Self::DELETIONS),
            b"rawcmds" | b"proxyreqs" | b"proxyevents" | b"proxyuser" => Some(Self::NONE),
            _ => None,
        }
    }

    /// Both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Why a connection ended, in memcached's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CloseReason {
    /// The client, or its connection, failed.
    #[default]
    Error,
    /// The client ended it.
    Normal,
    /// It was idle for too long.
    IdleTimeout,
    /// The client ended the store.
    Shutdown,
}

impl CloseReason {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Normal => "normal",
            Self::IdleTimeout => "idle_timeout",
            Self::Shutdown => "shutdown",
        }
    }
}

/// The client of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    /// Its address; none on a socket in the file system.
    pub(crate) address: Option<SocketAddr>,
    /// The descriptor of the connection.
    pub(crate) descriptor: i32,
}

/// The watchers, and the source of their lines.
#[derive(Debug, Default)]
pub struct Watchers {
    /// The interests of all watchers.
    interests: AtomicU16,
    /// The number of the last line.
    last: AtomicU64,
    queues: RwLock<Vec<Arc<Queue>>>,
    sent: AtomicU64,
    skipped: AtomicU64,
}

/// The lines that wait for a watcher.
struct Queue {
    interests: Interests,
    lines: Mutex<Lines>,
    /// Makes the watcher's thread take the lines.
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Lines skipped since the last one in `bytes`.
    skipped: u64,
    /// Whether the watcher knows that there are lines.
    is_awake: bool,
}

impl Debug for Queue {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Queue").field("interests", &self.interests).finish_non_exhaustive()
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line. Returns false if it is skipped.
    fn push(&self, line: &[u8]) -> bool {
        let mut lines = self.lock();
        if lines.bytes.len() + SKIPPED + line.len() > QUEUE {
            lines.skipped += 1;
            return false;
        }
        if lines.skipped > 0 {
            let skipped = std::mem::take(&mut lines.skipped);
            lines.bytes.extend_from_slice(format!("skipped={skipped}\n").as_bytes());
        }
        lines.bytes.extend_from_slice(line);
        let was_awake = std::mem::replace(&mut lines.is_awake, true);
        drop(lines);
        if !was_awake {
            (self.wake)();
        }
        true
    }
}

/// A watcher: it gets lines until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    queue: Arc<Queue>,
    watchers: Arc<Watchers>,
}

impl Watcher {
    /// Takes the lines that wait into `bytes`, which must be empty. Returns false if there are none; then `wake` is
    /// called for the next one.
    pub(crate) fn take(&self, bytes: &mut Vec<u8>) -> bool {
        let mut lines = self.queue.lock();
        lines.is_awake = !lines.bytes.is_empty();
        std::mem::swap(&mut lines.bytes, bytes);
        lines.is_awake
    }

    /// Bytes of memory of the lines that wait.
    pub(crate) fn bytes(&self) -> usize {
        self.queue.lock().bytes.capacity()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.watchers.change(|queues| queues.retain(|queue| !Arc::ptr_eq(queue, &self.queue)));
    }
}

impl Watchers {
    /// Adds a watcher. Threads that hold locks of the store call `wake` when there are lines to
    /// [take](Watcher::take). Returns `None` if there are too many watchers.
    pub(crate) fn add(
        self: &Arc<Self>,
        interests: Interests,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Option<Watcher> {
        let queue = Arc::new(Queue { interests, lines: Mutex::default(), wake: Box::new(wake) });
        let is_added = self.change(|queues| {
            let has_room = queues.len() < MOST_WATCHERS;
            if has_room {
                queues.push(Arc::clone(&queue));
            }
            has_room
        });
        is_added.then(|| Watcher { queue, watchers: Arc::clone(self) })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Arc<Queue>>) -> T) -> T {
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut queues);
        let all = queues.iter().fold(Interests::NONE, |all, queue| all.and(queue.interests));
        self.interests.store(all.0, Relaxed);
        changed
    }

    /// Whether some watcher is interested in such events.
    #[inline(always)]
    pub(crate) fn want(&self, interests: Interests) -> bool {
        self.interests.load(Relaxed) & interests.0 != 0
    }

    /// Number of watchers.
    pub fn count(&self) -> u64 {
        self.queues.read().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    /// Lines that were made.
    pub fn written(&self) -> u64 {
        self.last.load(Relaxed)
    }

    /// Lines queued for watchers.
    pub fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// Lines skipped as their watchers read too slowly.
    pub fn skipped(&self) -> u64 {
        self.skipped.load(Relaxed)
    }

    /// Sends a line about an event of these kinds, of which `text` appends all but the time and the number.
    #[cold]
    pub(crate) fn log(&self, interests: Interests, text: impl FnOnce(&mut String)) {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut line = String::with_capacity(LINE);
        let number = self.last.fetch_add(1, Relaxed) + 1;
        // Writing to a string does not fail.
        let _ = write!(line, "ts={}.{:06} gid={number} ", since_1970.as_secs(), since_1970.subsec_micros());
        text(&mut line);
        line.push('\n');
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        for queue in queues.iter().filter(|queue| queue.interests.overlaps(interests)) {
            let count = if queue.push(line.as_bytes()) { &self.sent } else { &self.skipped };
            count.fetch_add(1, Relaxed);
        }
    }

    /// Logs that an item was looked up.
    #[cold]
    pub(crate) fn log_fetch(&self, key: &[u8], status: &str, class: u8, size: u32) {
        self.log(Interests::FETCHERS, |line| {
            line.push_str("type=item_get key=");
            append_encoded(key, line);
            let _ = write!(line, " status={status} clsid={class} cfd={} size={size}", CONNECTION.get());
        });
    }

    /// Logs that a client deleted an item.
    #[cold]
    pub(crate) fn log_deletion(&self, key: &[u8], command: &str, class: u8, size: u32) {
        self.log(Interests::DELETIONS, |line| {
            line.push_str("type=deleted key=");
            append_encoded(key, line);
            let _ = write!(line, " cmd={command} clsid={class} size={size}");
        });
    }

    /// Logs a write.
    #[cold]
    pub(crate) fn log_write(&self, key: &[u8], [status, command]: [&str; 2], ttl: u32, class: u8, size: u32) {
        self.log(Interests::MUTATIONS, |line| {
            line.push_str("type=item_store key=");
            append_encoded(key, line);
            let connection = CONNECTION.get();
            let _ = write!(line, " status={status} cmd={command} ttl={ttl} clsid={class} cfd={connection} size={size}");
        });
    }

    /// Logs that a connection began.
    pub(crate) fn connected(&self, client: &Client) {
        if self.want(Interests::CONNECTIONS) {
            self.log(Interests::CONNECTIONS, |line| {
                line.push_str("type=conn_new ");
                append_client(client, "", line);
            });
        }
    }

    /// Logs that a connection ended.
    pub(crate) fn disconnected(&self, client: &Client, reason: CloseReason) {
        if self.want(Interests::CONNECTIONS) {
            self.log(Interests::CONNECTIONS, |line| {
                line.push_str("type=conn_close ");
                append_client(client, &format!(" reason={}", reason.name()), line);
            });
        }
    }
}

fn append_client(client: &Client, middle: &str, line: &mut String) {
    let _ = match client.address {
        Some(address) => write!(line, "rip={} rport={} transport=tcp", address.ip(), address.port()),
        None => write!(line, "rip=unix rport=0 transport=local"),
    };
    let _ = write!(line, "{middle} cfd={}", client.descriptor);
}

/// Appends a key as in a URL, so that it contains no space and no end of a line.
pub(crate) fn append_encoded(key: &[u8], line: &mut String) {
    for &byte in key {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            line.push(byte.into());
        } else {
            let _ = write!(line, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn a_slow_watcher_loses_lines_and_learns_how_many() {
        let watchers = Arc::<Watchers>::default();
        let wakes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&wakes);
        let watcher = watchers
            .add(Interests::FETCHERS, move || {
                counted.fetch_add(1, Relaxed);
            })
            .unwrap();
        let mut bytes = Vec::new();
        assert!(!watcher.take(&mut bytes));
        let key = [b'#'; 250];
        while watchers.skipped() < 10 {
            watchers.log_fetch(&key, "not_found", 0, 0);
            watchers.log_deletion(&key, "delete", 0, 0);
        }
        assert_eq!(wakes.load(Relaxed), 1, "it is woken once until it has taken all");
        assert!(watcher.take(&mut bytes) && bytes.len() <= QUEUE);
        let lines = std::mem::take(&mut bytes);
        assert!(lines.len() > QUEUE / 2 && !lines.windows(8).any(|text| text == b"skipped="));
        watchers.log_fetch(b"a", "found", 3, 10);
        assert!(watcher.take(&mut bytes));
        let text = String::from_utf8(std::mem::take(&mut bytes)).unwrap();
        assert!(
            text.starts_with("skipped=10\nts=") && text.ends_with(" status=found clsid=3 cfd=0 size=10\n"),
            "{text}"
        );
        assert!(!watcher.take(&mut bytes));
        watchers.log_fetch(b"a", "found", 3, 10);
        assert_eq!(wakes.load(Relaxed), 2);
        let lines = lines.split(|byte| *byte == b'\n').count() as u64 - 1;
        assert_eq!(watchers.sent(), lines + 2);
        drop(watcher);
        assert!(!watchers.want(Interests::FETCHERS) && watchers.count() == 0);
        let all = Vec::from_iter((0..=MOST_WATCHERS).map(|_| watchers.add(Interests::SYSTEM, || {})));
        assert!(all[..MOST_WATCHERS].iter().all(Option::is_some) && all[MOST_WATCHERS].is_none());
    }
}
