//! Datagrams that wait for a worker, in buffers of fixed pools: one for each class of work, so that none takes what another needs.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::backend::{MESSAGE_BYTES, Peer};
use crate::prefix::{Prefix, Sharer};

/// What a datagram waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The signatures of signed operations, and of approvals of member changes.
    Signed,
    /// A proof that the cache does not hold.
    Proof,
    /// What a verify frame asks for.
    Verify,
    /// Operations without a signature that replicas have to order.
    Ordered,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Signed, Self::Proof, Self::Verify, Self::Ordered];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Signed => "signed",
            Self::Proof => "proof",
            Self::Verify => "verify",
            Self::Ordered => "ordered",
        }
    }
}

/// A pool for each class.
#[derive(Clone, Debug)]
pub struct Pools([Pool; Class::ALL.len()]);

impl Pools {
    /// Pools of the sizes that `size` tells.
    pub fn new(size: impl FnMut(Class) -> PoolSize) -> Self {
        Self(Class::ALL.map(size).map(Pool::new))
    }

    /// Copies a datagram into a free buffer of its class; none if all are in use that such a sender may have.
    pub fn hold(&self, class: Class, peer: Peer, trusted: bool, datagram: &[u8]) -> Option<Held> {
        self.0[class as usize].hold(peer, trusted, datagram)
    }
}

impl Default for Pools {
    /// The pools of a node alone, which orders nothing before it executes it.
    fn default() -> Self {
        Self::new(|class| match class {
            Class::Ordered => PoolSize { small: 0, large: 0 },
            class => PoolSize::of(class),
        })
    }
}

/// Buffers of two sizes, so that thousands of single frames can wait without the memory for as many batches.
#[derive(Clone, Debug)]
struct Pool {
    small: Arc<Free>,
    large: Arc<Free>,
}

#[derive(Debug)]
struct Free {
    size: usize,
    /// How many of them are for trusted senders only.
    reserved: usize,
    buffers: Mutex<Buffers>,
}

#[derive(Debug)]
struct Buffers {
    free: Vec<Box<[u8]>>,
    /// How many each prefix has that is not trusted and has some.
    used: HashMap<Prefix, usize>,
}

/// What a small buffer holds: any single frame, and a proof request that crosses an Ethernet without fragments.
pub const SMALL_BYTES: usize = 2048;

/// How many buffers there are for a class; a quarter of them for trusted senders only. Of the others a prefix leaves as many free as it
/// takes, so that there are some for the next.
#[derive(Clone, Copy, Debug)]
pub struct PoolSize {
    /// Buffers of [`SMALL_BYTES`].
    pub small: usize,
    /// Buffers of [`MESSAGE_BYTES`].
    pub large: usize,
}

impl PoolSize {
    /// A worker verifies about 30,000 signatures a second: 4096 single frames wait for some tenths of a second at most,
    /// and so do 64 batches of 356. Clients that ask for proofs wait for few at a time. Of verify frames the work that waits has
    /// a limit of its own. What is ordered waits for some milliseconds, or as long as no quorum is there.
    pub const fn of(class: Class) -> Self {
        match class {
            Class::Signed => Self { small: 4096, large: 64 },
            Class::Proof => Self { small: 1024, large: 32 },
            Class::Verify => Self { small: 512, large: 64 },
            Class::Ordered => Self { small: 4096, large: 256 },
        }
    }

    /// All buffers.
    pub const fn total(self) -> usize {
        self.small + self.large
    }
}

/// A datagram in a buffer of its own. The buffer goes back to its pool when this is dropped.
#[derive(Debug)]
pub struct Held {
    /// Who sent it.
    pub peer: Peer,
    /// Whether he is in a trusted prefix.
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
        let mut buffer = home.take(Sharer::of(peer.address.ip(), trusted))?;
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
    /// Whose room it takes.
    pub fn sharer(&self) -> Sharer {
        Sharer::of(self.peer.address.ip(), self.trusted)
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
        // A quarter of 16 is reserved. Of the 12 others a prefix leaves as many as it takes, and the next half of those.
        let strangers = Vec::from_iter((1..5).map(|number| take(number, false)));
        assert_eq!(Vec::from_iter(strangers.iter().map(Vec::len)), [6, 3, 2, 1]);
        assert!(hold(Class::Verify, 9, false).is_none());
        assert_eq!(take(1, true).len(), 4);
        assert!(hold(Class::Signed, 1, false).is_some_and(|held| held[..] == [1; 100] && !held.trusted));
        drop(strangers);
        assert_eq!(take(1, false).len(), 6, "what is given back is counted for nobody");
    }
}
