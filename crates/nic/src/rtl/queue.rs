//! Input of the NIC from other threads: the node's replies, and announcements of blocks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use net::Waker;
use wire::Chain;

use crate::backend::{Peer, Reply};
use crate::csr::Announcement;

/// Maximum number of replies waiting to enter the NIC; further ones are lost, as in the queue of a network card.
const QUEUE: usize = 1 << 16;

/// Maximum number of addresses of a block that the NIC forgets one by one: each takes some cycles.
const FORGOTTEN: usize = 1024;

/// Input from the host.
#[derive(Debug)]
pub enum Given {
    Reply(Peer, Vec<u8>),
    Announcement(Announcement),
}

/// Input on its way to the NIC.
#[derive(Debug, Default)]
pub struct Queue(Mutex<VecDeque<Given>>);

impl Queue {
    /// Appends a reply. Returns whether there was room.
    pub fn push(&self, reply: &Reply<'_>) -> bool {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = queue.len() < QUEUE;
        if has_room {
            queue.push_back(Given::Reply(reply.peer, reply.bytes.to_vec()));
        }
        has_room
    }

    /// Appends announcements. They are never lost.
    fn announce(&self, announcements: impl Iterator<Item = Announcement>) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.extend(announcements.map(Given::Announcement));
    }

    pub fn take(&self) -> VecDeque<Given> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Informs the NIC's proof cache about blocks, from any thread.
#[derive(Clone, Debug)]
pub struct Announcer {
    queue: Arc<Queue>,
    waker: Waker,
}

impl Announcer {
    pub(crate) fn new(queue: Arc<Queue>, waker: Waker) -> Self {
        Self { queue, waker }
    }

    /// A block extends a chain and touches addresses. If there are many of these, the cache forgets the whole chain,
    /// which is quicker.
    pub fn extend(
        &self,
        chain: Chain,
        hash: [u8; 32],
        height: u64,
        parent: [u8; 32],
        touched: impl Iterator<Item = [u8; 32]> + Clone,
    ) {
        if touched.clone().nth(FORGOTTEN).is_some() {
            return self.reorganise(chain, hash, height);
        }
        let forgotten = touched.map(|address| Announcement::forget(chain, address));
        self.queue.announce(forgotten.chain([Announcement::extend(chain, hash, height, parent)]));
        self.waker.wake();
    }

    /// A chain begins, or its tip differs from the cache's.
    pub fn reorganise(&self, chain: Chain, hash: [u8; 32], height: u64) {
        self.queue.announce([Announcement::reorganise(chain, hash, height)].into_iter());
        self.waker.wake();
    }
}
