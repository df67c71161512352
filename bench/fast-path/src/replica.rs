//! A replica: it collects votes for the batches of its clients, and votes on its own and those of other replicas.
//!
//! One thread serves all channels. It takes every message that has arrived, and then processes them together in
//! `Replica::process`, so that signatures are checked in large groups and one sync covers all new locks.

use std::{
    collections::{HashMap, VecDeque},
    io,
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use link::{Address, Channel, Config, Operations, SelectionKey, Selector, ServerChannel, Waker};
use secp256k1::Keypair;
use spv::Hash;
use wire::{FastBatch, FastOrder, FastVote, ParsedVote};

use crate::{
    batch::{self, Batch},
    genesis::{self, GENERATION, QUORUM, REPLICAS},
    locks::Locks,
    state::{Accepted, State},
    votes,
};

/// The first byte of each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The first message of a replica that connects; its number follows.
    Replica = 1,
    /// The first message of a client, or a repetition. The reply has the number of replicas that are connected.
    Client = 2,
    /// A batch of orders.
    Batch = 3,
    /// A vote, to the collector.
    Vote = 4,
    /// Votes that certify orders, from the collector.
    Certificate = 5,
}

impl Kind {
    /// Splits a message.
    pub fn split(message: &[u8]) -> Option<(Self, &[u8])> {
        let (first, rest) = message.split_first()?;
        let all = [Self::Replica, Self::Client, Self::Batch, Self::Vote, Self::Certificate];
        Some((*all.iter().find(|kind| **kind as u8 == *first)?, rest))
    }

    /// A message of this kind.
    pub fn message(self, rest: &[u8]) -> Vec<u8> {
        [&[self as u8], rest].concat()
    }
}

/// The configuration of all channels: a buffer holds the largest batch.
pub fn channels() -> Config {
    let largest = 1 + FastBatch::LENGTH + FastBatch::MAX_ORDERS * FastOrder::LENGTH;
    Config { buffers: 32, buffer_bytes: largest.next_multiple_of(4096) as u32, ..Config::default() }
}

/// Maximum number of messages that wait for a channel's buffers. A slower peer is disconnected.
const MAX_WAITING: usize = 1024;

/// Batches that a replica remembers, to apply their certificates and to answer repetitions.
const MAX_BATCHES: usize = 4096;

/// A certificate is verified with the next batch, or after this time: longer than a client takes for
/// its next batch, and short for a reader of the state.
const CERTIFICATE: Duration = Duration::from_millis(1);

/// Certificates that are verified without a further batch: a few times the lanes of a vector.
const MAX_CERTIFICATES: usize = 32;

/// Interval of attempts to connect to replicas that are not there.
const RETRY: Duration = Duration::from_millis(20);

