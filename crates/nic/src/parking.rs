//! Replies that wait until the disk has what they promise.
//!
//! The data path parks the reply to a durable request with the journal sequence that it waits for; the journal thread
//! sends it after the sync that covers that sequence. They share two slabs of fixed size: one fills while the other is
//! emptied, like the journal's batches, so the lock is held only for a copy or a swap.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use wire::Status;

use crate::backend::{Peer, Reply, Transmit};
use crate::generator;
use crate::histogram::Histogram;

/// A reply in a slab: its bytes follow those of the previous one.
#[derive(Clone, Copy, Debug)]
struct Parked {
    peer: Peer,
    sequence: u64,
    length: usize,
    /// When the request was received.
    since: Instant,
}

/// Replies and their bytes, in the order of parking, which is that of their sequences.
#[derive(Debug)]
struct Slab {
    bytes: Vec<u8>,
    replies: VecDeque<Parked>,
}

impl Slab {
    fn new(limits: Limits) -> Self {
        Self { bytes: Vec::with_capacity(limits.bytes), replies: VecDeque::with_capacity(limits.replies) }
    }
}

/// Capacity of one slab; there are two.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of replies.
    pub bytes: usize,
    /// Number of replies.
    pub replies: usize,
}

impl Default for Limits {
    /// 4 MiB is 64 of the largest datagrams, with 170,000 operations: more than a slow disk falls behind during a sync.
    /// 16,384 replies is that many clients waiting at once.
    fn default() -> Self {
        Self { bytes: 4 << 20, replies: 16_384 }
    }
}

/// The data path's side, which parks replies.
#[derive(Debug)]
pub struct Parking {
    filling: Arc<Mutex<Slab>>,
    limits: Limits,
}

/// The journal's side, which sends them.
#[derive(Debug)]
pub struct Departures {
    filling: Arc<Mutex<Slab>>,
    emptying: Slab,
    /// Bytes of `emptying` that belong to sent replies.
    sent: usize,
}

/// The two sides of a new pair of slabs.
pub fn parking(limits: Limits) -> (Parking, Departures) {
    let filling = Arc::new(Mutex::new(Slab::new(limits)));
    (Parking { filling: filling.clone(), limits }, Departures { filling, emptying: Slab::new(limits), sent: 0 })
}

impl Parking {
    /// The free room. It does not shrink before it is used, because only the data path parks replies.
    pub fn room(&self) -> Limits {
        let slab = self.filling.lock().unwrap_or_else(PoisonError::into_inner);
        Limits {
            bytes: self.limits.bytes.saturating_sub(slab.bytes.len()),
            replies: self.limits.replies.saturating_sub(slab.replies.len()),
        }
    }

    /// Parks replies to requests received at `since`, until `sequence` is durable, which must not be below that of an
    /// earlier parked reply.
    pub fn park<'a>(&mut self, sequence: u64, since: Instant, replies: impl Iterator<Item = Reply<'a>>) {
        let mut slab = self.filling.lock().unwrap_or_else(PoisonError::into_inner);
        for reply in replies {
            debug_assert!(slab.bytes.len() + reply.bytes.len() <= self.limits.bytes, "parked without asking for room");
            slab.bytes.extend_from_slice(reply.bytes);
            slab.replies.push_back(Parked { peer: reply.peer, sequence, length: reply.bytes.len(), since });
        }
    }
}

impl Departures {
    /// Sends every parked reply whose sequence is at most `durable`, and records how long their requests took.
    pub fn release(&mut self, durable: u64, transmit: &mut dyn Transmit, latency: &Histogram) {
        self.release_emptying(durable, transmit, latency);
        if self.emptying.replies.is_empty() {
            self.swap();
            self.release_emptying(durable, transmit, latency);
        }
    }

    /// Answers every parked reply with `status` instead: the journal cannot be written.
    pub fn refuse(&mut self, status: Status, transmit: &mut dyn Transmit) {
        for _ in 0..2 {
            let Slab { bytes, replies } = &mut self.emptying;
            let mut rest = &mut bytes[self.sent..];
            let refused = replies.drain(..).filter_map(|parked| {
                let (reply, others) = std::mem::take(&mut rest).split_at_mut(parked.length);
                rest = others;
                let length = generator::refuse(reply, status, 0);
                (length > 0).then_some(Reply { peer: parked.peer, bytes: &reply[..length] })
            });
            transmit.transmit(&mut { refused });
            self.swap();
        }
    }

    fn release_emptying(&mut self, durable: u64, transmit: &mut dyn Transmit, latency: &Histogram) {
        let due = self.emptying.replies.iter().take_while(|parked| parked.sequence <= durable).count();
        if due == 0 {
            return;
        }
        let (bytes, sent, now) = (&self.emptying.bytes, &mut self.sent, Instant::now());
        let mut replies = self.emptying.replies.drain(..due).map(|parked| {
            let start = *sent;
            *sent += parked.length;
            latency.record(now.saturating_duration_since(parked.since), 1);
            Reply { peer: parked.peer, bytes: &bytes[start..*sent] }
        });
        transmit.transmit(&mut replies);
    }

    /// Takes the parked replies, and leaves the empty slab to be filled.
    fn swap(&mut self) {
        self.emptying.bytes.clear();
        self.sent = 0;
        let mut filling = self.filling.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *filling, &mut self.emptying);
    }
}
