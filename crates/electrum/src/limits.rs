//! What a network prefix may use: connections, subscriptions, and the cost of requests over time.
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

use nic::{Prefix, Sharer};

use crate::buffers::{Buffered, Buffers, Evict};

/// Prefixes that are remembered before those that use nothing are forgotten.
const REMEMBERED: usize = 4096;

/// What all clients, and what those of one prefix may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Connections at once of one prefix.
    pub prefix_connections: usize,
    /// Subscriptions at once.
    pub subscriptions: usize,
    /// Subscriptions at once of one prefix.
    pub prefix_subscriptions: usize,
    /// What the requests of one prefix may cost a second: about a microsecond of work each.
    pub prefix_cost: u64,
    /// Bytes of the longest reply.
    pub reply: usize,
    /// Bytes of the longest request, or batch of requests.
    pub request: usize,
    /// Bytes of unfinished requests and of replies that were not taken yet, of all connections.
    pub buffers: usize,
    /// The same of one prefix.
    pub prefix_buffers: usize,
    /// Prefixes without limits of their own.
    pub trusted: Vec<Prefix>,
}

impl Default for Limits {
    /// As many subscriptions for a prefix as Fulcrum gives an address. A transaction may have 4,000,000 bytes, 8,000,000 digits.
    /// A prefix may have the longest request and the longest reply in hand three times, and eight such prefixes all.
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
            trusted: kv::server::loopback(),
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

/// What a prefix uses.
#[derive(Debug)]
struct Used {
    connections: AtomicUsize,
    subscriptions: AtomicUsize,
    /// What may be spent, in millionths of the unit of cost, and as of when.
    credit: Mutex<(i64, Instant)>,
}

/// The part of a connection in what its prefix uses. Dropping it gives all of it back.
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

    /// Replaces the limits. Connections that are open stay open.
    pub fn set_limits(&self, limits: Limits) {
        self.buffers.set_bounds(limits.buffers, limits.prefix_buffers);
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(limits);
    }

    /// Connections now.
    pub fn connections(&self) -> usize {
        self.connections.load(Relaxed)
    }

    /// Subscriptions now.
    pub fn subscriptions(&self) -> usize {
        self.subscriptions.load(Relaxed)
    }

    /// Bytes of unfinished requests and of replies that were not taken yet, now.
    pub fn buffered(&self) -> usize {
        self.buffers.total()
    }

    /// A share for a connection, where there is one.
    pub fn connect(self: &Arc<Self>, address: IpAddr, now: Instant) -> Option<Share> {
        let limits = self.limits();
        let is_trusted = limits.trusted.iter().any(|prefix| prefix.contains(address));
        let sharer = Sharer::of(address, is_trusted);
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

    /// The account of a connection's buffers, and how it is closed where it holds the most.
    pub(crate) fn buffered(&self, evict: Evict) -> Buffered {
        Buffered::new(&self.shares.buffers, self.sharer, evict)
    }

    /// The limits.
    pub fn limits(&self) -> Arc<Limits> {
        self.shares.limits()
    }

    /// Bytes of the longest request, or batch of requests.
    pub fn longest_request(&self) -> usize {
        // Memory is everybody's, so who is trusted has a limit, too.
        if self.is_trusted() { self.limits().request.saturating_mul(8) } else { self.limits().request }
    }

    /// Takes one more subscription. Gives false where there are too many.
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

    /// Gives subscriptions back.
    pub fn unsubscribe(&mut self, count: usize) {
        self.subscriptions -= count;
        self.used.subscriptions.fetch_sub(count, SeqCst);
        self.shares.subscriptions.fetch_sub(count, SeqCst);
    }

    /// Charges for a request that was answered.
    pub fn charge(&self, cost: u64, now: Instant) {
        if !self.is_trusted() {
            let mut credit = self.used.credit(&self.limits(), now);
            credit.0 = credit.0.saturating_sub(i64::try_from(cost).unwrap_or(i64::MAX).saturating_mul(1_000_000));
        }
    }

    /// How long the next request has to wait.
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

/// What may be spent at once: what comes in a second.
fn most_credit(limits: &Limits) -> i64 {
    i64::try_from(limits.prefix_cost).unwrap_or(i64::MAX).saturating_mul(1_000_000)
}

impl Used {
    /// The credit, with what came since it was last looked at.
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
