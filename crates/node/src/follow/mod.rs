//! A node that follows another one: it has the same operations and blocks, and answers reads and proofs.
//!
//! Not to be confused with [`follower`](crate::follower), which follows a Bitcoin node.
//!
//! ```text
//! node's feed    --> feed thread    --\
//!                                      +--> executor --> journal, chain --> io answers from the chain
//! node's headers --> headers thread --/
//! ```
//!
//! - The feed thread receives the node's operations after the last one that is here, and passes them on. It waits while
//!   [`MOST_WAITING`] of them wait for their block.
//! - The headers thread fetches the headers after the last one that it has, and verifies that they follow it and are
//!   sealed.
//! - The executor is the only writer. It closes each block as [`ledger::followed`] states.
//! - Clients get answers from the chain alone, which has only verified blocks.
//!
//! If the node does not answer, both threads try again, with the pauses of the client library. If operations and
//! headers contradict each other, the executor ends, and the node serves nothing. If the other node's journal no longer
//! has the next operation, the executor ends, and reads continue.

mod controller;
mod status;

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{
            AtomicBool,
            Ordering::{Acquire, Relaxed, Release},
        },
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::sleep,
    time::Duration,
};

use chain::merkle::SignedTail;
use client::{Client, Feed, FeedPart, Options};
use ledger::{
    builder::Observer,
    followed::{self, FollowedLedger, Part},
    journal::Record,
};
use spv::{Authority, BlockHeader, Hash, SealedHeader};
use wire::Status;

use crate::{Config, Error, admission, node_state::NodeState};

pub use controller::Controller;
pub use status::FollowStatus;

/// Maximum number of operations that wait for the header of their block: those of a largest block, and three failed
/// ones for each. They take up to 350 MB.
const MOST_WAITING: u64 = 4 << 20;

/// Number of messages that wait for the executor. A part has up to 314 operations.
const MESSAGES: usize = 256;

/// Headers that are fetched ahead of the operations: 3 MiB.
const MOST_AHEAD: u64 = 1 << 14;

/// Interval of asking for headers: a tenth of the usual time between two blocks.
const HEADERS: Duration = Duration::from_millis(100);

/// Pause of a thread that waits for the executor.
const NAP: Duration = Duration::from_millis(5);

/// How often an idle executor looks for work.
const TICK: Duration = Duration::from_millis(50);

/// Time after which a request to a node that does not answer returns, to see whether this node is to stop.
const GIVE_UP: Duration = Duration::from_secs(1);

/// How long a follower without data waits for its node at the start.
const FIRST_CONTACT: Duration = Duration::from_secs(30);