/// Why a replica ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A channel or the selector failed.
    #[error("the channels failed: {0}")]
    Link(#[from] link::Error),
    /// Locks cannot be synced, so the replica must not vote.
    #[error("cannot write the lock journal: {0}; free or replace the disk, then restart the replica")]
    Locks(#[from] io::Error),
}

/// The other side of a channel.
#[derive(Debug)]
struct Peer {
    role: Role,
    waiting: VecDeque<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It has not sent its first message.
    Unknown,
    Client,
    Replica(usize),
}

/// A batch that this replica has received.
#[derive(Debug)]
struct Known {
    batch: Batch,
    /// The client to answer, if this replica is the collector.
    client: Option<SelectionKey>,
    /// The orders that this replica accepts, and its vote.
    accepted: Vec<bool>,
    vote: Option<Vec<u8>>,
    /// If this replica is the collector: votes that are not verified, the valid ones, and which orders are certified.
    unverified: Vec<Vec<u8>>,
    votes: Vec<Vec<u8>>,
    certified: Vec<bool>,
}

impl Known {
    /// Keeps a replica's vote, instead of an earlier one that accepts less.
    fn keep(&mut self, replica: u8, vote: Vec<u8>) {
        let is_of = |other: &Vec<u8>| votes::parse(other).is_some_and(|other| other[0].header.replica == replica);
        match self.votes.iter_mut().find(|other| is_of(other)) {
            Some(earlier) => *earlier = vote,
            None => self.votes.push(vote),
        }
        assert!(self.votes.len() <= REPLICAS, "a replica has one vote");
    }
}

/// Messages that arrived together.
#[derive(Debug, Default)]
struct Inbox {
    greetings: Vec<SelectionKey>,
    batches: Vec<(SelectionKey, Role, Vec<u8>)>,
    votes: Vec<Vec<u8>>,
    certificates: Vec<Vec<u8>>,
}

/// A replica.
#[derive(Debug)]
pub struct Replica {
    number: u8,
    keypair: Keypair,
    state: State,
    locks: Locks,
    selector: Selector,
    server: SelectionKey,
    address: Address,
    /// The addresses of all replicas, once they are known.
    addresses: Vec<Address>,
    peers: HashMap<SelectionKey, Peer>,
    /// Channels that are connecting, and the number of the replica at the other end.
    connecting: HashMap<SelectionKey, usize>,
    batches: HashMap<Hash, Known>,
    /// The roots of the batches, the oldest first.
    order: VecDeque<Hash>,
    /// Certificates of other collectors that are not verified.
    certificates: Vec<Vec<u8>>,
    /// When the first of them arrived.
    waiting_since: Instant,
    /// When replicas that are not there are tried again.
    retry: Instant,
}

impl Replica {
    /// Opens a replica with its lock journal in a directory, and listens on an address.
    pub fn open(number: u8, accounts: u32, directory: &Path, listen: &Address) -> Result<Self, Error> {
        let (locks, restored) = Locks::open(directory)?;
        let mut state = State::new(accounts);
        for orders in restored.chunks(FastBatch::MAX_ORDERS) {
            let batch = Batch::new(orders.to_vec());
            batch.orders.into_iter().zip(batch.hashes).for_each(|(order, hash)| state.restore(order, hash));
        }
        let server = ServerChannel::bind(listen, &channels())?;
        let address = server.address();
        let mut selector = Selector::new()?;
        let server = selector.register_server(server)?;
        Ok(Self {
            number,
            keypair: genesis::replica(number),
            state,
            locks,
            selector,
            server,
            address,
            addresses: Vec::new(),
            peers: HashMap::new(),
            connecting: HashMap::new(),
            batches: HashMap::new(),
            order: VecDeque::new(),
            certificates: Vec::new(),
            waiting_since: Instant::now(),
            retry: Instant::now(),
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Wakes [`run`](Self::run), so that it sees that it is over.
    pub fn waker(&self) -> Waker {
        self.selector.waker()
    }

    /// The fast state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Serves until `is_over` is set. `addresses` are those of all replicas, by number.
    pub fn run(&mut self, addresses: &[Address], is_over: &AtomicBool) -> Result<(), Error> {
        self.addresses = addresses.to_vec();
        let mut selected = Vec::new();
        while !is_over.load(Relaxed) {
            let is_complete = self.connect()?;
            let is_waiting = !self.certificates.is_empty();
            self.selector.select(if is_waiting { Some(CERTIFICATE) } else { (!is_complete).then_some(RETRY) })?;
            selected.clear();
            selected.extend(self.selector.selected());
            let mut inbox = Inbox::default();
            for &(key, _) in &selected {
                if key == self.server {
                    while let Some(channel) = self.selector.server(self.server)?.accept()? {
                        self.add(channel, Role::Unknown)?;
                    }
                } else if self.serve(key, &mut inbox).is_err() {
                    self.disconnect(key)?;
                }
            }
            self.process(inbox)?;
        }
        Ok(())
    }

    /// Connects to replicas with lower numbers; those with higher ones connect to this one. Returns whether all of them
    /// are connected.
    fn connect(&mut self) -> Result<bool, Error> {
        let (mut is_complete, now) = (true, Instant::now());
        let is_time = now >= self.retry;
        for other in 0..usize::from(self.number).min(self.addresses.len()) {
            let is_connected = self.peers.values().any(|peer| peer.role == Role::Replica(other));
            let is_connecting = self.connecting.values().any(|number| *number == other);
            if is_time && !is_connected && !is_connecting {
                self.retry = now + RETRY;
                // It fails until that replica listens.
                if let Ok(channel) = Channel::connect(&self.addresses[other], &channels()) {
                    let key = self.selector.register(channel, Operations::CONNECT)?;
                    self.connecting.insert(key, other);
                }
            }
            is_complete &= is_connected;
        }
        Ok(is_complete)
    }

    fn add(&mut self, channel: Channel, role: Role) -> Result<(), Error> {
        let key = self.selector.register(channel, Operations::RECEIVE)?;
        self.peers.insert(key, Peer { role, waiting: VecDeque::new() });
        Ok(())
    }

    fn disconnect(&mut self, key: SelectionKey) -> Result<(), Error> {
        self.peers.remove(&key);
        self.connecting.remove(&key);
        Ok(self.selector.close(key)?)
    }

    /// Sends queued messages, and receives all that have arrived.
    fn serve(&mut self, key: SelectionKey, inbox: &mut Inbox) -> Result<(), link::Error> {
        if let Some(&other) = self.connecting.get(&key) {
            if self.selector.channel(key)?.finish_connect()? {
                self.connecting.remove(&key);
                self.peers.insert(key, Peer { role: Role::Replica(other), waiting: VecDeque::new() });
                self.selector.set_interest(key, Operations::RECEIVE)?;
                self.send(key, &Kind::Replica.message(&[self.number]))?;
            }
            return Ok(());
        }
        let Some(peer) = self.peers.get_mut(&key) else { return Ok(()) };
        let channel = self.selector.channel(key)?;
        while let Some(message) = channel.receive()? {
            let unexpected = link::Error::BadFrame("the message has no place in the protocol");
            let (kind, rest) = Kind::split(&message).ok_or_else(|| unexpected.clone())?;
            match (kind, peer.role) {
                (Kind::Replica, Role::Unknown) => {
                    let number = rest.first().map(|number| usize::from(*number)).filter(|number| *number < REPLICAS);
                    peer.role = Role::Replica(number.ok_or(unexpected)?);
                }
                (Kind::Client, Role::Unknown | Role::Client) => {
                    peer.role = Role::Client;
                    inbox.greetings.push(key);
                }
                (Kind::Batch, Role::Client | Role::Replica(_)) => {
                    inbox.batches.push((key, peer.role, rest.to_vec()));
                }
                (Kind::Vote, Role::Replica(_)) => inbox.votes.push(rest.to_vec()),
                (Kind::Certificate, Role::Replica(_)) => inbox.certificates.push(rest.to_vec()),
                _ => return Err(unexpected),
            }
        }
        while let Some(first) = peer.waiting.front() {
            if !channel.send_copy(first)? {
                return Ok(());
            }
            peer.waiting.pop_front();
        }
        if self.selector.interest(key)? != Operations::RECEIVE {
            self.selector.set_interest(key, Operations::RECEIVE)?;
        }
        Ok(())
    }

    /// Sends a message, or queues it.
    fn send(&mut self, key: SelectionKey, message: &[u8]) -> Result<(), link::Error> {
        let Some(peer) = self.peers.get_mut(&key) else { return Ok(()) };
        let channel = self.selector.channel(key)?;
        if peer.waiting.is_empty() && channel.send_copy(message)? {
            // The rest of the round takes longer than a message: signatures are checked, and locks synced.
            channel.flush();
            return Ok(());
        }
        if peer.waiting.len() == MAX_WAITING {
            return Err(link::Error::Closed);
        }
        peer.waiting.push_back(message.to_vec());
        self.selector.set_interest(key, Operations::RECEIVE | Operations::SEND)
    }

    /// Sends a message, or disconnects the peer if that fails: it asks again.
    fn send_or_disconnect(&mut self, key: SelectionKey, message: &[u8]) -> Result<(), Error> {
        if self.send(key, message).is_err() {
            self.disconnect(key)?;
        }
        Ok(())
    }

    fn send_to_replicas(&mut self, message: &[u8]) -> Result<(), Error> {
        let is_replica = |(key, peer): (&SelectionKey, &Peer)| matches!(peer.role, Role::Replica(_)).then_some(*key);
        let keys: Vec<_> = self.peers.iter().filter_map(is_replica).collect();
        keys.into_iter().try_for_each(|key| self.send_or_disconnect(key, message))
    }

    /// Steps 2 to 5 of the protocol, for all messages that arrived together. Verifies all their signatures at once.
    fn process(&mut self, inbox: Inbox) -> Result<(), Error> {
        for client in inbox.greetings {
            let connected = self.peers.values().filter(|peer| matches!(peer.role, Role::Replica(_))).count();
            self.send_or_disconnect(client, &Kind::Client.message(&[connected as u8]))?;
        }
        let fresh = self.register(inbox.batches)?;
        if self.certificates.is_empty() {
            self.waiting_since = Instant::now();
        }
        self.certificates.extend(inbox.certificates);
        let held = self.hold(&inbox.votes);
        // A certificate can wait for the next batch, whose signatures it is verified with.
        let is_late = self.waiting_since.elapsed() >= CERTIFICATE;
        let is_due = is_late || !fresh.is_empty() || self.certificates.len() >= MAX_CERTIFICATES;
        let certificates = if is_due { std::mem::take(&mut self.certificates) } else { Vec::new() };

        let certified: Vec<_> = certificates.iter().filter_map(|bytes| votes::parse(bytes)).collect();
        let votes: Vec<_> = held.iter().filter_map(|bytes| votes::parse(bytes)).flatten().collect();
        let votes: Vec<_> = certified.iter().flatten().chain(&votes).copied().collect();
        let messages = votes::messages(&votes);
        let mut items: Vec<_> = votes::items(&votes, &messages).collect();
        let batches = fresh.iter().filter_map(|(root, _)| self.batches.get(root));
        batches.for_each(|known| items.extend(known.batch.items()));
        let mut verdicts = batch::verify(&items).into_iter();

        // Certificates first: a batch may continue what they settle.
        for votes in certified {
            let valid = verdicts.by_ref().take(votes.len());
            let votes: Vec<_> =
                votes.into_iter().zip(valid).filter_map(|(vote, is_valid)| is_valid.then_some(vote)).collect();
            self.apply(&votes);
        }
        let mut voted = Vec::new();
        for (vote, _) in held.iter().zip(verdicts.by_ref()).filter(|(_, is_valid)| *is_valid) {
            voted.extend(self.count(vote));
        }
        voted.extend(self.vote(&fresh, &mut verdicts)?);
        assert!(verdicts.next().is_none(), "each signature has one verdict");
        voted.sort_unstable();
        voted.dedup();
        voted.into_iter().try_for_each(|root| self.certify(&root))
    }

    /// Registers batches and forwards those of clients. Returns the roots of those to vote on, with the other
    /// collectors to send the vote to.
    fn register(
        &mut self,
        batches: Vec<(SelectionKey, Role, Vec<u8>)>,
    ) -> Result<Vec<(Hash, Vec<SelectionKey>)>, Error> {
        let mut fresh: Vec<(Hash, Vec<SelectionKey>)> = Vec::new();
        for (key, role, bytes) in batches {
            let Some(batch) = Batch::parse(&bytes, GENERATION) else {
                self.disconnect(key)?;
                continue;
            };
            let (root, is_client) = (batch.root, role == Role::Client);
            if is_client {
                // Before this replica's own vote, so that all of them work at the same time. A repetition is forwarded
                // as well: votes may have been lost.
                self.send_to_replicas(&Kind::Batch.message(&bytes))?;
            }
            let orders = batch.orders.len();
            let known = self.batches.entry(root).or_insert_with(|| {
                self.order.push_back(root);
                let none = vec![false; orders];
                Known {
                    batch,
                    client: None,
                    accepted: none.clone(),
                    vote: None,
                    unverified: Vec::new(),
                    votes: Vec::new(),
                    certified: none,
                }
            });
            let mut reply = None;
            if is_client {
                known.client = Some(key);
                let is_certified = known.certified.iter().any(|is_certified| *is_certified);
                reply = is_certified.then(|| Kind::Certificate.message(&known.votes.concat()));
            } else if let Some(vote) = known.vote.as_ref().filter(|_| !known.accepted.contains(&false)) {
                reply = Some(Kind::Vote.message(vote));
            }
            // A refused order may be acceptable now: an earlier order of the account, or a credit, has arrived.
            if known.accepted.contains(&false) {
                let collector = (!is_client).then_some(key);
                match fresh.iter_mut().find(|(of, _)| *of == root) {
                    Some((_, collectors)) => collectors.extend(collector),
                    None => fresh.push((root, Vec::from_iter(collector))),
                }
            }
            if let Some(reply) = reply {
                self.send_or_disconnect(key, &reply)?;
            }
        }
        while self.order.len() > MAX_BATCHES {
            if let Some(oldest) = self.order.pop_front() {
                self.batches.remove(&oldest);
            }
        }
        Ok(fresh)
    }

    /// Applies the orders that valid votes of another collector's certificate certify.
    fn apply(&mut self, votes: &[ParsedVote<'_>]) {
        let Some(root) = votes.first().map(|vote| vote.header.root) else { return };
        let Some(known) = self.batches.get_mut(&root) else { return };
        for position in votes::certified(votes, &root, known.batch.orders.len(), QUORUM) {
            if !std::mem::replace(&mut known.certified[position], true) {
                self.state.certify(&known.batch.orders[position]);
            }
        }
    }

    /// Holds votes for batches of this collector until they may complete a quorum, so that they are verified together.
    /// Returns those to verify.
    fn hold(&mut self, received: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut complete = Vec::new();
        for bytes in received {
            let Some([vote]) = votes::parse(bytes).and_then(|votes| <[_; 1]>::try_from(votes).ok()) else { continue };
            if !self.is_needed(&vote) {
                continue;
            }
            let Some(known) = self.batches.get_mut(&vote.header.root) else { continue };
            known.unverified.push(bytes.clone());
            if known.votes.len() + known.unverified.len() >= QUORUM {
                complete.append(&mut known.unverified);
            }
        }
        complete
    }

    /// Counts a valid vote for a batch of this collector. Returns the root of the batch.
    fn count(&mut self, bytes: &[u8]) -> Option<Hash> {
        let (vote, _) = FastVote::parse(bytes)?;
        if !self.is_needed(&vote) {
            return None;
        }
        self.batches.get_mut(&vote.header.root)?.keep(vote.header.replica, bytes.to_vec());
        Some(vote.header.root)
    }

    /// Whether a vote accepts an order of a batch of this collector that its replica did not accept in an earlier vote.
    fn is_needed(&self, vote: &ParsedVote<'_>) -> bool {
        self.batches.get(&vote.header.root).is_some_and(|known| {
            let orders = known.batch.orders.len();
            let is_new = |earlier: &Vec<u8>| {
                votes::parse(earlier).is_some_and(|earlier| {
                    earlier[0].header.replica != vote.header.replica
                        || (0..orders).any(|order| vote.accepts(order) && !earlier[0].accepts(order))
                })
            };
            known.client.is_some()
                && orders == usize::from(vote.header.count.get())
                && known.certified.contains(&false)
                && known.votes.iter().all(is_new)
        })
    }

    /// Votes on batches: locks the accepted orders, syncs, and sends the votes. `signed` yields for each order whether
    /// its signature is valid. Returns the roots of its own batches.
    fn vote(
        &mut self,
        fresh: &[(Hash, Vec<SelectionKey>)],
        signed: &mut impl Iterator<Item = bool>,
    ) -> Result<Vec<Hash>, Error> {
        let (mut new, mut votes) = (Vec::new(), Vec::with_capacity(fresh.len()));
        for known in fresh.iter().filter_map(|(root, _)| self.batches.get(root)) {
            let batch = &known.batch;
            let mut accepted = known.accepted.clone();
            for (at, is_signed) in signed.by_ref().take(batch.orders.len()).enumerate() {
                // Its vote for an order stands, even if the slot is settled meanwhile.
                if is_signed && !accepted[at] {
                    let found = self.state.accept(&batch.orders[at], &batch.hashes[at]);
                    accepted[at] = found.is_ok();
                    if found == Ok(Accepted::New) {
                        new.push(batch.orders[at]);
                    }
                }
            }
            votes.push((batch.root, accepted));
        }
        if !new.is_empty() {
            // The new locks are among those held. Repeating them costs a few bytes once per segment.
            self.locks.append(&new, || self.state.locks())?;
        }
        let mut own = Vec::new();
        for (root, accepted) in votes {
            let vote = votes::sign(&root, &accepted, self.number, &self.keypair);
            let Some(known) = self.batches.get_mut(&root) else { continue };
            known.accepted = accepted;
            known.vote = Some(vote.clone());
            if known.client.is_some() {
                known.keep(self.number, vote.clone());
                own.push(root);
            }
            for (_, collectors) in fresh.iter().filter(|(of, _)| *of == root) {
                for collector in collectors {
                    self.send_or_disconnect(*collector, &Kind::Vote.message(&vote))?;
                }
            }
        }
        Ok(own)
    }

    /// Sends a certificate to the client and to all replicas if a quorum accepts orders that were not certified, and
    /// applies these.
    fn certify(&mut self, root: &Hash) -> Result<(), Error> {
        let Some(known) = self.batches.get_mut(root) else { return Ok(()) };
        let certificate = known.votes.concat();
        let Some(votes) = votes::parse(&certificate) else { return Ok(()) };
        let mut is_new = false;
        for position in votes::certified(&votes, root, known.batch.orders.len(), QUORUM) {
            if !std::mem::replace(&mut known.certified[position], true) {
                self.state.certify(&known.batch.orders[position]);
                is_new = true;
            }
        }
        if !is_new {
            return Ok(());
        }
        let (client, message) = (known.client, Kind::Certificate.message(&certificate));
        if let Some(client) = client {
            self.send_or_disconnect(client, &message)?;
        }
        self.send_to_replicas(&message)
    }
}
