//! Resources of a network prefix: connections, subscriptions, and the cost of requests over time.
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{
            AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::{Duration, Instant},
};

use net::{Prefix, Sharer};

use crate::buffers::{Buffered, Buffers, Evict};

/// Number of prefixes remembered before those that use nothing are dropped.
const REMEMBERED: usize = 4096;

/// Limits of all clients together, and of each prefix.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum number of connections.
    pub connections: usize,
    /// Maximum number of connections per prefix.
    pub prefix_connections: usize,
    /// Maximum number of subscriptions.
    pub subscriptions: usize,
    /// Maximum number of subscriptions per prefix.
    pub prefix_subscriptions: usize,
    /// Budget of a prefix per second; the unit is about a microsecond of work.
    pub prefix_cost: u64,
    /// Maximum length of a reply in bytes.
    pub reply: usize,
    /// Maximum length of a request, or of a batch, in bytes.
    pub request: usize,
    /// Maximum bytes of incomplete requests and unaccepted replies, of all connections.
    pub buffers: usize,
    /// The same per prefix.
    pub prefix_buffers: usize,
    /// Prefixes without their own limits.
    pub trusted: Vec<Prefix>,
}

impl Default for Limits {
    /// A prefix has as many subscriptions as Fulcrum gives an address. A transaction may have 4,000,000 bytes,
    /// 8,000,000 digits. A prefix may hold the longest request and the longest reply three times, and eight such
    /// prefixes everything.
    fn default() -> Self {
        Self {
            connections: 4096,
            prefix_connections: 64,
            subscriptions: 2_000_000,
            prefix_subscriptions: 75_000,
            prefix_cost: 200_000,
            reply: 12_000_000,
            request: 8_500_000,
            buffers: 512 << 20,
            prefix_buffers: 64 << 20,
            trusted: net::Prefix::loopback(),
        }
    }
}

/// The shares of all prefixes.
#[derive(Debug)]
pub struct Shares {
    limits: RwLock<Arc<Limits>>,
    connections: AtomicUsize,
    subscriptions: AtomicUsize,
    shares: Mutex<HashMap<Sharer, Arc<Used>>>,
    buffers: Arc<Buffers>,
}

/// The usage of a prefix.
#[derive(Debug)]
struct Used {
    connections: AtomicUsize,
    subscriptions: AtomicUsize,
    /// Remaining budget in millionths of the cost unit, and its time.
    credit: Mutex<(i64, Instant)>,
}

