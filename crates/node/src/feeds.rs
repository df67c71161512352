//! Feeds: journalled operations, streamed to subscribers over TCP, or over a WebSocket of the HTTP server.
//!
//! One thread serves all feeds. It reads the journal's files like the block builder, so neither the ledger's writer nor
//! the thread that commits ever waits for a feed; a commit only wakes this thread if it sleeps. The journal itself is
//! the buffer: a feed holds little more than what its socket is about to take, and a subscriber that lags reads older
//! files.
//!
//! In each round:
//!
//! 1. Accept subscriptions; refuse those above the limit with `BUSY`.
//! 2. Serve each feed until its socket is full, it has every durable operation, or its share of the round is used.
//! 3. Sleep until a commit, a socket that is ready, a subscription, or a tick, unless a feed has used its share.
//!
//! A commit between the last look at the journal and the sleep is not lost: this thread sets `is_asleep` before that
//! look, and the commit looks at it after publishing.

mod feed;

use std::{
    io,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, SeqCst},
            fence,
        },
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    time::{Duration, Instant},
};

use ledger::journal::Log;
use net::Waker;
use nic::{Streams, Subscriber, Subscription};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wire::Promise;

use crate::Config;

use feed::{Feed, Progress};

/// Maximum number of subscriptions that wait to be accepted. This thread accepts all of them in every round.
const WAITING: usize = 64;

/// Maximum sleep of the thread, and so its delay in noticing that it must end. Heartbeats are late by at most this.
const TICK: Duration = Duration::from_millis(100);

/// Why a feed ended, or did not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client closed the connection, sent something, or the connection broke.
    Client,
    /// The client read too slowly.
    TooSlow,
    /// The journal no longer has the next operation.
    Pruned,
    /// The cursor was after the next operation.
    NotFound,
    /// There were too many feeds.
    Busy,
    /// The journal cannot be read.
    StorageFailed,
}

impl Ended {
    /// All reasons.
    pub const ALL: [Self; 6] =
        [Self::Client, Self::TooSlow, Self::Pruned, Self::NotFound, Self::Busy, Self::StorageFailed];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::TooSlow => "too_slow",
            Self::Pruned => "pruned",
            Self::NotFound => "not_found",
            Self::Busy => "busy",
            Self::StorageFailed => "storage_failed",
        }
    }
}

/// What the thread of feeds counts.
#[derive(Debug, Default)]
pub struct FeedCounters {
    /// Feeds that are open.
    pub open: AtomicU64,
    /// Entries sent to feeds.
    pub operations: AtomicU64,
    /// Durable operations that the slowest feed has not read.
    pub behind: AtomicU64,
    ended: [AtomicU64; Ended::ALL.len()],
}

impl FeedCounters {
    /// Number of feeds that ended for a reason.
    pub fn ended(&self, why: Ended) -> u64 {
        self.ended[why as usize].load(Relaxed)
    }

    fn end(&self, why: Ended) {
        self.ended[why as usize].fetch_add(1, Relaxed);
    }
}

/// What every feed needs.
#[derive(Debug)]
struct Source {
    log: Arc<Log>,
    /// The promise of all entries.
    promise: Promise,
    /// How long a client may take to read 64 KiB.
    patience: Duration,
    counters: Arc<FeedCounters>,
}

/// All feeds; [`Feeds::run`] needs its own thread.
#[derive(Debug)]
pub(crate) struct Feeds {
    source: Source,
    limit: usize,
    subscriptions: Receiver<Subscription>,
    waker: Waker,
    is_asleep: Arc<AtomicBool>,
    feeds: Vec<Feed>,
}

