//! Counters of the data path.

use std::sync::atomic::{AtomicU64, Ordering};

use wire::{Command, Promise, Status};

use crate::held::Class;
use crate::histogram::Histogram;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Returns the counter's value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds to the counter.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The client closed it, or it broke.
    Client,
    /// It sent something that gets no reply, or not a frame.
    Malformed,
    /// No byte moved for too long.
    Idle,
    /// A frame was not complete in time.
    SlowFrame,
    /// Replies were not taken in time.
    SlowReader,
    /// Another connection needed its place, and it was the idlest.
    Room,
    /// There was no place for it: it was closed at once.
    Refused,
    /// It became a feed, which the data path no longer serves.
    Feed,
}

impl Closed {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::Client,
        Self::Malformed,
        Self::Idle,
        Self::SlowFrame,
        Self::SlowReader,
        Self::Room,
        Self::Refused,
        Self::Feed,
    ];

    /// Returns the name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Malformed => "malformed",
            Self::Idle => "idle",
            Self::SlowFrame => "slow_frame",
            Self::SlowReader => "slow_reader",
            Self::Room => "room",
            Self::Refused => "refused",
            Self::Feed => "feed",
        }
    }
}

/// The largest code of a status, plus one.
const STATUS_CODES: usize = 70;

/// The largest code of a command, plus one.
const COMMANDS: usize = Command::ALL[Command::ALL.len() - 1].code() as usize + 1;

/// The largest code of a promise, plus one.
const PROMISES: usize = 4;

/// Counters of a data path.
#[derive(Debug)]
pub struct Counters {
    /// Messages received: datagrams, or several received as one.
    pub messages: Counter,
    /// Datagrams received.
    pub datagrams: Counter,
    /// Those received by AF_XDP, bypassing the host's network stack.
    pub frames: Counter,
    /// Bytes received.
    pub bytes: Counter,
    /// Queries received.
    pub queries: Counter,
    /// Datagrams without a reply: not a frame, from the node's own port, or over the rate limit when a reply had
    /// already said so.
    pub dropped: Counter,
    /// Replies sent.
    pub replies: Counter,
    /// Replies that could not be sent.
    pub lost: Counter,
    /// Connections opened.
    pub connections: Counter,
    operations: [Counter; COMMANDS],
    /// Time from the receipt of a request to its reply, by the promise of the reply.
    latencies: [Histogram; PROMISES],
    refused: [Counter; STATUS_CODES],
    busy: [Counter; Class::ALL.len()],
    closed: [Counter; Closed::ALL.len()],
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            messages: Counter::default(),
            datagrams: Counter::default(),
            frames: Counter::default(),
            bytes: Counter::default(),
            queries: Counter::default(),
            dropped: Counter::default(),
            replies: Counter::default(),
            lost: Counter::default(),
            connections: Counter::default(),
            operations: Default::default(),
            latencies: Default::default(),
            refused: [const { Counter(AtomicU64::new(0)) }; STATUS_CODES],
            busy: Default::default(),
            closed: Default::default(),
        }
    }
}

impl Counters {
    /// Number of operations of a command that were executed, or refused individually.
    pub fn operations(&self, command: Command) -> u64 {
        self.operations.get(usize::from(command.code())).map_or(0, Counter::get)
    }

    /// Counts operations by the codes of their commands, ignoring unknown codes: nothing executes them.
    pub fn count_operations(&self, codes: impl Iterator<Item = u8>) {
        let mut counts = [0; COMMANDS];
        codes.filter_map(|code| counts.get_mut(usize::from(code)).map(|count| *count += 1)).for_each(drop);
        for (counter, count) in self.operations.iter().zip(counts).filter(|(_, count)| *count > 0) {
            counter.add(count);
        }
    }

    /// Time until requests were answered under a promise.
    pub fn latency(&self, promise: Promise) -> &Histogram {
        &self.latencies[usize::from(promise.code()) % PROMISES]
    }

    /// Number of whole frames refused with a status.
    pub fn refused(&self, status: Status) -> u64 {
        self.refused.get(usize::from(status.code())).map_or(0, Counter::get)
    }

    /// Counts a whole frame refused with a status.
    pub fn refuse(&self, status: Status) {
        if let Some(counter) = self.refused.get(usize::from(status.code())) {
            counter.add(1);
        }
    }

    /// Frames refused because the buffers of their class were full.
    pub fn busy(&self, class: Class) -> &Counter {
        &self.busy[class as usize]
    }

    /// Connections that ended for this reason.
    pub fn closed(&self, why: Closed) -> &Counter {
        &self.closed[why as usize]
    }

    /// TCP connections that are open. While others close, it may be an earlier number.
    pub fn open_connections(&self) -> u64 {
        let closed = Closed::ALL.iter().map(|why| self.closed(*why).get()).sum();
        self.connections.get().saturating_sub(closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_counter() {
        let counters = Counters::default();
        for &status in Status::ALL {
            counters.refuse(status);
            assert_eq!(counters.refused(status), 1, "{status}");
        }
        for &command in Command::ALL {
            counters.count_operations([command.code(), 0, u8::MAX].into_iter());
            assert_eq!(counters.operations(command), 1, "{command}");
        }
        for (promise, other) in [(Promise::Accepted, Promise::Durable), (Promise::Final, Promise::Accepted)] {
            assert!(!std::ptr::eq(counters.latency(promise), counters.latency(other)), "{promise:?}");
        }
        for class in Class::ALL {
            counters.busy(class).add(1);
            assert_eq!(counters.busy(class).get(), 1, "{}", class.name());
        }
        for why in Closed::ALL {
            counters.closed(why).add(1);
            assert_eq!(counters.closed(why).get(), 1, "{}", why.name());
        }
    }
}