/// A connection's part in its prefix's usage. Dropping it releases everything.
#[derive(Debug)]
pub struct Share {
    shares: Arc<Shares>,
    used: Arc<Used>,
    sharer: Sharer,
    subscriptions: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shares {
    /// Nothing is used yet.
    pub fn new(limits: Limits) -> Self {
        let buffers = Arc::new(Buffers::new(limits.buffers, limits.prefix_buffers));
        let limits = RwLock::new(Arc::new(limits));
        let (connections, subscriptions) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { limits, connections, subscriptions, shares: Mutex::default(), buffers }
    }

    /// The limits.
    pub fn limits(&self) -> Arc<Limits> {
        Arc::clone(&self.limits.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the limits. Open connections stay open.
    pub fn set_limits(&self, limits: Limits) {
        self.buffers.set_bounds(limits.buffers, limits.prefix_buffers);
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(limits);
    }

    /// Present number of connections.
    pub fn connections(&self) -> usize {
        self.connections.load(Relaxed)
    }

    /// Present number of subscriptions.
    pub fn subscriptions(&self) -> usize {
        self.subscriptions.load(Relaxed)
    }

    /// Present bytes of incomplete requests and unaccepted replies.
    pub fn buffered(&self) -> usize {
        self.buffers.total()
    }

    /// Returns a share for a connection, unless a limit is reached.
    pub fn connect(self: &Arc<Self>, address: IpAddr, now: Instant) -> Option<Share> {
        let limits = self.limits();
        let is_trusted = limits.trusted.iter().any(|prefix| prefix.contains(address));
        let sharer = Sharer::new(address, is_trusted);
        let used = {
            let mut shares = lock(&self.shares);
            if shares.len() >= REMEMBERED {
                shares.retain(|_, used| Arc::strong_count(used) > 1 || used.credit(&limits, now).0 < 0);
            }
            let most = most_credit(&limits);
            let new = || Used {
                connections: AtomicUsize::new(0),
                subscriptions: AtomicUsize::new(0),
                credit: Mutex::new((most, now)),
            };
            Arc::clone(shares.entry(sharer).or_insert_with(|| Arc::new(new())))
        };
        let own = if is_trusted { usize::MAX } else { limits.prefix_connections };
        let share = Share { shares: Arc::clone(self), used, sharer, subscriptions: 0 };
        let all = self.connections.fetch_add(1, SeqCst) < limits.connections;
        let prefix = share.used.connections.fetch_add(1, SeqCst) < own;
        (all && prefix).then_some(share)
    }
}

impl Share {
    /// Whether the prefix has no limits of its own.
    pub fn is_trusted(&self) -> bool {
        self.sharer == Sharer::Trusted
    }

    /// The account of a connection's buffers; `evict` closes the connection if it holds the most.
    pub(crate) fn buffered(&self, evict: Evict) -> Buffered {
        Buffered::new(&self.shares.buffers, self.sharer, evict)
    }

    /// The limits.
    pub fn limits(&self) -> Arc<Limits> {
        self.shares.limits()
    }

    /// Maximum length of a request, or of a batch, in bytes.
    pub fn longest_request(&self) -> usize {
        // All share the memory, so trusted clients have a limit, too.
        if self.is_trusted() { self.limits().request.saturating_mul(8) } else { self.limits().request }
    }

    /// Adds a subscription. Returns false if there are too many.
    pub fn subscribe(&mut self) -> bool {
        let limits = self.limits();
        let own = if self.is_trusted() { usize::MAX } else { limits.prefix_subscriptions };
        let all = self.shares.subscriptions.fetch_add(1, SeqCst) < limits.subscriptions;
        let prefix = self.used.subscriptions.fetch_add(1, SeqCst) < own;
        self.subscriptions += 1;
        if all && prefix {
            return true;
        }
        self.unsubscribe(1);
        false
    }

    /// Releases subscriptions.
    pub fn unsubscribe(&mut self, count: usize) {
        self.subscriptions -= count;
        self.used.subscriptions.fetch_sub(count, SeqCst);
        self.shares.subscriptions.fetch_sub(count, SeqCst);
    }

    /// Charges for an answered request.
    pub fn charge(&self, cost: u64, now: Instant) {
        if !self.is_trusted() {
            let mut credit = self.used.credit(&self.limits(), now);
            credit.0 = credit.0.saturating_sub(i64::try_from(cost).unwrap_or(i64::MAX).saturating_mul(1_000_000));
        }
    }

    /// How long the next request must wait.
    pub fn debt(&self, now: Instant) -> Option<Duration> {
        if self.is_trusted() {
            return None;
        }
        let limits = self.limits();
        let credit = self.used.credit(&limits, now).0;
        let rate = limits.prefix_cost.max(1);
        (credit < 0).then(|| Duration::from_micros(credit.unsigned_abs() / rate))
    }
}

/// Maximum budget at once: that of a second.
fn most_credit(limits: &Limits) -> i64 {
    i64::try_from(limits.prefix_cost).unwrap_or(i64::MAX).saturating_mul(1_000_000)
}

impl Used {
    /// The budget, including what was earned since the last look.
    fn credit(&self, limits: &Limits, now: Instant) -> MutexGuard<'_, (i64, Instant)> {
        let mut credit = lock(&self.credit);
        let passed = now.saturating_duration_since(credit.1).as_micros();
        let earned = u64::try_from(passed).unwrap_or(u64::MAX).saturating_mul(limits.prefix_cost);
        let sum = credit.0.saturating_add(i64::try_from(earned).unwrap_or(i64::MAX));
        *credit = (sum.min(most_credit(limits)), now.max(credit.1));
        credit
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.unsubscribe(self.subscriptions);
        self.used.connections.fetch_sub(1, SeqCst);
        self.shares.connections.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRANGER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const NEIGHBOUR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 9));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 1));
    const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn shares(limits: Limits) -> Arc<Shares> {
        Arc::new(Shares::new(limits))
    }

    #[test]
    fn a_prefix_has_so_many_connections_and_a_trusted_one_more() {
        let shares = shares(Limits { prefix_connections: 2, connections: 5, ..Limits::default() });
        let now = Instant::now();
        let first = shares.connect(STRANGER, now);
        let second = shares.connect(NEIGHBOUR, now);
        assert!(first.is_some() && second.is_some() && shares.connect(STRANGER, now).is_none());
        let local: Vec<_> = (0..3).map(|_| shares.connect(LOCAL, now)).collect();
        assert!(local.iter().all(Option::is_some));
        assert!(shares.connect(OTHER, now).is_none() && shares.connect(LOCAL, now).is_none(), "all places are taken");
        drop(second);
        assert!(shares.connect(NEIGHBOUR, now).is_some());
        drop((first, local));
        assert_eq!(shares.connections(), 0);
    }

    #[test]
    fn subscriptions_are_counted_by_prefix_and_given_back() {
        let shares = shares(Limits { prefix_subscriptions: 3, subscriptions: 5, ..Limits::default() });
        let now = Instant::now();
        let [mut one, mut two] = [STRANGER, NEIGHBOUR].map(|address| shares.connect(address, now).unwrap());
        assert!(one.subscribe() && one.subscribe() && two.subscribe() && !two.subscribe() && !one.subscribe());
        let mut other = shares.connect(OTHER, now).unwrap();
        assert!(other.subscribe() && other.subscribe() && !other.subscribe());
        drop(one);
        assert_eq!(shares.subscriptions(), 3);
        assert!(two.subscribe() && two.subscribe() && !two.subscribe());
        two.unsubscribe(1);
        assert_eq!(shares.subscriptions(), 4);
    }

    #[test]
    fn who_has_spent_more_than_there_is_waits_for_it() {
        let shares = shares(Limits { prefix_cost: 1000, ..Limits::default() });
        let start = Instant::now();
        let share = shares.connect(STRANGER, start).unwrap();
        share.charge(1000, start);
        assert_eq!(share.debt(start), None);
        share.charge(500, start);
        assert_eq!(share.debt(start), Some(Duration::from_millis(500)));
        // A new connection of the same prefix has the same debt.
        drop(share);
        let share = shares.connect(NEIGHBOUR, start).unwrap();
        assert_eq!(share.debt(start + Duration::from_millis(400)), Some(Duration::from_millis(100)));
        assert_eq!(share.debt(start + Duration::from_millis(501)), None);
        let local = shares.connect(LOCAL, start).unwrap();
        local.charge(u64::MAX, start);
        assert_eq!(local.debt(start), None);
    }
}
