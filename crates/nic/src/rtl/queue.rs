//! What other threads have for the NIC: replies of the node's, and news of blocks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use wire::Chain;

use crate::backend::{Peer, Reply, Waker};
use crate::csr::Announcement;

/// Replies that wait to enter the NIC; more are lost, as in the queue of a network card.
const QUEUE: usize = 1 << 16;

/// Most addresses of a block that the NIC is told one by one: it takes some cycles for each.
const FORGOTTEN: usize = 1024;

/// What the NIC is given by its host.
#[derive(Debug)]
pub enum Given {
    Reply(Peer, Vec<u8>),
    Announcement(Announcement),
}

/// What is on its way to the NIC.
#[derive(Debug, Default)]
pub struct Queue(Mutex<VecDeque<Given>>);

impl Queue {
    /// Appends a reply. Whether there was room.
    pub fn push(&self, reply: &Reply<'_>) -> bool {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = queue.len() < QUEUE;
        if has_room {
            queue.push_back(Given::Reply(reply.peer, reply.bytes.to_vec()));
        }
        has_room
    }

    /// Appends announcements, one behind the other. They are never lost.
    fn announce(&self, announcements: impl Iterator<Item = Announcement>) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.extend(announcements.map(Given::Announcement));
    }

    pub fn take(&self) -> VecDeque<Given> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Tells the NIC's proof cache of blocks, from any thread.
#[derive(Clone, Debug)]
pub struct Announcer {
    queue: Arc<Queue>,
    waker: Waker,
}

impl Announcer {
    pub(super) fn new(queue: Arc<Queue>, waker: Waker) -> Self {
        Self { queue, waker }
    }

    /// A block extends a chain and touches addresses. Where these are many, the cache forgets the whole chain: that is quicker.
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

    /// A chain begins, or has another tip than the cache knows.
    pub fn reorganise(&self, chain: Chain, hash: [u8; 32], height: u64) {
        self.queue.announce([Announcement::reorganise(chain, hash, height)].into_iter());
        self.waker.wake();
    }
}
