//! Simulated time: events in chronological order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// One second in microseconds, the unit of simulated time.
pub const SECOND: u64 = 1_000_000;

/// Unix time at the start of simulations (arbitrary).
pub const EPOCH: u64 = 1_700_000_000 * SECOND;

/// Pending events.
pub struct Schedule<E> {
    now: u64,
    order: BinaryHeap<Reverse<(u64, u64)>>,
    /// Indexed by scheduling order, which breaks ties.
    events: BTreeMap<u64, E>,
    scheduled: u64,
}

impl<E> Schedule<E> {
    pub fn new() -> Self {
        Self { now: 0, order: BinaryHeap::new(), events: BTreeMap::new(), scheduled: 0 }
    }

    /// The time, in microseconds since the start.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Schedules an event after a delay.
    pub fn after(&mut self, delay: u64, event: E) {
        self.order.push(Reverse((self.now + delay, self.scheduled)));
        self.events.insert(self.scheduled, event);
        self.scheduled += 1;
    }

    /// Advances to the next event.
    pub fn next(&mut self) -> Option<E> {
        let Reverse((time, number)) = self.order.pop()?;
        self.now = time;
        self.events.remove(&number)
    }
}