/// Why a node does not follow another one, or stopped to.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// It has no chain, and the node does not answer.
    #[error("this follower has no data yet, and {node} sends no genesis header: {source}")]
    NoGenesis {
        /// The node.
        node: SocketAddr,
        /// The reason.
        source: Box<client::Error>,
    },
    /// The data directory is of another network than configured.
    #[error("the data directory is of network {found}, but `follow.network` is {expected}: set another `data`")]
    OtherNetwork {
        /// The configured network id.
        expected: String,
        /// That of the data directory.
        found: String,
    },
    /// Another node answers.
    #[error(
        "{node} is of network {found}, not {expected}: check the address; this follower serves the blocks that it has"
    )]
    OtherNode {
        /// The node.
        node: SocketAddr,
        /// The network id of the data directory.
        expected: String,
        /// That of the node.
        found: String,
    },
    /// Replicas order the chain.
    #[error(
        "{node} is a replica: a follower follows a node alone. A replica that is not in the set follows a cluster, see \
         `turnpike cluster join`"
    )]
    Replica {
        /// The node.
        node: SocketAddr,
    },
    /// The node's journal begins later.
    #[error(
        "the journal of {node} begins at operation {first}, after the next one here, {cursor}: stop this follower, restore \
         a newer backup of the node into an empty `data`, and start it there"
    )]
    Pruned {
        /// The node.
        node: SocketAddr,
        /// The next operation here.
        cursor: u64,
        /// The first operation in the node's journal.
        first: u64,
    },
    /// The node's journal ends earlier.
    #[error(
        "the journal of {node} ends before operation {cursor}: it was restored from an older backup, or is of another \
         ledger. Restore the newest copy there; this follower has later operations"
    )]
    Ahead {
        /// The node.
        node: SocketAddr,
        /// The next operation here.
        cursor: u64,
    },
    /// More operations than can wait belong to one block.
    #[error(
        "more than {MOST_WAITING} operations belong to block {height} of the node: restore a newer backup of the node, \
         which has that block"
    )]
    TooLong {
        /// Height of the block.
        height: u64,
    },
    /// The node refuses.
    #[error("{node} refuses a feed: {status}; it must run this version or a later one")]
    Refused {
        /// The node.
        node: SocketAddr,
        /// Its reason.
        status: Status,
    },
    /// The node sent something invalid.
    #[error("{node} sent something invalid: {source}. Nothing of it was served; find out who answers there")]
    Invalid {
        /// The node.
        node: SocketAddr,
        /// The fault.
        source: Box<client::Error>,
    },
    /// The ledger here cannot continue.
    #[error("{source}. Nothing of it was served; find out who answers at {node}")]
    Contradiction {
        /// The node.
        node: SocketAddr,
        /// The contradiction.
        source: Box<ledger::Error>,
    },
    /// The ledger here cannot be written, or has no room.
    #[error(transparent)]
    Ledger(#[from] Box<ledger::Error>),
}

impl FollowError {
    /// Whether what the node sent contradicts itself.
    pub fn is_contradiction(&self) -> bool {
        matches!(self, Self::Invalid { .. } | Self::Contradiction { .. })
    }

    /// The error of the ledger of a follower of a node.
    fn from_ledger(node: SocketAddr, source: ledger::Error) -> Self {
        let source = Box::new(source);
        if source.is_contradiction() { Self::Contradiction { node, source } } else { Self::Ledger(source) }
    }
}

/// The options of connections to the node.
fn options(give_up_after: Duration) -> Options {
    Options { tcp: true, give_up_after, ..Options::default() }
}

/// Connects to a node of a network.
fn connect(node: SocketAddr, network: Hash) -> Result<Client, client::Error> {
    let mut client = Client::connect(node, &options(GIVE_UP))?;
    client.check_network(Some(network))?;
    Ok(client)
}

/// Fetches the genesis header of a follower without data.
pub fn genesis(node: SocketAddr, network: Option<[u8; 32]>) -> Result<SealedHeader, FollowError> {
    let fetched = Client::connect(node, &options(FIRST_CONTACT)).and_then(|mut client| client.open_chain(network));
    let chain = fetched.map_err(|source| FollowError::NoGenesis { node, source: Box::new(source) })?;
    if chain.key().is_none() {
        return Err(FollowError::Replica { node });
    }
    Ok(chain.all()[0])
}

/// The configuration of a follower's ledger.
pub fn ledger_options(config: &Config) -> followed::Options {
    followed::Options {
        limits: config.ledger.limits(),
        snapshots: config.blocks.snapshots(),
        retention: Duration::from_secs(config.ledger.retry_seconds),
        replay: Duration::from_secs(config.ledger.replay_window),
    }
}

/// A message to the executor.
enum Message {
    Part(Part),
    Headers(Vec<SealedHeader>),
    End(FollowError),
}

/// The work of the threads of a follower.
pub struct Threads<O> {
    /// Receives the node's operations.
    pub feed: FeedThread,
    /// Fetches the node's headers.
    pub headers: HeadersThread,
    /// Executes.
    pub executor: Executor<O>,
}