impl Feeds {
    /// The feeds of a journal, the connections whose subscriptions they serve, and the way for others. `None` if none
    /// are configured.
    pub fn attach(
        config: &Config,
        streams: Streams,
        log: &Arc<Log>,
        counters: Arc<FeedCounters>,
    ) -> io::Result<(Streams, Option<(Self, Subscriber)>)> {
        if config.limits.feeds == 0 {
            return Ok((streams, None));
        }
        // A replica journals operations after they are ordered, so every entry is final.
        let promise = if config.cluster.is_wanted() { Promise::Final } else { Promise::Durable };
        let patience = Duration::from_millis(config.limits.frame_timeout);
        let source = Source { log: log.clone(), promise, patience, counters };
        let (feeds, sender) = Self::new(source, config.limits.feeds)?;
        let subscriber = Subscriber::new(sender, feeds.waker.clone());
        Ok((streams.with_feeds(subscriber.clone()), Some((feeds, subscriber))))
    }

    fn new(source: Source, limit: usize) -> io::Result<(Self, SyncSender<Subscription>)> {
        let (sender, subscriptions) = sync_channel(WAITING);
        let (waker, is_asleep) = (Waker::new()?, Arc::new(AtomicBool::new(false)));
        let (wakes, asleep) = (waker.clone(), is_asleep.clone());
        source.log.on_commit(move || {
            // The other half of the agreement in `wait`: publish, then look at the flag.
            fence(SeqCst);
            if asleep.load(Relaxed) && asleep.swap(false, Relaxed) {
                wakes.wake();
            }
        });
        Ok((Self { source, limit, subscriptions, waker, is_asleep, feeds: Vec::new() }, sender))
    }

    /// Serves the feeds until `stop` is set.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut ready = Vec::new();
        let mut has_more = false;
        while !stop.load(Acquire) {
            self.wait(has_more, &mut ready)?;
            let now = Instant::now();
            has_more = false;
            let (source, mut at) = (&self.source, 0);
            self.feeds.retain_mut(|feed| {
                let is_readable = ready.get(at).copied().unwrap_or(false);
                at += 1;
                match feed.serve(source, is_readable, now) {
                    Progress::More => has_more = true,
                    Progress::Waits => {}
                    Progress::Over(why) => {
                        source.counters.end(why);
                        return false;
                    }
                }
                true
            });
            self.accept(now);
            self.publish();
        }
        Ok(())
    }

    /// Accepts the waiting subscriptions.
    fn accept(&mut self, now: Instant) {
        while let Ok(subscription) = self.subscriptions.try_recv() {
            if self.feeds.len() >= self.limit {
                self.source.counters.end(Ended::Busy);
                Feed::refuse(subscription);
                continue;
            }
            // Its first frame waits for its socket, so the next round does not sleep.
            self.feeds.push(Feed::new(subscription, &self.source, now));
        }
        assert!(self.feeds.len() <= self.limit, "feeds above the limit are refused");
    }

    fn publish(&self) {
        let counters = &self.source.counters;
        counters.open.store(self.feeds.len() as u64, Relaxed);
        counters.behind.store(self.feeds.iter().map(Feed::behind).max().unwrap_or(0), Relaxed);
    }

    /// Waits for something to do; not at all if a feed `has_more`. Writes which feeds' sockets are readable.
    fn wait(&self, has_more: bool, ready: &mut Vec<bool>) -> io::Result<()> {
        // Without feeds, commits need not wake this thread.
        self.is_asleep.store(!has_more && !self.feeds.is_empty(), Relaxed);
        // Set the flag, then look at the journal: a commit looks at them in the other order.
        fence(SeqCst);
        let is_due = has_more || self.feeds.iter().any(Feed::has_work);
        let mut polled = vec![PollFd::new(&self.waker, PollFlags::IN)];
        polled.extend(self.feeds.iter().map(|feed| {
            let mut events = PollFlags::IN;
            events.set(PollFlags::OUT, feed.is_full());
            PollFd::new(feed.stream(), events)
        }));
        let timeout = if is_due { Duration::ZERO } else { TICK };
        let timeout = Timespec { tv_sec: 0, tv_nsec: timeout.as_nanos() as i64 };
        let waited = poll(&mut polled, Some(&timeout));
        self.is_asleep.store(false, Relaxed);
        match waited {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let readable = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
        ready.clear();
        ready.extend(polled[1..].iter().map(|polled| polled.revents().intersects(readable)));
        drop(polled);
        self.waker.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
