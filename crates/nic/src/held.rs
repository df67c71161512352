//! Datagrams that wait for a worker, in buffers of fixed pools: one pool per class of work, so that no class uses up
//! another's.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::backend::{MESSAGE_BYTES, Peer};
use net::{Prefix, Sharer};

/// The class of work that a datagram waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Verification of signed operations, and of approvals of member changes.
    Signed,
    /// A proof that is not in the cache.
    Proof,
    /// The work of a verify frame.
    Verify,
    /// Ordering of unsigned operations by replicas.
    Ordered,
    /// A page of a history or of the assets.
    History,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 5] = [Self::Signed, Self::Proof, Self::Verify, Self::Ordered, Self::History];

    /// Returns the class's name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Signed => "signed",
            Self::Proof => "proof",
            Self::Verify => "verify",
            Self::Ordered => "ordered",
            Self::History => "history",
        }
    }
}

/// A pool for each class.
#[derive(Clone, Debug)]
pub struct Pools([Pool; Class::ALL.len()]);

impl Pools {
    /// Pools with the sizes that `size` returns.
    pub fn new(size: impl FnMut(Class) -> PoolSize) -> Self {
        Self(Class::ALL.map(size).map(Pool::new))
    }

    /// Copies a datagram into a free buffer of its class; `None` if all that this sender may use are taken.
    pub fn hold(&self, class: Class, peer: Peer, trusted: bool, datagram: &[u8]) -> Option<Held> {
        self.0[class as usize].hold(peer, trusted, datagram)
    }
}

impl Default for Pools {
    /// The pools of a single node, which does not order operations.
    fn default() -> Self {
        Self::new(|class| match class {
            Class::Ordered => PoolSize { small: 0, large: 0 },
            class => PoolSize::for_class(class),
        })
    }
}

/// Buffers of two sizes, so that thousands of single frames can wait without the memory for that many batches.
#[derive(Clone, Debug)]
struct Pool {
    small: Arc<Free>,
    large: Arc<Free>,
}

#[derive(Debug)]
struct Free {
    size: usize,
    /// Number of these reserved for trusted senders.
    reserved: usize,
    buffers: Mutex<Buffers>,
}

#[derive(Debug)]
struct Buffers {
    free: Vec<Box<[u8]>>,
    /// Number of buffers in use per untrusted prefix.
    used: HashMap<Prefix, usize>,
}

/// Size of a small buffer: any single frame fits, and a proof request that crosses an Ethernet without fragments.
pub const SMALL_BYTES: usize = 2048;

/// Number of buffers of a class; a quarter of them is reserved for trusted senders. Of the others a prefix leaves as
/// many free as it takes, so that some remain for the next.
#[derive(Clone, Copy, Debug)]
pub struct PoolSize {
    /// Buffers of [`SMALL_BYTES`].
    pub small: usize,
    /// Buffers of [`MESSAGE_BYTES`].
    pub large: usize,
}

impl PoolSize {
    /// A worker verifies about 30,000 signatures per second: 4096 single frames wait for at most some tenths of a
    /// second, and so do 64 batches of 356. Clients wait for few proofs at a time. The waiting work of verify frames
    /// has its own limit. Ordering takes some milliseconds, or as long as there is no quorum. A page of a history takes
    /// up to a millisecond.
    pub const fn for_class(class: Class) -> Self {
        match class {
            Class::Signed => Self { small: 4096, large: 64 },
            Class::Proof => Self { small: 1024, large: 32 },
            Class::Verify => Self { small: 512, large: 64 },
            Class::Ordered => Self { small: 4096, large: 256 },
            Class::History => Self { small: 256, large: 32 },
        }
    }

    /// Number of buffers of both sizes.
    pub const fn total(self) -> usize {
        self.small + self.large
    }
}

/// A datagram in its own buffer. Dropping it returns the buffer to its pool.
#[derive(Debug)]
pub struct Held {
    /// Who sent it.
    pub peer: Peer,
    /// Whether the sender is in a trusted prefix.
    pub trusted: bool,
    /// When it was received.
    pub since: Instant,
    buffer: Box<[u8]>,
    length: usize,
    home: Arc<Free>,
}

impl Pool {
    fn new(size: PoolSize) -> Self {
        let free = |count: usize, size: usize| {
            let free = (0..count).map(|_| vec![0; size].into_boxed_slice()).collect();
            let buffers = Mutex::new(Buffers { free, used: HashMap::new() });
            Arc::new(Free { size, reserved: count / 4, buffers })
        };
        Self { small: free(size.small, SMALL_BYTES), large: free(size.large, MESSAGE_BYTES) }
    }

    fn hold(&self, peer: Peer, trusted: bool, datagram: &[u8]) -> Option<Held> {
        let home = [&self.small, &self.large].into_iter().find(|free| datagram.len() <= free.size)?;
        let mut buffer = home.take(Sharer::new(peer.address.ip(), trusted))?;
        buffer[..datagram.len()].copy_from_slice(datagram);
        let since = Instant::now();
        Some(Held { peer, trusted, since, buffer, length: datagram.len(), home: home.clone() })
    }
}

impl Free {
    fn take(&self, sharer: Sharer) -> Option<Box<[u8]>> {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let Buffers { free, used } = &mut *buffers;
        if let Sharer::Stranger(prefix) = sharer {
            let left = free.len().saturating_sub(self.reserved);
            if used.get(&prefix).copied().unwrap_or(0) >= left {
                return None;
            }
            *used.entry(prefix).or_default() += 1;
        }
        free.pop()
    }

    fn give_back(&self, sharer: Sharer, buffer: Box<[u8]>) {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let Buffers { free, used } = &mut *buffers;
        free.push(buffer);
        if let Sharer::Stranger(prefix) = sharer
            && let Some(count) = used.get_mut(&prefix)
        {
            *count -= 1;
            if *count == 0 {
                used.remove(&prefix);
            }
        }
    }
}

impl Held {
    /// The sharer that it counts for.
    pub fn sharer(&self) -> Sharer {
        Sharer::new(self.peer.address.ip(), self.trusted)
    }
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.length]
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.home.give_back(self.sharer(), buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_leave_a_quarter_and_classes_are_apart() {
        let pools = Pools::new(|_| PoolSize { small: 16, large: 1 });
        let peer = |number| Peer::new(([192, 0, number, 1], 9).into());
        let hold = |class, number, trusted| pools.hold(class, peer(number), trusted, &[1; 100]);
        let take = |number, trusted| Vec::from_iter((0..16).map_while(|_| hold(Class::Verify, number, trusted)));
        // A quarter of 16 is reserved. Of the other 12 the first prefix leaves as many as it takes, and each further
        // one half of the rest.
        let strangers = Vec::from_iter((1..5).map(|number| take(number, false)));
        assert_eq!(Vec::from_iter(strangers.iter().map(Vec::len)), [6, 3, 2, 1]);
        assert!(hold(Class::Verify, 9, false).is_none());
        assert_eq!(take(1, true).len(), 4);
        assert!(hold(Class::Signed, 1, false).is_some_and(|held| held[..] == [1; 100] && !held.trusted));
        drop(strangers);
        assert_eq!(take(1, false).len(), 6, "what is given back is counted for nobody");
    }
}