/// Prepares to follow `node`.
pub fn threads<O: Observer>(
    node: SocketAddr,
    ledger: FollowedLedger<O>,
    authority: Authority,
    node_state: &Arc<NodeState>,
    stop: &Arc<AtomicBool>,
) -> Threads<O> {
    let (tip, network) = (ledger.tip(), ledger.chain().network_id());
    let status = Arc::new(FollowStatus::new(node, ledger.executed(), tip.height()));
    node_state.set_followed(status.clone());
    let (sender, messages) = sync_channel(MESSAGES);
    let feed = Feed::new(node, ledger.next_sequence(), None, &options(GIVE_UP)).with_tails();
    Threads {
        feed: FeedThread { network, feed, status: status.clone(), messages: sender.clone(), stop: stop.clone() },
        headers: HeadersThread {
            network,
            authority,
            last: tip.header,
            status: status.clone(),
            messages: sender,
            stop: stop.clone(),
        },
        executor: Executor { ledger, status, messages, node_state: node_state.clone() },
    }
}

/// The thread that receives the node's operations.
pub struct FeedThread {
    network: Hash,
    feed: Feed,
    status: Arc<FollowStatus>,
    messages: SyncSender<Message>,
    stop: Arc<AtomicBool>,
}

impl FeedThread {
    /// Runs until stopped, or until the executor ends.
    pub fn run(mut self) {
        let node = self.status.node;
        while !self.stop.load(Acquire) {
            if self.status.waiting() >= MOST_WAITING {
                sleep(NAP);
                continue;
            }
            let cursor = self.feed.cursor();
            let received = if self.status.is_up() { Ok(()) } else { self.check_network() };
            let message = match received.and_then(|()| self.feed.receive()) {
                Ok(part) => {
                    self.status.report(part.durable);
                    if self.status.set_up(true) {
                        tracing::info!(%node, cursor, "following");
                    }
                    if part.entries.is_empty() {
                        continue;
                    }
                    Message::Part(of_feed(&part))
                }
                Err(client::Error::Pruned { cursor, first }) => {
                    Message::End(FollowError::Pruned { node, cursor, first })
                }
                Err(client::Error::Refused(Status::NotFound)) => Message::End(FollowError::Ahead { node, cursor }),
                Err(client::Error::Refused(status @ (Status::Malformed | Status::UnknownCommand))) => {
                    Message::End(FollowError::Refused { node, status })
                }
                Err(client::Error::WrongNetwork { expected, found }) => {
                    Message::End(FollowError::OtherNode { node, expected, found })
                }
                Err(source @ client::Error::WrongReply) => {
                    Message::End(FollowError::Invalid { node, source: Box::new(source) })
                }
                Err(error) => {
                    if self.status.set_up(false) {
                        tracing::warn!(%node, %error, "the followed node does not answer: trying again");
                    }
                    continue;
                }
            };
            self.status.set_reconnections(self.feed.reconnections());
            if self.messages.send(message).is_err() {
                return;
            }
        }
    }
}

impl FeedThread {
    /// Checks, before a feed begins, that the node is not another one.
    fn check_network(&self) -> Result<(), client::Error> {
        connect(self.status.node, self.network).map(drop)
    }
}

/// The operations of a frame.
fn of_feed(part: &FeedPart<'_>) -> Part {
    let record = |entry: &wire::FeedEntry| Record { operation: entry.operation, value: entry.value };
    // The client has checked that each tail belongs to an entry.
    let first = part.cursor - part.entries.len() as u64;
    let tail = |tail: &wire::FeedTail| SignedTail {
        position: tail.sequence.get().saturating_sub(first) as u32,
        tail: tail.tail,
    };
    Part {
        time: part.timestamp,
        records: part.entries.iter().map(record).collect(),
        tails: part.tails.iter().map(tail).collect(),
    }
}

/// The thread that fetches the node's headers.
pub struct HeadersThread {
    network: Hash,
    authority: Authority,
    last: BlockHeader,
    status: Arc<FollowStatus>,
    messages: SyncSender<Message>,
    stop: Arc<AtomicBool>,
}

