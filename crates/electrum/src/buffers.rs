//! Bytes buffered for clients: unfinished requests, and replies not yet taken.
//!
//! They are bounded over all connections and per network prefix. If a bound is exceeded, the connection that holds the
//! most is evicted: of the prefix, or of the prefix that holds the most of all. A client that reads its replies holds
//! nothing between its turns, so it is never evicted.
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use net::Sharer;

/// Closes a connection, soon, on whichever thread serves it.
pub type Evict = Box<dyn Fn() + Send>;

/// The bytes of all connections.
pub struct Buffers {
    /// The most bytes of all connections.
    most: AtomicUsize,
    /// The most bytes of a prefix that is not trusted.
    prefix_most: AtomicUsize,
    next: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    total: usize,
    /// Bytes of the prefixes that hold some.
    prefixes: HashMap<Sharer, usize>,
    /// The connections that hold some, by number.
    holders: HashMap<u64, Holder>,
}

struct Holder {
    sharer: Sharer,
    bytes: usize,
    evict: Arc<Mutex<Evict>>,
}

/// What one connection has in [`Buffers`]. Dropping it releases that.
pub struct Buffered {
    buffers: Arc<Buffers>,
    number: u64,
    sharer: Sharer,
    /// Bytes reported last.
    bytes: usize,
    evict: Arc<Mutex<Evict>>,
}

impl Buffers {
    /// Empty buffers of at most `most` bytes in total and `prefix_most` per prefix.
    pub fn new(most: usize, prefix_most: usize) -> Self {
        let (most, prefix_most) = (AtomicUsize::new(most), AtomicUsize::new(prefix_most));
        Self { most, prefix_most, next: AtomicU64::new(0), state: Mutex::default() }
    }

    /// Changes the bounds. Connections that exceed them are evicted once one grows.
    pub fn set_bounds(&self, most: usize, prefix_most: usize) {
        self.most.store(most, Relaxed);
        self.prefix_most.store(prefix_most, Relaxed);
    }

    /// Bytes of all connections.
    pub fn total(&self) -> usize {
        self.state().total
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Evicts connections until the bounds that concern `sharer` hold again. Returns how many.
    fn enforce(&self, sharer: Sharer) -> u64 {
        let mut evicted = 0;
        loop {
            let mut state = self.state();
            let of_prefix = state.prefixes.get(&sharer).copied().unwrap_or_default();
            let from = if sharer != Sharer::Trusted && of_prefix > self.prefix_most.load(Relaxed) {
                sharer
            } else if state.total > self.most.load(Relaxed) {
                let largest = state.prefixes.iter().max_by_key(|(_, bytes)| **bytes);
                largest.map_or(sharer, |(sharer, _)| *sharer)
            } else {
                return evicted;
            };
            let of_it = state.holders.iter().filter(|(_, holder)| holder.sharer == from);
            let Some(largest) = of_it.max_by_key(|(_, holder)| holder.bytes).map(|(number, _)| *number) else {
                return evicted;
            };
            let Some(holder) = state.take(largest) else { return evicted };
            drop(state);
            evicted += 1;
            holder.evict.lock().unwrap_or_else(PoisonError::into_inner)();
        }
    }
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers").field("most", &self.most).field("total", &self.total()).finish_non_exhaustive()
    }
}

impl State {
    /// Takes out what a connection holds.
    fn take(&mut self, number: u64) -> Option<Holder> {
        let holder = self.holders.remove(&number)?;
        self.total -= holder.bytes;
        if let Some(of_prefix) = self.prefixes.get_mut(&holder.sharer) {
            *of_prefix -= holder.bytes;
            if *of_prefix == 0 {
                self.prefixes.remove(&holder.sharer);
            }
        }
        Some(holder)
    }
}

impl Buffered {
    /// A connection that holds nothing yet. `evict` closes it if it holds the most.
    pub fn new(buffers: &Arc<Buffers>, sharer: Sharer, evict: Evict) -> Self {
        let number = buffers.next.fetch_add(1, Relaxed);
        Self { buffers: Arc::clone(buffers), number, sharer, bytes: 0, evict: Arc::new(Mutex::new(evict)) }
    }

    /// Reports that the connection now holds `bytes`. Returns how many connections were evicted to make room, perhaps
    /// this one.
    pub fn set(&mut self, bytes: usize) -> u64 {
        if bytes == self.bytes {
            return 0;
        }
        let grows = bytes > self.bytes;
        self.bytes = bytes;
        let mut state = self.buffers.state();
        state.take(self.number);
        if bytes > 0 {
            state.total += bytes;
            *state.prefixes.entry(self.sharer).or_default() += bytes;
            let holder = Holder { sharer: self.sharer, bytes, evict: Arc::clone(&self.evict) };
            state.holders.insert(self.number, holder);
        }
        drop(state);
        if grows { self.buffers.enforce(self.sharer) } else { 0 }
    }
}

impl Drop for Buffered {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sharer(network: u8) -> Sharer {
        Sharer::new(std::net::Ipv4Addr::new(192, 0, network, 1).into(), network == 0)
    }

    /// Connections of networks, and which of them were evicted.
    fn connections(buffers: &Arc<Buffers>, networks: &[u8]) -> (Vec<Buffered>, Arc<Mutex<Vec<usize>>>) {
        let evicted = Arc::new(Mutex::new(Vec::new()));
        let connections = networks.iter().enumerate().map(|(place, network)| {
            let evicted = Arc::clone(&evicted);
            Buffered::new(buffers, sharer(*network), Box::new(move || evicted.lock().unwrap().push(place)))
        });
        (connections.collect(), evicted)
    }

    #[test]
    fn the_largest_of_a_prefix_over_its_bound_is_evicted() {
        let buffers = Arc::new(Buffers::new(1000, 100));
        let (mut all, evicted) = connections(&buffers, &[1, 1, 1, 2, 0]);
        for (place, bytes) in [(0, 30), (1, 60), (3, 90), (4, 500)] {
            assert_eq!(all[place].set(bytes), 0, "{place}");
        }
        assert_eq!(all[2].set(20), 1);
        assert_eq!((evicted.lock().unwrap().split_off(0), buffers.total()), (vec![1], 640));
        // One may be the largest itself, and released bytes are free again.
        assert_eq!(all[2].set(90), 1);
        assert_eq!(evicted.lock().unwrap().split_off(0), [2]);
        all[0].set(0);
        assert_eq!(all[0].set(100), 0);
        drop(all);
        assert_eq!(buffers.total(), 0);
    }

    #[test]
    fn over_the_bound_of_all_the_largest_prefix_gives_way() {
        let buffers = Arc::new(Buffers::new(300, 200));
        let (mut all, evicted) = connections(&buffers, &[1, 1, 2, 0]);
        for (place, bytes) in [(0, 100), (1, 90), (2, 60)] {
            assert_eq!(all[place].set(bytes), 0);
        }
        assert_eq!(all[3].set(150), 1, "the trusted one is not the largest");
        assert_eq!(evicted.lock().unwrap().split_off(0), [0]);
        assert_eq!(all[3].set(400), 1, "trusted clients are bounded, too");
        assert_eq!((evicted.lock().unwrap().split_off(0), buffers.total()), (vec![3], 150));
    }
}