impl HeadersThread {
    /// Runs until stopped, or until the executor ends.
    pub fn run(mut self) {
        let mut client = None;
        while !self.stop.load(Acquire) && self.status.stopped().is_none() {
            let is_ahead = self.last.height.get() >= self.status.height() + MOST_AHEAD;
            let message = match if is_ahead { Ok(Vec::new()) } else { self.fetch(&mut client) } {
                Ok(headers) => match headers.last() {
                    Some(last) => {
                        self.last = last.header;
                        Message::Headers(headers)
                    }
                    None => {
                        sleep(HEADERS);
                        continue;
                    }
                },
                Err(client::Error::WrongNetwork { expected, found }) => {
                    Message::End(FollowError::OtherNode { node: self.status.node, expected, found })
                }
                Err(source @ (client::Error::Header(_) | client::Error::WrongReply)) => {
                    Message::End(FollowError::Invalid { node: self.status.node, source: Box::new(source) })
                }
                Err(error) => {
                    // The feed's thread logs outages.
                    tracing::debug!(%error, "cannot fetch headers");
                    client = None;
                    sleep(HEADERS);
                    continue;
                }
            };
            if self.messages.send(message).is_err() {
                return;
            }
        }
    }

    fn fetch(&self, client: &mut Option<Client>) -> Result<Vec<SealedHeader>, client::Error> {
        let client = match client {
            Some(client) => client,
            None => client.insert(connect(self.status.node, self.network)?),
        };
        client.headers_after(&self.authority, &self.last)
    }
}

/// The thread that executes the node's operations: the only writer.
pub struct Executor<O> {
    ledger: FollowedLedger<O>,
    status: Arc<FollowStatus>,
    messages: Receiver<Message>,
    node_state: Arc<NodeState>,
}

impl<O: Observer> Executor<O> {
    /// The status that it publishes.
    pub fn status(&self) -> &Arc<FollowStatus> {
        &self.status
    }

    /// Runs until the other threads have ended, or following ends.
    pub fn run(mut self) {
        self.publish(0);
        match self.follow() {
            Ok(()) => {
                if let Err(error) = self.ledger.finish() {
                    tracing::warn!(%error, "cannot write a snapshot of the ledger: the next start takes longer");
                }
            }
            Err(error) => {
                tracing::error!(%error, "this node stopped following");
                self.status.stop(error);
            }
        }
    }

    fn follow(&mut self) -> Result<(), FollowError> {
        let node = self.status.node;
        let mut headers = VecDeque::new();
        loop {
            match self.messages.recv_timeout(TICK) {
                Ok(Message::Part(part)) => {
                    let count = part.records.len();
                    self.ledger.take(part).map_err(|error| FollowError::from_ledger(node, error))?;
                    self.node_state.executed.fetch_add(count as u64, Relaxed);
                }
                Ok(Message::Headers(more)) => headers.extend(more),
                Ok(Message::End(error)) => return Err(error),
                Err(RecvTimeoutError::Timeout) => {
                    let idled = self.ledger.idle(admission::monotonic());
                    idled.map_err(|error| FollowError::from_ledger(node, error))?;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            while let Some(sealed) = headers.front() {
                let closed = self.ledger.close(sealed, admission::monotonic());
                if closed.map_err(|error| FollowError::from_ledger(node, error))?.is_none() {
                    break;
                }
                headers.pop_front();
            }
            let waiting = self.ledger.waiting();
            // One more message may come after the feed's thread has looked.
            if waiting as u64 >= MOST_WAITING
                && let Some(sealed) = headers.front()
            {
                return Err(FollowError::TooLong { height: sealed.height() });
            }
            self.publish(waiting);
        }
    }

    /// Publishes metrics.
    fn publish(&self, waiting: usize) {
        let (tip, ledger, node_state) = (self.ledger.tip(), self.ledger.ledger(), &self.node_state);
        node_state.count_entries(ledger);
        node_state.height.store(tip.height(), Relaxed);
        node_state.index_height.store(tip.index_height, Relaxed);
        node_state.first_retained.store(self.ledger.chain().first_retained(), Relaxed);
        node_state.settled.store(tip.transactions, Relaxed);
        // Last: a reader that sees it sees the others as well.
        node_state.built.store(tip.end_sequence, Release);
        self.status.advance(self.ledger.executed(), tip.height(), waiting);
    }
}

impl From<FollowError> for Error {
    fn from(error: FollowError) -> Self {
        Self::Follow(Box::new(error))
    }
}
